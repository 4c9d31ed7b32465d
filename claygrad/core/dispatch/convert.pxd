from cpython.object cimport PyObject

from claygrad.core.op cimport Op

cdef object by_copies(Op op, PyObject** slots)          # a layout, or a list of them; None when there is no short way
