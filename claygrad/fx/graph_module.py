"""`torch.fx.GraphModule`: a module whose forward is the code of a graph."""
from __future__ import annotations

import builtins
import copy
import itertools
import linecache
from typing import Any

from claygrad._lazy import lazy
from claygrad.core import Tensor
from claygrad.fx.graph import Graph
from claygrad.nn.modules.module import Module

_numbers = itertools.count()


def _compiled(src: str, scope: dict[str, Any]) -> Any:
    """The function `forward` of some code, whose lines tracebacks can show."""
    name = f"<eval_with_key>.{next(_numbers)}"
    linecache.cache[name] = (len(src), None, src.splitlines(keepends=True), name)
    space = dict(scope)
    exec(compile(src, name, "exec"), space)
    return space["forward"]


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    """The attribute at a path, put into another module at the same path, with modules on the way."""
    *path, last = target.split(".")
    here: Any = from_module
    there: Any = to_module
    for part in path:
        here = getattr(here, part)
        if not hasattr(there, part):
            setattr(there, part, Module())
        there = getattr(there, part)
    value = getattr(here, last)
    if isinstance(value, Tensor) and last not in here._parameters:
        there.register_buffer(last, value)
    else:
        setattr(there, last, value)


def _assign_attr(value: Any, to_module: Module, target: str) -> None:
    """A value at a path of a module, with modules on the way."""
    *path, last = target.split(".")
    there: Any = to_module
    for part in path:
        if not hasattr(there, part):
            setattr(there, part, Module())
        there = getattr(there, part)
    if isinstance(value, Tensor) and not isinstance(value, Module) and type(value).__name__ != "Parameter":
        there.register_buffer(last, value)
    else:
        setattr(there, last, value)


class GraphModule(Module):
    """A module made of a graph and of the attributes that it names; assign `graph`, or `recompile()`, after changes."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        class_of_one = type(cls.__name__, (cls,), {"__module__": cls.__module__, "__qualname__": cls.__qualname__})
        return object.__new__(class_of_one)

    def __init__(self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        if isinstance(root, Module):
            if hasattr(root, "training"):
                self.training = root.training
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    _copy_attr(root, self, node.target)
        elif isinstance(root, dict):
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module") and node.target not in root:
                    raise RuntimeError(f"Node {node} referenced target {node.target} but that target was not "
                                       f"provided in "
                                       "``root``!")
            for target in sorted({node.target for node in graph.nodes if node.op in ("get_attr", "call_module")},
                                 key=lambda path: path.count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.graph = graph
        self._tracer_cls = graph._tracer_cls if graph._tracer_cls and "<locals>" not in graph._tracer_cls.__qualname__ \
            else None
        self.meta: dict[str, Any] = {}

    @property
    def graph(self) -> Graph:
        """The graph whose code forward is."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The text of forward."""
        return self._code

    def recompile(self) -> Any:
        """Write forward anew, after the graph was changed."""
        written = self._graph.python_code("self")
        self._code = written.src
        type(self).forward = _compiled(written.src, written.globals)
        return written

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a path; False if something else is on the way."""
        *path, last = target.split(".")
        there: Any = self
        for part in path:
            if not hasattr(there, part):
                setattr(there, part, Module())
            there = getattr(there, part)
            if not isinstance(there, Module):
                return False
        there.add_module(last, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take the module at a path away; whether there was one."""
        *path, last = target.split(".")
        there: Any = self
        for part in path:
            if not isinstance(getattr(there, part, None), Module):
                return False
            there = getattr(there, part)
        if not isinstance(getattr(there, last, None), Module):
            return False
        delattr(there, last)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Take away the modules that the graph does not call."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used.update(".".join(parts[:i]) for i in range(1, len(parts) + 1))
                if node.op == "call_module":
                    used.update(f"{node.target}.{name}" for name,
                                _ in self.get_submodule(node.target).named_modules() if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    def print_readable(self, print_output: bool = True, **kwargs: Any) -> str:
        """The code as a class; printed, too."""
        body = self._code.strip("\n ").replace("\n", "\n    ")
        text = f"class {self._get_name()}(torch.nn.Module):\n    {body}\n"
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        text = super().__str__()
        return f"{text}\n{self._code}\n# To see more debug info, please use `graph_module.print_readable()`"

    def _get_name(self) -> str:
        return type(self).__name__

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        holder = Module()
        memo[id(self)] = made = GraphModule.__new__(type(self).__mro__[1])
        own = {name: value for name, value in vars(self).items() if name not in ("_graph",)}
        holder.__dict__.update(copy.deepcopy(own, memo))
        made.__dict__.update(holder.__dict__)
        type(made).__name__ = type(self).__name__
        made.graph = copy.deepcopy(self._graph, memo)
        return made

    def __copy__(self) -> GraphModule:
        made = GraphModule(self, copy.deepcopy(self.graph), type(self).__name__)
        made.meta = dict(self.meta)
        return made

    def __reduce__(self) -> Any:
        state = dict(vars(self))
        state.pop("_graph")
        written = self._graph.python_code("self")
        known = ("torch", "operator", "math", "inf", "nan", "device")
        scope = {name: value for name, value in written.globals.items() if name not in known}
        called = [node.target for node in self._graph.nodes if node.op == "call_function"]
        scope.update((target.__name__, target) for target in called     # type: ignore[union-attr]
                     if target is not getattr and vars(builtins).get(target.__name__) is target)
        return _reduced, (type(self).__mro__[1], type(self).__name__, state, written.src, scope, self._tracer_cls)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__()


class _CodeOnly(Module):
    """The attributes of a graph module, with its code, to be traced again."""


def _reduced(cls: type[GraphModule], name: str, state: dict[str, Any], src: str, scope: dict[str, Any],
             tracer_cls: Any) -> GraphModule:
    """A graph module from its attributes and its code: the code is traced again."""
    import math
    import operator

    import claygrad
    from claygrad.fx._symbolic_trace import Tracer, _recording
    leaves = {name: _recording(value) if callable(value) and not isinstance(value, type) else value
              for name, value in scope.items()}
    code = _compiled(src, {"torch": claygrad, "operator": operator, "math": math, "inf": math.inf, "nan": math.nan,
                           "device": claygrad.device, **leaves})
    holder = type("_CodeOnlyModule", (_CodeOnly,), {"forward": code})()
    holder.__dict__.update(state)

    class KeepModules(tracer_cls or Tracer):                # type: ignore[misc]
        def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
            """Every call in the code is one node again."""
            return True

    graph = KeepModules().trace(holder)
    graph._tracer_cls = tracer_cls
    made: GraphModule = cls.__new__(cls)
    made.__dict__.update(state)
    type(made).__name__ = name
    made.graph = graph
    return made

__getattr__ = lazy(__name__)
