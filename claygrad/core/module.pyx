"""Quick attributes and calls of modules (quick.h says how), and tensors that take another class."""
import opcode

from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_DECREF

from claygrad.core.tensor cimport Tensor
from claygrad.core.tensor import LATE

cdef extern from "Python.h":
    void Py_SET_TYPE(PyObject*, PyTypeObject*)

cdef extern from "quick.h":
    PyObject* clay_tables[3]
    PyObject* clay_hooks[4]
    PyObject* clay_global_hooks[4]
    PyObject* clay_forward
    PyObject* clay_call
    PyObject* clay_call_impl
    PyObject* clay_compiled
    PyObject* clay_own_call_impl
    PyObject* clay_in_turn
    unsigned char clay_loads[3]
    void clay_quicken(PyTypeObject*, bint, bint)

cdef object base = None         # Module
cdef list kept = []             # what the C side points to


for i, name in enumerate(("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR")):        # not every version has all of them
    clay_loads[i] = opcode.opmap.get(name, 0)


cdef PyObject* keep(object value):
    kept.append(value)
    return <PyObject*>value


def prepare(module, tuple global_hooks):
    """Learn which class is Module, and which four dicts hold the hooks of all modules."""
    global base, clay_forward, clay_call, clay_call_impl, clay_compiled, clay_own_call_impl
    base = module
    for i, name in enumerate(("_parameters", "_buffers", "_modules")):
        clay_tables[i] = keep(name)
    for i, name in enumerate(("_backward_hooks", "_backward_pre_hooks", "_forward_hooks", "_forward_pre_hooks")):
        clay_hooks[i] = keep(name)
        clay_global_hooks[i] = keep(global_hooks[i])
    clay_forward, clay_call, clay_call_impl = keep("forward"), keep("__call__"), keep("_call_impl")
    clay_compiled, clay_own_call_impl = keep("_compiled_call_impl"), keep(module._call_impl)
    quicken(module)


def prepare_sequence(forward):
    """Learn the function that calls the modules of a module in turn."""
    global clay_in_turn
    clay_in_turn = keep(forward)


def quicken(cls):
    """Give a class of modules the quick forms of those methods that it has from Module."""
    if not (isinstance(cls, type) and issubclass(cls, base)):
        raise TypeError(f"quicken() takes a class of modules, not {cls!r}")
    clay_quicken(<PyTypeObject*>cls,
                 cls.__getattr__ is base.__getattr__ and cls.__getattribute__ is object.__getattribute__,
                 cls.__call__ is base.__call__)


def settle(Tensor t, cls):
    """Make a tensor of a subclass an instance of another class of the same build, Tensor itself among them."""
    was = type(t)
    if was is cls:
        return
    if not isinstance(cls, type) or was.__basicsize__ != cls.__basicsize__ or not issubclass(cls, Tensor):
        raise TypeError(f"__class__ assignment: '{cls.__name__}' object layout differs from '{was.__name__}'")
    if cls is not Tensor:
        LATE["note_class"](cls)
        t.__class__ = cls
        return
    Py_SET_TYPE(<PyObject*>t, <PyTypeObject*>cls)
    Py_DECREF(was)              # an instance owns a reference to a class made by Python, but not to a built-in one
