from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.op cimport Op
from claygrad.core.data.device cimport device
from claygrad.core.data.layout cimport Layout

cdef int result_code(Op op, PyObject** slots) except? -2   # the compute dtype by the op's promotion rule; -1: no cast
cdef int broadcast(Layout a, int64_t* shape, int ndim) noexcept   # widens shape by a's; returns the new ndim, or -1
cdef int check_broadcast(Op op, PyObject** slots) except -1   # raises if the tensor arguments do not broadcast
cdef device common_device(Op op, PyObject** slots)
