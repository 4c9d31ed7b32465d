from cpython.object cimport PyObject

from claygrad.core.declared cimport Op

# The general path: any layout, dtype and device, through the array module. It is the specification of every fast path.
cdef object general(Op op, PyObject** slots)             # Layout, or list of Layouts
cdef object call_declared(Op op, list args, int lead)
