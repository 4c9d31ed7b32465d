"""Declared functions that bind their own arguments: factories, and others with *args, **kwargs or their own out=."""
cimport cython
from cpython.object cimport PyObject, PyTypeObject

from claygrad.core.op cimport vectorcall_t
from claygrad.core.graph.intercept cimport applies, intercepting
from claygrad.core.graph.intercept import on_intercepting
from claygrad.core.graph.observe cimport MAKE, Event, begin, finish, observing, wanted
from claygrad.core.graph.observe import on_observing
from claygrad.core.overrides cimport asking, hand_on, hand_over, meet, overriding, to_nobody, to_somebody
from claygrad.core.overrides import on_asking
from claygrad.core.dispatch.registry cimport factory, make_t
from claygrad.core.tensor import UPCALLS

cdef extern from "Python.h":
    object PyObject_Vectorcall(object, PyObject**, size_t, PyObject*)
    Py_ssize_t PyVectorcall_NARGS(size_t nargsf)
    object PyMethod_New(object func, object self)
    Py_ssize_t PyTuple_GET_SIZE(PyObject* t)

cdef extern from "vectorcall.h":
    void clay_make_callable(PyTypeObject* type, Py_ssize_t offset)

# Entry points of factories: Note [Entry points].
cdef extern from *:
    """
    static PyObject* clay_make_it(PyObject* self, PyObject** args, size_t nargsf, PyObject* kwnames);
    static PyObject* clay_ask_to_make(PyObject* self, PyObject** args, size_t nargsf, PyObject* kwnames);

    static PyObject* clay_make_entry(PyObject* self, PyObject** args, size_t nargsf, PyObject* kwnames) {
        PyObject* out = clay_make_it(self, args, nargsf, kwnames);
        if (out == NULL) clay_explain_call("operation", self, args, PyVectorcall_NARGS(nargsf));
        return out;
    }

    static PyObject* clay_ask_entry(PyObject* self, PyObject** args, size_t nargsf, PyObject* kwnames) {
        PyObject* out = clay_ask_to_make(self, args, nargsf, kwnames);
        if (out == NULL) clay_explain_call("operation", self, args, PyVectorcall_NARGS(nargsf));
        return out;
    }
    """
    object clay_make_entry(object self, PyObject** args, size_t nargsf, PyObject* kwnames)
    object clay_ask_entry(object self, PyObject** args, size_t nargsf, PyObject* kwnames)


@cython.binding(False)
cdef class Factory:
    """A declared function that binds its own arguments, with a native form for its common calls if it has one."""
    cdef vectorcall_t vectorcall
    cdef make_t make
    cdef bint takes_none                 # no argument is a tensor: only function modes are asked
    cdef readonly object __wrapped__
    cdef dict __dict__

    def method_form(self):
        """The same as a method of the tensor."""
        out = as_factory(self.__wrapped__, None, self.takes_none)
        out.__dict__.update((<object>self).__dict__)
        return out

    @property
    def __doc__(self):
        return self.__wrapped__.__doc__

    def __get__(self, instance, owner):
        return self if instance is None else PyMethod_New(self, instance)

    def __repr__(self):
        return f"<function {self.__wrapped__.__name__}>"

    def __reduce__(self):
        return self.__wrapped__.__qualname__


cdef object _call "clay_make_it" (object self, PyObject** args, size_t nargsf, PyObject* kwnames):
    cdef Factory own = <Factory>self
    if own.make != NULL:
        result = own.make(args, PyVectorcall_NARGS(nargsf), kwnames)
        if result is not None:
            return result
    return PyObject_Vectorcall(own.__wrapped__, args, nargsf, kwnames) if own.takes_none else _asking(self, args, nargsf, kwnames)


cdef object _asking "clay_ask_to_make" (object self, PyObject** args, size_t nargsf, PyObject* kwnames):
    """A call that __torch_function__ may answer: Note [Overrides]."""
    cdef Factory own = <Factory>self
    cdef Py_ssize_t i, n = PyVectorcall_NARGS(nargsf)
    cdef list found = overriding(args, 0 if own.takes_none else n if kwnames == NULL else n + PyTuple_GET_SIZE(kwnames))
    if found is not None:
        if found and not asking()[0]:
            meet()
        handed = (<object>self).__dict__.get("handed")
        if handed is not None and found and kwnames == NULL:
            return hand_on(self, found, handed(*[<object>args[i] for i in range(n)]), None)
        return hand_over((<object>self).__dict__.get("reported", self), found, args, n, kwnames)
    if own.takes_none and asking()[0]:
        return _unasked(own, args, nargsf, kwnames)
    if own.make != NULL and asking()[0]:
        result = own.make(args, n, kwnames)
        if result is not None:
            return result
    return PyObject_Vectorcall(own.__wrapped__, args, nargsf, kwnames)


cdef object _unasked(Factory own, PyObject** args, size_t nargsf, PyObject* kwnames):
    """Runs with overrides off, as its inner operations are not reported either."""
    cdef int was = to_nobody()
    try:
        return PyObject_Vectorcall(own.__wrapped__, args, nargsf, kwnames)
    finally:
        to_somebody(was)


cdef object _observed(object self, PyObject** args, size_t nargsf, PyObject* kwnames):
    """A call with observers: Note [Observers]."""
    cdef vectorcall_t form = clay_ask_entry if asking()[0] else clay_make_entry
    cdef Event event
    cdef Factory own = <Factory>self
    cdef Py_ssize_t i, n = PyVectorcall_NARGS(nargsf), named = 0 if kwnames == NULL else PyTuple_GET_SIZE(kwnames)
    if intercepting() and applies(args, <int>(n + named)):
        if not asking()[0] or overriding(args, 0 if own.takes_none else n + named) is None:
            return UPCALLS["make"](self, own.takes_none, [<object>args[i] for i in range(n)],
                                   {(<tuple>kwnames)[i]: <object>args[n + i] for i in range(named)})
        return form(self, args, nargsf, kwnames)
    if not observing()[0] or not wanted():
        return form(self, args, nargsf, kwnames)
    event.kind, event.what, event.args = MAKE, <PyObject*>self, args
    event.n = PyVectorcall_NARGS(nargsf) + (0 if kwnames == NULL else PyTuple_GET_SIZE(kwnames))
    begin(&event)
    try:
        result = form(self, args, nargsf, kwnames)
    except:
        finish(&event, NULL)
        raise
    finish(&event, <PyObject*>result)
    return result


cdef vectorcall_t _form():
    return _observed if observing()[0] or intercepting() else clay_ask_entry if asking()[0] else clay_make_entry


cdef list _all = []


def _switch(bint _):
    cdef Factory self
    for self in _all:
        self.vectorcall = _form()


on_asking(_switch)
on_observing(_switch)
on_intercepting(_switch)


def as_factory(fn, name=None, bint takes_none=False):
    """Make a function a Factory, with the native form of this name if one is given."""
    cdef Factory self = Factory.__new__(Factory)
    self.vectorcall, self.__wrapped__, self.takes_none = _form(), fn, takes_none
    if name is not None:
        self.make = factory(name)
    _all.append(self)
    for word in ("__name__", "__qualname__", "__module__", "__annotations__", "__defaults__", "__kwdefaults__", "__code__"):
        setattr(self, word, getattr(fn, word))
    return self


cdef _init():
    cdef Factory probe = Factory.__new__(Factory)
    clay_make_callable(<PyTypeObject*>Factory, <char*>&probe.vectorcall - <char*><PyObject*>probe)

_init()
