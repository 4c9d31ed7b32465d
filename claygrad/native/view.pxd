from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.data.layout cimport Layout

cdef int axis_of(PyObject* dim, int ndim) noexcept          # non-negative axis; -1 if invalid
cdef int sizes_of(object given, int64_t* out) except -2  # a sequence of exact ints; returns their number, -1 for anything else
cdef Layout narrowed(Layout v, int dim, int64_t start, int64_t length, int64_t step)
cdef Layout without_axis(Layout v, int dim, int64_t at)
cdef Layout at_index(Layout v, int dim, int64_t at)
cdef Layout sliced(Layout v, int dim, int64_t start, int64_t end, int64_t step)
cdef Layout with_axes_swapped(Layout v, int a, int b)
cdef Layout with_axis(Layout v, int dim)
cdef Layout on_diagonal(Layout v, int64_t offset, int a, int b)
