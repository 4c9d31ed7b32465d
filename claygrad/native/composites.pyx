"""Native forms of composites: the one operation that the common case needs, called without a Python frame."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.native cimport einsum as contract
from claygrad.native cimport fft
from claygrad.core.dispatch.arguments cimport axes
from claygrad.core.dispatch.call cimport call_view, run
from claygrad.native.einsum cimport is_unrecorded_on_cpu
from claygrad.core.op cimport Op, find_op
from claygrad.core.data.dtype cimport CAT_FLOAT
from claygrad.core.data.layout cimport Layout
from claygrad.core.graph.modes cimport modes
from claygrad.core.tensor cimport Tensor, new_tensor, requires
from claygrad.core.dispatch.registry cimport offer_composite_slots


# --- products ------------------------------------------------------------------------------------------------------------------
cdef object _product_of(Layout v, int n):
    """The number of elements of the first n axes."""
    cdef int64_t out = 1
    cdef int i
    for i in range(n):
        out *= v.shape[i]
    return out


cdef object _viewed(object x, tuple shape):
    """x.view(shape)"""
    cdef PyObject* slots[3]
    slots[0], slots[1], slots[2] = <PyObject*>x, <PyObject*>shape, <PyObject*>None
    return call_view(find_op("view"), slots)


cdef bint _folds(Layout v) noexcept:
    """Whether all axes but the last can be merged into one."""
    cdef int i
    for i in range(v.ndim - 2):
        if v.strides[i] != v.strides[i + 1] * v.shape[i + 1]:
            return False
    return True


cdef object _matmul(Op op, PyObject** slots):
    """matmul(input, other)"""
    cdef Tensor a = <Tensor><object>slots[0], b = <Tensor><object>slots[1]
    cdef Layout x = a.layout, y = b.layout
    cdef int i
    if x.ndim == 2 and y.ndim == 2:
        return run(find_op("mm"), slots)
    if y.ndim == 1 and (x.ndim == 1 or x.ndim == 2):
        return run(find_op("mv" if x.ndim == 2 else "dot"), slots)
    if x.ndim < 2 or y.ndim < 2:
        return None
    out = contract.matmul(a, b)
    if out is not None:
        return out
    if x.ndim < 3 or x.numel == 0 or y.numel == 0:
        return None
    if y.ndim == 2:
        if not requires(b) and not _folds(x):
            return None
        rows = find_op("reshape")(a, (_product_of(x, x.ndim - 1), x.shape[x.ndim - 1]))
        return find_op("_unsafe_view")(find_op("mm")(rows, b), x.shape_tuple()[:-1] + (y.shape[1],))
    if x.ndim != y.ndim:
        return None
    for i in range(x.ndim - 2):
        if x.shape[i] != y.shape[i]:
            return None
    shape = x.shape_tuple()[:-1] + (y.shape[y.ndim - 1],)
    if x.ndim == 3:
        return find_op("_unsafe_view")(find_op("bmm")(a, b), shape)
    n = _product_of(x, x.ndim - 2)
    left = find_op("reshape")(find_op("expand")(a, x.shape_tuple()), (n, x.shape[x.ndim - 2], x.shape[x.ndim - 1]))
    right = find_op("reshape")(find_op("expand")(b, y.shape_tuple()), (n, y.shape[y.ndim - 2], y.shape[y.ndim - 1]))
    return find_op("_unsafe_view")(find_op("bmm")(left, right), shape)


cdef object _linear(Op op, PyObject** slots):
    """nn.functional.linear(input, weight, bias)"""
    cdef PyObject* parts[5]
    cdef Tensor x = <Tensor><object>slots[0], weight = <Tensor><object>slots[1]
    cdef object transposed, rows, one = 1
    if x.layout.ndim < 2 or weight.layout.ndim != 2 or x.layout.numel == 0:
        return None
    transposed = call_view(find_op("t"), slots + 1)
    if <object>slots[2] is None:
        parts[0], parts[1] = slots[0], <PyObject*>transposed
        out = _matmul(op, parts)
        return op.parts[0](x, transposed) if out is None else out
    rows = x
    if x.layout.ndim > 2:
        if not x.layout.contiguous:
            return None
        rows = _viewed(x, (_product_of(x.layout, x.layout.ndim - 1), x.layout.shape[x.layout.ndim - 1]))
    parts[0], parts[1], parts[2] = slots[2], <PyObject*>rows, <PyObject*>transposed
    parts[3] = parts[4] = <PyObject*>one
    out = run(find_op("addmm"), parts)
    return out if x.layout.ndim == 2 else _viewed(out, x.layout.shape_tuple()[:-1] + (weight.layout.shape[0],))


# --- reductions ----------------------------------------------------------------------------------------------------------------
cdef object _extreme(Op op, PyObject** slots):
    """max(input, dim, keepdim, other). parts: of all elements, along an axis."""
    if <object>slots[3] is not None:
        return None
    if <object>slots[1] is None:
        return run(<Op>op.parts[0], slots)
    return run(<Op>op.parts[1], slots) if type(<object>slots[1]) is int else None


cdef object _median(Op op, PyObject** slots):
    """median(input, dim, keepdim). parts: of all elements, along an axis."""
    if <object>slots[1] is None:
        return run(<Op>op.parts[0], slots)
    return run(<Op>op.parts[1], slots) if type(<object>slots[1]) is int else None


cdef object _moments(Op op, PyObject** slots):
    """var(input, dim, unbiased, keepdim, correction) and the like. parts: (input, dim, keepdim, correction)."""
    cdef PyObject* parts[4]
    cdef object dim = <object>slots[1], unbiased = <object>slots[2], correction = <object>slots[4]
    cdef Tensor x = <Tensor><object>slots[0]
    if type(dim) is bool:
        if unbiased is not None:
            return None
        dim, unbiased = None, dim
    if x.layout.dtype.category != CAT_FLOAT or correction is not None and unbiased is not None:
        return None
    if isinstance(dim, Tensor) or correction is not None and type(correction) is not int and type(correction) is not float:
        return None
    if correction is None:
        correction = 0 if unbiased is False else 1
    dim = axes(<Op>op.parts[0], dim, x.layout.ndim)
    parts[0], parts[1], parts[2], parts[3] = slots[0], <PyObject*>dim, slots[3], <PyObject*>correction
    return run(<Op>op.parts[0], parts)


cdef object _norm(Op op, PyObject** slots):
    """norm(input, p, dim, keepdim, dtype). parts: vector_norm(input, ord, dim, keepdim, dtype)."""
    cdef PyObject* parts[5]
    cdef object p = <object>slots[1], dim = <object>slots[2], two = 2
    if type(p) is not int and type(p) is not float:
        if p != "fro" or dim is not None and type(dim) is not int:
            return None
        p = two
    dim = axes(<Op>op.parts[0], dim, (<Tensor><object>slots[0]).layout.ndim)
    parts[0], parts[1], parts[2], parts[3], parts[4] = slots[0], <PyObject*>p, <PyObject*>dim, slots[3], slots[4]
    return run(<Op>op.parts[0], parts)


cdef object _tensordot(Op op, PyObject** slots):
    """tensordot(a, b, dims)"""
    return contract.tensordot(<object>slots[0], <object>slots[1], <object>slots[2])


cdef object _inner(Op op, PyObject** slots):
    """inner(input, other)"""
    return contract.inner(<object>slots[0], <object>slots[1])


cdef object _matrix_norm(Op op, PyObject** slots):
    """linalg.matrix_norm(input, ord, dim, keepdim, dtype), the Frobenius norm. parts: vector_norm."""
    cdef PyObject* parts[5]
    cdef Tensor x = <Tensor><object>slots[0]
    cdef object two = 2, dim = <object>slots[2]
    if <object>slots[1] != "fro" or <object>slots[4] is not None or type(dim) is not tuple or len(<tuple>dim) != 2:
        return None
    if x.layout.ndim < 2 or x.layout.dtype.category != CAT_FLOAT:
        return None
    for n in <tuple>dim:
        if not -x.layout.ndim <= n < x.layout.ndim:
            return None
    if (dim[0] - dim[1]) % x.layout.ndim == 0:
        return None
    dim = axes(<Op>op.parts[0], dim, x.layout.ndim)
    parts[0], parts[1], parts[2], parts[3], parts[4] = slots[0], <PyObject*>two, <PyObject*>dim, slots[3], slots[4]
    return run(<Op>op.parts[0], parts)


cdef object _vecdot(Op op, PyObject** slots):
    """linalg.vecdot(x, y, dim) of two vectors. parts: vdot."""
    cdef Tensor x = <Tensor><object>slots[0], y = <Tensor><object>slots[1]
    if x.layout.ndim != 1 or y.layout.ndim != 1 or x.layout.dtype.category != CAT_FLOAT:
        return None
    return run(<Op>op.parts[0], slots)


cdef object _kron(Op op, PyObject** slots):
    """kron(input, other)"""
    return contract.kron(<object>slots[0], <object>slots[1])


cdef object _fourier(Op op, PyObject** slots):
    """fft.fftn(input, s, dim, norm), ifftn, rfftn, and fft2, ifft2, rfft2"""
    cdef Layout out
    if modes().autocast or not is_unrecorded_on_cpu(<object>slots[0]):
        return None
    out = fft.several((<Tensor><object>slots[0]).layout, <object>slots[1], <object>slots[2], <object>slots[3],
                       "rfft" in op.name, "ifft" not in op.name)
    return None if out is None else new_tensor(out)


offer_composite_slots("matmul", _matmul)
offer_composite_slots("linear", _linear)
offer_composite_slots("extreme", _extreme)
offer_composite_slots("median", _median)
offer_composite_slots("moments", _moments)
offer_composite_slots("norm", _norm)
offer_composite_slots("matrix_norm", _matrix_norm)
offer_composite_slots("tensordot", _tensordot)
offer_composite_slots("inner", _inner)
offer_composite_slots("vecdot", _vecdot)
offer_composite_slots("kron", _kron)
offer_composite_slots("fourier", _fourier)
