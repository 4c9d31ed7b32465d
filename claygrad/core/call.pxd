from cpython.object cimport PyObject
from claygrad.core.declared cimport Op
cdef object run(Op op, PyObject** slots)      # compute and record; the arguments are bound
