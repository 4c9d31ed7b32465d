from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.op cimport Op

# Note [Observers]
# An observer is called when an operation begins and when it has ended, with its arguments and its result. Without observers there
# is no cost, because each of these uses a test that is made anyway:
#
# run (dispatch/call.pyx), call_inplace (graph/inplace.pyx)
#                                            a bit of `unusual` (data/storage.pxd)
# Run.execute (graph/backward_pass.pyx)      a bit of `anomaly` (graph/modes.pxd)
# indexing, factories                        a pointer that is swapped: native/getitem.pyx, core/dispatch/factories.pyx
# the kernels of optimizers, clipping        one comparison per step: native/optim.pyx, native/clip_grad.pyx
# detach                                     a bit of `anomaly`
#
# Observers see: every operation called by name, method or operator, in place, with out= or as a view; the operations inside a
# composite, nested in its event (linear, and inside it addmm); indexing; functions that bind their own arguments, such as
# factories; each node that backward runs, and the operations of its rule inside; the kernel of an optimizer's step. They do not see
# a kernel or a view inside a composite, nor a rule that is a kernel, unless they ask for the operations of every rule (`rules`).
#
# Threads. An observer sees its own thread (the one that added it, and the threads that continue its backward), or all of them.
# The operations that an observer itself runs are not observed.
# An observer that raises stops the operation: from `begin` before it runs, from `end` in place of its result. The others still get
# the end. A removed observer is not called any more.

cdef enum:
    MAX_OBSERVERS = 8                    # observers at once

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
    PyObject* what              # borrowed, as the following
    PyObject** args
    Py_ssize_t n
    PyObject* who               # the observers at the beginning; owned
    PyObject* call              # the Call that Python sees, if there is one; owned
    unsigned int begun          # which of them got `begin`, as bits
    int64_t marks[MAX_OBSERVERS]         # one for each observer to use

cdef class Observer:
    cdef bint active
    cdef bint rules             # derivative rules run as operations, not as kernels
    cdef int64_t thread         # 0: all
    cdef int begin(self, Event* event, int64_t* mark) except -1
    cdef int end(self, Event* event, int64_t mark, PyObject* result) except -1      # NULL: it failed

ctypedef object (*form_t)(Op op, PyObject** slots)

cdef bint wanted() noexcept                               # whether an observer may observe this thread now
cdef void announce() noexcept                             # the next call of `wanted` is for the operation that was begun already
cdef object observed(form_t form, EventKind kind, Op op, PyObject** slots)      # form(op, slots), observed
cdef int begin(Event* event) except -1                    # kind, what, args and n are filled in
cdef int finish(Event* event, PyObject* result) except -1
cdef bint rules_are_open() noexcept
cdef object call_of(Event* event, PyObject* result)        # the Call that Python sees, ended with this result
cdef str name_of(EventKind kind, PyObject* what)
cdef bint* observing() noexcept                           # whether there is an observer at all
