from cpython.object cimport PyObject

# Note [Overrides]
# `__torch_function__` answers a call if a function mode is active, or if an argument (or an element of a list or tuple among them)
# is of a class that has the method: a subclass of Tensor, or any other class. Programs without such objects pay nothing: every
# entry point is reached through a pointer, which is switched to the form that checks only once such an object or mode exists.
#
# operations                        Op.vectorcall: _call or _asking in core/dispatch/call.pyx
# functions that bind for themselves  Factory.vectorcall in native/factory.pyx; they always check
# operators and indexing            Verbs in tensor.pxd; the checking forms are in core/dispatch/call.pyx and native/getitem.pyx
# compiled methods and attributes   their PyMethodDef and PyGetSetDef: Note [Watched methods] in watched_methods.h
# len, bool, float, int, repr ...   a flag in tensor.pyx
#
# The pointers are switched when an instance of a subclass is created (unless the class disables overrides, as Parameter does), when
# a function mode is entered, or when another object with the method is seen as an argument. Such an object is found where an
# argument has a wrong type (_refused in core/dispatch/call.pyx), so that the first call is answered too.
#
# The default implementation and backward run with overrides off: only the outermost public call is reported, once. The states are
# per thread.

cdef bint is_odd(object value) noexcept                        # whether its class overrides
cdef list overriding(PyObject** args, Py_ssize_t n)            # in order of precedence, one per class; None: no override
cdef object hand_over(object function, list found, PyObject** args, Py_ssize_t n, PyObject* kwnames)
cdef object hand_on(object function, list found, tuple args, object kwargs)
cdef int meet() except -1                                      # an overriding object was seen: check from now on
cdef bint* asking() noexcept                                   # whether the checking forms are in use
cdef int begin_backward() noexcept                             # backward runs without overrides; returns the argument of
cdef void end_backward(int was) noexcept                       # end_backward
cdef int to_nobody() noexcept                                  # no overrides until
cdef void to_somebody(int was) noexcept                        # to_somebody
cdef int to_user() noexcept                                    # user code inside backward (a hook, a custom backward) has overrides until
cdef void from_user(int was) noexcept                          # from_user, or the end of backward
