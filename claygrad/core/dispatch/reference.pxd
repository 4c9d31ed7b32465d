from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.data.device cimport device
from claygrad.core.data.dtype cimport dtype
from claygrad.core.data.layout cimport Layout
from claygrad.core.op cimport Op

# The reference takes any layout, dtype and device, through the array module. It is the specification of every native form.
# Raises torch's errors; gives the dtype of the result, and the device if it is not the CPU, else None.
cdef device check_call(Op op, PyObject** slots, int* code)
cdef object reference(Op op, PyObject** slots, int code)          # Layout, or list of Layouts
cdef object off_cpu(Op op, PyObject** slots, int code, device where)    # the same on meta, without elements, or on an accelerator
cdef object call_declared(Op op, list args, int lead)
cdef int iterated_order(Op op, PyObject** slots, int ndim, const int64_t* shape, int* order) except -1
cdef bint iterated_strides(Op op, PyObject** slots, Layout out, int64_t* strides) except -1

# Runs an operation on an accelerator; the code is that of the result (core/dispatch/accelerator.pyx).
ctypedef object (*off_cpu_t)(Op op, PyObject** slots, int code, device where)
cdef void run_off_cpu_by(off_cpu_t run) noexcept
cdef object enter_quiet()
cdef int end_quiet(object ctx) except -1
cdef int cast_code(Op op, PyObject** slots, int code, Layout v)
cdef dtype final_dtype(Op op, int code, object array, int half)
cdef object number_array(object value, int code, bint half_raw, bint wide)
