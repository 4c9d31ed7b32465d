"""Native forms of views: select, slice, diagonal, as_strided, unfold, split, view, permute, squeeze. None: the declared form runs."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.op cimport Op, composite_slots_t, fast_t
from claygrad.core.data.dtype cimport C64, C128, F32, of_code
from claygrad.core.data.layout cimport Layout, axis_in, new_layout
from claygrad.core.dispatch.guard cimport Arg, Slot, form_t, int_at
from claygrad.core.tensor cimport Tensor
from claygrad.core.dispatch.registry cimport offer, offer_composite_slots, offer_slots

# The arguments, by name: Note [The guard].
cdef struct Select:
    Slot input, dim, index
cdef struct Slice:
    Slot input, dim, start, end, step
cdef struct Narrow:
    Slot input, dim, start, length
cdef struct Diagonal:
    Slot input, offset, dim1, dim2
cdef struct AsStrided:
    Slot input, size, stride, storage_offset
cdef struct Unfold:
    Slot input, dimension, size, step
cdef struct AsComplex:
    Arg input
cdef struct SplitEvenly:
    Slot input, split_size, dim
cdef struct SplitWithSizes:
    Slot input, split_sizes, dim
cdef struct Unbind:
    Slot input, dim
cdef struct T:
    Slot input
cdef struct Transpose:
    Slot input, dim0, dim1
cdef struct Unsqueeze:
    Slot input, dim
cdef struct View:
    Slot input, size, dtype
cdef struct Expand:
    Slot input, size, implicit
cdef struct Permute:
    Slot input, dims
cdef struct Squeeze:
    Slot input, dim


cdef int axis_of(PyObject* dim, int ndim) noexcept:
    cdef int64_t d
    return axis_in(d, ndim) if int_at(dim, &d) else -1


cdef int sizes_of(object given, int64_t* out) except -2:
    cdef int i = 0
    if type(given) is not tuple and type(given) is not list and not isinstance(given, tuple):
        return -1
    for x in given:
        if i == 64 or not int_at(<PyObject*>x, &out[i]):
            return -1
        i += 1
    return i


cdef int64_t _apart(int64_t stride, int64_t step, int64_t length) noexcept:
    """The stride of every `step`-th element. With at most one element any stride is valid, and the product may overflow."""
    if length <= 1 and (step > 0x7fffffff or stride > 0x7ffffff or stride < -0x7ffffff):
        return stride
    return stride * step


cdef Layout narrowed(Layout v, int dim, int64_t start, int64_t length, int64_t step):
    """`length` entries of an axis from `start` on, `step` apart."""
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int i
    for i in range(v.ndim):
        shape[i], strides[i] = v.shape[i], v.strides[i]
    shape[dim] = length
    strides[dim] = _apart(strides[dim], step, length)
    return new_layout(v.storage, v.dtype, v.ndim, shape, strides, v.offset + start * v.strides[dim])


cdef Layout without_axis(Layout v, int dim, int64_t at):
    """Element `at` of an axis, which is removed."""
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int i
    for i in range(v.ndim - 1):
        shape[i] = v.shape[i if i < dim else i + 1]
        strides[i] = v.strides[i if i < dim else i + 1]
    return new_layout(v.storage, v.dtype, v.ndim - 1, shape, strides, v.offset + at * v.strides[dim])


cdef Layout at_index(Layout v, int dim, int64_t at):
    """The same, counted from either end; None if there is none."""
    return without_axis(v, dim, at + v.shape[dim] if at < 0 else at) if -v.shape[dim] <= at < v.shape[dim] else None


cdef Layout sliced(Layout v, int dim, int64_t start, int64_t end, int64_t step):
    """As a slice with a positive step takes them."""
    cdef int64_t n = v.shape[dim]
    start = max(start + n, 0) if start < 0 else min(start, n)
    end = max(end + n, 0) if end < 0 else min(end, n)
    return narrowed(v, dim, start, (end - start - 1) // step + 1 if end > start else 0, step)


cdef Layout with_axis(Layout v, int dim):
    """With a new axis of one element."""
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int i
    for i in range(v.ndim):
        shape[i if i < dim else i + 1] = v.shape[i]
        strides[i if i < dim else i + 1] = v.strides[i]
    shape[dim] = 1
    strides[dim] = v.shape[dim] * v.strides[dim] if dim < v.ndim else 1
    return new_layout(v.storage, v.dtype, v.ndim + 1, shape, strides, v.offset)


cdef Layout _select(Op op, Select* a, Layout target):
    cdef Layout v = (<Tensor>a.input).layout
    cdef int d = axis_of(a.dim, v.ndim)
    cdef int64_t at
    return at_index(v, d, at) if d >= 0 and int_at(a.index, &at) else None


cdef Layout _slice(Op op, Slice* a, Layout target):
    cdef Layout v = (<Tensor>a.input).layout
    cdef int d = axis_of(a.dim, v.ndim)
    cdef int64_t start = 0, end, step
    if d < 0 or not int_at(a.step, &step) or step <= 0:
        return None
    end = v.shape[d]
    if a.start != <PyObject*>None and not int_at(a.start, &start) or a.end != <PyObject*>None and not int_at(a.end, &end):
        return None
    return sliced(v, d, start, end, step)


cdef Layout _narrow(Op op, Narrow* a, Layout target):
    cdef Layout v = (<Tensor>a.input).layout
    cdef int64_t d = <object>a.dim, start = <object>a.start, length = <object>a.length
    if not 0 <= d < v.ndim or not 0 <= start <= v.shape[d] or not 0 <= length <= v.shape[d] - start:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds the size of dimension {d}.")
    return narrowed(v, <int>d, start, length, 1)


cdef Layout on_diagonal(Layout v, int64_t offset, int a, int b):
    """A diagonal of the matrices in two axes, as a new last one."""
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int64_t rows = -offset if offset < 0 else 0, columns = offset if offset > 0 else 0, n
    cdef int i, k = 0
    for i in range(v.ndim):
        if i != a and i != b:
            shape[k], strides[k] = v.shape[i], v.strides[i]
            k += 1
    n = max(min(v.shape[a] - rows, v.shape[b] - columns), 0)
    shape[k], strides[k] = n, v.strides[a] + v.strides[b]
    return new_layout(v.storage, v.dtype, k + 1, shape, strides,
                      v.offset + (rows * v.strides[a] + columns * v.strides[b] if n else 0))


cdef Layout _diagonal(Op op, Diagonal* given, Layout target):
    cdef Layout v = (<Tensor>given.input).layout
    cdef int a = axis_of(given.dim1, v.ndim), b = axis_of(given.dim2, v.ndim)
    cdef int64_t offset = 0
    if a < 0 or b < 0 or a == b or not int_at(given.offset, &offset):
        return None
    return on_diagonal(v, offset, a, b)


cdef Layout _as_strided(Op op, AsStrided* a, Layout target):
    cdef Layout v = (<Tensor>a.input).layout
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int64_t offset = v.offset
    cdef double need
    cdef int i, n = sizes_of(<object>a.size, shape)
    if n < 0 or sizes_of(<object>a.stride, strides) != n:
        return None
    if <object>a.storage_offset is not None and not int_at(a.storage_offset, &offset):
        return None
    need = offset + 1
    for i in range(n):
        if shape[i] <= 0 or strides[i] < 0:
            return None
        need += <double>(shape[i] - 1) * strides[i]
    if offset < 0 or need * v.dtype.itemsize > v.storage.length:
        return None
    return new_layout(v.storage, v.dtype, n, shape, strides, offset)


cdef Layout _unfold(Op op, Unfold* a, Layout target):
    cdef Layout v = (<Tensor>a.input).layout
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int64_t size = 0, step = 0
    cdef int i, d = axis_of(a.dimension, v.ndim)
    if d < 0 or v.ndim >= 63 or not int_at(a.size, &size) or not int_at(a.step, &step):
        return None
    if size < 0 or size > v.shape[d] or step <= 0:
        return None
    for i in range(v.ndim):
        shape[i], strides[i] = v.shape[i], v.strides[i]
    shape[v.ndim], strides[v.ndim] = size, v.strides[d]
    shape[d] = (v.shape[d] - size) // step + 1
    strides[d] = _apart(v.strides[d], step, shape[d])
    return new_layout(v.storage, v.dtype, v.ndim + 1, shape, strides, v.offset)


cdef Layout _as_complex(Op op, AsComplex* a):
    cdef Layout v = <Layout>a.input.layout
    cdef int64_t strides[64]
    cdef int i, last = v.ndim - 1
    if v.shape[last] != 2 or v.strides[last] != 1 or v.offset % 2:
        return None
    for i in range(last):
        if v.strides[i] % 2:
            return None
        strides[i] = v.strides[i] // 2
    return new_layout(v.storage, of_code(C64 if v.dtype.code == F32 else C128), last, v.shape, strides, v.offset // 2)


cdef int _room_for(int64_t pieces) except -1:
    """Raise if there would be more tensors than memory can hold."""
    if pieces > 1 << 30:
        raise RuntimeError(f"std::bad_alloc\n  {pieces} pieces are more than memory has room for")
    return 0


# --- several pieces ----------------------------------------------------------------------------------------------
cdef object _split_evenly(Op op, SplitEvenly* a):
    cdef Layout v = (<Tensor>a.input).layout
    cdef int d = axis_of(a.dim, v.ndim)
    cdef int64_t size = 0, start = 0
    if d < 0 or v.shape[d] == 0 or not int_at(a.split_size, &size) or size <= 0:
        return None
    _room_for(v.shape[d] // size)
    out = []
    while start < v.shape[d]:
        out.append(narrowed(v, d, start, min(size, v.shape[d] - start), 1))
        start += size
    return out


cdef object _split_with_sizes(Op op, SplitWithSizes* a):
    cdef Layout v = (<Tensor>a.input).layout
    cdef int64_t lengths[64]
    cdef int64_t start = 0
    cdef int i, d = axis_of(a.dim, v.ndim), n = sizes_of(<object>a.split_sizes, lengths)
    if d < 0 or n < 0:
        return None
    for i in range(n):
        if lengths[i] < 0:
            return None
        start += lengths[i]
    if start != v.shape[d]:
        return None
    out, start = [], 0
    for i in range(n):
        out.append(narrowed(v, d, start, lengths[i], 1))
        start += lengths[i]
    return out


cdef object _unbind(Op op, Unbind* a):
    cdef Layout v = (<Tensor>a.input).layout
    cdef int d = axis_of(a.dim, v.ndim)
    cdef int64_t i
    if d < 0:
        return None
    _room_for(v.shape[d])
    out = []
    for i in range(v.shape[d]):
        out.append(without_axis(v, d, i))
    return out


# --- whole tensors under another shape or order of axes ----------------------------------------------------------
cdef Layout with_axes_swapped(Layout v, int a, int b):
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int i
    for i in range(v.ndim):
        shape[i] = v.shape[i]
        strides[i] = v.strides[i]
    shape[a], shape[b] = v.shape[b], v.shape[a]
    strides[a], strides[b] = v.strides[b], v.strides[a]
    return new_layout(v.storage, v.dtype, v.ndim, shape, strides, v.offset)


cdef Layout _t(Op op, T* a, Layout target):
    cdef Layout v = (<Tensor>a.input).layout
    return with_axes_swapped(v, 0, 1) if v.ndim == 2 else None


cdef Layout _transpose(Op op, Transpose* axes, Layout target):
    cdef Layout v = (<Tensor>axes.input).layout
    cdef int a = axis_of(axes.dim0, v.ndim), b = axis_of(axes.dim1, v.ndim)
    return with_axes_swapped(v, a, b) if a >= 0 and b >= 0 else None


cdef Layout _unsqueeze(Op op, Unsqueeze* a, Layout target):
    cdef Layout v = (<Tensor>a.input).layout
    cdef int d = axis_of(a.dim, v.ndim + 1)
    return with_axis(v, d) if d >= 0 and v.ndim < 63 else None


cdef Layout _view(Op op, View* a, Layout target):
    """Where the memory allows it; the Python form does the rest, errors included."""
    cdef Layout v = (<Tensor>a.input).layout
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int64_t known = 1
    cdef int i, hole = -1
    if v.numel == 0 or op is not None and op.n_params > 2 and <object>a.dtype is not None:      # a dtype beside a shape; None: _view_back
        return None
    cdef int n = sizes_of(<object>a.size, shape)
    if n < 0:
        return None
    for i in range(n):
        if shape[i] == -1 and hole < 0:
            hole = i
        elif shape[i] < 0:
            return None
        else:
            known *= shape[i]
    if hole >= 0:
        if known == 0 or v.numel % known:
            return None
        shape[hole] = v.numel // known
        known *= shape[hole]
    if known != v.numel or not _strides_of_view(v, n, shape, strides):
        return None
    return new_layout(v.storage, v.dtype, n, shape, strides, v.offset)


cdef bint _strides_of_view(Layout v, int n, const int64_t* shape, int64_t* strides) noexcept:
    """Strides under which the elements of v have another shape, axes of one element included as torch has them.

    Axes that follow each other in memory form a chunk; those of the view must fill chunk after chunk.
    """
    cdef int64_t base = v.strides[v.ndim - 1] if v.ndim else 1, own = 1, filled = 1
    cdef int i, at = n - 1
    for i in range(v.ndim - 1, -1, -1):
        own *= v.shape[i]
        if i > 0 and (v.shape[i - 1] == 1 or v.strides[i - 1] == own * base):
            continue
        while at >= 0 and (filled < own or shape[at] == 1):
            strides[at] = filled * base
            filled *= shape[at]
            at -= 1
        if filled != own:
            return False
        if i > 0:
            base = v.strides[i - 1]
            own = filled = 1
    if v.ndim == 0:
        for i in range(n):
            strides[i] = 1
        return True
    return at < 0


cdef Layout _expand(Op op, Expand* a, Layout target):
    cdef Layout v = (<Tensor>a.input).layout
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int i, k, n = sizes_of(<object>a.size, shape)
    if n < v.ndim:
        return None
    for i in range(n):
        k = i - (n - v.ndim)
        if k < 0:
            if shape[i] < 0:
                return None
            strides[i] = 0
        elif shape[i] == -1 or shape[i] == v.shape[k]:
            shape[i] = v.shape[k]
            strides[i] = v.strides[k]
        elif v.shape[k] == 1 and shape[i] >= 0:
            strides[i] = 0
        else:
            return None
    if n > v.ndim and v.ndim > 0:        # torch: a new leading axis of size 1 has the stride of a contiguous one
        for i in range(n - v.ndim - 1, -1, -1):
            strides[i] = 0 if shape[i] != 1 else shape[i + 1] * strides[i + 1]
    return new_layout(v.storage, v.dtype, n, shape, strides, v.offset)


cdef Layout _permute(Op op, Permute* a, Layout target):
    cdef Layout v = (<Tensor>a.input).layout
    cdef int64_t order[64]
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef unsigned long long seen = 0
    cdef int i, n = sizes_of(<object>a.dims, order)
    if n != v.ndim:
        return None
    for i in range(n):
        if order[i] < 0:
            order[i] += n
        if order[i] < 0 or order[i] >= n or seen >> order[i] & 1:
            return None
        seen |= 1ULL << order[i]
        shape[i] = v.shape[order[i]]
        strides[i] = v.strides[order[i]]
    return new_layout(v.storage, v.dtype, n, shape, strides, v.offset)


cdef Layout _squeeze(Op op, Squeeze* a, Layout target):
    cdef Layout v = (<Tensor>a.input).layout
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef unsigned long long selected = 0
    cdef int i, k = 0, d
    dim = <object>a.dim
    if dim is not None:
        for x in (dim if type(dim) is tuple else (dim,)):
            d = axis_of(<PyObject*>x, v.ndim)
            if d < 0 or selected >> d & 1:
                return None
            selected |= 1ULL << d
    for i in range(v.ndim):
        if v.shape[i] == 1 and (dim is None or selected >> i & 1):
            continue
        shape[k] = v.shape[i]
        strides[k] = v.strides[i]
        k += 1
    return new_layout(v.storage, v.dtype, k, shape, strides, v.offset)


# Forms for geometry= of declarations.
cdef Layout _t_back(PyObject** args):
    """The gradient of t(): g.t()"""
    return _t(None, <T*>args, None)


cdef int _rules_of_t(Op op) except -1:
    op.fast_rules[0] = _t_back
    return 0


cdef Layout _transpose_back(PyObject** args):
    """(g, dim0, dim1): the same axes of the gradient exchanged"""
    return _transpose(None, <Transpose*>args, None)


cdef int _rules_of_transpose(Op op) except -1:
    op.fast_rules[0] = _transpose_back
    return 0


cdef Layout _view_back(PyObject** args):
    """(g, input_shape): the gradient in the shape of the input, where that needs no copy"""
    return _view(None, <View*>args, None)


cdef int _rules_of_view(Op op) except -1:
    op.fast_rules[0] = _view_back
    return 0


offer_slots("t", <fast_t>_t).ready = _rules_of_t
offer_slots("transpose", <fast_t>_transpose).ready = _rules_of_transpose
offer_slots("unsqueeze", <fast_t>_unsqueeze)
offer_slots("view", <fast_t>_view).ready = _rules_of_view
offer_slots("permute", <fast_t>_permute)
offer_slots("squeeze", <fast_t>_squeeze)
offer_slots("expand", <fast_t>_expand)
offer_slots("select", <fast_t>_select)
offer_slots("slice", <fast_t>_slice)
offer_slots("narrow", <fast_t>_narrow)
offer_slots("diagonal", <fast_t>_diagonal)
offer_slots("as_strided", <fast_t>_as_strided)
offer_slots("unfold", <fast_t>_unfold)
offer("as_complex", <form_t>_as_complex, "input: float strided 1d+")
offer_composite_slots("split_evenly", <composite_slots_t>_split_evenly)
offer_composite_slots("split_with_sizes", <composite_slots_t>_split_with_sizes)
offer_composite_slots("unbind", <composite_slots_t>_unbind)
