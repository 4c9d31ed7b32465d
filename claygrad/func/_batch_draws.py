"""Random draws and functions that bind their own arguments, inside vmap."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad.autograd._batched import _RANDOM, BatchedTensor, highest, outside, running, value_at, wrap
from claygrad.core import Tensor
from claygrad.ops._registry import NAMESPACES

if TYPE_CHECKING:
    from claygrad.autograd._batched import Call
    from claygrad.core.graph.intercept import Operation

DRAWS = frozenset("bernoulli normal poisson _binomial _standard_gamma _sample_dirichlet multinomial".split())
_BY_SIZE = frozenset("rand randn randint randperm normal".split())
_LIKE = frozenset("rand_like randn_like randint_like".split())
_IN_PLACE = frozenset("bernoulli_ cauchy_ exponential_ geometric_ log_normal_ normal_ random_ uniform_".split())
_TURNED = {"squeeze_": "squeeze", "swapaxes_": "swapaxes", "swapdims_": "swapdims", "t_": "t",
           "transpose_": "transpose", "unsqueeze_": "unsqueeze", "as_strided_": "as_strided"}
_SAME_BATCH = "Vmap does not currently support same randomness with a batched tensor input"
_UNBATCHED = ("vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same "
              "randomness. If this is necessary for your usage, please file an issue with functorch.")


def _mode() -> str:
    mode = running()[-1].randomness
    if mode == "error":
        raise RuntimeError(_RANDOM)
    return mode


def draw(operation: Operation) -> Any:
    """A draw from numbers that are the same for all examples: one for each if they are to differ."""
    if not running() or _mode() == "same":
        return None
    batch = running()[-1]
    with outside(batch.level):
        values = [value_at(x, batch.level, batch.size) if isinstance(x, Tensor) else x for x in operation.values]
        return wrap(operation.run(values), batch.level)


def draw_batch(call: Call) -> Any:
    """A draw from a batch."""
    if _mode() == "same":
        raise RuntimeError(_SAME_BATCH)
    with outside(call.level):
        return _drawn(call)


def _drawn(call: Call) -> Any:
    values = []
    n = max(x.ndim - bool(flag) for x, flag in zip(call.values, call.flags, strict=True) if isinstance(x, Tensor))
    for x, flag in zip(call.values, call.flags, strict=True):
        if flag and isinstance(x, Tensor):
            while x.ndim - 1 < n:
                x = x.unsqueeze(1)
        values.append(x)
    if call.name in ("multinomial", "_sample_dirichlet"):
        rows = [call.run([x[k] if flag else x for x, flag in zip(values, call.flags, strict=True)])
                for k in range(call.size)]
        return call.wrapped(NAMESPACES["torch"]["stack"](rows))
    return call.wrapped(call.run(values))


def make(factory: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The answer to a function that binds its own arguments, or None if it is to go on as it is."""
    name = factory.__name__
    if name in _TURNED:
        return _turned(name, args, kwargs)
    if name not in _BY_SIZE and name not in _LIKE and name not in _IN_PLACE and name not in DRAWS:
        return None
    batch = running()[-1]
    level = highest([*args, *kwargs.values()])
    mode = _mode()
    if name in _IN_PLACE:
        return _in_place(factory, args, kwargs, mode)
    if mode == "same":
        if not level:
            return None
        if name in _LIKE:
            x = args[0]
            return factory(_plain_like(x), *args[1:], **kwargs)
        raise RuntimeError(_SAME_BATCH)
    with outside(batch.level):
        if level or name in _LIKE or (name in DRAWS and any(isinstance(x, Tensor) for x in (*args, *kwargs.values()))):
            return _from_tensors(factory, batch, args, kwargs)
        return wrap(_by_size(factory, name, batch.size, args, kwargs), batch.level)


def _plain_like(x: Tensor) -> Tensor:
    while type(x) is BatchedTensor:
        x = x._value[0] if len(x._value) else x._value.new_empty(x._value.shape[1:])
    return x


def _from_tensors(factory: Any, batch: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    n = max(x.ndim for x in (*args, *kwargs.values()) if isinstance(x, Tensor))

    def ready(x: Any) -> Any:
        if not isinstance(x, Tensor):
            return x
        value = value_at(x, batch.level, batch.size)
        while value.ndim - 1 < n:
            value = value.unsqueeze(1)
        return value

    given, named = [ready(x) for x in args], {key: ready(x) for key, x in kwargs.items()}
    if factory.__name__ == "multinomial":
        rows = [factory(*(x[k] if isinstance(x, Tensor) else x for x in given), **named) for k in range(batch.size)]
        return wrap(NAMESPACES["torch"]["stack"](rows), batch.level)
    return wrap(factory(*given, **named), batch.level)


def _by_size(factory: Any, name: str, size: int, args: list[Any], kwargs: dict[str, Any]) -> Tensor:
    """As many draws as there are examples, in one tensor."""
    if name == "randperm":
        rows = [factory(*args, **kwargs) for _ in range(size)]
        made: Tensor = NAMESPACES["torch"]["stack"](rows)
        return made
    named = dict(kwargs)
    if "size" in named:
        one = named["size"]
        named["size"] = (size, *(one if isinstance(one, (tuple, list)) else (one,)))
        drawn: Tensor = factory(*args, **named)
        return drawn
    if name in ("rand", "randn"):
        one = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
        return factory((size, *one), **named)
    at = next((i for i, x in enumerate(args) if isinstance(x, (tuple, list))), None)
    if at is None:
        raise RuntimeError(f"vmap: {name}: a size is wanted")
    return factory(*args[:at], (size, *args[at]), *args[at + 1:], **named)


def _in_place(factory: Any, args: list[Any], kwargs: dict[str, Any], mode: str) -> Any:
    target = args[0]
    level = running()[-1].level
    if type(target) is not BatchedTensor or target._level != level:
        if mode == "different":
            raise RuntimeError(_UNBATCHED)
        if highest([*args[1:], *kwargs.values()]):
            raise RuntimeError(_SAME_BATCH)
        return None
    if mode == "same":
        if highest([*args[1:], *kwargs.values()]):
            raise RuntimeError(_SAME_BATCH)
        with outside(level):
            one = factory(target._value.new_empty(target.shape), *args[1:], **kwargs)
            target._value.copy_(one)
        return target
    with outside(level):
        size = len(target._value)
        rest = [_fitting(x, level, size, target.ndim) for x in args[1:]]
        named = {key: _fitting(x, level, size, target.ndim) for key, x in kwargs.items()}
        factory(target._value, *rest, **named)
    return target


def _fitting(x: Any, level: int, size: int, n: int) -> Any:
    if not isinstance(x, Tensor):
        return x
    value = value_at(x, level, size)
    while value.ndim - 1 < n:
        value = value.unsqueeze(1)
    return value


def _turned(name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Another shape for a batch, in place."""
    target = args[0]
    if type(target) is not BatchedTensor:
        return None
    seen = getattr(target, _TURNED[name])(*args[1:], **kwargs)
    target._value = seen._value
    Tensor.data.__set__(target, seen)  # type: ignore[attr-defined]
    return target

