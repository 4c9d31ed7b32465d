from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.op cimport Op

# Note [Observers]
# An observer is told when an operation begins and when it has ended, with its arguments and its result. Nobody pays for that while
# there is none: the places below ask nothing that they did not ask before.
#
# run (dispatch/call.pyx), call_inplace (graph/inplace.pyx)
#                                            the word that says whether lazy tensors exist (`unusual`, graph/conj_view.pxd) has a bit more
# Run.execute (graph/backward_pass.pyx)      the word of anomaly mode (graph/modes.pxd) has a bit more
# indexing, factories                        a pointer that is swapped: native/getitem.pyx, core/dispatch/factories.pyx
# the kernels of optimizers, clipping        one comparison per step: native/optim.pyx, native/clip_grad.pyx
# detach                                     the word of anomaly mode
#
# So these are seen: every operation that is called by name, method or operator, in place, into out= or as a view; the operations
# that a composite is made of, inside its own event (a linear layer shows linear and inside it addmm); indexing; functions that bind
# their own arguments, such as factories; each node that backward runs, with what its rule computes inside; the kernel of an
# optimizer's step. What a composite does by a kernel of its own, or by a view that it takes of an argument, is part of its event.
# A rule that is a kernel is part of its node's event; an observer that wants the operations of every rule says so (`rules`).
#
# Threads. An observer sees its own thread (the one that added it, and the threads that continue its backward), or all of them.
# While an observer is told something, the operations that it runs itself are not observed.
# An observer that raises stops the operation: from `begin` before it runs, from `end` in place of its result. The others are told of
# the end all the same. One that was removed is told no more, from that moment on.

cdef enum:
    MOST = 8                    # observers at once

cdef enum EventKind:
    FORWARD                     # `what` is an Op
    INPLACE                     # an Op; the first argument is written
    VIEW                        # an Op
    MAKE                        # a Factory: named arguments come last, in no stated order; or the method detach
    INDEX                       # "__getitem__" or "__setitem__"
    BACKWARD                    # a Node; the arguments are the gradients of its outputs, the result a list of those of its inputs
    LEAF                        # an AccumulateGrad; the result is the gradient of the leaf
    STEP                        # the name of a kernel of an optimizer or of clipping; argument and result are a list of tensors

cdef struct Event:
    EventKind kind
    PyObject* what              # borrowed, as all of these are
    PyObject** args
    Py_ssize_t n
    PyObject* who               # the observers that were there at the beginning; owned
    PyObject* call              # the Call that Python sees, if it was made; owned
    unsigned int begun          # which of them were told, as bits
    int64_t marks[MOST]         # a number of each, for itself

cdef class Observer:
    cdef bint active
    cdef bint rules             # derivative rules run as the operations that they are made of, not as kernels
    cdef int64_t thread         # 0: all
    cdef int begin(self, Event* event, int64_t* mark) except -1
    cdef int end(self, Event* event, int64_t mark, PyObject* result) except -1      # NULL: it failed

ctypedef object (*form_t)(Op op, PyObject** slots)

cdef bint wanted() noexcept                               # whether somebody may want to know what this thread does now
cdef void announce() noexcept                             # the next time that `wanted` is asked, it is about what was begun
cdef object observed(form_t form, EventKind kind, Op op, PyObject** slots)      # form(op, slots), observed
cdef int begin(Event* event) except -1                    # kind, what, args and n are filled in
cdef int finish(Event* event, PyObject* result) except -1
cdef bint rules_are_open() noexcept
cdef object call_of(Event* event, PyObject* result)        # the Call that Python sees, ended with this result
cdef str name_of(EventKind kind, PyObject* what)
cdef bint* observing() noexcept                           # whether there is an observer at all
