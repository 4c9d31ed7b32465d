from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.declared cimport Op
from claygrad.core.dtypes cimport dtype
from claygrad.core.layout cimport Layout

# The general path: any layout, dtype and device, through the array module. It is the specification of every fast path.
cdef object general(Op op, PyObject** slots)             # Layout, or list of Layouts
cdef int result_code(Op op, PyObject** slots) except? -2   # the compute dtype by the op's promotion; -1: leave as is
cdef Layout layout_of_result(object array, dtype want, bint keep_order)
cdef int broadcast(Layout a, int64_t* shape, int ndim) noexcept   # widens shape by a's; returns the new ndim, or -1
cdef int check_broadcast(Op op, PyObject** slots) except -1   # raises if the tensor arguments do not broadcast
cpdef str describe(tensors)
cdef object run_forward(Op op, list args)
cdef object call_declared(Op op, list args, int lead)
