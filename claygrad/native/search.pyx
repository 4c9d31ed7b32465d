"""Native forms of searchsorted, bucketize, one_hot, trace, cross, histc and histogramdd. None: the declaration runs, and raises
errors."""
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

from claygrad.native.mask cimport common, expanded_copy
from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport F32, F64, I64, of_code
from claygrad.core.graph.inplace cimport write_layout
from claygrad.core.data.kernels cimport find, reduce_fn, reduce_lines
from claygrad.core.data.layout cimport Layout, fresh, as_contiguous
from claygrad.core.tensor cimport Tensor
from claygrad.core.dispatch.guard cimport Arg, form_t, is_none, memory, numel_is
from claygrad.core.dispatch.registry cimport offer

cdef extern from "index/strided.hpp" namespace "clay" nogil:
    bint cross_lines(int, const void*, const void*, void*, int64_t, int64_t) noexcept
    bint count_bins(int, const void*, void*, int64_t, int64_t, double, double) noexcept
    bint count_boxes(int, const void*, int64_t, int64_t, const void**, const int64_t*, const void*, bint, double*) noexcept

cdef extern from "index/dense.hpp" namespace "clay" nogil:
    ctypedef void (*search_fn)(const void*, const void*, int64_t*, int64_t, int64_t, int64_t, bint) noexcept nogil
    search_fn find_search(int dtype) noexcept


cdef struct SearchSorted:
    Arg sorted_sequence, input, out_int32, right, side, sorter
cdef struct Bucketize:
    Arg input, boundaries, out_int32, right
cdef struct OneHot:
    Arg input, num_classes
cdef struct Trace:
    Arg input
cdef struct Cross:
    Arg input, other, dim
cdef struct Histc:
    Arg input, bins, min, max
cdef struct Histogram:
    Arg input, edges, weight, even


cdef Layout _found(Layout rows, Layout values, bint right):
    """The positions of values in sorted rows, or None."""
    cdef search_fn f
    cdef Layout out
    cdef int64_t n, count, i
    cdef int last
    f, last = find_search(rows.dtype.code), rows.ndim - 1
    n = rows.shape[last]
    if n == 0 and values.numel:
        return None
    count = rows.numel // n if n else 0
    if f == NULL or last > 0 and values.ndim != rows.ndim:
        return None
    for i in range(last):
        if rows.shape[i] != values.shape[i]:
            return None
    for i in range(count):                               # rows with NaN are searched by the reference
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


cdef Layout _searchsorted(Op op, SearchSorted* a):
    cdef bint sided = not is_none(&a.side)
    if sided and a.side.value == 0 and a.right.value:
        return None
    return _found(<Layout>a.sorted_sequence.layout, <Layout>a.input.layout, a.right.value or sided and a.side.value == 1)


cdef Layout _bucketize(Op op, Bucketize* a):
    return _found(<Layout>a.boundaries.layout, <Layout>a.input.layout, a.right.value)


cdef Layout _one_hot(Op op, OneHot* a):
    cdef Layout x = <Layout>a.input.layout, out
    cdef int64_t shape[64]
    cdef int64_t i, largest = -1, n = a.num_classes.value
    cdef const int64_t* at
    if n < -1:
        return None
    at = <const int64_t*>x.data()
    for i in range(x.numel):
        if at[i] < 0:
            return None
        largest = max(largest, at[i])
    n = largest + 1 if n == -1 else n
    if largest >= n or largest >= 0x40000000:
        return None
    memcpy(shape, x.shape, x.ndim * sizeof(int64_t))
    shape[x.ndim] = n
    out = fresh(x.dtype, x.ndim + 1, shape)
    memset(out.data(), 0, out.numel * sizeof(int64_t))
    for i in range(x.numel):
        (<int64_t*>out.data())[i * n + at[i]] = 1
    return out


cdef Layout _trace(Op op, Trace* a):
    cdef Layout x = <Layout>a.input.layout, out
    cdef int64_t i, n, step
    cdef uint64_t whole = 0                        # integer sums wrap around
    cdef double total = 0
    cdef char* data
    n, step, data = min(x.shape[0], x.shape[1]), x.strides[0] + x.strides[1], x.data()
    if x.dtype.code == F32:
        for i in range(n):
            total += (<float*>data)[i * step]
    elif x.dtype.code == F64:
        for i in range(n):
            total += (<double*>data)[i * step]
    else:
        for i in range(n):
            whole += (<uint64_t*>data)[i * step]
    out = fresh(x.dtype, 0, NULL)
    if x.dtype.code == F32:
        (<float*>out.data())[0] = <float>total
    elif x.dtype.code == F64:
        (<double*>out.data())[0] = total
    else:
        (<uint64_t*>out.data())[0] = whole
    return out


cdef Layout _cross(Op op, Cross* a):
    cdef Layout x = <Layout>a.input.layout, y = <Layout>a.other.layout, out
    cdef int64_t shape[64]
    cdef int64_t inner = 1
    cdef int i, d, ndim
    if x.ndim != y.ndim or not -x.ndim <= a.dim.value < x.ndim:
        return None
    d = a.dim.value + x.ndim if a.dim.value < 0 else a.dim.value
    ndim = common(x, y, shape)
    if ndim < 0 or x.shape[d] != 3 or y.shape[d] != 3:
        return None
    x, y = expanded_copy(x, ndim, shape), expanded_copy(y, ndim, shape)
    for i in range(d + 1, ndim):
        inner *= shape[i]
    out = fresh(x.dtype, ndim, shape)
    with nogil:
        cross_lines(x.dtype.code, x.data(), y.data(), out.data(), x.numel // (3 * inner), inner)
    return out


cdef void _ends(Layout x, double* low, double* high):
    """Min and max of the elements."""
    cdef Layout ends = fresh(x.dtype, 0, NULL)
    cdef int i
    cdef double found[2]
    for i in range(2):
        reduce_lines(<reduce_fn>find("reduce", "amax" if i else "amin", x.dtype.code), x.data(), ends.data(), 1, x.numel, 1)
        found[i] = (<float*>ends.data())[0] if x.dtype.code == F32 else (<double*>ends.data())[0]
    low[0], high[0] = found[0], found[1]


cdef Layout _histc(Op op, Histc* given):
    """histc(input, bins, min, max); if min and max are equal, the smallest and the largest element are the bounds"""
    cdef Layout x = <Layout>given.input.layout, out
    cdef int64_t bins = given.bins.value
    cdef double a = given.min.real, b = given.max.real
    if not 0 < bins < 0x1000000:
        return None
    if a == b:
        _ends(x, &a, &b)
    if not <float>a < <float>b or not (b - a) * bins < 3e38 or b > 3e38 or a < -3e38:       # no overflow
        return None
    out = fresh(x.dtype, 1, &bins)
    memset(out.data(), 0, bins * x.dtype.itemsize)
    count_bins(x.dtype.code, x.data(), out.data(), x.numel, bins, a, b)
    return out


cdef Layout _histogram(Op op, Histogram* a):
    """histogramdd: counts the rows of the input in bins between the given edges."""
    cdef Layout x = <Layout>a.input.layout, line, out, sums
    cdef list edges = list(<object>a.edges.given), held = []
    cdef const void* lines[16]
    cdef int64_t boxes[16]
    cdef int64_t i, count = 1
    cdef int axes = <int>len(edges)
    cdef double* total
    cdef const void* weights = memory(&a.weight)
    cdef bint even = a.even.value
    if not 0 < axes <= 16 or x.shape[1] != axes or not numel_is(&a.weight, x.shape[0]):
        return None
    for i in range(axes):
        line = (<Tensor>edges[i]).layout
        if line.dtype is not x.dtype or line.ndim != 1 or line.shape[0] < 2:
            return None
        line = as_contiguous(line)
        held.append(line)
        lines[i], boxes[i] = line.data(), line.shape[0] - 1
        count *= boxes[i]
        if count > 0x10000000:
            return None
    out = fresh(x.dtype, axes, boxes)
    sums = out if x.dtype.code == F64 else fresh(of_code(F64), axes, boxes)
    total = <double*>sums.data()
    with nogil:
        memset(total, 0, count * sizeof(double))
        count_boxes(x.dtype.code, x.data(), x.shape[0], axes, lines, boxes, weights, even, total)
    if sums is not out:
        write_layout(out, sums)
    return out


offer("searchsorted", <form_t>_searchsorted,
          "sorted_sequence: any 1d+, input: same, out_int32: false, side: left|right optional, sorter: none")
offer("bucketize", <form_t>_bucketize, "input: any, boundaries: same 1d, out_int32: false")
offer("one_hot", <form_t>_one_hot, "input: int64 copied nonempty 0-62d")
offer("trace", <form_t>_trace, "input: float int64 strided nonempty 2d")
offer("cross", <form_t>_cross, "input: float strided nonempty 1d+, other: same strided nonempty")
offer("histc", <form_t>_histc, "input: float copied nonempty, min max: float")
offer("histogram", <form_t>_histogram, "input: float copied nonempty 2d, weight: same copied nonempty optional")
