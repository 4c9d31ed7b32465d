from cpython.object cimport PyObject

from claygrad.core.graph.observe cimport EventKind, form_t
from claygrad.core.op cimport Op

# Note [Interception]
# Three mechanisms may answer in place of an operation, and are asked before it runs:
#
# vmap (claygrad/autograd/_batched.py)                  an argument stands for a batch of tensors: so does the result. What is computed
#                                                   are operations on the whole batch, which the others below see
# forward mode (claygrad/autograd/forward_ad.py)   an argument has a tangent: the result gets one too
# __torch_dispatch__ (claygrad/dispatch.py)         a mode is entered, or an argument is of a class that has the method: what they
#                                                   return is the result. They are below autograd: the operation's node is
#                                                   recorded, and what they compute themselves is not
#
# In this order: derivatives belong to the whole batch, and tangents are computed by operations, which modes and classes see. Without
# any of them there is no cost: run and call_inplace test `unusual` anyway, and functions that bind their own arguments use the same
# pointer as for observers. With one of them, composites run as their inner operations, indexing as select, slice and index, and
# derivative rules as operations, all without their native forms.
#
# The flags are per thread. A class with `__torch_dispatch__` counts from its first instance on, and forever.

cdef class Operation:                # a call that may be answered
    cdef form_t form
    cdef readonly Op op
    cdef EventKind what
    cdef readonly list values        # the arguments, bound

cdef bint applies(PyObject** slots, int n) noexcept                                        # whether this call may be answered
cdef object intercept(form_t form, EventKind kind, Op op, PyObject** slots)                # the answer, or None
cdef bint dispatching(PyObject** slots, int n) noexcept                                    # whether __torch_dispatch__ must be called
cdef int swap_levels(int n) noexcept                                                       # set that number; returns the former one
cdef int batch_levels() noexcept                                                           # functions under vmap that this thread runs
cdef int forward_levels() noexcept                                                         # levels of forward mode in this thread
cdef bint dispatches(object value) noexcept                                                # a tensor of a class with __torch_dispatch__
cdef bint intercepting() noexcept                                                          # whether any call of the process may be answered
