"""`torch.compile` and `torch.compiler`: claygrad runs functions and modules as they are written."""
from __future__ import annotations

import functools
import logging
from typing import TYPE_CHECKING, Any, overload

from claygrad._lazy import lazy
from claygrad.nn.modules.module import Module

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["OptimizedModule", "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin",
           "disable", "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends", "reset", "set_stance",
           "substitute_in_graph", "wrap_numpy"]

_log = logging.getLogger(__name__)
_BACKENDS = ("aot_eager", "cudagraphs", "eager", "inductor")
_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")


@functools.cache
def _say_once() -> None:
    _log.info("torch.compile: claygrad keeps no compiled graphs; the function runs as it is written")


class OptimizedModule(Module):
    """What `compile` makes of a module: calls, attributes and states are those of `_orig_mod`."""

    def __init__(self, mod: Module, dynamo_ctx: Any = None) -> None:
        super().__init__()
        self._orig_mod = mod

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's own result."""
        return self._orig_mod(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("_orig_mod", "training") or name in type(self).__dict__ or "_modules" not in self.__dict__ \
                or "_orig_mod" not in self._modules:
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __len__(self) -> int:
        return len(self._orig_mod)


@overload
def compile(model: F, *, fullgraph: bool = False, dynamic: bool | None = None,
            backend: str | Callable[..., Any] = "inductor", mode: str | None = None,
            options: dict[str, Any] | None = None, name: str | None = None, disable: bool = False) -> F: ...


@overload
def compile(model: None = None, *, fullgraph: bool = False, dynamic: bool | None = None,
            backend: str | Callable[..., Any] = "inductor", mode: str | None = None,
            options: dict[str, Any] | None = None, name: str | None = None, disable: bool = False
            ) -> Callable[[F], F]: ...


def compile(model: Any = None, *, fullgraph: bool = False, dynamic: bool | None = None,
            backend: str | Callable[..., Any] = "inductor", mode: str | None = None,
            options: dict[str, Any] | None = None, name: str | None = None, disable: bool = False) -> Any:
    """A function or module as it is: claygrad compiles nothing, and says so once in the log, at level INFO.

    The arguments are checked as in PyTorch; a module is wrapped, with the former one under `_orig_mod`.
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if isinstance(backend, str) and backend not in _BACKENDS:
        raise RuntimeError(f"Invalid backend: {backend!r}, see `torch._dynamo.list_backends()` for available backends.")
    if mode is not None and backend == "inductor" and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode,
                                 options=options, name=name, disable=disable)
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    if disable:
        return model
    _say_once()
    if isinstance(model, OptimizedModule):
        return model
    if isinstance(model, Module):
        return OptimizedModule(model)
    if isinstance(model, type):
        return model

    @functools.wraps(model)
    def as_written(*args: Any, **kwargs: Any) -> Any:
        return model(*args, **kwargs)

    as_written._torchdynamo_orig_callable = model           # type: ignore[attr-defined]
    return as_written


def is_compiling() -> bool:
    """Never: nothing is compiled."""
    return False


def is_dynamo_compiling() -> bool:
    """Never: nothing is compiled."""
    return False


def is_exporting() -> bool:
    """Never: nothing is exported."""
    return False


def reset() -> None:
    """Forget what was compiled: nothing was."""


def cudagraph_mark_step_begin() -> None:
    """A new step begins; nothing depends on that here."""


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Leave a function out of compilation: it always is."""
    return fn if fn is not None else lambda fn: fn


def allow_in_graph(fn: Any) -> Any:
    """The function, or the list of functions, as it is."""
    return fn


def assume_constant_result(fn: Any) -> Any:
    """The function as it is."""
    return fn


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy arrays as one of tensors."""
    from claygrad.core import Tensor
    from claygrad.ops.creation import from_numpy
    from claygrad.utils import pytree

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        import numpy
        args, kwargs = pytree.tree_map_only(Tensor, lambda one: one.numpy(), (args, kwargs))
        return pytree.tree_map_only(numpy.ndarray, from_numpy, fn(*args, **kwargs))

    return wrapped


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The names that `compile` takes as backends."""
    return ["cudagraphs", "inductor"]


def substitute_in_graph(original_fn: Any, **kwargs: Any) -> Any:
    """A decorator that leaves both functions as they are."""
    return lambda fn: fn


class set_stance:
    """How compiled functions behave, which is always as written; usable as a context and as a decorator."""

    def __init__(self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False,
                 force_backend: Any = None) -> None:
        if stance not in ("default", "eager_then_compile", "aot_eager_then_compile", "force_eager",
                          "eager_on_recompile", "fail_on_recompile"):
            raise RuntimeError(f"invalid torch.compile stance '{stance}'")
        self.stance = stance

    def __enter__(self) -> None:
        """Nothing changes."""

    def __exit__(self, *exc: object) -> None:
        """Nothing changes back."""

    def __call__(self, fn: Any) -> Any:
        return fn


__getattr__ = lazy(__name__)
