"""Fast paths of the distances between rows, for float32 and float64 in row-major order; claygrad/ops/products.py and
linalg_distance.py say what they compute."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from claygrad.core.declared cimport Op
from claygrad.core.dtypes cimport F32
from claygrad.core.kernels cimport find
from claygrad.core.layout cimport Layout, fresh, fresh_like
from claygrad.core.taken cimport floats_at

cdef extern from "scan.hpp" namespace "clay" nogil:
    ctypedef void (*distances_fn)(const void*, const void*, void*, int64_t, int64_t, int64_t, int64_t, double) noexcept nogil

cdef enum:
    ROWS = 64                # that are compared with the others at a time


ctypedef fused real:
    float
    double


cdef void _unequal(const real* x, const real* y, real* out, int64_t batch, int64_t m, int64_t n, int64_t k) noexcept nogil:
    """How many elements of each pair of rows differ, by more than NaN from NaN: the distance for p = 0."""
    cdef int64_t b, i, j, e
    cdef real count, gap
    for b in range(batch):
        for i in range(m):
            for j in range(n):
                count = 0
                for e in range(k):
                    gap = x[(b * m + i) * k + e] - y[(b * n + j) * k + e]
                    count += gap != 0
                out[(b * m + i) * n + j] = count


cdef int _measure(int code, double p, const void* x, const void* y, void* out, int64_t batch, int64_t m, int64_t n,
                  int64_t k) noexcept nogil:
    if p == 0 and code == F32:
        _unequal[float](<const float*>x, <const float*>y, <float*>out, batch, m, n, k)
    elif p == 0:
        _unequal[double](<const double*>x, <const double*>y, <double*>out, batch, m, n, k)
    else:
        (<distances_fn>find("distance", "euclidean" if p == 2 else "norm", code))(x, y, out, batch, m, n, k, p)
    return 0


cdef Layout _between(Op op, PyObject** slots, Layout target):
    """_cdist_forward(x1, x2, p) and _euclidean_dist(x1, x2)"""
    cdef Layout x = floats_at(slots[0]), y = floats_at(slots[1]), out
    cdef int64_t shape[8]
    cdef int64_t m, n, k, batch = 1
    cdef double p = 2
    cdef int i, last
    if target is not None or x is None or y is None or x.dtype is not y.dtype or x.ndim != y.ndim or not 2 <= x.ndim <= 8:
        return None
    if op.n_params == 3:
        if type(<object>slots[2]) is not float and type(<object>slots[2]) is not int:
            return None
        p = <object>slots[2]
    last = x.ndim - 1
    m, n, k = x.shape[last - 1], y.shape[last - 1], x.shape[last]
    if not p >= 0 or m * n * k == 0 or y.shape[last] != k:
        return None
    for i in range(last - 1):
        if x.shape[i] != y.shape[i]:
            return None
        shape[i] = x.shape[i]
        batch *= x.shape[i]
    shape[last - 1], shape[last] = m, n
    out = fresh(x.dtype, x.ndim, shape)
    with nogil:
        _measure(x.dtype.code, p, x.data(), y.data(), out.data(), batch, m, n, k)
    return out


cdef Layout _among(Op op, PyObject** slots, Layout target):
    """pdist(input, p)"""
    cdef Layout x = floats_at(slots[0]), out, block
    cdef int64_t n, k, i, r, count, item, room, some, others
    cdef double p
    cdef char* into
    if target is not None or x is None or x.ndim != 2 or type(<object>slots[1]) is not float and type(<object>slots[1]) is not int:
        return None
    p, n, k, item = <object>slots[1], x.shape[0], x.shape[1], x.dtype.itemsize
    if not p >= 0 or k == 0:
        return None
    count = n * (n - 1) // 2 if n else 0
    out = fresh(x.dtype, 1, &count)
    into = out.data()
    room = (ROWS if n > ROWS else n) * n
    block = fresh(x.dtype, 1, &room)
    with nogil:
        i = 0
        while i < n - 1:
            some, others = ROWS if n - 1 - i > ROWS else n - 1 - i, n - 1 - i
            _measure(x.dtype.code, p, x.data() + i * k * item, x.data() + (i + 1) * k * item, block.data(), 1, some, others, k)
            for r in range(some):                  # row i + r against those after it
                memcpy(into, block.data() + (r * others + r) * item, (others - r) * item)
                into += (others - r) * item
            i += ROWS
    return out


cdef Layout _among_back(Op op, PyObject** slots, Layout target):
    """_pdist_backward(grad_output, input, out, p), p 1 or 2"""
    cdef Layout g = floats_at(slots[0]), x = floats_at(slots[1]), d = floats_at(slots[2]), weight = g, made
    cdef int64_t i
    cdef double p
    cdef float* single
    cdef double* double_
    if target is not None or g is None or x is None or d is None or x.ndim != 2 or g.dtype is not x.dtype or d.dtype is not x.dtype:
        return None
    p = <object>slots[3]
    if p != 1 and p != 2 or g.numel != x.shape[0] * (x.shape[0] - 1) // 2 or d.numel != g.numel or x.numel == 0:
        return None
    if p == 2:
        weight = fresh_like(g)
        single, double_ = <float*>weight.data(), <double*>weight.data()
        for i in range(g.numel):
            if x.dtype.code == F32:
                single[i] = 0 if (<float*>d.data())[i] == 0 else (<float*>g.data())[i] / (<float*>d.data())[i]
            else:
                double_[i] = 0 if (<double*>d.data())[i] == 0 else (<double*>g.data())[i] / (<double*>d.data())[i]
    made = fresh_like(x)
    with nogil:
        (<distances_fn>find("distance", "pairs_back", x.dtype.code))(x.data(), weight.data(), made.data(), 1, x.shape[0], 0, x.shape[1], p)
    return made


cdef int prepare(Op op) except -1:
    if op.name == "_cdist_forward" or op.name == "_euclidean_dist":
        op.fast = _between
    elif op.name == "pdist":
        op.fast = _among
    elif op.name == "_pdist_backward":
        op.fast = _among_back
    return 0
