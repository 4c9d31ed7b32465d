"""Native forms of composites: the one operation that the common case needs, called without a Python frame."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.native.einsum cimport is_unrecorded_on_cpu, matmul as product_of_stacks
from claygrad.native cimport fft
from claygrad.core.dispatch.arguments cimport axes
from claygrad.core.dispatch.call cimport call_view, run, run_all, view_by
from claygrad.core.dispatch.guard cimport Arg, Slot, form_t
from claygrad.core.op cimport Op, composite_slots_t, find_op
from claygrad.core.data.dtype cimport CAT_FLOAT
from claygrad.core.data.layout cimport Layout
from claygrad.core.graph.modes cimport modes
from claygrad.core.tensor cimport Tensor, new_tensor, requires
from claygrad.core.dispatch.registry cimport offer, offer_composite_slots

cdef struct Product:
    Slot input, other
cdef struct Linear:
    Slot input, weight, bias
cdef struct Extreme:
    Slot input, dim, keepdim, other
cdef struct Median:
    Slot input, dim, keepdim
cdef struct Softmax:
    Slot input, dim, dtype
cdef struct Moments:
    Slot input, dim, unbiased, keepdim, correction
cdef struct Norm:
    Slot input, p, dim, keepdim, dtype
cdef struct MatrixNorm:
    Arg input, ord, dim, keepdim, dtype
cdef struct Vecdot:
    Slot x, y
cdef struct Fourier:
    Slot input, s, dim, norm


# --- products ------------------------------------------------------------------------------------------------------------------
cdef object _product_of(Layout v, int n):
    """The number of elements of the first n axes."""
    cdef int64_t out = 1
    cdef int i
    for i in range(n):
        out *= v.shape[i]
    return out


cdef bint _folds(Layout v) noexcept:
    """Whether all axes but the last can be merged into one."""
    cdef int i
    for i in range(v.ndim - 2):
        if v.strides[i] != v.strides[i + 1] * v.shape[i + 1]:
            return False
    return True


cdef object _matmul(Op op, Product* p):
    cdef Tensor a = <Tensor>p.input, b = <Tensor>p.other
    cdef Layout x = a.layout, y = b.layout
    cdef int i
    if x.ndim == 2 and y.ndim == 2:
        return run(find_op("mm"), &p.input)
    if y.ndim == 1 and (x.ndim == 1 or x.ndim == 2):
        return run(find_op("mv" if x.ndim == 2 else "dot"), &p.input)
    if x.ndim < 2 or y.ndim < 2:
        return None
    out = product_of_stacks(a, b)
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


cdef object _linear(Op op, Linear* a):
    cdef PyObject* parts[5]
    cdef Product product
    cdef Tensor x = <Tensor>a.input, weight = <Tensor>a.weight
    cdef object transposed, rows = x, one = 1
    if x.layout.ndim < 2 or weight.layout.ndim != 2 or x.layout.numel == 0:
        return None
    transposed = call_view(find_op("t"), &a.weight)
    if a.bias == <PyObject*>None:
        product.input, product.other = a.input, <PyObject*>transposed
        out = _matmul(op, &product)
        return op.parts[0](x, transposed) if out is None else out
    if x.layout.ndim > 2:
        if not x.layout.contiguous:
            return None
        shape = (_product_of(x.layout, x.layout.ndim - 1), x.layout.shape[x.layout.ndim - 1])
        rows = view_by("view", x, shape, None, None, None)
    parts[0], parts[1], parts[2] = a.bias, <PyObject*>rows, <PyObject*>transposed
    parts[3] = parts[4] = <PyObject*>one
    out = run(find_op("addmm"), parts)
    if x.layout.ndim == 2:
        return out
    return view_by("view", out, x.layout.shape_tuple()[:-1] + (weight.layout.shape[0],), None, None, None)


# --- reductions ----------------------------------------------------------------------------------------------------------------
cdef object _extreme(Op op, Extreme* a):
    """max and min. parts: of all elements, along an axis."""
    return _median(op, <Median*>a) if a.other == <PyObject*>None else None


cdef object _median(Op op, Median* a):
    """parts: of all elements, along an axis."""
    if a.dim == <PyObject*>None:
        return run(<Op>op.parts[0], &a.input)
    return run(<Op>op.parts[1], &a.input) if type(<object>a.dim) is int else None


cdef object _softmax(Op op, Softmax* a):
    return run(find_op("_softmax"), &a.input) if a.dtype == <PyObject*>None else None


cdef object _log_softmax(Op op, Softmax* a):
    return run(find_op("_log_softmax"), &a.input) if a.dtype == <PyObject*>None else None


cdef object _moments(Op op, Moments* a):
    """var and the like. parts: (input, dim, keepdim, correction)."""
    cdef PyObject* parts[4]
    cdef object dim = <object>a.dim, unbiased = <object>a.unbiased, correction = <object>a.correction
    cdef Layout x = (<Tensor>a.input).layout
    if type(dim) is bool:
        if unbiased is not None:
            return None
        dim, unbiased = None, dim
    if x.dtype.category != CAT_FLOAT or correction is not None and unbiased is not None:
        return None
    if unbiased is not None and type(unbiased) is not bool or isinstance(dim, Tensor):
        return None
    if correction is not None and type(correction) is not int and type(correction) is not float:
        return None
    if correction is None:
        correction = 0 if unbiased is False else 1
    dim = axes(<Op>op.parts[0], dim, x.ndim)
    parts[0], parts[1], parts[2], parts[3] = a.input, <PyObject*>dim, a.keepdim, <PyObject*>correction
    return run(<Op>op.parts[0], parts)


cdef object _norm(Op op, Norm* a):
    """parts: vector_norm(input, ord, dim, keepdim, dtype)."""
    cdef Norm vector = a[0]
    cdef object p = <object>a.p, dim = <object>a.dim, two = 2
    if type(p) is not int and type(p) is not float:
        if p != "fro" or dim is not None and type(dim) is not int:
            return None
        vector.p = <PyObject*>two
    dim = axes(<Op>op.parts[0], dim, (<Tensor>a.input).layout.ndim)
    vector.dim = <PyObject*>dim
    return run(<Op>op.parts[0], &vector.input)


cdef object _matrix_norm(Op op, MatrixNorm* a):
    """The Frobenius norm. parts: vector_norm."""
    cdef Layout x = <Layout>a.input.layout
    cdef object dim = <object>a.dim.given
    if a.ord.value != 0 or a.dim.value != 2:
        return None
    for i in range(2):
        if not -x.ndim <= a.dim.ints[i] < x.ndim:
            return None
    if (a.dim.ints[0] - a.dim.ints[1]) % x.ndim == 0:
        return None
    return run_all(op.parts[0], [<object>a.input.given, 2, axes(<Op>op.parts[0], dim, x.ndim), <object>a.keepdim.given, None])


cdef object _vecdot(Op op, Vecdot* a):
    """Of two vectors, whose only axis is `dim` whatever that says. parts: vdot."""
    cdef Layout x = (<Tensor>a.x).layout
    if x.ndim != 1 or (<Tensor>a.y).layout.ndim != 1 or x.dtype.category != CAT_FLOAT:
        return None
    return run(<Op>op.parts[0], &a.x)


cdef object _fourier(Op op, Fourier* a):
    """fft.fftn, ifftn, rfftn, and fft2, ifft2, rfft2."""
    cdef Layout out
    if modes().autocast or not is_unrecorded_on_cpu(<object>a.input):
        return None
    out = fft.several((<Tensor>a.input).layout, <object>a.s, <object>a.dim, <object>a.norm, "rfft" in op.name, "ifft" not in op.name)
    return None if out is None else new_tensor(out)


offer_composite_slots("matmul", <composite_slots_t>_matmul)
offer_composite_slots("linear", <composite_slots_t>_linear)
offer_composite_slots("extreme", <composite_slots_t>_extreme)
offer_composite_slots("median", <composite_slots_t>_median)
offer_composite_slots("softmax", <composite_slots_t>_softmax)
offer_composite_slots("log_softmax", <composite_slots_t>_log_softmax)
offer_composite_slots("moments", <composite_slots_t>_moments)
offer_composite_slots("norm", <composite_slots_t>_norm)
offer_composite_slots("vecdot", <composite_slots_t>_vecdot)
offer_composite_slots("fourier", <composite_slots_t>_fourier)
offer("matrix_norm", <form_t>_matrix_norm, "input: float half strided 2d+, ord: fro|nuc, dim: sizes, dtype: none", True)
