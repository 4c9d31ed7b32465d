# What the doors to native loops ask of NumPy's arrays. A module that cimports this calls cnp.import_array() itself.
cimport numpy as cnp
from libc.stdint cimport int64_t

from claygrad.core.data.dtype cimport F32, F64, I32, I64

cdef enum:
    NO_CODE = -1


cdef inline bint plain(object array) noexcept:
    """Whether it is an array of numbers on the CPU, in row-major order."""
    return isinstance(array, cnp.ndarray) and cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>array)


cdef inline int code_of(object array) noexcept:
    """The dtype of such an array; NO_CODE for anything else."""
    if not plain(array):
        return NO_CODE
    cdef int kind = (<cnp.ndarray>array).descr.type_num
    if kind == cnp.NPY_FLOAT32:
        return F32
    if kind == cnp.NPY_FLOAT64:
        return F64
    if kind == cnp.NPY_INT64:
        return I64
    return I32 if kind == cnp.NPY_INT32 else NO_CODE


cdef inline object empty_like(cnp.ndarray x):
    return cnp.PyArray_EMPTY(cnp.PyArray_NDIM(x), cnp.PyArray_DIMS(x), x.descr.type_num, 0)


cdef inline void split(cnp.ndarray x, int axis, int64_t* outer, int64_t* n, int64_t* inner) noexcept:
    """The sizes before an axis, along it and behind it."""
    cdef int k
    outer[0] = inner[0] = 1
    n[0] = cnp.PyArray_DIM(x, axis)
    for k in range(cnp.PyArray_NDIM(x)):
        if k < axis:
            outer[0] *= cnp.PyArray_DIM(x, k)
        elif k > axis:
            inner[0] *= cnp.PyArray_DIM(x, k)
