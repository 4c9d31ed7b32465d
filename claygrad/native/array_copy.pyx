"""Native moves of the elements of arrays: strided copies and triangles. False or None: not for such arrays."""
from libc.stdint cimport int64_t

import numpy

cimport numpy as cnp

from claygrad.core.data.kernels cimport copy_strided

cdef extern from "elementwise/params.hpp" namespace "clay" nogil:
    void c_triangle "clay::triangle"(const void* x, void* out, int64_t count, int64_t rows, int64_t columns, int64_t diagonal,
                                     bint upper, int64_t item_size) noexcept

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
