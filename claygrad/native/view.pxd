from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.data.layout cimport Layout

cdef int axis_of(object dim, int ndim) noexcept          # non-negative axis; -1 if invalid
cdef int sizes_of(object given, int64_t* out) except -2  # a sequence of exact ints; returns their number, -1 for anything else
cdef int64_t apart(int64_t stride, int64_t step, int64_t length) noexcept
cdef Layout narrowed(Layout v, int dim, int64_t start, int64_t length, int64_t step)
cdef Layout on_diagonal(Layout v, int64_t offset, int a, int b)
