"""Fast paths of reductions and of the softmax family: contiguous CPU tensors, one axis or all."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t

from claygrad.core.declared cimport PROMOTE_SUM, REDUCTION, Op
from claygrad.core.device cimport CPU
from claygrad.core.dtypes cimport BOOL, I64, N_DTYPES, of_code
from claygrad.core.kernels cimport find, reduce_fn, rows2_fn, rows_fn
from claygrad.core.layout cimport Layout, dense, fresh, fresh_like, new_layout, same_shape
from claygrad.core.modes cimport modes
from claygrad.core.pointwise cimport numbers_of
from claygrad.core.tensor cimport Tensor, requires

cdef enum:
    RELEASE = 16384


cdef Layout _reduce(Op op, PyObject** slots, Layout target):
    cdef Layout x = (<Tensor><object>slots[0]).layout, out
    cdef reduce_fn f = <reduce_fn>op.kernels[x.dtype.code]
    cdef int64_t shape[64]
    cdef int64_t outer = 1, n = 1, inner = 1
    cdef double numbers[2]
    cdef int i, k = 0, first, last
    if f == NULL or x.storage.where.kind != CPU or x.numel == 0 or not x.contiguous and not dense(x):
        return None
    if op.dtype_at >= 0 and <object>slots[op.dtype_at] is not None:
        return None
    if op.n_kernel_if and not numbers_of(op, slots, numbers):
        return None
    cdef bint keep = op.keepdim_at >= 0 and <object>slots[op.keepdim_at]
    dim = None if op.dim_at < 0 else <object>slots[op.dim_at]
    if dim is None:
        first, last = 0, x.ndim - 1
    else:
        if len(<tuple>dim) == 0:
            return None
        axes = sorted(<tuple>dim)
        first, last = axes[0], axes[len(axes) - 1]
        if last - first + 1 != len(axes):
            return None                        # axes that do not lie together
    if not x.contiguous and last - first + 1 != x.ndim:
        return None                            # all of a run of memory, in any order, or some axes of a contiguous one
    for i in range(x.ndim):
        if i < first:
            outer *= x.shape[i]
        elif i <= last:
            n *= x.shape[i]
            if keep:
                shape[k] = 1
                k += 1
            continue
        else:
            inner *= x.shape[i]
        shape[k] = x.shape[i]
        k += 1
    out = fresh(of_code(I64) if x.dtype.code == BOOL and op.promote == PROMOTE_SUM else x.dtype, k, shape)
    if x.numel > RELEASE:
        with nogil:
            f(x.data(), out.data(), outer, n, inner)
    else:
        f(x.data(), out.data(), outer, n, inner)
    return out


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


cdef Layout _truth(Op op, PyObject** slots, Layout target):
    """all(input) and any(input) of all elements of some contiguous booleans."""
    cdef Layout x = (<Tensor><object>slots[0]).layout, out
    cdef bint any_ = op.name == "any"
    if target is not None or <object>slots[1] is not None or <object>slots[2] is not False or x.dtype.code != BOOL:
        return None
    if not x.contiguous or x.storage.where.kind != CPU or x.numel > RELEASE:
        return None
    cdef const uint8_t* at = <const uint8_t*>x.data()
    cdef const uint8_t* end = at + x.numel
    while at != end and (at[0] != 0) != any_:
        at += 1
    out = fresh(x.dtype, 0, NULL)
    (<uint8_t*>out.data())[0] = (at != end) == any_
    return out


cdef bint _last_axis(Op op, PyObject** slots, int at, Layout x):
    dim = <object>slots[at]
    return type(dim) is int and x.ndim > 0 and (dim == -1 or dim == x.ndim - 1)


cdef Layout _rows(Op op, PyObject** slots, Layout target):
    """softmax(input, dim, dtype) along the last axis."""
    cdef Layout x = (<Tensor><object>slots[0]).layout, out
    cdef rows_fn f = <rows_fn>op.kernels[x.dtype.code]
    if f == NULL or not x.contiguous or x.storage.where.kind != CPU or x.numel == 0 or target is not None:
        return None
    if not _last_axis(op, slots, 1, x) or (op.n_params > 2 and <object>slots[2] is not None):
        return None
    out = fresh_like(x)
    cdef int64_t n = x.shape[x.ndim - 1]
    if x.numel > RELEASE:
        with nogil:
            f(x.data(), out.data(), x.numel // n, n)
    else:
        f(x.data(), out.data(), x.numel // n, n)
    return out


cdef Layout _rows2(Op op, PyObject** slots, Layout target):
    """softmax_backward(grad, out, dim) along the last axis."""
    cdef Layout g = (<Tensor><object>slots[0]).layout, y = (<Tensor><object>slots[1]).layout, out
    cdef rows2_fn f = <rows2_fn>op.kernels[y.dtype.code]
    if f == NULL or not g.contiguous or not y.contiguous or g.storage.where.kind != CPU or y.storage.where.kind != CPU:
        return None
    if g.dtype is not y.dtype or not same_shape(g, y) or y.numel == 0 or not _last_axis(op, slots, 2, y):
        return None
    out = fresh_like(y)
    cdef int64_t n = y.shape[y.ndim - 1]
    if y.numel > RELEASE:
        with nogil:
            f(g.data(), y.data(), out.data(), y.numel // n, n)
    else:
        f(g.data(), y.data(), out.data(), y.numel // n, n)
    return out


cdef bint take_kernels(Op op, bytes family, bytes name):
    cdef int code
    cdef bint any_ = False
    for code in range(N_DTYPES):
        op.kernels[code] = find(family, name, code)
        any_ = any_ or op.kernels[code] != NULL
    return any_


cdef int prepare(Op op) except -1:
    kernel = op.info.get("kernel")
    if kernel is None:
        return 0
    name = kernel.encode()
    if kernel == "truth":
        op.fast = _truth
    elif op.kind == REDUCTION:
        if take_kernels(op, b"reduce", name):
            op.fast = _reduce
            if kernel == "sum":
                op.fast_rules[0] = _sum_back
    elif take_kernels(op, b"rows", name):
        op.fast = _rows
    elif take_kernels(op, b"rows2", name):
        op.fast = _rows2
    return 0
