"""Native moves of the elements of arrays: strided copies, triangles, padding. False or None: not for such arrays."""
from libc.stdint cimport int64_t

import numpy

cimport numpy as cnp

from claygrad.core.arrays cimport code_of
from claygrad.core.dtypes cimport F32, F64
from claygrad.core.kernels cimport copy_strided

cdef extern from "shaped.hpp" namespace "clay" nogil:
    void c_triangle "clay::triangle"(const void* x, void* out, int64_t count, int64_t rows, int64_t columns, int64_t diagonal,
                                     bint upper, int64_t item_size) noexcept

cdef extern from "pad.hpp" namespace "clay" nogil:
    enum PadMode:
        PAD_CONSTANT, PAD_REFLECT, PAD_REPLICATE, PAD_CIRCULAR
    struct Padding:
        int64_t outer
        int64_t size[3]
        int64_t before[3]
        int64_t after[3]
        int mode
    void pad_lines(const void* x, void* out, const Padding* shape, int64_t item_size, const void* value) noexcept
    void c_pad_back "clay::pad_back"(int dtype, const void* grad, void* out, const Padding* shape) noexcept

cnp.import_array()


cdef enum:
    LEAST = 16384                       # bytes: below, NumPy's own copy is as fast


def copy(dst, src):
    """Assign an array to another of its shape and dtype; both may have any strides, and must not overlap."""
    if not isinstance(dst, cnp.ndarray) or not isinstance(src, cnp.ndarray):
        return False
    cdef cnp.ndarray to = <cnp.ndarray>dst, of = <cnp.ndarray>src
    cdef int64_t shape[64]
    cdef int64_t into[64]
    cdef int64_t steps[64]
    cdef int i, ndim = cnp.PyArray_NDIM(to)
    cdef int64_t item = cnp.PyArray_ITEMSIZE(to)
    if ndim != cnp.PyArray_NDIM(of) or to.descr.type_num != of.descr.type_num or cnp.PyArray_NBYTES(to) < LEAST:
        return False
    for i in range(ndim):
        shape[i], into[i], steps[i] = cnp.PyArray_DIM(to, i), cnp.PyArray_STRIDE(to, i), cnp.PyArray_STRIDE(of, i)
        if shape[i] != cnp.PyArray_DIM(of, i):
            return False
    cdef char* target = <char*>cnp.PyArray_DATA(to)
    cdef const char* source = <const char*>cnp.PyArray_DATA(of)
    with nogil:
        copy_strided(source, steps, target, into, shape, ndim, item)
    return True


def triangle(x, int64_t diagonal, bint upper):
    """The lower or upper triangle of each matrix of a contiguous array, zeros elsewhere; or None."""
    if not isinstance(x, cnp.ndarray) or not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>x):
        return None
    cdef cnp.ndarray of = <cnp.ndarray>x
    cdef int ndim = cnp.PyArray_NDIM(of)
    if ndim < 2 or cnp.PyArray_SIZE(of) == 0:
        return None
    cdef int64_t rows = cnp.PyArray_DIM(of, ndim - 2), columns = cnp.PyArray_DIM(of, ndim - 1)
    cdef int64_t limit = rows + columns, item = cnp.PyArray_ITEMSIZE(of), count = cnp.PyArray_SIZE(of) // (rows * columns)
    diagonal = limit if diagonal > limit else -limit if diagonal < -limit else diagonal
    out = numpy.empty(x.shape, x.dtype)
    cdef void* target = cnp.PyArray_DATA(<cnp.ndarray>out)
    cdef const void* source = cnp.PyArray_DATA(of)
    with nogil:
        c_triangle(source, target, count, rows, columns, diagonal, upper, item)
    return out


cdef bint _padding(Padding* p, const cnp.npy_intp* shape, int ndim, pads, str mode) except -1:
    """Pads of an array of this shape, the last axis first; the constant may cut."""
    cdef Py_ssize_t count = len(pads) // 2
    cdef int i
    p.mode = (PAD_CONSTANT if mode == "constant" else PAD_REFLECT if mode == "reflect"
              else PAD_REPLICATE if mode == "replicate" else PAD_CIRCULAR)
    if count > 3 or count > ndim or count == 0:
        return False
    p.outer = 1
    for i in range(3):
        p.size[i] = 1
        p.before[i] = p.after[i] = 0
    for i in range(ndim):
        if shape[i] == 0:
            return False
        if i < ndim - count:
            p.outer *= shape[i]
    for i in range(count):
        p.size[2 - i], p.before[2 - i], p.after[2 - i] = shape[ndim - 1 - i], pads[2 * i], pads[2 * i + 1]
        if p.size[2 - i] + p.before[2 - i] + p.after[2 - i] <= 0:
            return False
        if p.mode == PAD_CONSTANT:
            if p.size[2 - i] + min(p.before[2 - i], 0) + min(p.after[2 - i], 0) < 0:
                return False
            continue
        if p.before[2 - i] < 0 or p.after[2 - i] < 0:
            return False
        if p.mode != PAD_REPLICATE and max(p.before[2 - i], p.after[2 - i]) > p.size[2 - i] - (p.mode == PAD_REFLECT):
            return False
    return True


def pad(x, pads, str mode, value):
    """The array with its last axes padded, the last one first: by a value, an array of its dtype, or by its own elements."""
    cdef Padding p
    cdef cnp.npy_intp shape[64]
    cdef int i, ndim
    cdef const void* constant = NULL
    if not isinstance(x, cnp.ndarray) or not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>x):
        return None
    cdef cnp.ndarray of = <cnp.ndarray>x
    ndim = cnp.PyArray_NDIM(of)
    cdef int64_t item = cnp.PyArray_ITEMSIZE(of)
    if item != 1 and item != 2 and item != 4 and item != 8 and item != 16 or not _padding(&p, cnp.PyArray_DIMS(of), ndim, pads, mode):
        return None
    if p.mode == PAD_CONSTANT:
        if (<cnp.ndarray?>value).descr.type_num != of.descr.type_num:
            return None
        constant = cnp.PyArray_DATA(<cnp.ndarray>value)
    for i in range(ndim):
        shape[i] = cnp.PyArray_DIM(of, i)
        if i >= ndim - 3:
            shape[i] += p.before[i - ndim + 3] + p.after[i - ndim + 3]
    out = numpy.empty([shape[i] for i in range(ndim)], x.dtype)
    cdef void* target = cnp.PyArray_DATA(<cnp.ndarray>out)
    cdef const void* source = cnp.PyArray_DATA(of)
    with nogil:
        pad_lines(source, target, &p, item, constant)
    return out


def pad_back(grad, pads, str mode, shape):
    """What padding an array of this shape with its own elements makes of a gradient."""
    cdef Padding p
    cdef cnp.npy_intp sizes[64]
    cdef int i, ndim, code = code_of(grad)
    if (code != F32 and code != F64) or mode == "constant":
        return None
    ndim = cnp.PyArray_NDIM(<cnp.ndarray>grad)
    for i in range(ndim):
        sizes[i] = shape[i]
    if not _padding(&p, sizes, ndim, pads, mode):
        return None
    out = numpy.empty(shape, grad.dtype)
    cdef void* target = cnp.PyArray_DATA(<cnp.ndarray>out)
    cdef const void* source = cnp.PyArray_DATA(<cnp.ndarray>grad)
    with nogil:
        c_pad_back(code, source, target, &p)
    return out
