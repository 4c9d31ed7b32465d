"""Native forms of operations that copy elements: copy_, fill_, zero_, clone, cat."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from claygrad.core.op cimport Op, fast_t
from claygrad.core.graph.inplace cimport write_layout
from claygrad.core.data.kernels cimport copy_bytes, join_rows
from claygrad.core.data.layout cimport (Layout, channels_last, fresh, fresh_channels_last, fresh_like, is_broadcast, new_layout,
                                        same_view, strictly_row_major)
from claygrad.native.mask cimport single
from claygrad.native.rearrange cimport channels_at_the_end, fill_with
from claygrad.native.elementwise cimport fresh_run, is_permuted
from claygrad.core.dispatch.guard cimport Arg, Slot, form_t
from claygrad.core.tensor cimport Tensor
from claygrad.core.dispatch.registry cimport offer, offer_slots


cdef struct Copy:
    Slot input, src
cdef struct Fill:
    Slot input, value
cdef struct Clone:
    Slot input, memory_format
cdef struct Joined:
    Slot tensors, dim
cdef struct Blocks:
    Arg tensors

# Bytes above which copies may use threads.
cdef enum:
    RELEASE = 262144

# Expanded tensors may seem to have any number of elements: up to here their sizes can be added and multiplied.
cdef int64_t LARGEST_STRIDED = 1 << 36


cdef int _anywhere(Op op) except -1:
    """The in-place form takes any layout."""
    op.fast_any = True
    return 0


cdef int _fill_with_element(Layout target, const void* element) except -1:
    """Fill with one element."""
    cdef Layout one
    if target.contiguous:
        fill_with(target, element)
    else:
        one = fresh(target.dtype, 0, NULL)
        memcpy(one.data(), element, target.dtype.itemsize)
        write_layout(target, one)
    return 0


cdef Layout _zero(Op op, PyObject** slots, Layout target):
    cdef double nothing[2]
    if target is None:
        return None
    nothing[0] = nothing[1] = 0
    if target.contiguous:
        memset(target.data(), 0, target.numel * target.dtype.itemsize)
    else:
        _fill_with_element(target, nothing)
    return target


cdef bint _fits(Layout v, Layout target) noexcept:
    """Whether it has the shape of the other, or is broadcast to it."""
    cdef int i, skip = target.ndim - v.ndim
    if skip < 0:
        return False
    for i in range(v.ndim):
        if v.shape[i] != target.shape[skip + i] and v.shape[i] != 1:
            return False
    return True


cdef Layout _copy(Op op, Copy* a, Layout target):
    cdef Layout src = (<Tensor>a.src).layout
    if target is None or src.dtype is not target.dtype or not _fits(src, target):
        return None
    if src.storage is target.storage:
        return target if same_view(src, target) else None
    if not target.contiguous and is_broadcast(target):
        return None
    if src.contiguous and target.contiguous and src.numel == target.numel and target.numel * target.dtype.itemsize <= RELEASE:
        copy_bytes(target.data(), src.data(), target.numel * target.dtype.itemsize)
    else:
        write_layout(target, src)
    return target


cdef Layout _fill(Op op, Fill* a, Layout target):
    """With a number, or a tensor of one element of the same dtype."""
    cdef Layout x = (<Tensor>a.input).layout
    cdef double element[2]
    if not single(<object>a.value, x.dtype, element):
        return None
    if target is None:
        target = fresh_like(x)
    _fill_with_element(target, element)
    return target


cdef Layout _clone(Op op, Clone* a, Layout target):
    """Dense and row-major tensors keep their strides; others become contiguous or channels last."""
    cdef Layout v = (<Tensor>a.input).layout, out
    if target is not None:
        return None
    if a.memory_format != <PyObject*>op.defaults[1]:
        name = getattr(<object>a.memory_format, "name", None)
        if name == "channels_last" and v.ndim == 4 and v.numel:
            return channels_at_the_end(v)
        if name != "contiguous_format":
            return None
    elif is_permuted(v):
        out = fresh_run(v, v.dtype)
        write_layout(out, v)
        return out
    elif not v.contiguous and not strictly_row_major(v):
        return None
    out = fresh_like(v)
    if v.contiguous and v.numel * v.dtype.itemsize <= RELEASE:
        copy_bytes(out.data(), v.data(), v.numel * v.dtype.itemsize)
    else:
        write_layout(out, v)
    return out


cdef bint _ambiguous(Layout v) noexcept:
    """Whether the strides may also count as channels last."""
    cdef int64_t pixels = 1
    cdef int i
    for i in range(2, v.ndim):
        pixels *= v.shape[i]
    return (v.ndim == 4 or v.ndim == 5) and (v.shape[1] == 1 or pixels == 1)


cdef int _write_side_by_side(Layout out, object parts, int d, bint stacked) except -1:
    """Write parts along axis d; those that are stacked do not have it."""
    cdef Layout v, place
    cdef int64_t strides[6]
    cdef int64_t start = 0
    cdef int i, k = 0
    for i in range(out.ndim):
        if i != d or not stacked:
            strides[k] = out.strides[i]
            k += 1
    for part in parts:
        v = (<Tensor>part).layout
        place = new_layout(out.storage, out.dtype, v.ndim, v.shape, strides, start * out.strides[d])
        write_layout(place, v)
        start += 1 if stacked else v.shape[d]
    return 0


cdef Layout _joined(Op op, Joined* a, Layout target):
    """cat(tensors, dim) and stack(tensors, dim) of one dtype: contiguous, or of at most three axes; cat of channels-last images."""
    cdef object parts = <object>a.tensors, dim = <object>a.dim
    cdef bint stacked = op.name == "stack"
    cdef int64_t shape[6]
    cdef int64_t outer = 1, inner = 1, length = 0, k, count
    cdef Layout first, v, out
    cdef const char** froms
    cdef int64_t* chunks
    cdef char* to
    cdef int rank[6]                                 # order of the axes in memory
    cdef int i, d, ndim
    cdef bint by_channels, strided = False
    if target is not None or type(dim) is not int or not parts or not isinstance(parts[0], Tensor):
        return None
    first = (<Tensor>parts[0]).layout
    ndim = first.ndim + stacked
    if ndim > 5 or not -ndim <= dim < ndim:
        return None
    d = dim + ndim if dim < 0 else dim
    by_channels = not stacked and channels_last(first)
    for part in parts:
        if not isinstance(part, Tensor):
            return None
        v = (<Tensor>part).layout
        if v.dtype is not first.dtype or v.ndim != first.ndim or v.numel == 0:
            return None
        if by_channels:
            if not channels_last(v):
                return None
        elif not v.contiguous:
            if v.ndim > 3 or v.numel >= LARGEST_STRIDED:
                return None
            strided = True
        elif _ambiguous(v):
            return None
        for i in range(v.ndim):
            if v.shape[i] != first.shape[i] and (stacked or i != d):
                return None
        length += 1 if stacked else v.shape[d]
    for i in range(ndim):
        shape[i] = length if i == d else first.shape[i - (stacked and i > d)]
        rank[i] = i
    if by_channels:
        rank[1], rank[2], rank[3] = 3, 1, 2
    for i in range(ndim):
        if rank[i] < rank[d]:
            outer *= shape[i]
        elif i != d:
            inner *= shape[i]
    inner *= first.dtype.itemsize
    out = fresh_channels_last(first.dtype, shape) if by_channels else fresh(first.dtype, ndim, shape)
    if strided:
        _write_side_by_side(out, parts, d, stacked)
        return out
    to = out.data()
    count = len(parts)
    froms = <const char**>malloc(count * (sizeof(char*) + sizeof(int64_t)))
    if froms == NULL:
        raise MemoryError
    chunks = <int64_t*>(froms + count)
    for k in range(count):
        v = (<Tensor>parts[k]).layout
        froms[k], chunks[k] = v.data(), inner if stacked else v.shape[d] * inner
    if outer * length * inner > RELEASE:
        with nogil:
            join_rows(froms, chunks, count, to, outer)
    else:
        join_rows(froms, chunks, count, to, outer)
    free(froms)
    return out


cdef Layout _blocks(Op op, Blocks* a):
    """Of contiguous tensors of one dtype."""
    cdef object parts = <object>a.tensors.given
    cdef int64_t shape[2]
    cdef int64_t rows, columns, chunk, k
    cdef Layout first, v, out
    cdef char* to
    if not parts or not isinstance(parts[0], Tensor):
        return None
    first = (<Tensor>parts[0]).layout
    shape[0] = shape[1] = 0
    for part in parts:
        if not isinstance(part, Tensor):
            return None
        v = (<Tensor>part).layout
        if v.dtype is not first.dtype or v.ndim > 2 or not v.contiguous:
            return None
        shape[0] += v.shape[0] if v.ndim == 2 else 1
        shape[1] += v.shape[v.ndim - 1] if v.ndim else 1
    out = fresh(first.dtype, 2, shape)
    to = out.data()
    memset(to, 0, out.numel * first.dtype.itemsize)
    for part in parts:
        v = (<Tensor>part).layout
        rows, columns = v.shape[0] if v.ndim == 2 else 1, v.shape[v.ndim - 1] if v.ndim else 1
        chunk = columns * first.dtype.itemsize
        for k in range(rows):
            copy_bytes(to, v.data() + k * chunk, chunk)
            to += shape[1] * first.dtype.itemsize
        to += chunk
    return out


offer_slots("zero", <fast_t>_zero).ready = _anywhere
offer_slots("copy", <fast_t>_copy).ready = _anywhere
offer_slots("clone", <fast_t>_clone)
offer_slots("fill", <fast_t>_fill).ready = _anywhere
offer_slots("joined", <fast_t>_joined)
offer("blocks", <form_t>_blocks, "tensors: raw")
