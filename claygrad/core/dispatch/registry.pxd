from cpython.object cimport PyObject

from claygrad.core.op cimport Op, fast_t, many_t, short_t

# Note [Short ways]
# A declaration names its short way: kernel= or, of a view, geometry=; short= of a composite. The module of the core that has
# it offers it under that name when it is loaded, in one line at the end of its file:
#     offer("flip", _flip)
# `install` looks the name up. A name that nobody offers is an error at the declaration, and so is one offered twice.
# Kernels that differ in nothing but their loop are not offered one by one: those of native/elementwise.pyx,
# elementwise_strided.pyx, elementwise_params.pyx and reduce.pyx are found under the declaration's name in the table of claygrad/kernels.

# What else an operation needs: its rules, numbers that follow from its parameters.
ctypedef int (*ready_t)(Op op) except -1
# What the call of a factory comes to in its common form; None when it is another.
ctypedef object (*make_t)(PyObject** args, Py_ssize_t n, PyObject* kwnames)


cdef class Way:
    cdef fast_t fast
    cdef many_t many
    cdef short_t short
    cdef make_t make
    cdef tuple loops              # family and name in the kernels' table: they go into op.kernels, by dtype
    cdef ready_t ready


cdef Way offer(str name, fast_t fast)            # one result
cdef Way offer_many(str name, many_t many)       # several results
cdef Way offer_short(str name, short_t short_)   # of a composite, or of a view in several pieces
cdef Way offer_factory(str name, make_t make)
cdef bint take(Op op, str name) except -1        # give an operation the way of this name; whether there is one
cdef bint take_loops(Op op, bytes family, bytes name)        # into op.kernels, by dtype; whether there are any
cdef make_t factory(str name) except NULL
