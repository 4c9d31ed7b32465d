"""Guarded Python functions: exceptions that leave them are explained, and do not show their frames (Note [Entry points])."""
import copyreg
import sys
from types import FunctionType

from cpython.object cimport PyObject

cdef extern from "guarded_function.h":
    int clay_guard(PyObject* function) except -1

# Special methods that programs call through syntax. The call of a module is an entry point of its own (module_call.h).
cdef frozenset _SPECIAL = frozenset(("__init__", "__new__", "__setattr__", "__delattr__", "__getitem__", "__setitem__", "__delitem__",
                                     "__contains__", "__len__", "__iter__", "__next__", "__init_subclass__"))
cdef frozenset _LEFT_OUT = frozenset(("forward",))
cdef int GENERATOR = 0x20 | 0x80 | 0x200       # flags of code: also of coroutines


def guard(function):
    """Make a Python function an entry point."""
    if type(function) is FunctionType and not function.__code__.co_flags & GENERATOR:
        clay_guard(<PyObject*>function)
        if type(function) is not FunctionType:                  # Note [Guarded functions]
            copyreg.pickle(type(function), _name_of)
    return function


def _name_of(function):
    return function.__qualname__


cdef int _guard_class(cls) except -1:
    for name, value in vars(cls).items():
        if name in _LEFT_OUT or name.startswith("_") and name not in _SPECIAL:
            continue
        guard(value.__func__ if isinstance(value, (staticmethod, classmethod)) else value)
    return 0


cdef bint _is_defined_in(value, str name, dict names):
    """Whether a module defines a class or a function: they call themselves torch's while claygrad stands in for it."""
    if getattr(value, "__module__", None) == name or getattr(value, "__globals__", None) is names:
        return True
    return isinstance(value, type) and any([getattr(each, "__globals__", None) is names for each in vars(value).values()])


def guard_package(str package):
    """The same for all public functions and methods of the modules of a package that are loaded."""
    for name, module in list(sys.modules.items()):
        if name != package and not name.startswith(package + "."):
            continue
        for key, value in list(vars(module).items()):
            if not _is_defined_in(value, name, vars(module)):
                continue
            if isinstance(value, type):
                _guard_class(value)
            elif not key.startswith("_") or key == "__getattr__":
                guard(value)
