"""The native loops of recurrent layers; claygrad/ops/recurrent_layer.py says what they compute."""
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int64_t

cimport numpy as cnp

from claygrad.core.dtypes cimport F32, F64
from claygrad.core.kernels cimport find, gemm

cdef extern from "recurrent.hpp" namespace "clay" nogil:
    struct Sequence:
        const int64_t* first
        const int64_t* size
        int64_t steps
        int64_t batch
        int64_t width
        void* gates
        void* out
        void* cells
        void* h
        void* c
        const void* weight
        const void* bias
        void* scratch
        const void* start
        const void* g_out
        void* made
        void* beside
        int relu

    ctypedef void (*sequence_fn)(const Sequence*) noexcept nogil

cdef extern from "kernels.hpp" namespace "clay" nogil:
    ctypedef void (*reduce_fn)(const void* x_oni, void* out_oi, int64_t outer, int64_t n, int64_t inner) noexcept nogil

cnp.import_array()


cdef int _code(object array) noexcept:
    if not isinstance(array, cnp.ndarray):
        return -1
    if (<cnp.ndarray>array).descr.type_num == cnp.NPY_FLOAT32:
        return F32
    return F64 if (<cnp.ndarray>array).descr.type_num == cnp.NPY_FLOAT64 else -1


cdef void* _data(object array, int code, int64_t rows, int64_t width) except? NULL:
    """The memory of a contiguous block of this dtype and shape."""
    if array is None:
        return NULL
    cdef cnp.ndarray block = <cnp.ndarray?>array
    if _code(block) != code or not cnp.PyArray_IS_C_CONTIGUOUS(block) or cnp.PyArray_SIZE(block) != rows * width:
        raise ValueError(f"expected a contiguous block of {rows} x {width} elements")
    return cnp.PyArray_DATA(block)


def takes(*arrays):
    """Whether there are kernels for arrays of this kind: on the CPU, all of one dtype."""
    cdef int code = -2
    for array in arrays:
        if array is None:
            continue
        if code == -2:
            code = _code(array)
        if code < 0 or _code(array) != code:
            return False
    return code >= 0


def run(str name, list steps, int64_t gates_count, h, weight, *, gates=None, out=None, cells=None, c=None, bias=None,
        scratch=None, start=None, g_out=None, made=None, beside=None, bint relu=False):
    """One kernel over all steps, (first row, rows) in the order they are taken. All arrays are contiguous; `h`, `c`, `out`,
    `cells`, `gates` (forward), `made` and `beside` (backward) are written."""
    cdef Sequence s
    cdef int64_t* places
    cdef int64_t rows = 0, wide
    cdef Py_ssize_t k, count = len(steps)
    cdef int code = _code(h)
    cdef bytes kernel = name.encode()
    cdef sequence_fn f = <sequence_fn>find("recurrent", kernel, code)
    if f == NULL:
        raise ValueError(f"no kernel {name}")
    s.steps, s.batch, s.width, s.relu = count, h.shape[0], h.shape[1], relu
    wide = gates_count * s.width
    for step in steps:
        if not 0 <= step[1] <= s.batch:
            raise ValueError("more rows than sequences")
        rows += step[1]
    for step in steps:
        if not 0 <= step[0] <= rows - step[1]:
            raise ValueError("a step outside the rows")
    s.gates = _data(gates, code, rows, 4 * s.width)
    s.out, s.cells = _data(out, code, rows, s.width), _data(cells, code, rows, s.width)
    s.h, s.c = _data(h, code, s.batch, s.width), _data(c, code, s.batch, s.width)
    s.weight, s.bias = _data(weight, code, wide, s.width), _data(bias, code, 1, wide)
    s.scratch, s.start = _data(scratch, code, s.batch, wide), _data(start, code, s.batch, s.width)
    s.g_out, s.made = _data(g_out, code, rows, s.width), _data(made, code, rows, wide)
    s.beside = _data(beside, code, rows, s.width)
    places = <int64_t*>PyMem_Malloc(2 * (count + 1) * sizeof(int64_t))
    if places == NULL:
        raise MemoryError()
    for k in range(count):
        places[k], places[count + k] = steps[k]
    s.first, s.size = places, places + count
    with nogil:
        f(&s)
    PyMem_Free(places)


cdef bint _rows_or_columns(cnp.ndarray x, bint* turned) noexcept:
    """Whether a matrix is a block, row by row or column by column."""
    turned[0] = not cnp.PyArray_IS_C_CONTIGUOUS(x)
    return not turned[0] or cnp.PyArray_IS_F_CONTIGUOUS(x)


def product(a, b):
    """a @ b of two matrices, either of them transposed or not: on the threads that the loops run on."""
    cdef int code = _code(a)
    cdef bint ta, tb
    if code < 0 or _code(b) != code or a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0] or a.size == 0 or b.size == 0:
        return a @ b
    if not _rows_or_columns(a, &ta) or not _rows_or_columns(b, &tb):
        return a @ b
    cdef int64_t m = a.shape[0], k = a.shape[1], n = b.shape[1]
    cdef cnp.npy_intp[2] shape = [m, n]
    cdef cnp.ndarray out = cnp.PyArray_EMPTY(2, shape, cnp.NPY_FLOAT32 if code == F32 else cnp.NPY_FLOAT64, 0)
    cdef void* x = cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef void* y = cnp.PyArray_DATA(<cnp.ndarray>b)
    cdef void* made = cnp.PyArray_DATA(out)
    with nogil:
        gemm(code, ta, tb, m, n, k, x, m if ta else k, y, k if tb else n, made, n, False)
    return out


def column_sums(a):
    """The sum of the rows of a matrix."""
    cdef int code = _code(a)
    if code < 0 or a.ndim != 2 or a.size == 0 or not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>a):
        return a.sum(axis=0)
    cdef int64_t rows = a.shape[0], n = a.shape[1]
    cdef cnp.npy_intp[1] shape = [n]
    cdef cnp.ndarray out = cnp.PyArray_EMPTY(1, shape, cnp.NPY_FLOAT32 if code == F32 else cnp.NPY_FLOAT64, 0)
    cdef reduce_fn f = <reduce_fn>find("reduce", b"sum", code)
    cdef void* x = cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef void* made = cnp.PyArray_DATA(out)
    with nogil:
        f(x, made, 1, rows, n)
    return out
