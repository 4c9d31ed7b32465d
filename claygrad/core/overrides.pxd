from cpython.object cimport PyObject

# Note [Overrides]
# A call belongs to `__torch_function__` if a function mode is active, or if an argument (or an element of a list or tuple among
# them) is of a class that has the method: a subclass of Tensor, or any class at all. Programs with plain tensors alone do not pay
# for the question, because nobody asks it: every public entry goes through a pointer, and only while something unusual exists does
# it lead to the form that asks.
#
# operations                        Op.vectorcall: _call or _asking in core/dispatch/call.pyx
# functions that bind for themselves  Factory.vectorcall in native/factory.pyx; they ask for unknown objects always, being slow anyhow
# operators and indexing            Verbs in tensor.pxd; the asking forms are in core/dispatch/call.pyx and native/getitem.pyx
# compiled methods and attributes   their PyMethodDef and PyGetSetDef: Note [Watched methods] in watched_methods.h
# len, bool, float, int, repr ...   a flag in tensor.pyx
#
# Unusual is: an instance of a subclass that does not switch overrides off (Parameter does) was ever made; a function mode is
# active; an object that is no tensor but has the method was met. Such an object is met where an argument is refused (_refused in
# core/dispatch/call.pyx), so the first call is not lost.
#
# What the default implementation runs, and what backward computes, runs with overrides off: the outermost public call is reported,
# once. The states belong to threads.

cdef bint is_odd(object value) noexcept                        # whether its class overrides
cdef list overriding(PyObject** args, Py_ssize_t n)            # arguments in order of precedence, one per class; None: nobody asks
cdef object hand_over(object function, list found, PyObject** args, Py_ssize_t n, PyObject* kwnames)
cdef object hand_on(object function, list found, tuple args, object kwargs)
cdef int meet() except -1                                      # an object that overrides was met: ask from now on
cdef bint* asking() noexcept                                   # whether the asking forms are in place
cdef int begin_backward() noexcept                             # what backward computes is nobody's business; returns what
cdef void end_backward(int was) noexcept                       # this takes
cdef int to_nobody() noexcept                                  # neither modes nor arguments are asked until
cdef void to_somebody(int was) noexcept                        # this
cdef int to_user() noexcept                                    # a hook or a custom backward, which may be asked: runs until
cdef void from_user(int was) noexcept                          # this, or the end of the backward
