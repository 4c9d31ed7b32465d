"""The class of the tensor class: under which name it is found, and how Python may change it (Note [Opened class] in open_class.h)."""
from cpython.object cimport PyObject, PyTypeObject

cdef extern from "open_class.h":
    PyTypeObject* clay_opened
    int clay_assign_attribute(PyTypeObject* type, object name, PyObject* value) except -1
    void clay_open_class(PyTypeObject* type, PyTypeObject* meta)

_module = type.__dict__["__module__"]
cdef str _own_module = None                         # Tensor.__module__, if a program assigned it
cdef object _prefix = None                          # else: a function that returns the module


class TensorMeta(type):
    """The class of the tensor class: knows under which name users and pickles find it, and lets it be changed."""

    @property
    def __module__(cls):
        if <PyTypeObject*>cls != clay_opened:
            return cls.__dict__.get("__module__")
        return _prefix() if _own_module is None else _own_module

    @__module__.setter
    def __module__(cls, name):
        global _own_module
        if <PyTypeObject*>cls != clay_opened:
            _module.__set__(cls, name)
        else:
            _own_module = None if name == _prefix() else name

    def __repr__(cls):
        return f"<class '{cls.__module__}.{cls.__qualname__}'>"

    def __setattr__(cls, name, value):
        clay_assign_attribute(<PyTypeObject*>cls, name, <PyObject*>value)

    def __delattr__(cls, name):
        clay_assign_attribute(<PyTypeObject*>cls, name, NULL)


def open_class(type cls, prefix):
    """Make TensorMeta the class of the tensor class: called once, where that is defined. `prefix()` is the module it is found in."""
    global _prefix
    if clay_opened != NULL:
        raise RuntimeError("the tensor class is known already")
    _prefix = prefix
    clay_open_class(<PyTypeObject*>cls, <PyTypeObject*>TensorMeta)
