"""Fast paths of reductions and of the softmax family."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.declared cimport PROMOTE_BOOL, PROMOTE_INDEX, PROMOTE_SUM, REDUCTION, Op
from claygrad.core.device cimport CPU
from claygrad.core.dtypes cimport BOOL, F32, F64, I64, N_DTYPES, dtype, of_code
from claygrad.core.inplace cimport write_layout
from claygrad.core.kernels cimport find, reduce_fn, rows2_fn, rows_fn
from claygrad.core.layout cimport Layout, dense, fresh, fresh_like, in_order, new_contiguous, new_layout, same_shape, stretched
from claygrad.core.modes cimport modes
from claygrad.core.tensor cimport Tensor, requires
from claygrad.core.ways cimport offer_many, take_loops

cdef enum:
    RELEASE = 16384
    # Elements of a stretched or jumbled tensor up to which it is copied into order.
    COPIED = 1 << 22


cdef Layout _put_in_order(Layout x, const int* order):
    """A copy of x with its axes in another order, contiguous."""
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int i
    cdef Layout out
    for i in range(x.ndim):
        shape[i], strides[i] = x.shape[order[i]], x.strides[order[i]]
    out = fresh(x.dtype, x.ndim, shape)
    write_layout(out, new_layout(x.storage, x.dtype, x.ndim, shape, strides, x.offset))
    return out


cdef Layout arranged(Layout x, object dim, bint ordered, int64_t* outer, int64_t* n, int64_t* inner):
    """The elements as (outer, n, inner) in memory, the axes `dim` in the middle: x itself, or a copy; None if neither will do.

    The other axes come in their order, and those of `dim` too if that matters.
    """
    cdef bint chosen[64]
    cdef int order[64]
    cdef int i, k, at, count = 0, first = -1, last = -1
    cdef int64_t expected = 1
    outer[0] = n[0] = inner[0] = 1
    if dim is None or x.ndim == 0 or len(<tuple>dim) == x.ndim and not ordered:
        n[0] = x.numel
        if x.contiguous or not ordered and dense(x):
            return x
        if x.numel > COPIED:
            return None
        for i in range(x.ndim):
            order[i] = i
        return _put_in_order(x, order)
    for i in range(x.ndim):
        chosen[i] = False
        order[i] = i
    for axis in <tuple>dim:
        chosen[<int>axis] = True
        count += 1
    if not x.contiguous:                       # the axes by their steps in memory, longest first; those of one element keep theirs
        for i in range(1, x.ndim):
            for k in range(i, 0, -1):
                if x.strides[order[k]] <= x.strides[order[k - 1]]:
                    break
                if (chosen[order[k]] == chosen[order[k - 1]] and (ordered or not chosen[order[k]])
                        and x.shape[order[k]] != 1 and x.shape[order[k - 1]] != 1):
                    break                      # these two must keep their order
                order[k], order[k - 1] = order[k - 1], order[k]
        for i in range(x.ndim - 1, -1, -1):
            if x.shape[order[i]] != 1:
                if x.strides[order[i]] != expected:
                    expected = -1
                    break
                expected *= x.shape[order[i]]
    for i in range(x.ndim):
        if chosen[order[i]]:
            first = i if first < 0 else first
            last = i
    if expected < 0 or last - first + 1 != count:
        if x.numel > COPIED:
            return None
        at = 0
        for k in range(2):
            for i in range(x.ndim):
                if chosen[i] == k:
                    order[at] = i
                    at += 1
        first, last = x.ndim - count, x.ndim - 1
        for i in range(x.ndim):
            if chosen[i]:
                n[0] *= x.shape[i]
            else:
                outer[0] *= x.shape[i]
        return _put_in_order(x, order)
    for i in range(x.ndim):
        if i < first:
            outer[0] *= x.shape[order[i]]
        elif i <= last:
            n[0] *= x.shape[order[i]]
        else:
            inner[0] *= x.shape[order[i]]
    return x


cdef Layout without(dtype kind, Layout x, object dim, bint keep):
    """Room for a result that lacks these axes, or has one element there."""
    cdef int64_t shape[64]
    cdef int i, k = 0
    for i in range(x.ndim):
        if dim is None or i in <tuple>dim:
            if not keep:
                continue
            shape[k] = 1
        else:
            shape[k] = x.shape[i]
        k += 1
    return fresh(kind, k, shape)


cdef Layout _last_run(reduce_fn f, Layout x, list axes, dtype kind):
    """x without the last of its runs of neighbouring axes, which leave the list; None if there is only one run."""
    cdef int64_t shape[64]
    cdef int64_t outer = 1, n = 1, inner = 1
    cdef int i, k = 0, last = axes[len(axes) - 1], first = last
    cdef Layout out
    while len(axes) and <int>axes[len(axes) - 1] == first:
        axes.pop()
        first -= 1
    first += 1
    if not axes:
        return None
    for i in range(x.ndim):
        if first <= i <= last:
            n *= x.shape[i]
            continue
        shape[k] = x.shape[i]
        k += 1
        if i < first:
            outer *= x.shape[i]
        else:
            inner *= x.shape[i]
    out = fresh(kind, k, shape)
    with nogil:
        f(x.data(), out.data(), outer, n, inner)
    return out


cdef Layout reduced(reduce_fn f, reduce_fn again, Layout x, object dim, bint keep, dtype kind):
    """What a kernel makes of x over the axes, and another of what it has made, run by run; None where it does not apply."""
    cdef int64_t outer, n, inner
    cdef Layout from_, out
    if f == NULL or x.storage.where.kind != CPU or x.numel == 0 or dim is not None and len(<tuple>dim) == 0 and x.ndim:
        return None
    if not x.contiguous and x.numel <= COPIED and stretched(x):
        x = in_order(x)
    if again != NULL and x.contiguous and dim is not None and 1 < len(<tuple>dim) < x.ndim and x.numel > RELEASE:
        axes = sorted(<tuple>dim)
        from_ = _last_run(f, x, axes, kind)
        if from_ is not None:
            from_ = reduced(again, again, from_, tuple(axes), False, kind)
            if from_ is None:
                return None
            out = without(kind, x, dim, keep)
            return new_contiguous(from_.storage, kind, out.ndim, out.shape)
    from_ = arranged(x, dim, False, &outer, &n, &inner)
    if from_ is None:
        return None
    out = without(kind, x, dim, keep)
    if x.numel > RELEASE:
        with nogil:
            f(from_.data(), out.data(), outer, n, inner)
    else:
        f(from_.data(), out.data(), outer, n, inner)
    return out


cdef bint _own_dtype(object given, Layout x) noexcept:
    """Whether the dtype asked for is the one that there is; booleans are counted, not added."""
    return given is None or given is x.dtype and x.dtype.code != BOOL


cdef Layout _reduce(Op op, PyObject** slots, Layout target):
    cdef Layout x = (<Tensor><object>slots[0]).layout
    cdef dtype kind = x.dtype
    if op.kernels[kind.code] == NULL or op.dtype_at >= 0 and not _own_dtype(<object>slots[op.dtype_at], x):
        return None
    if op.promote == PROMOTE_BOOL:
        kind = of_code(BOOL)
    elif op.promote == PROMOTE_INDEX or kind.code == BOOL and op.promote == PROMOTE_SUM:
        kind = of_code(I64)
    return reduced(<reduce_fn>op.kernels[x.dtype.code], <reduce_fn>op.number_kernels[x.dtype.code], x,
                   None if op.dim_at < 0 else <object>slots[op.dim_at], op.keepdim_at >= 0 and <object>slots[op.keepdim_at] is True, kind)


def spread_over(Tensor t, shape):
    """One reduced element as a tensor of this shape, without a graph: the gradient of a full sum. None if it does not apply."""
    cdef int64_t dims[64]
    cdef int64_t zeros[64]
    cdef int i = 0
    cdef Tensor out
    if t.layout.numel != 1 or len(shape) > 64 or requires(t) and not modes().no_grad:
        return None
    for n in shape:
        dims[i] = n
        zeros[i] = 0
        i += 1
    out = Tensor.__new__(Tensor)
    out.layout = new_layout(t.layout.storage, t.layout.dtype, i, dims, zeros, t.layout.offset)
    return out


cdef Layout _sum_back(PyObject** args):
    """The gradient of a sum: g over the axes that are gone. Arguments: g, the input's shape, axes, whether they were kept."""
    cdef Layout g = (<Tensor>args[0]).layout
    cdef tuple shape = <tuple>args[1]
    cdef object dim = <object>args[2]
    cdef bint keep = <object>args[3] is True
    cdef int64_t dims[64]
    cdef int64_t steps[64]
    cdef int i, k = 0, ndim = len(shape)
    if ndim > 64 or (g.numel != 1 and dim is None):
        return None
    for i in range(ndim):
        dims[i] = shape[i]
        steps[i] = 0
        if dim is None:
            continue
        if i not in <tuple>dim:
            steps[i] = g.strides[k]
            k += 1
        elif keep:
            k += 1
    return new_layout(g.storage, g.dtype, ndim, dims, steps, g.offset)


cdef list _both(Op op, PyObject** slots):
    """aminmax(input, dim, keepdim)"""
    cdef Layout x = (<Tensor><object>slots[0]).layout
    cdef bint keep = <object>slots[2] is True
    low = reduced(<reduce_fn>op.kernels[x.dtype.code], NULL, x, <object>slots[1], keep, x.dtype)
    return None if low is None else [low, reduced(<reduce_fn>op.number_kernels[x.dtype.code], NULL, x, <object>slots[1], keep, x.dtype)]


# x, the result for a gradient or null, what is made; (outer, n, inner)
ctypedef void (*columns_fn)(const void*, const void*, void*, int64_t, int64_t, int64_t) noexcept nogil


cdef int64_t _behind(object dim, Layout x) noexcept:
    """How many elements there are from one to the next along an axis; 0 if it is none."""
    cdef int64_t axis, inner = 1
    cdef int i
    if type(dim) is not int or not -x.ndim <= dim < x.ndim:
        return 0
    axis = dim
    for i in range(<int>(axis + 1 if axis >= 0 else axis + 1 + x.ndim), x.ndim):
        inner *= x.shape[i]
    return inner


cdef int64_t _length(object dim, Layout x) noexcept:
    return x.shape[<int>dim if dim >= 0 else <int>dim + x.ndim]


cdef Layout _rows(Op op, PyObject** slots, Layout target):
    """softmax(input, dim, dtype)"""
    cdef Layout x = (<Tensor><object>slots[0]).layout, out
    cdef rows_fn f = <rows_fn>op.kernels[x.dtype.code]
    cdef columns_fn across = <columns_fn>op.number_kernels[x.dtype.code]
    cdef int64_t inner, n
    if f == NULL or not x.contiguous or x.storage.where.kind != CPU or x.numel == 0 or target is not None:
        return None
    inner = _behind(<object>slots[1], x)
    if inner == 0 or (op.n_params > 2 and not _own_dtype(<object>slots[2], x)):
        return None
    n, out = _length(<object>slots[1], x), fresh_like(x)
    if inner > 1:
        with nogil:
            across(x.data(), NULL, out.data(), x.numel // (n * inner), n, inner)
    elif x.numel > RELEASE:
        with nogil:
            f(x.data(), out.data(), x.numel // n, n)
    else:
        f(x.data(), out.data(), x.numel // n, n)
    return out


cdef Layout _rows2(Op op, PyObject** slots, Layout target):
    """softmax_backward(grad, out, dim)"""
    cdef Layout g = (<Tensor><object>slots[0]).layout, y = (<Tensor><object>slots[1]).layout, out
    cdef rows2_fn f = <rows2_fn>op.kernels[y.dtype.code]
    cdef columns_fn across = <columns_fn>op.number_kernels[y.dtype.code]
    cdef int64_t inner, n
    if f == NULL or not g.contiguous or not y.contiguous or g.storage.where.kind != CPU or y.storage.where.kind != CPU:
        return None
    if g.dtype is not y.dtype or not same_shape(g, y) or y.numel == 0:
        return None
    inner = _behind(<object>slots[2], y)
    if inner == 0:
        return None
    n, out = _length(<object>slots[2], y), fresh_like(y)
    if inner > 1:
        with nogil:
            across(g.data(), y.data(), out.data(), y.numel // (n * inner), n, inner)
    elif y.numel > RELEASE:
        with nogil:
            f(g.data(), y.data(), out.data(), y.numel // n, n)
    else:
        f(g.data(), y.data(), out.data(), y.numel // n, n)
    return out


cdef int _loops_of_both(Op op) except -1:
    cdef int code
    take_loops(op, b"reduce", b"amin")
    for code in range(N_DTYPES):
        op.number_kernels[code] = find(b"reduce", b"amax", code)
    return 0


offer_many("both", _both).ready = _loops_of_both


cdef bint prepare(Op op, str kernel) except -1:
    """Reductions and rows by the names of their kernels."""
    cdef int code
    cdef bytes name = kernel.encode()
    if op.kind == REDUCTION:
        if not take_loops(op, b"reduce", name):
            return False
        op.fast = _reduce
        name = b"sum" if kernel == "nansum" or kernel == "count" else name
        for code in range(N_DTYPES):                     # of results: what is made of several runs of axes
            op.number_kernels[code] = find(b"reduce", name, code if op.promote != PROMOTE_BOOL else BOOL)
        if kernel == "count" or kernel == "sum":
            for code in (BOOL, F32, F64):
                if kernel == "count" or code == BOOL:
                    op.number_kernels[<int>code] = op.number_kernels[I64]
        if kernel == "sum":
            op.fast_rules[0] = _sum_back
    elif take_loops(op, b"rows", name) or take_loops(op, b"rows2", name):
        op.fast = _rows if find(b"rows", name, F32) != NULL else _rows2
        for code in (F32, F64):
            op.number_kernels[<int>code] = find(b"rows" if op.fast == _rows else b"rows2", name + b"_columns", code)
    else:
        return False
    return True
