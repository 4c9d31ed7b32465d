from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.data.device cimport device
from claygrad.core.op cimport Op

# The reference takes any layout, dtype and device, through the array module. It is the specification of every native form.
cdef device check_call(Op op, PyObject** slots, int* code)        # refuses; the dtype of the result; the device if that is meta, else None
cdef object reference(Op op, PyObject** slots, int code)          # Layout, or list of Layouts
cdef object on_meta(Op op, PyObject** slots, int code, device where)      # the same without elements
cdef object call_declared(Op op, list args, int lead)
cdef int iterated_order(Op op, PyObject** slots, int ndim, const int64_t* shape, int* order) except -1
