"""The native loops that choose elements: by masks, numbers and rank, running extremes, distances. The declarations in
claygrad/ops say what they compute; every function here answers None when there is no kernel for such arrays."""
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, malloc

import numpy

cimport numpy as cnp

from claygrad.native.arrays cimport code_of, empty_like, plain, split
from claygrad.core.data.dtype cimport F32, F64, I64
from claygrad.core.data.kernels cimport find

cdef extern from "index/dense.hpp" namespace "clay" nogil:
    void select_along(const void*, const int64_t*, void*, int64_t, int64_t, int64_t, int64_t) noexcept
    void add_along(int, void*, const int64_t*, const void*, int64_t, int64_t, int64_t, int64_t) noexcept
    ctypedef void (*search_fn)(const void*, const void*, int64_t*, int64_t, int64_t, int64_t, bint) noexcept nogil
    search_fn find_search(int dtype) noexcept

cdef extern from "nn/norm.hpp" namespace "clay" nogil:
    ctypedef void (*scan_fn)(const void*, void*, int64_t, int64_t, int64_t, bint) noexcept nogil

cdef extern from "reduce/scan.hpp" namespace "clay" nogil:
    ctypedef void (*extremes_fn)(const void*, void*, int64_t*, int64_t, int64_t, int64_t) noexcept nogil
    ctypedef void (*log_sums_fn)(const void*, void*, int64_t, int64_t) noexcept nogil
    ctypedef void (*log_slope_fn)(const void*, const void*, const void*, void*, int64_t, int64_t) noexcept nogil
    ctypedef bint (*running_logs_fn)(const void*, void*, int64_t, int64_t) noexcept nogil
    ctypedef void (*distances_fn)(const void*, const void*, void*, int64_t, int64_t, int64_t, int64_t, double) noexcept nogil

cnp.import_array()

cdef inline void* _data(object array) noexcept:
    return cnp.PyArray_DATA(<cnp.ndarray>array)


# --- masks -------------------------------------------------------------------------------------------------------------
cdef class _Mask:
    """A mask and where the elements of its stretches begin."""
    cdef const uint8_t* at
    cdef int64_t* counts
    cdef int64_t n, total

    def __dealloc__(self):
        free(self.counts)

    cdef bint take(self, object mask) except -1:
        if not plain(mask) or (<cnp.ndarray>mask).descr.type_num != cnp.NPY_BOOL:
            return False
        self.at, self.n = <const uint8_t*>_data(mask), cnp.PyArray_SIZE(<cnp.ndarray>mask)
        self.counts = <int64_t*>malloc((stretches(self.n) + 1) * sizeof(int64_t))
        if self.counts == NULL:
            raise MemoryError()
        with nogil:
            self.total = count_mask(self.at, self.n, self.counts)
        return True


cdef bint _movable(object x) noexcept:
    """Whether the elements can be moved as bytes."""
    if not plain(x) or not cnp.PyArray_ISNUMBER(<cnp.ndarray>x) and (<cnp.ndarray>x).descr.type_num != cnp.NPY_BOOL:
        return False
    cdef int size = cnp.PyArray_ITEMSIZE(<cnp.ndarray>x)
    return size == 1 or size == 2 or size == 4 or size == 8 or size == 16


def by_mask(x, mask):
    """x[mask] for a mask of x's shape; or None."""
    cdef _Mask m = _Mask.__new__(_Mask)
    if not _movable(x) or not isinstance(mask, cnp.ndarray) or not cnp.PyArray_SAMESHAPE(<cnp.ndarray>x, <cnp.ndarray>mask):
        return None
    if not m.take(mask):
        return None
    out = cnp.PyArray_EMPTY(1, <cnp.npy_intp*>&m.total, (<cnp.ndarray>x).descr.type_num, 0)
    cdef void* from_ = _data(x)
    cdef void* into = _data(out)
    cdef int64_t size = cnp.PyArray_ITEMSIZE(<cnp.ndarray>x)
    with nogil:
        pick_by_mask(from_, m.at, into, m.n, m.counts, size)
    return out


def into_mask(x, mask, source):
    """A copy of x with out[mask] = source, a vector of at least as many elements as the mask has; or None."""
    cdef _Mask m = _Mask.__new__(_Mask)
    if not _movable(x) or not isinstance(mask, cnp.ndarray) or not cnp.PyArray_SAMESHAPE(<cnp.ndarray>x, <cnp.ndarray>mask):
        return None
    if not _movable(source) or (<cnp.ndarray>source).descr.type_num != (<cnp.ndarray>x).descr.type_num or not m.take(mask):
        return None
    if cnp.PyArray_SIZE(<cnp.ndarray>source) < m.total:
        return None
    out = empty_like(<cnp.ndarray>x)
    cdef void* from_ = _data(x)
    cdef void* values = _data(source)
    cdef void* into = _data(out)
    cdef int64_t size = cnp.PyArray_ITEMSIZE(<cnp.ndarray>x)
    with nogil:
        place_by_mask(from_, m.at, values, into, m.n, m.counts, size)
    return out


def places(mask):
    """The places of the true elements, one row per axis; or None."""
    cdef _Mask m = _Mask.__new__(_Mask)
    cdef int ndim
    cdef cnp.npy_intp shape[2]
    if not isinstance(mask, cnp.ndarray) or cnp.PyArray_NDIM(<cnp.ndarray>mask) == 0 or not m.take(mask):
        return None
    ndim = cnp.PyArray_NDIM(<cnp.ndarray>mask)
    shape[0], shape[1] = ndim, m.total
    out = cnp.PyArray_EMPTY(2, shape, cnp.NPY_INT64, 0)
    cdef int64_t* into = <int64_t*>_data(out)
    cdef const int64_t* sizes = <const int64_t*>cnp.PyArray_DIMS(<cnp.ndarray>mask)
    if m.total:
        with nogil:
            places_of_mask(m.at, sizes, ndim, into, m.n, m.total, m.counts)
    return out


# --- entries along an axis -----------------------------------------------------------------------------------------------
cdef bint _numbers(object index, int64_t n) noexcept:
    """Whether it is a vector of int64 from 0 to n - 1."""
    cdef int64_t k
    if code_of(index) != I64 or cnp.PyArray_NDIM(<cnp.ndarray>index) != 1:
        return False
    cdef const int64_t* at = <const int64_t*>_data(index)
    for k in range(cnp.PyArray_SIZE(<cnp.ndarray>index)):
        if at[k] < 0 or at[k] >= n:
            return False
    return True


def entries(x, index, int axis):
    """The entries of an axis with the numbers in a vector; or None."""
    cdef int64_t outer, n, inner, m
    if not _movable(x) or not 0 <= axis < cnp.PyArray_NDIM(<cnp.ndarray>x):
        return None
    split(<cnp.ndarray>x, axis, &outer, &n, &inner)
    if not _numbers(index, n):
        return None
    m = cnp.PyArray_SIZE(<cnp.ndarray>index)
    shape = x.shape
    out = numpy.empty((*shape[:axis], m, *shape[axis + 1:]), x.dtype)
    cdef void* from_ = _data(x)
    cdef void* into = _data(out)
    cdef const int64_t* at = <const int64_t*>_data(index)
    inner *= cnp.PyArray_ITEMSIZE(<cnp.ndarray>x)
    if outer * m * inner:
        with nogil:
            select_along(from_, at, into, outer, n, m, inner)
    return out


def add_entries(out, index, source, int axis):
    """out[..., index[j], ...] += source[..., j, ...] in order, in place: True; or False, and nothing is written."""
    cdef int code = code_of(out)
    cdef int64_t outer, n, inner, m
    if (code != F32 and code != F64) or code_of(source) != code or not 0 <= axis < cnp.PyArray_NDIM(<cnp.ndarray>out):
        return False
    split(<cnp.ndarray>out, axis, &outer, &n, &inner)
    if not _numbers(index, n):
        return False
    m = cnp.PyArray_SIZE(<cnp.ndarray>index)
    if cnp.PyArray_SIZE(<cnp.ndarray>source) != outer * m * inner:
        return False
    cdef void* from_ = _data(source)
    cdef void* into = _data(out)
    cdef const int64_t* at = <const int64_t*>_data(index)
    if outer * m * inner:
        with nogil:
            add_along(code, into, at, from_, outer, n, m, inner)
    return True


def added(x, int dim, index, source):
    """A copy of x with the entries of source added at these places of an axis, all of them in range; or None."""
    cdef int k, code = code_of(x), ndim
    cdef int64_t outer = 0, n = 0, m = 0, inner = 0, i
    if (code != F32 and code != F64) or code_of(source) != code or code_of(index) != I64:
        return None
    ndim = cnp.PyArray_NDIM(<cnp.ndarray>x)
    if cnp.PyArray_NDIM(<cnp.ndarray>index) != 1 or cnp.PyArray_NDIM(<cnp.ndarray>source) != ndim or not -ndim <= dim < ndim:
        return None
    dim += ndim if dim < 0 else 0
    for k in range(ndim):
        if k != dim and cnp.PyArray_DIM(<cnp.ndarray>x, k) != cnp.PyArray_DIM(<cnp.ndarray>source, k):
            return None
    split(<cnp.ndarray>x, dim, &outer, &n, &inner)
    m = cnp.PyArray_DIM(<cnp.ndarray>source, dim)
    if cnp.PyArray_DIM(<cnp.ndarray>index, 0) != m:
        return None
    cdef const int64_t* at = <const int64_t*>_data(index)
    for i in range(m):
        if not 0 <= at[i] < n:
            return None
    out = cnp.PyArray_NewCopy(<cnp.ndarray>x, cnp.NPY_CORDER)
    cdef void* from_ = _data(source)
    cdef void* into = _data(out)
    if outer * m * inner:
        with nogil:
            add_along(code, into, at, from_, outer, n, m, inner)
    return out


def counts(x, weights, int64_t least):
    """How often each number of a vector occurs, or the sums of its weights as float64, at least so many; or None."""
    cdef int64_t i, n, low = 0, high = 0
    cdef int code = -1 if weights is None else code_of(weights)
    if code_of(x) != I64 or cnp.PyArray_NDIM(<cnp.ndarray>x) != 1 or cnp.PyArray_SIZE(<cnp.ndarray>x) == 0:
        return None
    n = cnp.PyArray_SIZE(<cnp.ndarray>x)
    if weights is not None and ((code != F32 and code != F64) or cnp.PyArray_SIZE(<cnp.ndarray>weights) != n):
        return None
    cdef const int64_t* at = <const int64_t*>_data(x)
    with nogil:
        for i in range(n):
            low, high = min(low, at[i]), max(high, at[i])
    if low < 0 or high >= 1 << 40:
        return None
    out = numpy.zeros(max(high + 1, least), numpy.int64 if weights is None else numpy.float64)
    cdef int64_t* whole = <int64_t*>_data(out)
    cdef double* sums = <double*>_data(out)
    cdef const float* single = <const float*>_data(weights) if code == F32 else NULL
    cdef const double* double_ = <const double*>_data(weights) if code == F64 else NULL
    with nogil:
        if code == F32:
            for i in range(n):
                sums[at[i]] += single[i]
        elif code == F64:
            for i in range(n):
                sums[at[i]] += double_[i]
        else:
            for i in range(n):
                whole[at[i]] += 1
    return out


# --- searches ---------------------------------------------------------------------------------------------------------
def search(rows, values, bint right):
    """For each value the first place of a sorted row that is not below it (right: above it): one row for all, or one for
    each row of the values; or None."""
    cdef int code = code_of(rows)
    cdef search_fn f
    if code < 0 or code_of(values) != code or cnp.PyArray_SIZE(<cnp.ndarray>values) == 0 or cnp.PyArray_SIZE(<cnp.ndarray>rows) == 0:
        return None
    cdef int64_t n = cnp.PyArray_DIM(<cnp.ndarray>rows, cnp.PyArray_NDIM(<cnp.ndarray>rows) - 1)
    cdef int64_t count = cnp.PyArray_SIZE(<cnp.ndarray>rows) // n, m = cnp.PyArray_SIZE(<cnp.ndarray>values)
    f = find_search(code)
    if f == NULL or (count > 1 and rows.shape[:-1] != values.shape[:-1]):
        return None
    out = cnp.PyArray_EMPTY(cnp.PyArray_NDIM(<cnp.ndarray>values), cnp.PyArray_DIMS(<cnp.ndarray>values), cnp.NPY_INT64, 0)
    cdef void* a = _data(rows)
    cdef void* b = _data(values)
    cdef int64_t* into = <int64_t*>_data(out)
    with nogil:
        f(a, b, into, count, n, m, right)
    return out


# --- running results and sums of exponentials ----------------------------------------------------------------------------
def running_product(x, int axis):
    """The running product along an axis; or None."""
    cdef int code = code_of(x)
    cdef int64_t outer, n, inner
    cdef scan_fn f
    if code < 0 or not 0 <= axis < cnp.PyArray_NDIM(<cnp.ndarray>x):
        return None
    f = <scan_fn>find("scan", "prod", code)
    if f == NULL:
        return None
    split(<cnp.ndarray>x, axis, &outer, &n, &inner)
    out = empty_like(<cnp.ndarray>x)
    cdef void* from_ = _data(x)
    cdef void* into = _data(out)
    if outer * n * inner:
        with nogil:
            f(from_, into, outer, n, inner, False)
    return out


def running_extreme(x, int axis, bint largest):
    """The extreme so far along an axis and the last place that attained it; or None."""
    cdef int code = code_of(x)
    cdef int64_t outer, n, inner
    cdef extremes_fn f
    if code < 0 or not 0 <= axis < cnp.PyArray_NDIM(<cnp.ndarray>x) or cnp.PyArray_SIZE(<cnp.ndarray>x) == 0:
        return None
    f = <extremes_fn>find("scan", "max" if largest else "min", code)
    if f == NULL:
        return None
    split(<cnp.ndarray>x, axis, &outer, &n, &inner)
    out = empty_like(<cnp.ndarray>x)
    at = cnp.PyArray_EMPTY(cnp.PyArray_NDIM(<cnp.ndarray>x), cnp.PyArray_DIMS(<cnp.ndarray>x), cnp.NPY_INT64, 0)
    cdef void* from_ = _data(x)
    cdef void* into = _data(out)
    cdef int64_t* where = <int64_t*>_data(at)
    with nogil:
        f(from_, into, where, outer, n, inner)
    return out, at


def log_sums(x, int64_t rows):
    """log(sum(exp(row))) of each of so many rows, as a vector; or None."""
    cdef int code = code_of(x)
    cdef log_sums_fn f
    if (code != F32 and code != F64) or rows <= 0 or cnp.PyArray_SIZE(<cnp.ndarray>x) == 0:
        return None
    cdef int64_t n = cnp.PyArray_SIZE(<cnp.ndarray>x) // rows
    f = <log_sums_fn>find("scan", "logsumexp", code)
    out = cnp.PyArray_EMPTY(1, <cnp.npy_intp*>&rows, (<cnp.ndarray>x).descr.type_num, 0)
    cdef void* from_ = _data(x)
    cdef void* into = _data(out)
    if f == NULL:
        return None
    with nogil:
        f(from_, into, rows, n)
    return out


def log_sums_slope(g, x, out):
    """g * exp(x - out) for rows of x, with one element of g and out for each; or None."""
    cdef int code = code_of(x)
    cdef log_slope_fn f
    if (code != F32 and code != F64) or code_of(g) != code or code_of(out) != code or cnp.PyArray_SIZE(<cnp.ndarray>x) == 0:
        return None
    cdef int64_t rows = cnp.PyArray_SIZE(<cnp.ndarray>out), n
    f = <log_slope_fn>find("scan", "logsumexp_slope", code)
    if f == NULL or rows == 0 or cnp.PyArray_SIZE(<cnp.ndarray>g) != rows or cnp.PyArray_SIZE(<cnp.ndarray>x) % rows:
        return None
    n = cnp.PyArray_SIZE(<cnp.ndarray>x) // rows
    made = empty_like(<cnp.ndarray>x)
    cdef void* a = _data(g)
    cdef void* b = _data(x)
    cdef void* c = _data(out)
    cdef void* into = _data(made)
    with nogil:
        f(a, b, c, into, rows, n)
    return made


def running_logs(x):
    """The running log(sum(exp(x))) along the last axis of float32; or None."""
    cdef bint done
    if code_of(x) != F32 or cnp.PyArray_NDIM(<cnp.ndarray>x) == 0 or cnp.PyArray_SIZE(<cnp.ndarray>x) == 0:
        return None
    cdef int64_t n = cnp.PyArray_DIM(<cnp.ndarray>x, cnp.PyArray_NDIM(<cnp.ndarray>x) - 1)
    cdef int64_t rows = cnp.PyArray_SIZE(<cnp.ndarray>x) // n
    cdef running_logs_fn f = <running_logs_fn>find("scan", "logcumsumexp", F32)
    out = empty_like(<cnp.ndarray>x)
    cdef void* from_ = _data(x)
    cdef void* into = _data(out)
    with nogil:
        done = f(from_, into, rows, n)
    return out if done else None


# --- distances -----------------------------------------------------------------------------------------------------------
cdef struct Pairs:
    int64_t batch, m, n, k


cdef object _pairs(x, y, int code, Pairs* into):
    """Room for a number for each pair of rows of x (..., m, k) and y (..., n, k); or None."""
    cdef int last
    if (code != F32 and code != F64) or code_of(y) != code:
        return None
    last = cnp.PyArray_NDIM(<cnp.ndarray>x) - 1
    if last < 1 or cnp.PyArray_NDIM(<cnp.ndarray>y) - 1 != last or x.shape[:last - 1] != y.shape[:last - 1]:
        return None
    into.m, into.n = cnp.PyArray_DIM(<cnp.ndarray>x, last - 1), cnp.PyArray_DIM(<cnp.ndarray>y, last - 1)
    into.k = cnp.PyArray_DIM(<cnp.ndarray>x, last)
    if into.m * into.n * into.k == 0 or cnp.PyArray_DIM(<cnp.ndarray>y, last) != into.k:
        return None
    into.batch = cnp.PyArray_SIZE(<cnp.ndarray>x) // (into.m * into.k)
    return numpy.empty((*x.shape[:last - 1], into.m, into.n), x.dtype)


def distances(x, y, double p):
    """The p-norms of differences of all rows of x (..., m, k) and y (..., n, k), p > 0; or None."""
    cdef int code = code_of(x)
    cdef distances_fn f
    cdef Pairs s = Pairs(0, 0, 0, 0)
    out = _pairs(x, y, code, &s) if p > 0 else None
    f = <distances_fn>find("distance", "euclidean" if p == 2 else "norm", code)
    if out is None or f == NULL:
        return None
    cdef void* a = _data(x)
    cdef void* b = _data(y)
    cdef void* into = _data(out)
    with nogil:
        f(a, b, into, s.batch, s.m, s.n, s.k, p)
    return out
