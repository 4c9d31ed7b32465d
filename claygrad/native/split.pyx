"""Native forms of composites that are a few views: chunk, split, movedim, unflatten, reshape. None: the declared function runs."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.op cimport Op, composite_slots_t, find_op
from claygrad.core.data.dtype cimport I64
from claygrad.core.data.layout cimport Layout, axis_in, same_shape
from claygrad.native.view cimport axis_of, sizes_of
from claygrad.core.tensor cimport Tensor, requires
from claygrad.core.dispatch.call cimport call_view, view_by
from claygrad.core.dispatch.guard cimport Arg, Slot, form_t, int_at, is_none
from claygrad.core.dispatch.registry cimport offer, offer_composite_slots

cdef extern from "index/strided.hpp" namespace "clay" nogil:
    bint comparable(int dtype) noexcept
    bint equal_elements(int dtype, const void* x, const void* y, int64_t n) noexcept


cdef struct Chunk:
    Arg input, chunks, dim
cdef struct Split:
    Arg tensor, split_size_or_sections, dim
cdef struct SplitMethod:
    Arg input, split_size, dim
cdef struct Narrow:
    Arg input, dim, start, length
cdef struct Unflatten:
    Arg input, dim, sizes
cdef struct Flatten:
    Arg input, start_dim, end_dim
cdef struct TakeAlong:
    Arg input, indices, dim
cdef struct TensorSplit:
    Arg input, indices_or_sections, dim, indices, sections, tensor_indices_or_sections
cdef struct FixedSplit:
    Arg input, indices_or_sections, indices, sections
cdef struct Hstack:
    Arg tensors
cdef struct Movedim:
    Slot input, source, destination
cdef struct Formatted:
    Slot input, memory_format
cdef struct Reshape:
    Slot input, shape
cdef struct Equal:
    Slot input, other


cdef object _pieces(const Arg* input, int64_t size, int64_t dim):
    """Of `size` entries each, but for the last."""
    cdef Layout v = <Layout>input.layout
    cdef int d = axis_in(dim, v.ndim)
    return None if d < 0 or v.shape[d] == 0 or size < 1 else view_by("split_evenly", <object>input.given, size, d, None, None)


cdef object _chunk(Op op, Chunk* a):
    cdef Layout v = <Layout>a.input.layout
    cdef int d = axis_in(a.dim.value, v.ndim)
    return None if d < 0 or a.chunks.value < 1 else _pieces(&a.input, (v.shape[d] + a.chunks.value - 1) // a.chunks.value, d)


cdef object _split(Op op, Split* a):
    return _pieces(&a.tensor, a.split_size_or_sections.value, a.dim.value)


cdef object _split_method(Op op, SplitMethod* a):
    return _pieces(&a.input, a.split_size.value, a.dim.value)


cdef object _copied(object pieces):
    cdef Op copy = find_op("named_copy")
    return None if pieces is None else tuple([copy(x, "UnsafeSplitBackward0") for x in <tuple>pieces])


cdef object _unsafe_chunk(Op op, Chunk* a):
    return _copied(_chunk(op, a))


cdef object _unsafe_split(Op op, SplitMethod* a):
    return _copied(_split_method(op, a))


cdef object _narrow(Op op, Narrow* a):
    cdef Layout v = <Layout>a.input.layout
    cdef int d = axis_in(a.dim.value, v.ndim)
    cdef int64_t start = a.start.value, n
    if d < 0:
        return None
    n = v.shape[d]
    if not -n <= start <= n or not 0 <= a.length.value <= n:
        return None
    start = start + n if start < 0 else start
    return None if start + a.length.value > n else view_by("narrow_view", <object>a.input.given, d, start, <object>a.length.given, None)


cdef object _movedim(Op op, Movedim* given):
    cdef Layout v = (<Tensor>given.input).layout
    cdef object source = <object>given.source, destination = <object>given.destination
    cdef int order[64]
    cdef unsigned long long moved = 0
    cdef int i, k = 0, a, b
    if (type(source) is int) != (type(destination) is int) or v.ndim == 0:
        return None
    if type(source) is int:
        source, destination = (source,), (destination,)
    if len(source) != len(destination):
        return None
    for i in range(v.ndim):
        order[i] = -1
    for i in range(len(source)):
        of, to = source[i], destination[i]
        a, b = axis_of(<PyObject*>of, v.ndim), axis_of(<PyObject*>to, v.ndim)
        if a < 0 or b < 0 or moved >> a & 1 or order[b] >= 0:
            return None
        order[b] = a
        moved |= 1ULL << a
    dims = []
    for i in range(v.ndim):
        if order[i] < 0:
            while moved >> k & 1:
                k += 1
            order[i] = k
            k += 1
        dims.append(order[i])
    return view_by("permute", <object>given.input, tuple(dims), None, None, None)


cdef object _unflatten(Op op, Unflatten* a):
    cdef Layout v = <Layout>a.input.layout
    cdef int64_t sizes[64]
    cdef int64_t known = 1
    cdef int i, hole = -1, d = axis_in(a.dim.value, v.ndim), n = sizes_of(<object>a.sizes.given, sizes)
    if d < 0 or n < 1 or v.numel == 0 or v.ndim + n > 32:
        return None
    for i in range(n):
        if sizes[i] == -1 and hole < 0:
            hole = i
        elif sizes[i] < 1:
            return None
        else:
            known *= sizes[i]
            if known > v.shape[d]:
                return None
    if hole >= 0:
        sizes[hole] = v.shape[d] // known
        known *= sizes[hole]
    if known != v.shape[d]:
        return None
    shape = []
    for i in range(v.ndim):
        if i == d:
            shape += [sizes[k] for k in range(n)]
        else:
            shape.append(v.shape[i])
    return view_by("view", <object>a.input.given, tuple(shape), None, None, None)


cdef object _swap(Op op, PyObject** slots):
    """swapaxes(input, axis0, axis1) and swapdims(input, dim0, dim1) are transpose(input, dim0, dim1)."""
    return call_view(find_op("transpose"), slots)


cdef object _contiguous(Op op, Formatted* a):
    """Of what is."""
    return <object>a.input if (<Tensor>a.input).layout.contiguous and a.memory_format == <PyObject*>op.defaults[1] else None


cdef object _cpu(Op op, Formatted* a):
    """Of what is in main memory."""
    return <object>a.input if a.memory_format == <PyObject*>op.defaults[1] else None


cdef object _reshape(Op op, Reshape* a):
    """Of contiguous memory."""
    cdef object shape = <object>a.shape
    if not (<Tensor>a.input).layout.contiguous:
        return None
    return view_by("view", <object>a.input, (shape,) if type(shape) is int else shape, None, None, None)


cdef object _flatten(Op op, Flatten* a):
    """Of contiguous memory."""
    cdef Layout v = <Layout>a.input.layout
    cdef int64_t n = 1
    cdef int i, start = axis_in(a.start_dim.value, v.ndim), end = axis_in(a.end_dim.value, v.ndim)
    if start < 0 or end < start:
        return None
    if start == end:
        return <object>a.input.given
    shape = []
    for i in range(v.ndim):
        n = v.shape[i] if i < start or i > end else n * v.shape[i]
        if i < start or i >= end:
            shape.append(n)
            n = 1
    return view_by("view", <object>a.input.given, tuple(shape), None, None, None)


cdef object _hstack(Op op, Hstack* a):
    """Of tensors with axes."""
    cdef object tensors = <object>a.tensors.given
    if not tensors:
        return None
    for x in tensors:
        if (<Tensor?>x).layout.ndim == 0:
            return None
    return find_op("cat")(tensors, 0 if (<Tensor>tensors[0]).layout.ndim == 1 else 1)


cdef object _take_along(Op op, TakeAlong* a):
    """Where nothing is broadcast, or counted from the end."""
    cdef Layout x = <Layout>a.input.layout, index = <Layout>a.indices.layout
    cdef int i, d = -1 if is_none(&a.dim) else axis_in(a.dim.value, x.ndim)
    cdef int64_t k
    if d < 0 or index.ndim != x.ndim or requires(<Tensor>a.input.given):               # the expand has a node of its own
        return None
    for i in range(x.ndim):
        if i != d and x.shape[i] != index.shape[i]:
            return None
    for k in range(index.numel):
        if (<int64_t*>index.data())[k] < 0:
            return None
    return find_op("gather")(<object>a.input.given, d, <object>a.indices.given)


cdef object _equal(Op op, Equal* a):
    """Of one dtype."""
    cdef Layout x = (<Tensor>a.input).layout, y = (<Tensor>a.other).layout
    cdef bint found
    if x.dtype is not y.dtype:
        return None
    if not same_shape(x, y):
        return False
    if not comparable(x.dtype.code) or not x.contiguous or not y.contiguous:
        return None
    with nogil:
        found = equal_elements(x.dtype.code, x.data(), y.data(), x.numel)
    return found


# --- tensor_split ---------------------------------------------------------------------------------------
cdef object _cut(object input, object where, int d, bint even):
    """Split an axis into n pieces, or at indices; `even`: pieces must have one length."""
    cdef Layout v = (<Tensor>input).layout, at
    cdef int64_t edges[64]
    cdef int64_t count = 0, n = v.shape[d], start = 0, length
    cdef int i, k
    out = []
    if int_at(<PyObject*>where, &count) and 0 < count <= 1 << 20:
        if even and n % count:
            return None
        for i in range(count):
            length = n // count + (i < n % count)
            out.append(view_by("slice", input, d, start, start + length, 1))
            start += length
        return tuple(out)
    if isinstance(where, Tensor):
        at = (<Tensor>where).layout
        if at.dtype.code != I64 or at.ndim != 1 or not at.contiguous or at.numel > 32:
            return None
        where = [(<int64_t*>at.data())[i] for i in range(at.numel)]
    if type(where) is int:
        return None
    k = sizes_of(where, edges)
    if k < 0:
        return None
    for i in range(k + 1):
        out.append(view_by("slice", input, d, edges[i - 1] if i else 0, edges[i] if i < k else n, 1))
    return tuple(out)


cdef object _tensor_split(Op op, TensorSplit* a):
    cdef int d = axis_in(a.dim.value, (<Layout>a.input.layout).ndim)
    return None if d < 0 else _cut(<object>a.input.given, <object>a.indices_or_sections.given, d, False)


cdef object _fixed_split(Op op, FixedSplit* a):
    cdef int ndim = (<Layout>a.input.layout).ndim
    cdef int which = 1 if op.name == "hsplit" else 0 if op.name == "vsplit" else 2
    cdef int smallest = 1 if which == 1 else 2 if which == 0 else 3
    return None if ndim < smallest else _cut(<object>a.input.given, <object>a.indices_or_sections.given, 0 if ndim == 1 else which, True)


offer("chunk", <form_t>_chunk, "input: any strided", True)
offer("unsafe_chunk", <form_t>_unsafe_chunk, "input: any strided", True)
offer("split", <form_t>_split, "tensor: any strided, split_size_or_sections: int", True)
offer("split_method", <form_t>_split_method, "input: any strided, split_size: int", True)
offer("unsafe_split", <form_t>_unsafe_split, "input: any strided", True)
offer("narrow", <form_t>_narrow, "input: any strided, start: int", True)
offer("unflatten", <form_t>_unflatten, "input: any strided, sizes: raw", True)
offer("tensor_split", <form_t>_tensor_split,
      "input: any strided, indices_or_sections: raw, indices sections tensor_indices_or_sections: none", True)
offer("fixed_split", <form_t>_fixed_split, "input: any strided, indices_or_sections: raw, indices sections: none", True)
offer("flatten", <form_t>_flatten, "input: any", True)
offer("take_along", <form_t>_take_along, "input: any strided, indices: int64", True)
offer("hstack", <form_t>_hstack, "tensors: raw", True)
offer_composite_slots("movedim", <composite_slots_t>_movedim)
offer_composite_slots("reshape", <composite_slots_t>_reshape)
offer_composite_slots("equal", <composite_slots_t>_equal)
offer_composite_slots("swap", _swap)
offer_composite_slots("contiguous", <composite_slots_t>_contiguous)
offer_composite_slots("cpu", <composite_slots_t>_cpu)
