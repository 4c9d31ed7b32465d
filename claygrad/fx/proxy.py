"""Proxies: values in a trace, which record what is done with them as nodes of a graph."""
from __future__ import annotations

import dis
import enum
import inspect
import operator
from typing import TYPE_CHECKING, Any

from claygrad._lazy import lazy
from claygrad.core import Tensor, device, dtype
from claygrad.fx._code import _MAGIC
from claygrad.fx.node import Node, map_aggregate
from claygrad.native.random import Generator
from claygrad.ops._formats import layout, memory_format

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claygrad.fx.graph import Graph

base_types = (int, float, complex, str, bytes, bool, type(None), type(...), dtype, device, layout, memory_format,
              Generator, range)


class TraceError(ValueError):
    """A program does with a traced value what a graph cannot hold."""


class TracerBase:
    """Makes nodes and proxies; how values become arguments of nodes."""

    graph: Graph
    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    param_shapes_constant = False
    traced_func_name = "forward"

    def create_node(self, kind: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any],
                    name: str | None = None,
                    type_expr: Any = None) -> Node:
        """A node at the end of the graph."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Proxy:
        """The value of a node."""
        return Proxy(node, self)

    def create_proxy(self, kind: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any],
                     name: str | None = None,
                     type_expr: Any = None, proxy_factory_fn: Any = None) -> Proxy:
        """A new node and its value."""
        args_, kwargs_ = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, args_, kwargs_, name, type_expr)
        made: Proxy = proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)
        if self.record_stack_traces:
            import traceback
            node.stack_trace = "".join(traceback.format_list(traceback.extract_stack()[:-1]))
        return made

    def create_arg(self, a: Any) -> Any:
        """A value as an argument of a node."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            inner = [self.create_arg(one) for one in a]
            return type(a)(*inner) if hasattr(a, "_fields") else tuple(inner)
        if isinstance(a, list):
            return [self.create_arg(one) for one in a]
        if isinstance(a, dict):
            def plain(node: Any) -> Any:
                if isinstance(node, Node):
                    raise RuntimeError("Keys for dictionaries used as an argument cannot contain a Node. Got key: "
                                       f"{node}")
                return node
            return {map_aggregate(self.create_arg(key), plain): self.create_arg(one) for key, one in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, (*base_types, enum.Enum, Node)) or callable(a):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj: Proxy) -> bool:
        """Refused: which branch is taken would depend on values."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Unpacking into names is recorded; a loop is refused, since its length would depend on values."""
        frame = inspect.currentframe()
        if frame is not None and frame.f_back is not None and frame.f_back.f_back is not None:
            calling = frame.f_back.f_back
            here = [one for one in dis.get_instructions(calling.f_code) if one.offset == calling.f_lasti]
            if here and here[0].opname == "UNPACK_SEQUENCE":
                return (operator.getitem(obj, i) for i in range(here[0].argval))
        raise TraceError("Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or "
                         "as a "
                         "*args or **kwargs function argument. See the torch.fx docs on pytorch.org for a more "
                         "detailed "
                         "explanation of what types of control flow can be traced, and check out the Proxy docstring "
                         "for "
                         "help troubleshooting Proxy iteration errors")

    def keys(self, obj: Proxy) -> Any:
        """What `**proxy` asks for."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Puts what is done with proxies at the end of a graph that is there already."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph


class Proxy:
    """A value that is not known yet: operators, functions of torch, methods and attributes are recorded."""

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        if (k.startswith("__") and k.endswith("__")) or k in ("node", "tracer"):
            raise AttributeError(k)
        return Attribute(self, k)

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        return self.tracer.iter(self)

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """What `**proxy` asks for."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError("'len' is not supported in symbolic tracing by default. If you want this call to be "
                           "recorded, "
                           "please call torch.fx.wrap('len') at module scope")

    def __deepcopy__(self, memo: Any) -> Proxy:
        return self

    @classmethod
    def __torch_function__(cls, orig_method: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        tracers: dict[int, TracerBase] = {}

        def look(one: Any) -> Any:
            if isinstance(one, Proxy):
                tracers[id(one.tracer)] = one.tracer
            return one

        map_aggregate((args, dict(kwargs)), look)
        if len(tracers) > 1:
            raise RuntimeError(f"Found multiple different tracers {list(tracers.values())} while trying to trace "
                               f"operations "
                               f"{orig_method}")
        tracer = next(iter(tracers.values()))
        name = getattr(orig_method, "__name__", "")
        if _is_method(orig_method, name):
            return tracer.create_proxy("call_method", _METHODS.get(name, name), args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs,
                                   name=tracer.graph._target_to_str(name) if name else None)


_METHODS: dict[str, str] = {}


def _is_method(function: Any, name: str) -> bool:
    """Whether it is a method of tensors, not a function of the same name."""
    import claygrad
    found = getattr(Tensor, name, None)
    if found is None or vars(claygrad).get(name) is function:
        return False
    return found is function or found == function


class Attribute(Proxy):
    """An attribute of a proxy: recorded when it is used, or as a call of a method when it is called."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:             # type: ignore[override]
        """The node of the attribute, made when it is asked for."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A parameter in a trace whose shape is known."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Any) -> None:
        super().__init__(node, tracer)
        self.param, self.name = param, name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The parameter's own shape."""
        return self.param.shape

    def size(self) -> Any:
        """The parameter's own shape."""
        return self.param.size()

    def dim(self) -> int:
        """The parameter's own number of dimensions."""
        return self.param.dim()

    @property
    def ndim(self) -> int:
        """The parameter's own number of dimensions."""
        return self.param.ndim

    def numel(self) -> int:
        """The parameter's own number of elements."""
        return self.param.numel()


def _operator_method(name: str) -> Any:
    target = getattr(operator, name)

    def method(self: Proxy, *args: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", target, (self, *args), {})

    return method


def _reflected(name: str) -> Any:
    target = getattr(operator, name)

    def method(self: Proxy, other: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", target, (other, self), {})

    return method


for _name in _MAGIC:
    setattr(Proxy, f"__{_name.strip('_')}__", _operator_method(_name))
for _name in "add sub mul floordiv truediv mod pow lshift rshift and_ or_ xor matmul".split():
    setattr(Proxy, f"__r{_name.strip('_')}__", _reflected(_name))
Proxy.__hash__ = object.__hash__        # type: ignore[method-assign]

__getattr__ = lazy(__name__)
