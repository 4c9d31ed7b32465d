"""The native loops of pooling; claygrad/ops/_pool.py says what they compute."""
from libc.stdint cimport int64_t

cimport numpy as cnp

from claygrad.core.dtypes cimport F32, F64
from claygrad.core.kernels cimport find

cdef extern from "windows.hpp" namespace "clay" nogil:
    struct Pooling:
        int64_t planes, h, w, oh, ow, kh, kw
        int64_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w
        bint counted
        int64_t divisor

    ctypedef bint (*pooling_fn)(const Pooling* shape, const void* a, void* made, int64_t* places) noexcept nogil

cnp.import_array()


cdef bint _plain(object array, int type_num) noexcept:
    return (isinstance(array, cnp.ndarray) and (<cnp.ndarray>array).descr.type_num == type_num
            and cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>array) and cnp.PyArray_ISBEHAVED_RO(<cnp.ndarray>array))


def run(str name, a, made, places, tuple size, tuple out, kernel, stride, padding, dilation, bint counted=True,
        int64_t divisor=0):
    """Fill `made` (and `places`) by a kernel: max, max_back, mean or mean_back, from planes of this size to `out` or back.
    False if there is none for such arrays. One axis counts as two, the first of size 1."""
    cdef Pooling s
    cdef int kind = (<cnp.ndarray?>a).descr.type_num
    cdef bint one = len(size) == 1, filled
    cdef int64_t plane
    if len(size) not in (1, 2) or (kind != cnp.NPY_FLOAT32 and kind != cnp.NPY_FLOAT64):
        return False
    if not _plain(a, kind) or not _plain(made, kind) or (places is not None and not _plain(places, cnp.NPY_INT64)):
        return False
    s.h, s.oh, s.kh = (1, 1, 1) if one else (size[0], out[0], kernel[0])
    s.w, s.ow, s.kw = size[-1], out[-1], kernel[-1]
    s.stride_h, s.pad_h, s.dilation_h = (1, 0, 1) if one else (stride[0], padding[0], dilation[0])
    s.stride_w, s.pad_w, s.dilation_w = stride[-1], padding[-1], dilation[-1]
    s.counted, s.divisor = counted, divisor
    plane = s.h * s.w if name == "max" or name == "mean" else s.oh * s.ow
    s.planes = cnp.PyArray_SIZE(<cnp.ndarray>a) // plane if plane else 0
    cdef bytes said = name.encode()
    cdef pooling_fn f = <pooling_fn>find("windows", said, F32 if kind == cnp.NPY_FLOAT32 else F64)
    if f == NULL:
        return False
    cdef void* x = cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef void* y = cnp.PyArray_DATA(<cnp.ndarray>made)
    cdef int64_t* at = <int64_t*>cnp.PyArray_DATA(<cnp.ndarray>places) if places is not None else NULL
    with nogil:
        filled = f(&s, x, y, at)
    return filled
