from cpython.object cimport PyObject

from claygrad.core.graph.observe cimport EventKind, form_t
from claygrad.core.op cimport Op

# Note [Interception]
# Three parties may answer in place of an operation, asked before it runs:
#
# vmap (claygrad/autograd/_batched.py)                  an argument stands for a batch of tensors: so does the result. What is computed
#                                                   are operations on the whole batch, which the others below see
# forward mode (claygrad/autograd/forward_ad.py)   an argument has a tangent: the result gets one too
# __torch_dispatch__ (claygrad/dispatch.py)         a mode is entered, or an argument is of a class that has the method: what they
#                                                   return is the result. They stand below autograd: the node that is recorded is
#                                                   the operation's, and what they compute themselves is not recorded
#
# In this order: derivatives belong to the whole batch, and tangents are computed by operations, which modes and classes see.
# Nobody pays while there is neither: run and call_inplace ask the word that they ask anyhow (`unusual`), functions that bind for
# themselves go through the pointer that observers use. While somebody may answer, composites are run as the operations that they
# are made of, indexing as select, slice and index, and derivative rules as operations; native forms of these are left out.
#
# The flags belong to threads. A class that has `__torch_dispatch__` counts from its first instance on, for good.

cdef class Operation:                # a call that somebody may answer
    cdef form_t form
    cdef readonly Op op
    cdef EventKind what
    cdef readonly list values        # the arguments, bound

cdef bint applies(PyObject** slots, int n) noexcept                                        # whether somebody may answer this call
cdef object intercept(form_t form, EventKind kind, Op op, PyObject** slots)                # the answer, or None
cdef bint dispatching(PyObject** slots, int n) noexcept                                    # whether __torch_dispatch__ is to be asked
cdef int swap_levels(int n) noexcept                                                       # look at so many; returns the former number
cdef int batch_levels() noexcept                                                           # functions under vmap that this thread runs
cdef int forward_levels() noexcept                                                         # how many this thread looks at now
cdef bint dispatches(object value) noexcept                                                # a tensor of a class that answers
cdef bint intercepting() noexcept                                                          # whether anybody in the process may
