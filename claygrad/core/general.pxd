from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.declared cimport Op
from claygrad.core.dtypes cimport dtype
from claygrad.core.layout cimport Layout

# The general path: any layout, dtype and device, through the array module. It is the specification of every fast path.
cdef object general(Op op, PyObject** slots)             # Layout, or list of Layouts
cdef Layout layout_of_result(object array, dtype want, bint keep_order)
cdef object run_forward(Op op, list args)
cdef object call_declared(Op op, list args, int lead)
