"""Native forms of views: select, slice, diagonal, as_strided, unfold, split, view, permute, squeeze. None: the declared form runs."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.op cimport Op, fast_t
from claygrad.core.data.dtype cimport C64, C128, F32, F64, of_code
from claygrad.core.data.layout cimport Layout, new_layout
from claygrad.core.tensor cimport Tensor
from claygrad.core.dispatch.registry cimport offer_slots, offer_composite_slots

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object x, int* overflow) except? -1

# Max value of an index, so that sums and products do not overflow.
cdef enum:
    SAFE = 1 << 30


cdef inline bint _small(object x, int64_t* out) noexcept:
    """Whether it is an exact int within that limit."""
    cdef int overflow = 0
    if type(x) is not int:
        return False
    out[0] = PyLong_AsLongLongAndOverflow(x, &overflow)
    return not overflow and -SAFE < out[0] < SAFE


cdef int axis_of(object dim, int ndim) noexcept:
    cdef int64_t d = 0
    if not _small(dim, &d):
        return -1
    d = d + ndim if d < 0 else d
    return <int>d if 0 <= d < ndim else -1


cdef int sizes_of(object given, int64_t* out) except -2:
    cdef int i = 0
    if type(given) is not tuple and type(given) is not list and not isinstance(given, tuple):
        return -1
    for x in given:
        if i == 64 or not _small(x, &out[i]):
            return -1
        i += 1
    return i


cdef int64_t apart(int64_t stride, int64_t step, int64_t length) noexcept:
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
    strides[dim] = apart(strides[dim], step, length)
    return new_layout(v.storage, v.dtype, v.ndim, shape, strides, v.offset + start * v.strides[dim])


cdef Layout _without(Layout v, int dim, int64_t at):
    """Element `at` of an axis, which is removed."""
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int i
    for i in range(v.ndim - 1):
        shape[i] = v.shape[i if i < dim else i + 1]
        strides[i] = v.strides[i if i < dim else i + 1]
    return new_layout(v.storage, v.dtype, v.ndim - 1, shape, strides, v.offset + at * v.strides[dim])


cdef Layout _select(Op op, PyObject** slots, Layout target):
    """select(input, dim, index)"""
    cdef Layout v = (<Tensor><object>slots[0]).layout
    cdef int d = axis_of(<object>slots[1], v.ndim)
    cdef int64_t at = 0
    if d < 0 or not _small(<object>slots[2], &at) or at < -v.shape[d] or at >= v.shape[d]:
        return None
    return _without(v, d, at + v.shape[d] if at < 0 else at)


cdef Layout _slice(Op op, PyObject** slots, Layout target):
    """slice(input, dim, start, end, step)"""
    cdef Layout v = (<Tensor><object>slots[0]).layout
    cdef int d = axis_of(<object>slots[1], v.ndim)
    cdef int64_t start = 0, end = 0, step = 0, n
    if d < 0 or not _small(<object>slots[4], &step) or step <= 0:
        return None
    n = end = v.shape[d]
    if <object>slots[2] is not None and not _small(<object>slots[2], &start):
        return None
    if <object>slots[3] is not None and not _small(<object>slots[3], &end):
        return None
    start = max(start + n, 0) if start < 0 else min(start, n)
    end = max(end + n, 0) if end < 0 else min(end, n)
    return narrowed(v, d, start, (end - start - 1) // step + 1 if end > start else 0, step)


cdef Layout _narrow(Op op, PyObject** slots, Layout target):
    """narrow_view(input, dim, start, length)"""
    cdef Layout v = (<Tensor><object>slots[0]).layout
    cdef int64_t d = <object>slots[1], start = <object>slots[2], length = <object>slots[3]
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


cdef Layout _diagonal(Op op, PyObject** slots, Layout target):
    """diagonal(input, offset, dim1, dim2)"""
    cdef Layout v = (<Tensor><object>slots[0]).layout
    cdef int a = axis_of(<object>slots[2], v.ndim), b = axis_of(<object>slots[3], v.ndim)
    cdef int64_t offset = 0
    if a < 0 or b < 0 or a == b or not _small(<object>slots[1], &offset):
        return None
    return on_diagonal(v, offset, a, b)


cdef Layout _as_strided(Op op, PyObject** slots, Layout target):
    """as_strided(input, size, stride, storage_offset)"""
    cdef Layout v = (<Tensor><object>slots[0]).layout
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int64_t offset = v.offset
    cdef double need
    cdef int i, n = sizes_of(<object>slots[1], shape)
    if n < 0 or sizes_of(<object>slots[2], strides) != n or (<object>slots[3] is not None and not _small(<object>slots[3], &offset)):
        return None
    need = offset + 1
    for i in range(n):
        if shape[i] <= 0 or strides[i] < 0:
            return None
        need += <double>(shape[i] - 1) * strides[i]
    if offset < 0 or need * v.dtype.itemsize > v.storage.length:
        return None
    return new_layout(v.storage, v.dtype, n, shape, strides, offset)


cdef Layout _unfold(Op op, PyObject** slots, Layout target):
    """unfold(input, dimension, size, step)"""
    cdef Layout v = (<Tensor><object>slots[0]).layout
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int64_t size = 0, step = 0
    cdef int i, d = axis_of(<object>slots[1], v.ndim)
    if d < 0 or v.ndim >= 63 or not _small(<object>slots[2], &size) or not _small(<object>slots[3], &step):
        return None
    if size < 0 or size > v.shape[d] or step <= 0:
        return None
    for i in range(v.ndim):
        shape[i], strides[i] = v.shape[i], v.strides[i]
    shape[v.ndim], strides[v.ndim] = size, v.strides[d]
    shape[d] = (v.shape[d] - size) // step + 1
    strides[d] = apart(v.strides[d], step, shape[d])
    return new_layout(v.storage, v.dtype, v.ndim + 1, shape, strides, v.offset)


cdef Layout _as_complex(Op op, PyObject** slots, Layout target):
    """view_as_complex(input)"""
    cdef Layout v = (<Tensor><object>slots[0]).layout
    cdef int64_t strides[64]
    cdef int i, last = v.ndim - 1
    if last < 0 or (v.dtype.code != F32 and v.dtype.code != F64) or v.shape[last] != 2 or v.strides[last] != 1 or v.offset % 2:
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
cdef object _split_evenly(Op op, PyObject** slots):
    """split_evenly(input, split_size, dim)"""
    cdef Layout v = (<Tensor><object>slots[0]).layout
    cdef int d = axis_of(<object>slots[2], v.ndim)
    cdef int64_t size = 0, start = 0
    if d < 0 or v.shape[d] == 0 or not _small(<object>slots[1], &size) or size <= 0:
        return None
    _room_for(v.shape[d] // size)
    out = []
    while start < v.shape[d]:
        out.append(narrowed(v, d, start, min(size, v.shape[d] - start), 1))
        start += size
    return out


cdef object _split_with_sizes(Op op, PyObject** slots):
    """split_with_sizes(input, split_sizes, dim)"""
    cdef Layout v = (<Tensor><object>slots[0]).layout
    cdef int64_t lengths[64]
    cdef int64_t start = 0
    cdef int i, d = axis_of(<object>slots[2], v.ndim), n = sizes_of(<object>slots[1], lengths)
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


cdef object _unbind(Op op, PyObject** slots):
    """unbind(input, dim)"""
    cdef Layout v = (<Tensor><object>slots[0]).layout
    cdef int d = axis_of(<object>slots[1], v.ndim)
    cdef int64_t i
    if d < 0:
        return None
    _room_for(v.shape[d])
    out = []
    for i in range(v.shape[d]):
        out.append(_without(v, d, i))
    return out


# --- whole tensors under another shape or order of axes ----------------------------------------------------------
cdef Layout _transposed(Layout v, int a, int b):
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int i
    for i in range(v.ndim):
        shape[i] = v.shape[i]
        strides[i] = v.strides[i]
    shape[a], shape[b] = v.shape[b], v.shape[a]
    strides[a], strides[b] = v.strides[b], v.strides[a]
    return new_layout(v.storage, v.dtype, v.ndim, shape, strides, v.offset)


cdef Layout _t(Op op, PyObject** slots, Layout target):
    cdef Layout v = (<Tensor><object>slots[0]).layout
    return _transposed(v, 0, 1) if v.ndim == 2 else None


cdef Layout _transpose(Op op, PyObject** slots, Layout target):
    cdef Layout v = (<Tensor><object>slots[0]).layout
    first, second = <object>slots[1], <object>slots[2]
    if type(first) is not int or type(second) is not int:
        return None
    cdef int64_t a = first, b = second
    a = a + v.ndim if a < 0 else a
    b = b + v.ndim if b < 0 else b
    return _transposed(v, <int>a, <int>b) if 0 <= a < v.ndim and 0 <= b < v.ndim else None


cdef Layout _unsqueeze(Op op, PyObject** slots, Layout target):
    cdef Layout v = (<Tensor><object>slots[0]).layout
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    if type(<object>slots[1]) is not int or v.ndim >= 63:
        return None
    cdef int i, d = axis_of(<object>slots[1], v.ndim + 1)
    if d < 0:
        return None
    for i in range(v.ndim):
        shape[i if i < d else i + 1] = v.shape[i]
        strides[i if i < d else i + 1] = v.strides[i]
    shape[d] = 1
    strides[d] = v.shape[d] * v.strides[d] if d < v.ndim else 1
    return new_layout(v.storage, v.dtype, v.ndim + 1, shape, strides, v.offset)


cdef Layout _view(Op op, PyObject** slots, Layout target):
    """Where the memory allows it; the Python form does the rest, errors included."""
    cdef Layout v = (<Tensor><object>slots[0]).layout
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int64_t known = 1
    cdef int i, hole = -1
    if v.numel == 0 or op is not None and op.n_params > 2 and <object>slots[2] is not None:      # a dtype beside a shape; None: _view_back
        return None
    cdef int n = sizes_of(<object>slots[1], shape)
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


cdef Layout _expand(Op op, PyObject** slots, Layout target):
    cdef Layout v = (<Tensor><object>slots[0]).layout
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef int i, k, n = sizes_of(<object>slots[1], shape)
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


cdef Layout _permute(Op op, PyObject** slots, Layout target):
    cdef Layout v = (<Tensor><object>slots[0]).layout
    cdef int64_t order[64]
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef unsigned long long seen = 0
    cdef int i, n = sizes_of(<object>slots[1], order)
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


cdef Layout _squeeze(Op op, PyObject** slots, Layout target):
    cdef Layout v = (<Tensor><object>slots[0]).layout
    cdef int64_t shape[64]
    cdef int64_t strides[64]
    cdef unsigned long long selected = 0
    cdef int i, k = 0, d
    dim = <object>slots[1]
    if dim is not None:
        for x in (dim if type(dim) is tuple else (dim,)):
            d = axis_of(x, v.ndim)
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
    return _t(None, args, None)


cdef int _rules_of_t(Op op) except -1:
    op.fast_rules[0] = _t_back
    return 0


cdef Layout _transpose_back(PyObject** args):
    """(g, dim0, dim1): the same axes of the gradient exchanged"""
    return _transpose(None, args, None)


cdef int _rules_of_transpose(Op op) except -1:
    op.fast_rules[0] = _transpose_back
    return 0


cdef Layout _view_back(PyObject** args):
    """(g, input_shape): the gradient in the shape of the input, where that needs no copy"""
    return _view(None, args, None)


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
offer_slots("as_complex", <fast_t>_as_complex)
offer_composite_slots("split_evenly", _split_evenly)
offer_composite_slots("split_with_sizes", _split_with_sizes)
offer_composite_slots("unbind", _unbind)
