"""`torch.fx.symbolic_trace`: run a function or a module on proxies, and keep what it did as a graph."""
from __future__ import annotations

import builtins
import contextlib
import copy
import functools
import inspect
import math
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from claygrad._lazy import lazy
from claygrad.core import Tensor
from claygrad.core.graph.module_call import use_native_call
from claygrad.fx.graph import Graph
from claygrad.fx.graph_module import GraphModule
from claygrad.fx.node import Node, _side_effectful_functions
from claygrad.fx.proxy import ParameterProxy, Proxy, TracerBase, base_types
from claygrad.nn.modules.module import Module
from claygrad.nn.parameter import Parameter
from claygrad.utils import pytree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_wrapped_fns_to_patch: dict[tuple[int, str], dict[str, Any]] = {}


def _assert_is_none(value: Any, msg: str) -> None:
    """An input that was None in the trace must be None."""
    assert value is None, msg


_side_effectful_functions.add(_assert_is_none)


class PHBase:
    """Stands for an argument of `concrete_args` that stays an input."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class ProxyableClassMeta(type):
    """A class whose instances, made from proxies in a trace, are recorded as calls of the class."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        found: list[Proxy] = [one for one in pytree.tree_leaves((args, kwargs)) if isinstance(one, Proxy)]
        if found:
            return found[0].tracer.create_proxy("call_function", cls, args, kwargs)
        return super().__call__(*args, **kwargs)


def wrap(fn_or_name: Any) -> Any:
    """At module level: calls of this function, by its name or as a decorator, are recorded and not entered."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    frame = inspect.currentframe()
    caller = frame.f_back if frame is not None else None
    if caller is None or caller.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    _wrapped_fns_to_patch[id(caller.f_globals), name] = caller.f_globals
    return fn_or_name


def _recording(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, or a node that calls it where an argument is a proxy."""
    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        for one in pytree.tree_leaves((args, kwargs)):
            if isinstance(one, Proxy):
                made = one.tracer.create_proxy("call_function", function, args, kwargs)
                made.node.meta["is_wrapped"] = True
                return made
        return function(*args, **kwargs)

    return wrapped


@contextlib.contextmanager
def _patched(changes: list[tuple[Any, str, Any]]) -> Iterator[None]:
    """Other values under names of dicts and attributes of objects, for a while."""
    former: list[tuple[Any, str, Any, bool]] = []
    try:
        for holder, name, value in changes:
            if isinstance(holder, dict):
                former.append((holder, name, holder.get(name), name in holder))
                holder[name] = value
            else:
                former.append((holder, name, vars(holder).get(name), name in vars(holder)))
                setattr(holder, name, value)
        yield
    finally:
        for holder, name, value, there in reversed(former):
            if isinstance(holder, dict):
                if there:
                    holder[name] = value
                else:
                    holder.pop(name, None)
            elif there:
                setattr(holder, name, value)
            else:
                delattr(holder, name)


def _all_classes(cls: type) -> Iterator[type]:
    yield cls
    below: type
    for below in cls.__subclasses__():
        yield from _all_classes(below)


class Tracer(TracerBase):
    """Makes a graph of a module or a function; subclasses decide which modules are leaves."""

    def __init__(self, autowrap_modules: tuple[ModuleType, ...] = (math,), autowrap_functions: tuple[Any, ...] = (),
                 param_shapes_constant: bool = False) -> None:
        self._autowrap_search = list(autowrap_modules)
        self._autowrap_functions = {id(function) for function in autowrap_functions}
        for module in autowrap_modules:
            self._autowrap_functions |= {id(value) for name, value in vars(module).items()
                                         if not name.startswith("_") and callable(value)}
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] | None = None
        self.root: Any = None
        self.tensor_attrs: dict[Any, str] = {}

    def create_arg(self, a: Any) -> Any:
        """A value as an argument of a node; parameters, buffers and other tensors become attributes of the module."""
        if isinstance(a, Parameter):
            for name, one in self.root.named_parameters():
                if a is one:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, Tensor):
            for name, one in self.root.named_buffers():
                if a is one:
                    return self.create_node("get_attr", name, (), {})
            name = self.tensor_attrs.get(id(a))
            if name is None:
                number = 0
                while hasattr(self.root, f"_tensor_constant{number}"):
                    number += 1
                name = f"_tensor_constant{number}"
                self.tensor_attrs[id(a)] = name
                setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        if isinstance(a, Module):
            for name, one in self.root.named_modules():
                if a is one:
                    return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a module's call is one node: those of torch.nn are, but Sequential."""
        from claygrad.nn.modules.container import Sequential
        home = type(m).__module__
        own = home.startswith(("claygrad.nn", "torch.nn", "claygrad.ao", "torch.ao"))
        return own and not isinstance(m, Sequential) and not isinstance(m, GraphModule)

    def path_of_module(self, mod: Module) -> str:
        """The path of a module below the root."""
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
            if path is None:
                raise NameError("module is not installed as a submodule")
            return path
        for name, one in self.root.named_modules():
            if one is mod:
                return str(name)
        raise NameError("module is not installed as a submodule")

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Record a call of a leaf, enter that of any other module."""
        path = self.path_of_module(m)
        if self.is_leaf_module(m, path):
            return self.create_proxy("call_module", path, args, kwargs)
        return forward(*args, **kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """What an attribute of a module is in the trace: parameters are proxies."""
        def proxy_of(members: Any) -> Any:
            for name, one in members:
                if attr_val is one:
                    if name not in parameter_proxy_cache:
                        known = self.param_shapes_constant and isinstance(attr_val, Parameter)
                        make = functools.partial(ParameterProxy, self, name=name, param=attr_val) if known else None
                        parameter_proxy_cache[name] = self.create_proxy("get_attr", name, (), {}, proxy_factory_fn=make)
                    return parameter_proxy_cache[name]
            return None

        if isinstance(attr_val, Parameter):
            found = proxy_of(self.root.named_parameters())
            return attr_val if found is None else found
        if self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            found = proxy_of(self.root.named_buffers())
            return attr_val if found is None else found
        return attr_val

    def create_args_for_root(self, root_fn: Callable[..., Any], is_module: bool, concrete_args: Any = None) -> Any:
        """The function and the proxies for its parameters; those of `concrete_args` get their values."""
        signature = inspect.signature(root_fn)
        parameters = list(signature.parameters.values())
        given = concrete_args or {}
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        if is_module:
            if not parameters:
                raise RuntimeError("`self` argument cannot be part of *args expansion!")
            args.append(self.root)
            parameters = parameters[1:]
        for parameter in parameters:
            name, kind = parameter.name, parameter.kind
            if isinstance(given, dict) and name in given and given[name] is not PH:
                value = given[name]
                self._specialize(name, value)
            else:
                star = "*" if kind is parameter.VAR_POSITIONAL else "**" if kind is parameter.VAR_KEYWORD else ""
                default = () if parameter.default is parameter.empty else (parameter.default,)
                hint = root_fn.__annotations__.get(name) if hasattr(root_fn, "__annotations__") else None
                value = self.create_proxy("placeholder", f"{star}{name}", default, {}, name=name,
                                          type_expr=hint if not isinstance(hint, str) else None)
            if kind is parameter.KEYWORD_ONLY:
                kwargs[name] = value
            elif kind is parameter.VAR_POSITIONAL:
                args.append(("*", value))
            elif kind is parameter.VAR_KEYWORD:
                kwargs["**"] = value
            else:
                args.append(value)
        return root_fn, args, kwargs

    def _specialize(self, name: str, value: Any) -> None:
        """An input that must have this value when the graph is run."""
        self._specialized = getattr(self, "_specialized", 0) + 1
        given = self.create_proxy("placeholder", f"{name}_{self._specialized}", (), {})
        told = f"{name} has been specialized to have value {value} but got another value"
        if value is None:
            self.create_proxy("call_function", _assert_is_none, (given, told), {})
        elif isinstance(value, base_types):
            import claygrad
            self.create_proxy("call_function", claygrad._assert,           # type: ignore[attr-defined]
                              (given == value, told), {})

    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a module's forward or of a function."""
        if isinstance(root, Module):
            self.root = root
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}")
            function = getattr(type(root), self.traced_func_name)
            self.root_module_name = root._get_name()
            self.submodule_paths = {module: name for name, module in root.named_modules()}
        else:
            self.root = Module()
            function = root
            self.root_module_name = ""
            self.submodule_paths = {}
        self.graph = Graph(tracer_cls=type(self))
        if hasattr(root, "_name_of_tensor_constants"):
            self.tensor_attrs = dict(root._name_of_tensor_constants)
        else:
            self.tensor_attrs = {}
        for path, module in self.root.named_modules():
            for name, value in vars(module).items():
                if isinstance(value, Tensor):
                    self.tensor_attrs[id(value)] = f"{path}.{name}" if path else name
        function, args, kwargs = self.create_args_for_root(function, isinstance(root, Module), concrete_args)
        positional: list[Any] = []
        for one in args:
            if isinstance(one, tuple) and len(one) == 2 and one[0] == "*":
                positional += _Starred(one[1])
            else:
                positional.append(one)
        extra = kwargs.pop("**", None)
        if extra is not None:
            kwargs = {**kwargs, **_StarredDict(extra)}
        with self._tracing(function):
            result = function(*positional, **kwargs)
        self.create_node("output", "output", (self.create_arg(result),), {},
                         type_expr=_plain(getattr(function, "__annotations__", {}).get("return")))
        self.submodule_paths = None
        return self.graph

    @contextlib.contextmanager
    def _tracing(self, function: Any) -> Iterator[None]:
        """Calls and parameters of modules, and wrapped functions, go through this tracer."""
        original_call, original_getattr = Module.__call__, Module.__getattr__
        cache: dict[str, Any] = {}

        def call(module: Module, *args: Any, **kwargs: Any) -> Any:
            return self.call_module(module, lambda *a, **k: original_call(module, *a, **k), args, kwargs)

        def attribute(module: Module, name: str) -> Any:
            return self.getattr(name, original_getattr(module, name), cache)

        changes: list[tuple[Any, str, Any]] = [(Module, "__call__", call), (Module, "__getattr__", attribute)]
        for (_, name), scope in list(_wrapped_fns_to_patch.items()):
            original = scope.get(name, getattr(builtins, name, None))
            if original is not None:
                changes.append((scope, name, _recording(original)))
        scope = getattr(function, "__globals__", {})
        for module in self._autowrap_search:
            changes += [(vars(module), name, _recording(value)) for name, value in list(vars(module).items())
                        if not name.startswith("_") and callable(value) and id(value) in self._autowrap_functions]
        changes += [(scope, name, _recording(value)) for name, value in list(scope.items())
                    if callable(value) and id(value) in self._autowrap_functions]
        try:
            with _patched(changes):
                yield
        finally:
            for cls in _all_classes(Module):        # assigning to the class took their quick forms away
                use_native_call(cls)

    def __deepcopy__(self, memo: Any) -> Tracer:
        made = type(self).__new__(type(self))
        for name, value in vars(self).items():
            made.__dict__[name] = value if name == "_autowrap_search" else copy.copy(value)
        return made


def _plain(hint: Any) -> Any:
    return None if isinstance(hint, str) else hint


class _Starred(list):
    """The values of `*args`: one proxy, which the function may hand on."""

    def __init__(self, proxy: Proxy) -> None:
        super().__init__([proxy])


class _StarredDict(dict):
    """The values of `**kwargs`: none that is known."""

    def __init__(self, proxy: Proxy) -> None:
        super().__init__()


def symbolic_trace(root: Any, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """A module or function as a `GraphModule`: the same calls, in a graph that can be changed."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else getattr(root, "__name__", type(root).__name__)
    return GraphModule(tracer.root, graph, name)


__all__ = ["PH", "FunctionType", "Node", "ProxyableClassMeta", "Tracer", "symbolic_trace", "wrap"]

__getattr__ = lazy(__name__)
