from cpython.object cimport PyObject

from claygrad.core.declared cimport Op

cdef object by_copies(Op op, PyObject** slots)          # a layout, or a list of them; None when there is no short way
