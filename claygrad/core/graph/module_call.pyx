"""Attributes and calls of modules in C (module_call.h), the running modules, and tensors that change their class."""
import opcode

cimport cython
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_DECREF

from claygrad.core.graph.modes cimport modes
from claygrad.core.graph.node cimport Node, clay_scope, clay_scope_release, clay_scope_take
from claygrad.core.graph.module_paths import path_of
from claygrad.core.tensor cimport Tensor
from claygrad.core.tensor import UPCALLS

cdef extern from "module_scopes.h":
    clay_scope* clay_scope_enter(clay_scope** running, object module) noexcept
    void clay_scope_leave(clay_scope** running, clay_scope* mine) noexcept

cdef extern from "Python.h":
    void Py_SET_TYPE(PyObject*, PyTypeObject*)

cdef extern from "module_call.h":
    PyObject* clay_tables[3]
    const int CLAY_MAX_HOOKS
    PyObject* clay_hooks[]
    PyObject* clay_global_hooks[]
    int clay_n_hooks
    PyObject* clay_forward
    PyObject* clay_call
    PyObject* clay_call_impl
    PyObject* clay_compiled
    PyObject* clay_own_call_impl
    PyObject* clay_sequential
    clay_scope** (*clay_running)() noexcept
    unsigned char clay_loads[3]
    void clay_use_native_call(PyTypeObject*, bint, bint)

cdef object base = None         # Module
cdef list kept = []             # what the C side points to


for _i, _name in enumerate(("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR")):        # not every Python version has all of them
    _number = opcode.opmap.get(_name, 0)
    clay_loads[_i] = _number if _number < 256 else 0          # from 256 on: pseudo instructions, in no code object


cdef PyObject* keep(object value):
    kept.append(value)
    return <PyObject*>value


cdef clay_scope** running_place() noexcept:
    return <clay_scope**>&modes().running


def prepare(module, dict call_hooks):
    """Register the class Module, and the hooks of calls: the name of a module's dict, and the dict of the global hooks."""
    global base, clay_n_hooks, clay_running, clay_forward, clay_call, clay_call_impl, clay_compiled, clay_own_call_impl
    base = module
    clay_running = running_place
    for i, name in enumerate(("_parameters", "_buffers", "_modules")):
        clay_tables[i] = keep(name)
    if len(call_hooks) > CLAY_MAX_HOOKS:
        raise ValueError(f"at most {CLAY_MAX_HOOKS} kinds of hooks")
    for i, (name, for_all) in enumerate(call_hooks.items()):
        if not isinstance(for_all, dict):
            raise TypeError(f"{name}: the global hooks are a dict, not {type(for_all).__name__}")
        clay_hooks[i], clay_global_hooks[i] = keep(name), keep(for_all)
    clay_n_hooks = len(call_hooks)
    clay_forward, clay_call, clay_call_impl = keep("forward"), keep("__call__"), keep("_call_impl")
    clay_compiled, clay_own_call_impl = keep("_compiled_call_impl"), keep(module._call_impl)
    use_native_call(module)


def prepare_sequence(forward):
    """Register Sequential.forward."""
    global clay_sequential
    clay_sequential = keep(forward)


def use_native_call(cls):
    """Give a module class the C forms of the methods that it inherits from Module."""
    if not (isinstance(cls, type) and issubclass(cls, base)):
        raise TypeError(f"use_native_call() takes a class of modules, not {cls!r}")
    clay_use_native_call(<PyTypeObject*>cls,
                         cls.__getattr__ is base.__getattr__ and cls.__getattribute__ is object.__getattribute__,
                         cls.__call__ is base.__call__)


@cython.final
@cython.binding(False)
cdef class Running:
    """The scope of a module call, for calls in Python."""
    cdef object module
    cdef clay_scope* mine

    def __init__(self, module):
        self.module = module

    def __enter__(self):
        if self.mine != NULL:
            raise RuntimeError("this context is in use: make one for each call of a module")
        if self.module is not None:
            self.mine = clay_scope_enter(running_place(), self.module)

    def __exit__(self, *error):
        cdef clay_scope* mine = self.mine
        self.mine = NULL
        clay_scope_leave(running_place(), mine)

    def __dealloc__(self):
        clay_scope_release(self.mine)          # the context was never left; the list of the thread has its own reference


@cython.final
@cython.binding(False)
cdef class ModuleCall:
    """A call of a module, as seen from the nodes recorded in it. Keeps only the class of the module alive."""
    cdef clay_scope* scope

    def __dealloc__(self):
        clay_scope_release(self.scope)

    @property
    def module(self):
        """The module that was called, or None if it is gone."""
        return (<object>self.scope.module)() if self.scope != NULL and self.scope.module != NULL else None

    @property
    def kind(self):
        """The class of the module."""
        found = self.module
        if found is not None:
            return type(found)
        return <object>self.scope.kind if self.scope != NULL else None

    @property
    def outer(self):
        """The call in whose forward this one was made, or None."""
        return as_call(self.scope.outer) if self.scope != NULL else None

    @property
    def path(self):
        """Where the module is in the outermost one that was called, such as `encoder.layers.3.fc1`; "" for that one itself."""
        return path_of(self)

    @property
    def number(self):
        """A number that identifies the call while a graph or this object refers to it."""
        return <size_t>self.scope

    def __eq__(self, other):
        return self.scope == (<ModuleCall>other).scope if isinstance(other, ModuleCall) else NotImplemented

    def __hash__(self):
        return hash(<size_t>self.scope)

    def __str__(self):
        path, name = self.path, self.kind.__name__ if self.scope != NULL else "nothing"
        return f"{path}: {name}" if path else name

    def __repr__(self):
        return f"<call of {self}>"


cdef object as_call(clay_scope* scope):
    if scope == NULL:
        return None
    cdef ModuleCall out = ModuleCall.__new__(ModuleCall)
    out.scope = clay_scope_take(scope)
    return out


def call_of(Node node):
    """The call of a module in whose forward a node was recorded, or None."""
    return as_call(node.scope)


def running():
    """The call of the module whose forward runs in this thread, or None."""
    return as_call(<clay_scope*>modes().running)


def settle(Tensor t, cls):
    """Set the class of a tensor to another subclass with the same memory layout, or Tensor itself."""
    was = type(t)
    if was is cls:
        return
    if not isinstance(cls, type) or was.__basicsize__ != cls.__basicsize__ or not issubclass(cls, Tensor):
        raise TypeError(f"__class__ assignment: '{cls.__name__}' object layout differs from '{was.__name__}'")
    if cls is not Tensor:
        UPCALLS["note_class"](cls)
        t.__class__ = cls
        return
    Py_SET_TYPE(<PyObject*>t, <PyTypeObject*>cls)
    Py_DECREF(was)              # an instance owns a reference to its class if that is a Python class
