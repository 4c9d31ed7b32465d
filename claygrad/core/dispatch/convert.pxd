from cpython.object cimport PyObject

from claygrad.core.op cimport Op

# The native form on converted arguments: half precision as float32, broadcast tensors copied. A layout, or a list of them; None if
# it does not apply to those either.
cdef object converted(Op op, PyObject** slots)
