"""Native forms of max, min, argmax, median, mode, kthvalue, topk and sort along an axis, and of cumsum, cumprod, cummax and the
like."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.string cimport memset

from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport F32, I64, of_code
from claygrad.core.graph.inplace cimport write_layout
from claygrad.core.data.layout cimport Layout, Lines, as_contiguous, axis_in, fresh, fresh_like, lines_along, new_layout, strictly_row_major
from claygrad.native.elementwise cimport fresh_run, is_permuted
from claygrad.native.reduce cimport arranged, without
from claygrad.core.dispatch.guard cimport Arg, form_t, is_none
from claygrad.core.dispatch.registry cimport offer

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


cdef struct AlongAxis:
    Arg input, dim, keepdim
cdef struct KthValue:
    Arg input, k, dim, keepdim
cdef struct TopK:
    Arg input, k, dim, largest, sorted
cdef struct Sort:
    Arg input, dim, descending, stable
cdef struct Placed:
    Arg grad, indices, size, dim, keepdim
cdef struct Running:
    Arg input, dim, dtype


cdef tuple _axis(Layout x, int64_t d):
    """An axis as the tuple that reductions take; None if it is invalid, or x is empty."""
    if x.numel == 0:
        return None
    if x.ndim == 0:
        return () if d == 0 or d == -1 else None
    if d < -x.ndim or d >= x.ndim:
        return None
    return (d + x.ndim if d < 0 else d,)


# --- max and min ----------------------------------------------------------------------------------------------------------
cdef Layout _where(Op op, AlongAxis* a):
    cdef Layout x = <Layout>a.input.layout, from_, out
    cdef extreme_fn f = <extreme_fn>op.kernels[x.dtype.code]
    cdef Lines s
    from_ = arranged(x, <object>a.dim.given, True, &s.outer, &s.n, &s.inner)
    if from_ is None:
        return None
    out = without(of_code(I64), x, <object>a.dim.given, a.keepdim.value)
    if x.numel > RELEASE:
        with nogil:
            f(from_.data(), NULL, <int64_t*>out.data(), s.outer, s.n, s.inner)
    else:
        f(from_.data(), NULL, <int64_t*>out.data(), s.outer, s.n, s.inner)
    return out


cdef list _extreme(Op op, AlongAxis* a):
    cdef Layout x = <Layout>a.input.layout, from_, values, indices
    cdef extreme_fn f = <extreme_fn>op.kernels[x.dtype.code]
    cdef tuple axes = _axis(x, a.dim.value)
    cdef bint keep = a.keepdim.value
    cdef Lines s
    if axes is None:
        return None
    from_ = arranged(x, axes, True, &s.outer, &s.n, &s.inner)
    if from_ is None:
        return None
    values, indices = without(x.dtype, x, axes, keep), without(of_code(I64), x, axes, keep)
    if x.numel > RELEASE:
        with nogil:
            f(from_.data(), values.data(), <int64_t*>indices.data(), s.outer, s.n, s.inner)
    else:
        f(from_.data(), values.data(), <int64_t*>indices.data(), s.outer, s.n, s.inner)
    return [values, indices]


# --- selection and sorting ----------------------------------------------------------------------------------------------------
cdef bint _choose(Layout x, Lines* s, Layout values, Layout indices, int64_t k, int what) except -1:
    cdef choose_fn f = find_choice(x.dtype.code)
    cdef bint done
    if f == NULL:
        return False
    if x.numel > RELEASE:
        with nogil:
            done = f(x.data(), values.data(), <int64_t*>indices.data(), s.outer, s.n, s.inner, k, what)
    else:
        done = f(x.data(), values.data(), <int64_t*>indices.data(), s.outer, s.n, s.inner, k, what)
    return done


cdef list _one_of_line(Layout x, int64_t dim, bint keep, int64_t k, int what):
    cdef tuple axes = _axis(x, dim)
    cdef Lines s
    cdef Layout from_, values, indices
    if axes is None or find_choice(x.dtype.code) == NULL:
        return None
    from_ = arranged(x, axes, True, &s.outer, &s.n, &s.inner)
    if from_ is None or not 0 <= k < s.n:
        return None
    values, indices = without(x.dtype, x, axes, keep), without(of_code(I64), x, axes, keep)
    return [values, indices] if _choose(from_, &s, values, indices, k, what) else None


cdef list _kth(Op op, KthValue* a):
    return _one_of_line(<Layout>a.input.layout, a.dim.value, a.keepdim.value, a.k.value - 1, RANK)


cdef list _median(Op op, AlongAxis* a):
    return _one_of_line(<Layout>a.input.layout, a.dim.value, a.keepdim.value, 0, MEDIAN if op.name == "median" else NANMEDIAN)


cdef list _mode(Op op, AlongAxis* a):
    return _one_of_line(<Layout>a.input.layout, a.dim.value, a.keepdim.value, 0, MODE)


cdef Layout _median_of_all(Op op, AlongAxis* a):
    cdef Layout x = <Layout>a.input.layout, from_, out
    cdef Lines s
    cdef choose_fn f = find_choice(x.dtype.code)
    cdef bint done
    cdef int what = MEDIAN if op.name == "median" else NANMEDIAN
    if f == NULL:
        return None
    from_ = arranged(x, None, False, &s.outer, &s.n, &s.inner)
    if from_ is None:
        return None
    out = fresh(x.dtype, 0, NULL)
    with nogil:
        done = f(from_.data(), out.data(), NULL, 1, s.n, 1, 0, what)
    return out if done else None


cdef list _as_they_are(Layout x, int axis, int64_t k):
    """topk along a broadcast axis: all elements are equal."""
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int64_t j
    cdef int i
    cdef Layout values, indices, line = fresh(of_code(I64), 1, &k)
    for j in range(k):
        (<int64_t*>line.data())[j] = j
    for i in range(x.ndim):
        shape[i], strides[i] = k if i == axis else x.shape[i], i == axis
    values, indices = fresh(x.dtype, x.ndim, shape), fresh(line.dtype, x.ndim, shape)
    write_layout(values, new_layout(x.storage, x.dtype, x.ndim, shape, x.strides, x.offset))
    write_layout(indices, new_layout(line.storage, line.dtype, x.ndim, shape, strides, 0))
    return [values, indices]


cdef list _order(Layout x, int64_t dim, int64_t k, bint descending):
    """The k largest or smallest elements along an axis, sorted; the result is contiguous."""
    cdef tuple axes = _axis(x, dim)
    cdef Lines s
    cdef Layout values, indices
    cdef int64_t shape[64]
    cdef int i, axis
    if axes is None or find_choice(x.dtype.code) == NULL:
        return None
    if x.ndim and x.numel and x.strides[<int>axes[0]] == 0 and 0 < k <= x.shape[<int>axes[0]]:
        return _as_they_are(x, axes[0], k)
    x = as_contiguous(x)
    axis = axes[0] if x.ndim else 0
    s = lines_along(x.ndim, x.shape, axis)
    for i in range(x.ndim):
        shape[i] = k if i == axis else x.shape[i]
    if not 0 <= k <= s.n:
        return None
    values, indices = fresh(x.dtype, x.ndim, shape), fresh(of_code(I64), x.ndim, shape)
    return [values, indices] if _choose(x, &s, values, indices, k, DESCENDING if descending else ASCENDING) else None


cdef list _topk(Op op, TopK* a):
    return _order(<Layout>a.input.layout, a.dim.value, a.k.value, a.largest.value)


cdef list _sort(Op op, Sort* a):
    cdef Layout x = <Layout>a.input.layout
    cdef tuple axes = _axis(x, a.dim.value)
    cdef list out
    cdef Layout permuted
    cdef int i
    if axes is None or not (x.contiguous or strictly_row_major(x) or is_permuted(x)):
        return None
    out = _order(x, a.dim.value, x.shape[<int>axes[0]] if x.ndim else 1, a.descending.value)
    if out is None or not is_permuted(x):
        return out
    for i in range(2):                               # the strides of the input
        permuted = fresh_run(x, (<Layout>out[i]).dtype)
        write_layout(permuted, out[i])
        out[i] = permuted
    return out


cdef Layout _argsort(Op op, Sort* a):
    cdef list out = _sort(op, a)
    return None if out is None else <Layout>out[1]


# --- the gradient of selected elements ---------------------------------------------------------------------------------------
cdef Layout _placed(Op op, Placed* a):
    """Zeros of this size with grad at the given indices along an axis, one for each line."""
    cdef Layout g = <Layout>a.grad.layout, at = <Layout>a.indices.layout, out
    cdef const int64_t* shape = a.size.ints
    cdef int64_t o, i, k, place
    cdef int j, ndim = a.size.value, d = axis_in(a.dim.value, ndim)
    cdef const int64_t* positions
    cdef Lines s = lines_along(ndim, shape, d)
    for j in range(ndim):
        if shape[j] < 0:
            return None
    if d < 0 or at.numel != g.numel or s.outer * s.inner != g.numel:
        return None
    out = fresh(g.dtype, ndim, shape)
    positions = <const int64_t*>at.data()
    memset(out.data(), 0, out.numel * out.dtype.itemsize)
    for o in range(s.outer):
        for i in range(s.inner):
            k = o * s.inner + i
            place = positions[k]
            if place < 0 or place >= s.n:
                return None
            place = (o * s.n + place) * s.inner + i
            if g.dtype.code == F32:
                (<float*>out.data())[place] = (<float*>g.data())[k]
            else:
                (<double*>out.data())[place] = (<double*>g.data())[k]
    return out


# --- cumulative operations --------------------------------------------------------------------------------------------------------
cdef bint _lines(Layout x, int64_t dim, Lines* s) noexcept:
    """The sizes of a contiguous tensor before, along and after an axis."""
    cdef int axis = axis_in(dim, max(x.ndim, 1))
    if axis < 0 or x.numel == 0:
        return False
    s[0] = lines_along(x.ndim, x.shape, axis)
    return True


cdef Layout _running(Op op, Running* a):
    cdef Layout x = <Layout>a.input.layout, out
    cdef scan_fn f = <scan_fn>op.kernels[x.dtype.code]
    cdef bint back = op.n_params == 2                # cumsum_from_end(input, dim)
    cdef Lines s
    if not back and not is_none(&a.dtype) and a.dtype.given != <PyObject*>x.dtype or not _lines(x, a.dim.value, &s):
        return None
    out = fresh_like(x)
    if x.numel > RELEASE:
        with nogil:
            f(x.data(), out.data(), s.outer, s.n, s.inner, back)
    else:
        f(x.data(), out.data(), s.outer, s.n, s.inner, back)
    return out


cdef Layout _running_logs(Op op, Running* a):
    cdef Layout x = <Layout>a.input.layout, out, rows, result
    cdef running_logs_fn f = <running_logs_fn>op.kernels[x.dtype.code]
    cdef int64_t shape[3]
    cdef int64_t strides[3]
    cdef bint done
    cdef Lines s
    if not _lines(x, a.dim.value, &s):
        return None
    out = fresh_like(x)
    if s.inner == 1:
        with nogil:
            done = f(x.data(), out.data(), s.outer, s.n)
        return out if done else None
    shape[0], shape[1], shape[2] = s.outer, s.inner, s.n             # rows are what the kernel reads
    strides[0], strides[1], strides[2] = s.n * s.inner, 1, s.inner
    rows, result = fresh(x.dtype, 3, shape), fresh(x.dtype, 3, shape)
    write_layout(rows, new_layout(x.storage, x.dtype, 3, shape, strides, x.offset))
    with nogil:
        done = f(rows.data(), result.data(), s.outer * s.inner, s.n)
    if not done:
        return None
    write_layout(new_layout(out.storage, x.dtype, 3, shape, strides, 0), result)
    return out


cdef list _running_extreme(Op op, Running* a):
    cdef Layout x = <Layout>a.input.layout, values, indices
    cdef extremes_fn f = <extremes_fn>op.kernels[x.dtype.code]
    cdef Lines s
    if not _lines(x, a.dim.value, &s):
        return None
    values, indices = fresh_like(x), fresh(of_code(I64), x.ndim, x.shape)
    if x.numel > RELEASE:
        with nogil:
            f(x.data(), values.data(), <int64_t*>indices.data(), s.outer, s.n, s.inner)
    else:
        f(x.data(), values.data(), <int64_t*>indices.data(), s.outer, s.n, s.inner)
    return [values, indices]


offer("argmax", <form_t>_where, "input: kernel strided nonempty, dim: raw").loops = (b"extreme", b"max")
offer("argmin", <form_t>_where, "input: kernel strided nonempty, dim: raw").loops = (b"extreme", b"min")
offer("max_along", <form_t>_extreme, "input: kernel strided").loops = (b"extreme", b"max")
offer("min_along", <form_t>_extreme, "input: kernel strided").loops = (b"extreme", b"min")
offer("kth", <form_t>_kth, "input: any strided")
offer("median", <form_t>_median_of_all, "input: any strided nonempty")
offer("median_along", <form_t>_median, "input: any strided")
offer("mode", <form_t>_mode, "input: any strided")
offer("topk", <form_t>_topk, "input: any strided")
offer("sort", <form_t>_sort, "input: any strided")
offer("argsort", <form_t>_argsort, "input: any strided")
offer("placed", <form_t>_placed, "grad: float copied nonempty, indices: int64, size: sizes")
offer("running_sum", <form_t>_running, "input: kernel copied, dtype?: raw").loops = (b"scan", b"sum")
offer("running_prod", <form_t>_running, "input: kernel copied, dtype?: raw").loops = (b"scan", b"prod")
offer("running_logs", <form_t>_running_logs, "input: kernel").loops = (b"scan", b"logcumsumexp")
offer("running_max", <form_t>_running_extreme, "input: kernel").loops = (b"scan", b"max")
offer("running_min", <form_t>_running_extreme, "input: kernel").loops = (b"scan", b"min")
