from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.data.layout cimport Layout

cdef Layout gathered(PyObject** slots)                            # gather of any layout; None: the declaration decides
cdef Layout scatter_added(PyObject** slots, Layout target)        # scatter_add of any layout
# out[k] = the entry of x at offsets[k], without a copy of x: entries along the first of 2 to 16 axes; m > 0
cdef int entries_apart(Layout x, const int64_t* offsets, int64_t m, Layout out) except -1
