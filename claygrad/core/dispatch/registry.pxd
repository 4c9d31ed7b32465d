from cpython.object cimport PyObject

from claygrad.core.dispatch.guard cimport form_t
from claygrad.core.op cimport Op, fast_t, composite_slots_t

# Note [Native forms]
# A declaration names its native form: kernel= or, of a view, geometry=; native= of a composite. The module of native/ that has
# it offers it under that name when it is loaded, in one line at the end of its file:
#     offer("conv_input", <form_t>_to_input, "grad_output: float broadcast 3-5d, weight: float same")
# and says what it takes (Note [The guard] in guard.pxd); `offer_slots` and its like are for forms that look at the call's slots
# by themselves.
# `install` looks the name up. A name that nobody offers is an error at the declaration, and so is one offered twice.
# Kernels that differ in nothing but their loop are not offered one by one: those of native/elementwise.pyx,
# elementwise_strided.pyx, elementwise_params.pyx and reduce.pyx are found under the declaration's name in their tables (offer_table).

# Prepares an operation when it takes the form: native rules, constants from its parameters.
ctypedef int (*ready_t)(Op op) except -1
# The common form of a factory's call; None: does not apply.
ctypedef object (*make_t)(PyObject** args, Py_ssize_t n, PyObject* kwnames)


cdef class NativeForm:
    cdef fast_t fast
    cdef composite_slots_t composite
    cdef make_t make
    cdef tuple loops              # family and name in the kernels' table: they go into op.kernels, by dtype
    cdef ready_t ready
    cdef void* form               # of checked arguments, and what they must be
    cdef str takes


cdef NativeForm offer(str name, form_t form, str takes, bint composite=*)      # composite: of one, or of a view with several results
cdef NativeForm offer_slots(str name, fast_t fast)
cdef NativeForm offer_composite_slots(str name, composite_slots_t composite)
cdef NativeForm offer_factory(str name, make_t make)
cdef bint take(Op op, str name) except -1        # give an operation the form of this name; whether there is one
cdef bint take_loops(Op op, bytes family, bytes name)        # into op.kernels, by dtype; whether there are any
cdef make_t factory(str name) except NULL

# Tables of kernels that differ in nothing but their loop: each looks for the name among its own, and gives the operation the native
# form of the table. `found`: whether it has one already. They are asked in the order of these numbers.
cdef enum:
    ELEMENTWISE_TABLE = 0
    REDUCE_TABLE = 1
    PARAMS_TABLE = 2
    STRIDED_TABLE = 3
    TABLES = 4

ctypedef bint (*table_t)(Op op, str name, bint found) except -1
cdef int offer_table(int number, table_t table) except -1
cdef bint take_table(Op op, str name, bint found) except -1
