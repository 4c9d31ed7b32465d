"""The native loops of sampling at the points of a grid; claygrad/ops/grid.py says what they compute."""
from libc.stdint cimport int64_t

cimport numpy as cnp

from claygrad.core.arrays cimport code_of
from claygrad.core.kernels cimport find

cdef extern from "grid.hpp" namespace "clay" nogil:
    struct GridShape:
        int64_t batch, channels, points
        int64_t[3] size
        int axes, mode, padding
        bint align

    ctypedef bint (*grid_fn)(const GridShape*, const void*, const void*, const void*, void*) noexcept nogil

cnp.import_array()


def run(str name, grid, a, b, made, tuple shape, int mode, int padding, bint align):
    """Fill `made` by a kernel: sample(input), spread(gradient) or slope(gradient, input), for an input of this shape.
    False if there is none for such arrays, which stand in row-major order."""
    cdef GridShape s
    cdef int code = code_of(grid), i
    cdef bint filled
    cdef bytes said = name.encode()
    if code < 0 or code_of(a) != code or code_of(made) != code or (b is not None and code_of(b) != code):
        return False
    s.axes = len(shape) - 2
    if s.axes not in (2, 3) or cnp.PyArray_SIZE(<cnp.ndarray>made) == 0 or cnp.PyArray_SIZE(<cnp.ndarray>a) == 0:
        return False
    s.batch, s.channels = shape[0], shape[1]
    s.points = cnp.PyArray_SIZE(<cnp.ndarray>grid) // (s.batch * s.axes)
    s.size[0] = 1
    for i in range(s.axes):
        s.size[3 - s.axes + i] = shape[2 + i]
    s.mode, s.padding, s.align = mode, padding, align
    cdef grid_fn f = <grid_fn>find("grid", said, code)
    if f == NULL:
        return False
    cdef const void* points = cnp.PyArray_DATA(<cnp.ndarray>grid)
    cdef const void* x = cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef const void* y = NULL if b is None else cnp.PyArray_DATA(<cnp.ndarray>b)
    cdef void* out = cnp.PyArray_DATA(<cnp.ndarray>made)
    with nogil:
        filled = f(&s, points, x, y, out)
    return filled
