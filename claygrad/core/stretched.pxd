from cpython.object cimport PyObject

from claygrad.core.declared cimport Op
from claygrad.core.layout cimport Layout

cdef bint stretched(Layout v) noexcept                   # whether elements are seen more than once
cdef object by_copies(Op op, PyObject** slots)          # a layout, or a list of them; None when there is no short way
