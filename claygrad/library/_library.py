"""`torch.library.Library` and the functions that add to operators by their names."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from claygrad.library._custom import OPERATORS, WAITING, CustomOpDef, Operator, _keys, operator_of
from claygrad.library._operators import OpOverload, ops
from claygrad.library._schema import parse_schema

if TYPE_CHECKING:
    from collections.abc import Callable

_RESERVED = ("prim", "aten")
_defined: set[str] = set()


def fallthrough_kernel(*args: Any, **kwargs: Any) -> NoReturn:
    """Stands for "go on to the next kernel" in `Library.impl`; not to be called."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class Library:
    """The operators of a namespace: DEF begins one, FRAGMENT adds to one, IMPL adds kernels to operators."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in _RESERVED and kind in ("DEF", "FRAGMENT"):
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        if kind == "DEF":
            if ns in _defined:
                raise RuntimeError(f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; please "
                                   f"put all of "
                                   "your definitions in a single TORCH_LIBRARY block.")
            _defined.add(ns)
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._made: list[str] = []

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Declare an operator by its schema; returns its name."""
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        read = parse_schema(schema, self.ns)
        name = f"{read.name}.{read.overload_name}" if read.overload_name else read.name
        if name in OPERATORS:
            raise RuntimeError(f"Tried to register an operator ({read}) with the same name and overload name "
                               f"multiple times. "
                               "Each overload's schema should only be registered with a single call to def().")
        Operator(read)
        self._made.append(name)
        return name.partition("::")[2]

    def impl(self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False,
             allow_override: bool = False) -> None:
        """Add a kernel to an operator, for a dispatch key such as CPU, Meta, Autograd or CompositeImplicitAutograd."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        if with_keyset:
            raise NotImplementedError("Library.impl(with_keyset=True): claygrad has no sets of dispatch keys;\n"
                                      "  instead: write a kernel without that argument")
        name = _name_of(op_name)
        name = name if "::" in name else f"{self.ns}::{name}"
        if name.startswith("aten::"):
            raise NotImplementedError(f"Library.impl: {name} is claygrad's own operation and cannot be replaced;\n"
                                      "  instead: use __torch_function__, or an operator of your own")
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        if fn is fallthrough_kernel:
            return
        _when_defined(name, lambda operator: _put(operator, key, fn))

    def _register_fake(self, op_name: str, fn: Callable[..., Any], _stacklevel: int = 1, *,
                       allow_override: bool = False) -> None:
        """The function that gives shapes and dtypes."""
        name = _name_of(op_name)
        operator_of(name if "::" in name else f"{self.ns}::{name}").fake = fn

    def fallback(self, fn: Any, dispatch_key: str = "", *, with_keyset: bool = False) -> NoReturn:
        """Refused: a kernel for all operators of a key."""
        raise NotImplementedError("Library.fallback: claygrad has no dispatcher;\n  instead: use __torch_function__")

    def _destroy(self) -> None:
        """Take the operators of this library away."""
        for name in self._made:
            OPERATORS.pop(name, None)
            space, _, last = name.partition("::")
            vars(ops.namespace(space)).pop(last.partition(".")[0], None)
        self._made.clear()
        if self.kind == "DEF":
            _defined.discard(self.ns)


def _when_defined(name: str, change: Callable[[Operator], None]) -> None:
    """Now, or when the operator is defined: kernels may come first."""
    if name.removesuffix(".default") in OPERATORS:
        change(operator_of(name))
    else:
        WAITING.setdefault(name, []).append(change)


def _put(operator: Operator, key: str, fn: Callable[..., Any]) -> None:
    if key == "Meta":
        operator.fake = fn
    else:
        operator.kernels["CPU" if key == "cpu" else key] = fn


def _name_of(op: Any) -> str:
    if isinstance(op, OpOverload):
        return op._name
    if isinstance(op, CustomOpDef):
        return op._qualname
    return str(op)


def define(qualname: Any, schema: Any = None, *, lib: Library | None = None, tags: Any = ()) -> Any:
    """Declare the operator `namespace::name` with a schema; or `define(lib, schema)` as a decorator of its function."""
    if isinstance(qualname, Library):
        def put(fn: Callable[..., Any]) -> Callable[..., Any]:
            name = qualname.define(schema, tags=tags)
            qualname.impl(name, fn)
            return fn
        return put
    if "::" not in qualname:
        raise ValueError(f"define(qualname, ...): expected qualname to be of the form 'namespace::name', got "
                         f"{qualname}")
    space, _, name = qualname.partition("::")
    (lib or Library(space, "FRAGMENT")).define(f"{name}{schema}", tags=tags)
    return None


def impl(qualname: Any, types: Any, func: Any = None, *, lib: Library | None = None) -> Any:
    """Add a function to the operator `namespace::name` for device types, "default" for all.

    `impl(lib, name, dispatch_key)` is the older form, a decorator.
    """
    if isinstance(qualname, Library):
        key = func or ""

        def put_key(fn: Callable[..., Any]) -> Callable[..., Any]:
            qualname.impl(types, fn, key)
            return fn

        return put_key

    def put(fn: Callable[..., Any]) -> Callable[..., Any]:
        space = _name_of(qualname).partition("::")[0]
        kinds = (types,) if isinstance(types, str) else tuple(types)
        for kind in kinds:
            keys = ("CompositeExplicitAutograd",) if kind in ("default", "CompositeExplicitAutograd") else _keys(kind)
            for key in keys:
                (lib or Library(space, "FRAGMENT")).impl(qualname, fn, key)
        return fn

    return put if func is None else put(func)


def _or_decorator(register: Callable[[Any], Any], func: Any) -> Any:
    return register if func is None else register(func)


def register_fake(op: Any, func: Any = None, /, *, lib: Any = None, _stacklevel: int = 1,
                  allow_override: bool = False) -> Any:
    """The function that gives shapes and dtypes of an operator, for tensors on device meta."""
    # An operator that is not there, of a compiled library that cannot be loaded here, may be described all the same:
    # torchvision and others do so when they are imported, and their Python parts go on without it.
    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        if isinstance(op, str):
            _when_defined(op, lambda operator: _put(operator, "Meta", fn))
        else:
            operator_of(op).fake = fn
        return fn

    return _or_decorator(register, func)


impl_abstract = register_fake


def register_kernel(op: Any, device_types: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """The function of an operator for some kinds of devices."""
    operator = operator_of(op)

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        for key in _keys(device_types):
            operator.kernels[key] = fn
        return fn

    return _or_decorator(register, func)


def register_autograd(op: Any, backward: Callable[..., Any], /, *, setup_context: Any = None, lib: Any = None) -> None:
    """The gradient of an operator; what it runs is then one piece in the graph."""
    operator = operator_of(op)
    CustomOpDef.register_autograd(_Defined(operator), backward, setup_context=setup_context)   # type: ignore[arg-type]
    operator.below_autograd = True


class _Defined:
    """An operator that was defined by its schema, as `CustomOpDef` sees it."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def __repr__(self) -> str:
        return repr(self._operator.overload)


def register_vmap(op: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """The function of an operator for batches, which `vmap` calls: func(info, in_dims, *args)."""
    operator = operator_of(op)

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        operator.batched = fn
        return fn

    return _or_decorator(register, func)


def register_torch_dispatch(op: Any, torch_dispatch_class: Any, func: Any = None, /, *, lib: Any = None) -> NoReturn:
    """Refused: classes that take over operations below autograd are not there."""
    raise NotImplementedError("torch.library.register_torch_dispatch: claygrad has no __torch_dispatch__;\n"
                              "  instead: use __torch_function__")
