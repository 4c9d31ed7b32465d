"""Native forms of operations that give numbers for elements: where they are found, how many there are, sums along a diagonal.
None: the declaration decides, and says what is wrong."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from claygrad.native.mask cimport common, spread
from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport F32, F64, I64, of_code
from claygrad.core.graph.inplace cimport write_layout
from claygrad.core.data.kernels cimport find, reduce_fn, reduce_lines
from claygrad.core.data.layout cimport Layout, fresh, in_order
from claygrad.native.rearrange cimport some
from claygrad.core.tensor cimport Tensor
from claygrad.core.dispatch.registry cimport offer

cdef extern from "index/strided.hpp" namespace "clay" nogil:
    bint cross_lines(int, const void*, const void*, void*, int64_t, int64_t) noexcept
    bint count_bins(int, const void*, void*, int64_t, int64_t, double, double) noexcept
    bint count_boxes(int, const void*, int64_t, int64_t, const void**, const int64_t*, const void*, bint, double*) noexcept

cdef extern from "index/dense.hpp" namespace "clay" nogil:
    ctypedef void (*search_fn)(const void*, const void*, int64_t*, int64_t, int64_t, int64_t, bint) noexcept nogil
    search_fn find_search(int dtype) noexcept


cdef Layout _at(PyObject* slot):
    """Of a tensor, or None."""
    if not isinstance(<object>slot, Tensor):
        return None
    return (<Tensor><object>slot).layout


cdef Layout _found(Layout rows, Layout values, bint right):
    """The places of values in sorted rows, or None."""
    cdef search_fn f
    cdef Layout out
    cdef int64_t n, count, i
    cdef int last
    if rows is None or values is None or rows.dtype is not values.dtype or rows.ndim == 0 or not rows.contiguous:
        return None
    f, last = find_search(rows.dtype.code), rows.ndim - 1
    n = rows.shape[last]
    if n == 0 and values.numel:
        return None
    count = rows.numel // n if n else 0
    if f == NULL or not values.contiguous or last > 0 and values.ndim != rows.ndim:
        return None
    for i in range(last):
        if rows.shape[i] != values.shape[i]:
            return None
    for i in range(count):                               # NaN among the rows is found otherwise
        if rows.dtype.code == F32 and (<float*>rows.data())[i * n + n - 1] != (<float*>rows.data())[i * n + n - 1]:
            return None
        if rows.dtype.code == F64 and (<double*>rows.data())[i * n + n - 1] != (<double*>rows.data())[i * n + n - 1]:
            return None
    out = fresh(of_code(I64), values.ndim, values.shape)
    if out.numel == 0:
        return out
    with nogil:
        f(rows.data(), values.data(), <int64_t*>out.data(), count, n, values.numel, right)
    return out


cdef Layout _searchsorted(Op op, PyObject** slots, Layout target):
    """searchsorted(sorted_sequence, input, *, out_int32, right, side, sorter)"""
    cdef object side = <object>slots[4]
    if target is not None or <object>slots[2] is True or <object>slots[5] is not None:
        return None
    if side is not None and (side != "right" and side != "left" or side == "left" and <object>slots[3] is True):
        return None
    return _found(_at(slots[0]), _at(slots[1]), <object>slots[3] is True or side == "right")


cdef Layout _bucketize(Op op, PyObject** slots, Layout target):
    """bucketize(input, boundaries, *, out_int32, right)"""
    cdef Layout edges = _at(slots[1])
    if target is not None or <object>slots[2] is True or edges is None or edges.ndim != 1:
        return None
    return _found(edges, _at(slots[0]), <object>slots[3] is True)


cdef Layout _one_hot(Op op, PyObject** slots, Layout target):
    """one_hot(input, num_classes)"""
    cdef Layout x = some(slots[0]), out
    cdef int64_t shape[64]
    cdef int64_t i, most = -1, n
    cdef const int64_t* at
    if target is not None or x is None or x.dtype.code != I64 or x.ndim > 62 or type(<object>slots[1]) is not int:
        return None
    if not -1 <= <object>slots[1] < 0x40000000:
        return None
    x, n = in_order(x), <object>slots[1]
    at = <const int64_t*>x.data()
    for i in range(x.numel):
        if at[i] < 0:
            return None
        most = max(most, at[i])
    n = most + 1 if n == -1 else n
    if most >= n or most >= 0x40000000:
        return None
    memcpy(shape, x.shape, x.ndim * sizeof(int64_t))
    shape[x.ndim] = n
    out = fresh(x.dtype, x.ndim + 1, shape)
    memset(out.data(), 0, out.numel * sizeof(int64_t))
    for i in range(x.numel):
        (<int64_t*>out.data())[i * n + at[i]] = 1
    return out


cdef Layout _trace(Op op, PyObject** slots, Layout target):
    """trace(input)"""
    cdef Layout x = some(slots[0]), out
    cdef int64_t i, n, step, whole = 0
    cdef double total = 0
    cdef char* data
    if target is not None or x is None or x.ndim != 2:
        return None
    n, step, data = min(x.shape[0], x.shape[1]), x.strides[0] + x.strides[1], x.data()
    if x.dtype.code == F32:
        for i in range(n):
            total += (<float*>data)[i * step]
    elif x.dtype.code == F64:
        for i in range(n):
            total += (<double*>data)[i * step]
    elif x.dtype.code == I64:
        for i in range(n):
            whole += (<int64_t*>data)[i * step]
    else:
        return None
    out = fresh(x.dtype, 0, NULL)
    if x.dtype.code == F32:
        (<float*>out.data())[0] = <float>total
    elif x.dtype.code == F64:
        (<double*>out.data())[0] = total
    else:
        (<int64_t*>out.data())[0] = whole
    return out


cdef Layout _cross(Op op, PyObject** slots, Layout target):
    """linalg.cross(input, other, *, dim)"""
    cdef Layout x = some(slots[0]), y = some(slots[1]), out
    cdef int64_t shape[64]
    cdef int64_t inner = 1
    cdef int i, d, ndim
    if target is not None or x is None or y is None or x.dtype is not y.dtype or x.ndim != y.ndim or x.ndim == 0:
        return None
    if (x.dtype.code != F32 and x.dtype.code != F64) or type(<object>slots[2]) is not int or not -x.ndim <= <object>slots[2] < x.ndim:
        return None
    d = <object>slots[2]
    d = d + x.ndim if d < 0 else d
    ndim = common(x, y, shape)
    if ndim < 0 or x.shape[d] != 3 or y.shape[d] != 3:
        return None
    x, y = spread(x, ndim, shape), spread(y, ndim, shape)
    for i in range(d + 1, ndim):
        inner *= shape[i]
    out = fresh(x.dtype, ndim, shape)
    with nogil:
        cross_lines(x.dtype.code, x.data(), y.data(), out.data(), x.numel // (3 * inner), inner)
    return out


cdef void _ends(Layout x, double* low, double* high):
    """The least and the largest element."""
    cdef Layout ends = fresh(x.dtype, 0, NULL)
    cdef int i
    cdef double found[2]
    for i in range(2):
        reduce_lines(<reduce_fn>find("reduce", "amax" if i else "amin", x.dtype.code), x.data(), ends.data(), 1, x.numel, 1)
        found[i] = (<float*>ends.data())[0] if x.dtype.code == F32 else (<double*>ends.data())[0]
    low[0], high[0] = found[0], found[1]


cdef Layout _histc(Op op, PyObject** slots, Layout target):
    """histc(input, bins, min, max) between two ends, or those of the elements"""
    cdef Layout x = some(slots[0]), out
    cdef object low = <object>slots[2], high = <object>slots[3]
    cdef int64_t bins
    cdef double a, b
    if target is not None or x is None or (x.dtype.code != F32 and x.dtype.code != F64) or type(<object>slots[1]) is not int:
        return None
    if (type(low) is not int and type(low) is not float) or (type(high) is not int and type(high) is not float):
        return None
    if not 0 < <object>slots[1] < 0x1000000:
        return None
    bins, a, b = <object>slots[1], low, high
    x = in_order(x)
    if a == b:
        _ends(x, &a, &b)
    if not <float>a < <float>b or not (b - a) * bins < 3e38 or b > 3e38 or a < -3e38:       # no end, width or place overflows
        return None
    out = fresh(x.dtype, 1, &bins)
    memset(out.data(), 0, bins * x.dtype.itemsize)
    count_bins(x.dtype.code, x.data(), out.data(), x.numel, bins, a, b)
    return out


cdef Layout _histogram(Op op, PyObject** slots, Layout target):
    """(input, edges, weight, even): rows counted by boxes"""
    cdef Layout x = some(slots[0]), weight = some(slots[2]), line, out, sums
    cdef list edges = list(<object>slots[1]), held = []
    cdef const void* lines[16]
    cdef int64_t boxes[16]
    cdef int64_t i, count = 1
    cdef int axes = <int>len(edges)
    cdef double* total
    cdef const void* weights = NULL
    cdef bint even = <object>slots[3] is True
    if x is None or x.dtype.code != F32 and x.dtype.code != F64 or x.ndim != 2 or not 0 < axes <= 16 or x.shape[1] != axes:
        return None
    if <object>slots[2] is not None and (weight is None or weight.dtype is not x.dtype or weight.numel != x.shape[0]):
        return None
    for i in range(axes):
        line = (<Tensor>edges[i]).layout
        if line.dtype is not x.dtype or line.ndim != 1 or line.shape[0] < 2:
            return None
        line = in_order(line)
        held.append(line)
        lines[i], boxes[i] = line.data(), line.shape[0] - 1
        count *= boxes[i]
        if count > 0x10000000:
            return None
    x = in_order(x)
    weight = None if weight is None else in_order(weight)
    out = fresh(x.dtype, axes, boxes)
    sums = out if x.dtype.code == F64 else fresh(of_code(F64), axes, boxes)
    total = <double*>sums.data()
    if weight is not None:
        weights = weight.data()
    with nogil:
        memset(total, 0, count * sizeof(double))
        count_boxes(x.dtype.code, x.data(), x.shape[0], axes, lines, boxes, weights, even, total)
    if sums is not out:
        write_layout(out, sums)
    return out


offer("searchsorted", _searchsorted)
offer("bucketize", _bucketize)
offer("one_hot", _one_hot)
offer("trace", _trace)
offer("cross", _cross)
offer("histc", _histc)
offer("histogram", _histogram)
