"""Nodes of a graph: an input, an attribute, a call, or the result."""
from __future__ import annotations

import builtins
import math
import operator
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from claygrad._lazy import lazy
from claygrad.fx.immutable_collections import immutable_dict, immutable_list

if TYPE_CHECKING:
    from claygrad.fx.graph import Graph

BaseArgumentTypes = Any
Argument = Any
Target = Callable[..., Any] | str

_side_effectful_functions: set[Any] = set()
_OPS = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function whose calls stay in a graph though nobody uses their results."""
    _side_effectful_functions.add(fn)
    return fn


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """The function on everything inside lists, tuples, dicts and slices."""
    if isinstance(a, tuple):
        inner = tuple(map_aggregate(one, fn) for one in a)
        return type(a)(*inner) if hasattr(a, "_fields") else inner
    if isinstance(a, list):
        return immutable_list(map_aggregate(one, fn) for one in a)
    if isinstance(a, dict):
        return immutable_dict({key: map_aggregate(one, fn) for key, one in a.items()})
    if isinstance(a, slice):
        return slice(*(map_aggregate(one, fn) for one in (a.start, a.stop, a.step)))
    return fn(a)


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """The function on every node inside lists, tuples, dicts and slices."""
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda one: fn(one) if isinstance(one, Node) else one)


def _find_public(func: Any) -> str | None:
    """The public name of one of claygrad's functions, as PyTorch's."""
    import claygrad
    name = getattr(func, "__name__", None)
    if not isinstance(name, str):
        return None
    for path, module in (("torch", claygrad), ("torch.nn.functional", claygrad.nn.functional), ("torch.linalg",
                                                                                                claygrad.linalg),
                         ("torch.special", claygrad.special), ("torch.fft", claygrad.fft)):
        short = name.removeprefix(f"{path.rpartition('.')[2]}_")
        if vars(module).get(short) is func:
            return f"{path}.{short}"
    return None


def _get_qualified_name(func: Any) -> str:
    """The name by which generated code calls a function."""
    name = getattr(func, "__name__", type(func).__name__)
    if getattr(builtins, name, None) is func:
        return name
    if getattr(math, name, None) is func:
        return f"math.{name}"
    if getattr(operator, name, None) is func:
        return f"operator.{name}"
    public = _find_public(func)
    if public is not None:
        return public
    module = getattr(func, "__module__", None) or type(func).__module__
    if name == "<lambda>":
        name = "lambda"
    qualified = getattr(func, "__qualname__", name)
    if isinstance(func, types.MethodDescriptorType) or (isinstance(func, types.FunctionType) and "." in qualified):
        name = qualified.replace("<locals>.", "")
    return f"{'torch' + module.removeprefix('claygrad') if module.startswith('claygrad') else module}.{name}"


class Node:
    """One step of a graph: what it calls (`op`, `target`), with what (`args`, `kwargs`), and who uses its result."""

    def __init__(self, graph: Graph, name: str, op: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any],
                 return_type: Any = None) -> None:
        if op not in _OPS:
            raise AssertionError(f"Node [graph = {graph}, name = '{name}'] has unsupported op {op}")
        if op == "call_function":
            if not callable(target):
                raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} "
                                 f"but a "
                                 "Callable is expected")
        elif not isinstance(target, str):
            raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} but a "
                             f"str is "
                             "expected")
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self.users: dict[Node, None] = {}
        self._input_nodes: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._prev = self._next = self
        self._erased = False
        self._args: tuple[Any, ...] = ()
        self._kwargs: dict[str, Any] = {}
        self._set(args, kwargs)

    def _set(self, args: Any, kwargs: Any) -> None:
        for node in self._input_nodes:
            node.users.pop(self, None)
        self._args = map_aggregate(tuple(args), lambda one: one)
        self._kwargs = map_aggregate(dict(kwargs), lambda one: one)
        self._input_nodes = {}
        map_arg((self._args, self._kwargs), lambda node: self._input_nodes.setdefault(node))
        for node in self._input_nodes:
            node.users.setdefault(self)

    @property
    def args(self) -> tuple[Any, ...]:
        """What it is called with, by position; nodes stand for their results."""
        return self._args

    @args.setter
    def args(self, given: tuple[Any, ...]) -> None:
        self._set(given, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """What it is called with, by name."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, given: dict[str, Any]) -> None:
        self._set(self._args, given)

    @property
    def next(self) -> Node:
        """The node after it."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before it."""
        return self._prev

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes whose results it uses."""
        return list(self._input_nodes)

    def prepend(self, x: Node) -> None:
        """Move another node of this graph to the place before this one."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev, x._next, self._prev = x, before, self, x

    def append(self, x: Node) -> None:
        """Move another node of this graph to the place after this one."""
        self._next.prepend(x)

    def _remove_from_list(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def update_arg(self, idx: int, arg: Any) -> None:
        """Another argument at a position."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        """One more argument before a position."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Another argument under a name."""
        self.kwargs = {**self.kwargs, key: arg}

    @property
    def stack_trace(self) -> str | None:
        """Where the program made the call, if the tracer recorded it."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def replace_all_uses_with(self, replace_with: Node, delete_user_cb: Any = lambda user: True, *,
                              propagate_meta: bool = False) -> list[Node]:
        """Let the users of this node use another; returns those that now do."""
        if propagate_meta:
            replace_with.meta.update(self.meta)
        changed = []
        for user in list(self.users):
            if delete_user_cb(user):
                user.replace_input_with(self, replace_with)
                changed.append(user)
        return changed

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Use another node's result in place of one's."""
        def change(node: Node) -> Node:
            return new_input if node is old_input else node
        self._set(map_arg(self.args, change), map_arg(self.kwargs, change))

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether it must stay though nobody uses its result."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            import claygrad
            return self.target in _side_effectful_functions or self.target is claygrad._assert  # type: ignore[attr-defined]
        if self.op == "call_module":
            module = self.graph.owning_module and self.graph.owning_module.get_submodule(self.target)
            return bool(getattr(module, "_is_impure", False))
        return False

    def normalized_arguments(self, root: Any, arg_types: Any = None, kwarg_types: Any = None,
                             normalize_to_only_use_kwargs: bool = False) -> Any:
        """Refused: PyTorch reads the signatures of its C++ functions for this."""
        from claygrad.compat.refusing import refusal
        raise refusal("torch.fx.Node.normalized_arguments")

    def format_node(self, placeholder_names: list[str] | None = None,
                    maybe_return_typename: list[str] | None = None) -> Any:
        """The node as a line of text."""
        uses = f"[num_users={len(self.users)}]"
        if self.op == "placeholder":
            default = f"(default={self.args[0]})" if self.args else ""
            return f"%{self.name} : {uses} = {self.op}[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"%{self.name} : {uses} = {self.op}[target={self.target}]"
        if self.op == "output":
            return f"return {self.args[0]}"
        target = self.target if isinstance(self.target, str) else _get_qualified_name(self.target)
        if self.op == "call_function" and getattr(builtins, target, None) is self.target:
            target = f"builtins.{target}"
        return (f"%{self.name} : {uses} = {self.op}[target={target}](args = {_arguments_text(self.args)}, kwargs = "
                f"{_arguments_text(self.kwargs)})")

    def __repr__(self) -> str:
        return self.name

    def __lt__(self, other: Node) -> bool:
        return self._order < other._order

    def __gt__(self, other: Node) -> bool:
        return self._order > other._order

    @property
    def _order(self) -> int:
        return list(self.graph.nodes).index(self)


def _arguments_text(arg: Any) -> str:
    if isinstance(arg, list):
        return "[" + ", ".join(map(_arguments_text, arg)) + "]"
    if isinstance(arg, tuple):
        inner = ", ".join(map(_arguments_text, arg))
        return f"({inner},)" if len(arg) == 1 else f"({inner})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {_arguments_text(value)}" for key, value in arg.items()) + "}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)

__getattr__ = lazy(__name__)
