"""Native forms of what picks elements along an axis: the largest, the smallest, the middle, the most frequent, the first in order;
and of running sums and extremes."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.string cimport memset

from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport F32, F64, I64, of_code
from claygrad.core.graph.inplace cimport write_layout
from claygrad.core.data.layout cimport Layout, falling, fresh, fresh_like, in_order, new_layout
from claygrad.native.elementwise cimport fresh_run, is_permuted
from claygrad.native.reduce cimport arranged, without
from claygrad.core.tensor cimport Tensor
from claygrad.core.dispatch.registry cimport offer, offer_many

cdef extern from "sort/sort.hpp" namespace "clay" nogil:
    enum Choice "clay::Choice":
        RANK "clay::RANK"
        MEDIAN "clay::MEDIAN"
        NANMEDIAN "clay::NANMEDIAN"
        MODE "clay::MODE"
        ASCENDING "clay::ASCENDING"
        DESCENDING "clay::DESCENDING"
    ctypedef void (*extreme_fn)(const void*, void*, int64_t*, int64_t, int64_t, int64_t) noexcept nogil
    ctypedef bint (*choose_fn)(const void*, void*, int64_t*, int64_t, int64_t, int64_t, int64_t, int) noexcept nogil
    choose_fn find_choice(int dtype) noexcept

cdef extern from "nn/norm.hpp" namespace "clay" nogil:
    ctypedef void (*scan_fn)(const void*, void*, int64_t, int64_t, int64_t, bint) noexcept nogil

cdef extern from "reduce/scan.hpp" namespace "clay" nogil:
    ctypedef void (*extremes_fn)(const void*, void*, int64_t*, int64_t, int64_t, int64_t) noexcept nogil
    ctypedef bint (*running_logs_fn)(const void*, void*, int64_t, int64_t) noexcept nogil

cdef enum:
    RELEASE = 4096


cdef struct Lines:
    int64_t outer, n, inner


cdef tuple _axis(Layout x, object dim):
    """An axis as the tuple that reductions take; None if it is no axis, or there is nothing in x."""
    cdef int64_t d
    if type(dim) is not int or x.numel == 0:
        return None
    d = dim
    if x.ndim == 0:
        return () if d == 0 or d == -1 else None
    if d < -x.ndim or d >= x.ndim:
        return None
    return (d + x.ndim if d < 0 else d,)


# --- extremes ----------------------------------------------------------------------------------------------------------
cdef Layout _where(Op op, PyObject** slots, Layout target):
    """argmax(input, dim, keepdim), argmin(input, dim, keepdim)"""
    cdef Layout x = (<Tensor><object>slots[0]).layout, from_, out
    cdef extreme_fn f = <extreme_fn>op.kernels[x.dtype.code]
    cdef Lines s
    if f == NULL or x.numel == 0:
        return None
    from_ = arranged(x, <object>slots[1], True, &s.outer, &s.n, &s.inner)
    if from_ is None:
        return None
    out = without(of_code(I64), x, <object>slots[1], <object>slots[2] is True)
    if x.numel > RELEASE:
        with nogil:
            f(from_.data(), NULL, <int64_t*>out.data(), s.outer, s.n, s.inner)
    else:
        f(from_.data(), NULL, <int64_t*>out.data(), s.outer, s.n, s.inner)
    return out


cdef list _extreme(Op op, PyObject** slots):
    """max(input, dim, keepdim), min(input, dim, keepdim)"""
    cdef Layout x = (<Tensor><object>slots[0]).layout, from_, values, places
    cdef extreme_fn f = <extreme_fn>op.kernels[x.dtype.code]
    cdef tuple axes = _axis(x, <object>slots[1])
    cdef bint keep = <object>slots[2] is True
    cdef Lines s
    if f == NULL or axes is None:
        return None
    from_ = arranged(x, axes, True, &s.outer, &s.n, &s.inner)
    if from_ is None:
        return None
    values, places = without(x.dtype, x, axes, keep), without(of_code(I64), x, axes, keep)
    if x.numel > RELEASE:
        with nogil:
            f(from_.data(), values.data(), <int64_t*>places.data(), s.outer, s.n, s.inner)
    else:
        f(from_.data(), values.data(), <int64_t*>places.data(), s.outer, s.n, s.inner)
    return [values, places]


# --- ranks and orders ----------------------------------------------------------------------------------------------------
cdef bint _choose(Layout x, Lines* s, Layout values, Layout places, int64_t k, int what) except -1:
    cdef choose_fn f = find_choice(x.dtype.code)
    cdef bint done
    if f == NULL:
        return False
    if x.numel > RELEASE:
        with nogil:
            done = f(x.data(), values.data(), <int64_t*>places.data(), s.outer, s.n, s.inner, k, what)
    else:
        done = f(x.data(), values.data(), <int64_t*>places.data(), s.outer, s.n, s.inner, k, what)
    return done


cdef list _one_of_line(Layout x, object dim, bint keep, int64_t k, int what):
    cdef tuple axes = _axis(x, dim)
    cdef Lines s
    cdef Layout from_, values, places
    if axes is None or find_choice(x.dtype.code) == NULL:
        return None
    from_ = arranged(x, axes, True, &s.outer, &s.n, &s.inner)
    if from_ is None or not 0 <= k < s.n:
        return None
    values, places = without(x.dtype, x, axes, keep), without(of_code(I64), x, axes, keep)
    return [values, places] if _choose(from_, &s, values, places, k, what) else None


cdef list _kth(Op op, PyObject** slots):
    """kthvalue(input, k, dim, keepdim)"""
    return _one_of_line((<Tensor><object>slots[0]).layout, <object>slots[2], <object>slots[3] is True, <object>slots[1] - 1, RANK)


cdef list _median(Op op, PyObject** slots):
    """median(input, dim, keepdim), nanmedian(input, dim, keepdim)"""
    return _one_of_line((<Tensor><object>slots[0]).layout, <object>slots[1], <object>slots[2] is True, 0,
                        MEDIAN if op.name == "median" else NANMEDIAN)


cdef list _mode(Op op, PyObject** slots):
    """mode(input, dim, keepdim)"""
    return _one_of_line((<Tensor><object>slots[0]).layout, <object>slots[1], <object>slots[2] is True, 0, MODE)


cdef Layout _median_of_all(Op op, PyObject** slots, Layout target):
    """median(input), nanmedian(input)"""
    cdef Layout x = (<Tensor><object>slots[0]).layout, from_, out
    cdef Lines s
    cdef choose_fn f = find_choice(x.dtype.code)
    cdef bint done
    cdef int what = MEDIAN if op.name == "median" else NANMEDIAN
    if f == NULL or x.numel == 0:
        return None
    from_ = arranged(x, None, False, &s.outer, &s.n, &s.inner)
    if from_ is None:
        return None
    out = fresh(x.dtype, 0, NULL)
    with nogil:
        done = f(from_.data(), out.data(), NULL, 1, s.n, 1, 0, what)
    return out if done else None


cdef list _as_they_are(Layout x, int axis, int64_t k):
    """The first k elements along an axis on which one is stretched: any order is theirs."""
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int64_t j
    cdef int i
    cdef Layout values, places, line = fresh(of_code(I64), 1, &k)
    for j in range(k):
        (<int64_t*>line.data())[j] = j
    for i in range(x.ndim):
        shape[i], strides[i] = k if i == axis else x.shape[i], i == axis
    values, places = fresh(x.dtype, x.ndim, shape), fresh(line.dtype, x.ndim, shape)
    write_layout(values, new_layout(x.storage, x.dtype, x.ndim, shape, x.strides, x.offset))
    write_layout(places, new_layout(line.storage, line.dtype, x.ndim, shape, strides, 0))
    return [values, places]


cdef list _order(Layout x, object dim, int64_t k, bint descending):
    """The first k elements along an axis, in order; they lie in rows."""
    cdef tuple axes = _axis(x, dim)
    cdef Lines s
    cdef Layout values, places
    cdef int64_t shape[64]
    cdef int i
    if axes is None or find_choice(x.dtype.code) == NULL:
        return None
    if x.ndim and x.numel and x.strides[<int>axes[0]] == 0 and 0 < k <= x.shape[<int>axes[0]]:
        return _as_they_are(x, axes[0], k)
    x = in_order(x)
    s.outer = s.inner = s.n = 1
    for i in range(x.ndim):
        shape[i] = x.shape[i]
        if i < <int>axes[0]:
            s.outer *= x.shape[i]
        elif i == <int>axes[0]:
            s.n, shape[i] = x.shape[i], k
        else:
            s.inner *= x.shape[i]
    if not 0 <= k <= s.n:
        return None
    values, places = fresh(x.dtype, x.ndim, shape), fresh(of_code(I64), x.ndim, shape)
    return [values, places] if _choose(x, &s, values, places, k, DESCENDING if descending else ASCENDING) else None


cdef list _topk(Op op, PyObject** slots):
    """topk(input, k, dim, largest, sorted)"""
    return _order((<Tensor><object>slots[0]).layout, <object>slots[2], <object>slots[1], <object>slots[3] is True)


cdef list _sort(Op op, PyObject** slots):
    """sort(input, dim, descending, stable)"""
    cdef Layout x = (<Tensor><object>slots[0]).layout
    cdef tuple axes = _axis(x, <object>slots[1])
    cdef list made
    cdef Layout turned_
    cdef int i
    if axes is None or not (x.contiguous or falling(x) or is_permuted(x)):
        return None
    made = _order(x, <object>slots[1], x.shape[<int>axes[0]] if x.ndim else 1, <object>slots[2] is True)
    if made is None or not is_permuted(x):
        return made
    for i in range(2):                               # they lie as the elements did
        turned_ = fresh_run(x, (<Layout>made[i]).dtype)
        write_layout(turned_, made[i])
        made[i] = turned_
    return made


cdef Layout _argsort(Op op, PyObject** slots, Layout target):
    """argsort(input, dim, descending, stable)"""
    cdef list made = _sort(op, slots)
    return None if made is None else <Layout>made[1]


# --- the gradient of what was picked ---------------------------------------------------------------------------------------
cdef Layout _placed(Op op, PyObject** slots, Layout target):
    """placed(grad, indices, size, dim, keepdim): zeros of this size with grad at the places along an axis, one for each line."""
    cdef Layout g = (<Tensor><object>slots[0]).layout, at = (<Tensor><object>slots[1]).layout, out
    cdef tuple size = <tuple><object>slots[2]
    cdef int64_t shape[64]
    cdef int64_t outer = 1, n = 1, inner = 1, o, i, k, place
    cdef int d, j, ndim = len(size)
    cdef const int64_t* places
    if type(<object>slots[3]) is not int or ndim == 0 or ndim > 64 or (g.dtype.code != F32 and g.dtype.code != F64):
        return None
    if not at.contiguous or at.numel != g.numel:
        return None
    d = <object>slots[3]
    d = d + ndim if d < 0 else d
    if d < 0 or d >= ndim:
        return None
    for j in range(ndim):
        shape[j] = size[j]
        if shape[j] < 0:
            return None
        if j < d:
            outer *= shape[j]
        elif j == d:
            n = shape[j]
        else:
            inner *= shape[j]
    if outer * inner != g.numel or g.numel == 0:
        return None
    if not g.contiguous:
        out = fresh_like(g)
        write_layout(out, g)
        g = out
    out = fresh(g.dtype, ndim, shape)
    places = <const int64_t*>at.data()
    memset(out.data(), 0, out.numel * out.dtype.itemsize)
    for o in range(outer):
        for i in range(inner):
            k = o * inner + i
            place = places[k]
            if place < 0 or place >= n:
                return None
            place = (o * n + place) * inner + i
            if g.dtype.code == F32:
                (<float*>out.data())[place] = (<float*>g.data())[k]
            else:
                (<double*>out.data())[place] = (<double*>g.data())[k]
    return out


# --- running results --------------------------------------------------------------------------------------------------------
cdef bint _lines(Layout x, object dim, Lines* s) except -1:
    """The sizes of a contiguous tensor around an axis."""
    cdef tuple axes = _axis(x, dim)
    cdef int i
    if axes is None or not x.contiguous:
        return False
    s.outer = s.n = s.inner = 1
    for i in range(x.ndim):
        if i < <int>axes[0]:
            s.outer *= x.shape[i]
        elif i == <int>axes[0]:
            s.n = x.shape[i]
        else:
            s.inner *= x.shape[i]
    return True


cdef Layout _running(Op op, PyObject** slots, Layout target):
    """cumsum(input, dim, dtype), cumprod(input, dim, dtype), cumsum_from_end(input, dim)"""
    cdef Layout x = (<Tensor><object>slots[0]).layout, out
    cdef scan_fn f = <scan_fn>op.kernels[x.dtype.code]
    cdef bint back = op.n_params == 2
    cdef Lines s
    if f == NULL or target is not None or not back and <object>slots[2] is not None or x.numel == 0:
        return None
    x = in_order(x)
    if not _lines(x, <object>slots[1], &s):
        return None
    out = fresh_like(x)
    if x.numel > RELEASE:
        with nogil:
            f(x.data(), out.data(), s.outer, s.n, s.inner, back)
    else:
        f(x.data(), out.data(), s.outer, s.n, s.inner, back)
    return out


cdef Layout _running_logs(Op op, PyObject** slots, Layout target):
    """logcumsumexp(input, dim)"""
    cdef Layout x = (<Tensor><object>slots[0]).layout, out, rows, made
    cdef running_logs_fn f = <running_logs_fn>op.kernels[x.dtype.code]
    cdef int64_t shape[3]
    cdef int64_t strides[3]
    cdef bint done
    cdef Lines s
    if f == NULL or not _lines(x, <object>slots[1], &s):
        return None
    out = fresh_like(x)
    if s.inner == 1:
        with nogil:
            done = f(x.data(), out.data(), s.outer, s.n)
        return out if done else None
    shape[0], shape[1], shape[2] = s.outer, s.inner, s.n             # rows are what the kernel reads
    strides[0], strides[1], strides[2] = s.n * s.inner, 1, s.inner
    rows, made = fresh(x.dtype, 3, shape), fresh(x.dtype, 3, shape)
    write_layout(rows, new_layout(x.storage, x.dtype, 3, shape, strides, x.offset))
    with nogil:
        done = f(rows.data(), made.data(), s.outer * s.inner, s.n)
    if not done:
        return None
    write_layout(new_layout(out.storage, x.dtype, 3, shape, strides, 0), made)
    return out


cdef list _running_extreme(Op op, PyObject** slots):
    """cummax(input, dim), cummin(input, dim)"""
    cdef Layout x = (<Tensor><object>slots[0]).layout, values, places
    cdef extremes_fn f = <extremes_fn>op.kernels[x.dtype.code]
    cdef Lines s
    if f == NULL or not _lines(x, <object>slots[1], &s):
        return None
    values, places = fresh_like(x), fresh(of_code(I64), x.ndim, x.shape)
    if x.numel > RELEASE:
        with nogil:
            f(x.data(), values.data(), <int64_t*>places.data(), s.outer, s.n, s.inner)
    else:
        f(x.data(), values.data(), <int64_t*>places.data(), s.outer, s.n, s.inner)
    return [values, places]


offer("argmax", _where).loops = (b"extreme", b"max")
offer("argmin", _where).loops = (b"extreme", b"min")
offer_many("max_along", _extreme).loops = (b"extreme", b"max")
offer_many("min_along", _extreme).loops = (b"extreme", b"min")
offer_many("kth", _kth)
offer("median", _median_of_all)
offer_many("median_along", _median)
offer_many("mode", _mode)
offer_many("topk", _topk)
offer_many("sort", _sort)
offer("argsort", _argsort)
offer("placed", _placed)
offer("running_sum", _running).loops = (b"scan", b"sum")
offer("running_prod", _running).loops = (b"scan", b"prod")
offer("running_logs", _running_logs).loops = (b"scan", b"logcumsumexp")
offer_many("running_max", _running_extreme).loops = (b"scan", b"max")
offer_many("running_min", _running_extreme).loops = (b"scan", b"min")
