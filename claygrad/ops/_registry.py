"""Declaring operations: the decorators that turn one Python block into function, method, in-place and out= forms."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad.core import Op, conj, constant, declare, install, missing, zero
from claygrad.core.dispatch.factories import as_factory
from claygrad.ops._returns import named_tuple

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["METHODS", "NAMESPACES", "REGISTRY", "Declaration", "composite", "conj", "constant", "missing", "op",
           "pointwise", "reduction", "view", "zero"]


class Declaration:
    """All that was said of one operation; tests, docs and stubs are derived from it."""

    __slots__ = ("aliases", "errors", "fn", "inplace", "kind", "label", "method", "name", "namespaces", "op", "options",
                 "out", "promote", "public", "samples")

    def __init__(self, kind: str, fn: Callable, op: Any, options: dict[str, Any]) -> None:
        self.kind, self.fn, self.op, self.options = kind, fn, op, options
        self.name: str = options.get("name") or fn.__name__
        self.samples, self.errors = options.get("samples"), options.get("errors")
        self.aliases: tuple[str, ...] = options.get("names", ())
        self.method: bool = options.get("method", True)
        self.public: bool = options.get("function", True)
        space = options.get("namespace", "torch")
        self.namespaces: tuple[str, ...] = (space,) if isinstance(space, str) else tuple(space)
        # What errors, named results and nodes call it: linalg.inv is linalg_inv there.
        self.label: str = f"{self.namespaces[0]}_{self.name}" if self.namespaces[0] in _SPELLED else self.name
        self.inplace: bool = options.get("inplace", kind == "pointwise")
        self.out: bool = options.get("out", kind in ("pointwise", "reduction", "op"))
        self.promote = options.get("promote", "common" if kind in ("pointwise", "reduction") else "none")

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"

    @property
    def differentiable(self) -> bool:
        """Whether a call on a tensor that requires grad gives one that does."""
        return self.kind == "composite" or self.op.has_rules


_SPELLED = ("linalg", "fft", "special")
REGISTRY: dict[str, Declaration] = {}
METHODS: dict[str, Any] = {}
NAMESPACES: dict[str, dict[str, Any]] = {
    name: {} for name in ("torch", "nn.functional", "special", "linalg", "fft", "signal.windows", "masked")}


def pointwise(**options: Any) -> Callable[[Callable], Op]:
    """An elementwise operation: broadcasting and dtypes are the machinery's."""
    return lambda fn: _declare("pointwise", fn, options)


def reduction(**options: Any) -> Callable[[Callable], Op]:
    """An operation over the axes `dim`, which it gets as a tuple of axes or None for all."""
    return lambda fn: _declare("reduction", fn, options)


def op(**options: Any) -> Callable[[Callable], Op]:
    """Any other operation on arrays."""
    return lambda fn: _declare("op", fn, options)


def view(*, multi: bool = False, **options: Any) -> Callable[[Callable], Op]:
    """An operation that only describes the memory of its input in another way."""
    return lambda fn: _declare("multi_view" if multi else "view", fn, options)


def composite(**options: Any) -> Callable[[Callable], Callable]:
    """A function made of operations; its gradients are theirs."""
    return lambda fn: _compose(fn, options)


def _camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.strip("_").split("_"))


def _parameters(fn: Callable, skip: int) -> tuple[list[str], list[Any], int, dict[str, str]]:
    """Names, defaults (... where none), how many are positional, annotations. A trailing underscore escapes a
    keyword."""
    code = fn.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    names = list(code.co_varnames[skip:count])
    positional = code.co_argcount - skip
    given = fn.__defaults__ or ()
    defaults: list[Any] = [...] * (positional - len(given)) + list(given)
    keyword = fn.__kwdefaults__ or {}
    defaults += [keyword.get(name, ...) for name in names[positional:]]
    annotations = {name.rstrip("_"): text for name, text in fn.__annotations__.items()}
    return [name.rstrip("_") for name in names], defaults, positional, annotations


_TO_INFO = ("kernel", "geometry", "no_dims", "names_given_dims", "wide", "overlap", "alias", "contiguous", "out",
            "check_out", "overloads", "numbers", "out_alias", "across", "native", "parts", "check_of",
            "variants", "without_last", "half", "lazy", "strides")
_TO_CORE = ("kernel", "kernel_if", "varargs", "half", "meta", "differentiable", "keep", "check", "number_edge")


def _declare(kind: str, fn: Callable, options: dict[str, Any]) -> Op:
    said = Declaration(kind, fn, None, options)
    names, defaults, positional, annotations = _parameters(fn, 0 if kind in ("view", "multi_view", "composite") else 1)
    returns = options.get("returns")
    passed = {key: options[key] for key in _TO_CORE if key in options}
    if isinstance(passed.get("differentiable"), int):
        passed["differentiable"] = (passed["differentiable"],)
    operation = declare(fn, kind, said.promote, names, annotations, defaults, positional, name=said.label,
              node=options.get("node") or _camel(said.label) + "Backward0", out=bool(said.out),
              returns=named_tuple(said.label, returns) if returns else None,
              info={key: options.get(key) for key in _TO_INFO} | {"declaration": said}, **passed)
    install(operation)
    said.op = operation
    if said.inplace and kind == "composite":
        METHODS[said.name + "_"] = as_factory(_in_place(said.name, operation))
    elif said.inplace:
        twin = operation.in_place_form()
        for name in (said.name, *said.aliases):
            METHODS[name.rpartition(".")[2] + "_"] = twin
        if said.public:
            for name in (said.name, *said.aliases):
                if "." not in name:
                    for space in said.namespaces:
                        NAMESPACES[space][name + "_"] = twin
    _place(said, operation)
    return operation


def _place(said: Declaration, operation: Any) -> None:
    key = said.fn.__name__
    REGISTRY[key if key not in REGISTRY else f"{said.namespaces[0]}.{said.name}"] = said
    if said.options.get("property") or said.options.get("attribute"):
        METHODS[said.name] = _attribute(said, operation)
        if said.options.get("property"):
            return
    for name in (said.name, *said.aliases):
        space, _, last = name.rpartition(".")
        if said.public:
            for where in (space,) if space else said.namespaces:
                two = where == "torch" and last in _TWO_FUNCTIONS
                NAMESPACES[where][last] = operation.torch_form() if two else operation
        if said.method and not space and last not in METHODS and "torch" in said.namespaces:
            METHODS[last] = operation.method_form() if hasattr(operation, "method_form") else operation


# torch.relu and nn.functional.relu are two functions, which overrides tell apart: Note [What overrides receive].
_TWO_FUNCTIONS = frozenset("relu selu celu rrelu rms_norm".split())


class Attribute(property):
    """A declared attribute of the tensor, under its name."""

    __name__: str


def _attribute(said: Declaration, operation: Any) -> property:
    """An attribute of the tensor, which overrides know as Tensor.T.__get__."""
    def assign(self: Any, value: Any) -> None:
        getattr(self, said.name)[...] = value

    read = operation.method_form()
    write = as_factory(assign) if said.options.get("attribute") else None
    found = Attribute(read, write)
    found.__name__ = said.name
    read.reported = found.__get__       # type: ignore[attr-defined]
    if write is not None:
        write.reported = found.__set__
    return found


def _compose(fn: Callable, options: dict[str, Any]) -> Callable:
    if options.get("raw") or fn.__code__.co_flags & (0x04 | 0x08) or "out" in fn.__code__.co_varnames[:_count(fn)]:
        return _plain(fn, options)
    return _declare("composite", fn, options)


def _count(fn: Callable) -> int:
    return fn.__code__.co_argcount + fn.__code__.co_kwonlyargcount


# Functions that overrides of arguments do not see: they make tensors, or know nothing of them. Function modes see them.
_NO_TENSORS = frozenset((
    "tensor as_tensor asarray from_numpy frombuffer from_dlpack from_file zeros ones full empty eye "
    "scalar_tensor arange range linspace logspace tril_indices triu_indices empty_permuted rand randn randint "
    "randperm can_cast promote_types is_tensor is_storage fftfreq rfftfreq hann_window hamming_window "
    "bartlett_window blackman_window kaiser_window as_subclass exponential cosine gaussian kaiser bartlett "
    "general_cosine general_hamming hamming hann blackman nuttall broadcast_shapes __setstate__").split())


def _plain(fn: Callable, options: dict[str, Any]) -> Callable:
    """A composite that binds its own arguments: *args, **kwargs, an out= of its own, or raw=True for speed."""
    said = Declaration("composite", fn, fn, options)
    operation = _returning(fn, named_tuple(said.label, options["returns"])) if options.get("returns") else fn
    operation = as_factory(operation, options.get("native"), said.name in _NO_TENSORS)
    operation.__name__, operation.info = said.name, {"declaration": said}
    if "handed" in options:
        operation.handed = options["handed"]                # the arguments as overrides get them
    said.op = operation
    if said.inplace:
        METHODS[said.name + "_"] = as_factory(_in_place(said.name, operation))
    _place(said, operation)
    return operation


def _dressed(operation: Callable, fn: Callable, name: str) -> Callable:
    operation.__name__ = operation.__qualname__ = name
    operation.__doc__, operation.__annotations__ = fn.__doc__, fn.__annotations__
    operation.__wrapped__ = fn  # type: ignore[attr-defined]
    return operation


def _returning(fn: Callable, kind: type) -> Callable:
    def call(*args: Any, **kwargs: Any) -> Any:
        out = fn(*args, **kwargs)
        return kind(out) if type(out) is tuple else out
    return _dressed(call, fn, fn.__name__)


def _in_place(name: str, fn: Callable) -> Callable:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self.copy_(fn(self, *args, **kwargs))
    return _dressed(call, fn, name + "_")
