"""`torch.ops`: operators by namespace, name and overload."""
from __future__ import annotations

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any, NoReturn

from claygrad.core import Tensor, op_named
from claygrad.library._schema import FunctionSchema

if TYPE_CHECKING:
    from collections.abc import Callable


class OpOverload:
    """One signature of an operator, which can be called."""

    def __init__(self, packet: OpOverloadPacket, overload: str, call: Callable[..., Any],
                 schema: FunctionSchema | None = None) -> None:
        self._overloadpacket = self.overloadpacket = packet
        self._overloadname = overload or "default"
        self._op = call
        name = packet._qualified_op_name
        self._schema = schema or FunctionSchema(name, overload, (), (), f"{name}.{overload}(...)" if overload else
                                                f"{name}(...)")
        self._name = f"{name}.{overload}" if overload else name
        self.namespace = name.split("::")[0]
        self.__name__ = f"{packet.__name__}.{self._overloadname}"
        self.__module__ = packet.__module__
        self.__qualname__ = self._name
        self.tags: list[Any] = []

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._op(*args, **kwargs)

    def __repr__(self) -> str:
        space, name = self._overloadpacket._qualified_op_name.split("::")
        return f"<OpOverload(op='{space}.{name}', overload='{self._overloadname}')>"

    def __str__(self) -> str:
        return ".".join([*self._overloadpacket._qualified_op_name.split("::"), self._overloadname])

    def name(self) -> str:
        """`namespace::name.overload`."""
        return self._name

    @property
    def op(self) -> Any:
        """What a call runs."""
        return self._op

    def __deepcopy__(self, memo: Any = None) -> OpOverload:
        return self

    def __reduce__(self) -> Any:
        return _overload_named, (self._overloadpacket._qualified_op_name, self._overloadname)


class OpOverloadPacket:
    """An operator with all its signatures; a call chooses the first, which takes all forms of arguments."""

    def __init__(self, qualified: str) -> None:
        space, name = qualified.split("::")
        self._qualified_op_name = qualified
        self.__name__ = name
        self.__module__ = f"torch.ops.{space}"
        self.__qualname__ = name
        self._overloads: dict[str, OpOverload] = {}

    def overloads(self) -> list[str]:
        """The names of the signatures."""
        return list(self._overloads)

    def add(self, overload: str, call: Callable[..., Any], schema: FunctionSchema | None = None) -> OpOverload:
        """One more signature."""
        made = self._overloads[overload or "default"] = OpOverload(self, overload, call, schema)
        return made

    def __getattr__(self, name: str) -> OpOverload:
        known = self.__dict__.get("_overloads", {})
        if name in known:
            return known[name]
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'", name=name, obj=self)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        first, *rest = self._overloads.values()
        for overload in rest:            # signatures of a library's own: the first that takes these arguments
            try:
                return first(*args, **kwargs)
            except TypeError:
                first = overload
        return first(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __str__(self) -> str:
        return self._qualified_op_name.replace("::", ".")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._overloads]

    def __iter__(self) -> Any:
        return iter(self._overloads)

    def __deepcopy__(self, memo: Any = None) -> OpOverloadPacket:
        return self

    def __reduce__(self) -> Any:
        return _packet_named, (self._qualified_op_name,)


class OpNamespace(types.ModuleType):
    """The operators of one library."""

    def __init__(self, name: str) -> None:
        super().__init__(f"torch.ops.{name}")
        self.name = name
        self.__file__ = "torch.ops"

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__"):
            raise AttributeError(name)
        packet = _of_torch(self.__dict__.get("name", ""), name)
        if packet is not None:
            setattr(self, name, packet)
            return packet
        raise AttributeError(f"'_OpNamespace' '{self.__dict__.get('name')}' object has no attribute '{name}'",
                             name=name, obj=self)

    def packet(self, name: str) -> OpOverloadPacket:
        """The operator of a name, made where there is none yet."""
        found = vars(self).get(name)
        if not isinstance(found, OpOverloadPacket):
            found = OpOverloadPacket(f"{self.name}::{name}")
            setattr(self, name, found)
        return found


# Compiled libraries that a package loads when it is imported, and without whose operators its Python parts work: the
# operators that it looks up then. They raise when they are called, but for those that ask what the library has.
_LEFT_OUT = {
    "_torchaudio": ("_torchaudio::is_align_available", "_torchaudio::cuda_version"),
    "libtorchaudio": ("torchaudio::_lfilter_core_loop", "torchaudio::_overdrive_core_loop", "torchaudio::forced_align",
                      "torchaudio::rnnt_loss_forward"),
}
_ANSWERS = {"is_align_available": False, "cuda_version": None}


def _absent_operator(operator: str, library: str) -> Any:
    last = operator.rpartition(":")[2]

    def call(*args: Any, **kwargs: Any) -> Any:
        if last in _ANSWERS:
            return _ANSWERS[last]
        raise NotImplementedError(f"{operator} is in the compiled library {library}, made for PyTorch"
                                  "\n  instead: write it in Python, with torch.library.custom_op(...)")

    call.__name__ = call.__qualname__ = last
    return call


class Ops(types.ModuleType):
    """`torch.ops`: a namespace for every library."""

    def __init__(self) -> None:
        super().__init__("torch.ops")
        self.__file__ = "_ops.py"
        self.__path__: list[str] = []
        self.loaded_libraries: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.namespace(name)

    def namespace(self, name: str) -> OpNamespace:
        """The namespace of a name, made where there is none yet."""
        found = vars(self).get(name)
        if not isinstance(found, OpNamespace):
            found = OpNamespace(name)
            setattr(self, name, found)
        return found

    def load_library(self, path: Any) -> None:
        """Refused but for some: libraries for PyTorch's dispatcher are built against PyTorch."""
        name = str(path).rpartition("/")[2].partition(".")[0]
        if name not in _LEFT_OUT:
            raise OSError(f"Could not load this library: {path}\n  It is built against PyTorch's C++ library, which "
                          f"claygrad is "
                          "not;\n  instead: write the operator in Python with torch.library.custom_op")
        for operator in _LEFT_OUT[name]:
            space, last = operator.split("::")
            packet = self.namespace(space)
            if last not in vars(packet):
                setattr(packet, last, _absent_operator(operator, name))

    def import_module(self, module: str) -> None:
        """Import a Python module that registers operators."""
        importlib.import_module(module)

    @property
    def higher_order(self) -> NoReturn:
        """Refused: operators on functions serve compilers."""
        raise AttributeError("torch.ops.higher_order serves compilers, which claygrad has not")


ops = Ops()


def _packet_named(qualified: str) -> OpOverloadPacket:
    space, name = qualified.split("::")
    return getattr(ops.namespace(space), name)


def _overload_named(qualified: str, overload: str) -> OpOverload:
    return getattr(_packet_named(qualified), overload)


def _of_torch(space: str, name: str) -> OpOverloadPacket | None:
    """One of PyTorch's own operators, with the overloads that it has there. What claygrad does not declare is a name
    that tables of packages may hold; a call of it is refused."""
    from claygrad.library._aten import is_known, overloads_of
    call = _declared(name) if space == "aten" else None
    packet = OpOverloadPacket(f"{space}::{name}")
    if call is None:
        if not is_known(name, space):
            return None
        call = _refusing(space, name)
    for overload in overloads_of(name, space):
        made = packet.add("" if overload == "default" else overload, call)
        if hasattr(call, "only_a_name"):
            vars(made)["only_a_name"] = vars(packet)["only_a_name"] = call.only_a_name
    return packet


def _refusing(space: str, name: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"{space}::{name} is one of PyTorch's inner operators, which claygrad does not "
                                  "have;\n"
                                  "  instead: call the public function that comes to it")

    vars(refuse)["only_a_name"] = f"torch.ops.{space}.{name}"
    return refuse


def _declared(name: str) -> Callable[..., Any] | None:
    registry = sys.modules["claygrad.ops._registry"]
    for space in ("torch", "nn.functional", "special", "linalg", "fft"):
        prefix = "" if space in ("torch", "nn.functional") else f"{space}_"
        known = registry.NAMESPACES[space]
        if name.startswith(prefix) and name.removeprefix(prefix) in known:
            return known[name.removeprefix(prefix)]
    if name in registry.REGISTRY:
        return registry.REGISTRY[name].op
    method = getattr(Tensor, name, None)
    return method if callable(method) else _INNER.get(name) or op_named(name)


def is_public(name: str) -> bool:
    """Whether programs can have this name of an operation or a method."""
    found = _declared(name)
    return found is not None and ((name not in _INNER and found is not op_named(name)) or hasattr(Tensor, name)
                                  or name in sys.modules["claygrad.ops._registry"].NAMESPACES["torch"]
                                  or name in sys.modules["claygrad.ops._registry"].NAMESPACES["nn.functional"])


# PyTorch's inner operators that claygrad's operations or methods have by other names.
_INNER: dict[str, Callable[..., Any]] = {
    "_to_copy": lambda x, **how: x.to(**how, copy=True), "_local_scalar_dense": lambda x: x.item(),
    "_unsafe_view": lambda x, size: x.view(size), "lift_fresh": lambda x: x,
    "_reshape_alias": lambda x, size, stride: x.view(size)}
