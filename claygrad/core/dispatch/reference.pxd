from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.op cimport Op

# The general path: any layout, dtype and device, through the array module. It is the specification of every fast path.
cdef object general(Op op, PyObject** slots)             # Layout, or list of Layouts
cdef object call_declared(Op op, list args, int lead)
cdef int iterated_order(Op op, PyObject** slots, int ndim, const int64_t* shape, int* order) except -1
