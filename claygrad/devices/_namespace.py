"""An array module as forwards see it: under NumPy's names, with what it lacks made of what it has."""
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from claygrad.core.errors import Lacking

if TYPE_CHECKING:
    from collections.abc import Callable

# What is the same for every array module: it is about types and shapes alone.
_PLAIN = ("inf", "nan", "pi", "e", "newaxis", "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
          "uint64", "float16", "float32", "float64", "complex64", "complex128", "dtype", "finfo", "iinfo", "ndindex",
          "broadcast_shapes", "integer", "floating", "complexfloating", "generic", "promote_types", "issubdtype",
          "bool")


class Part:
    """Names of an array module, or of a part of it such as `linalg`."""

    def __init__(self, module: Any, name: str, own: dict[str, Any]) -> None:
        self._module, self.__name__ = module, name
        self.__dict__.update(own)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self._module, name, None)
        if found is None:
            raise Lacking(f"{self.__name__} has no {name}")
        setattr(self, name, found)
        return found


class Function:
    """A function of two arrays with the forms that NumPy gives it: `add.at`, `maximum.accumulate`."""

    def __init__(self, xp: Any, name: str, call: Callable[..., Any]) -> None:
        self.xp, self.__name__, self.call = xp, name, call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(*args, **kwargs)

    def at(self, x: Any, index: Any, values: Any) -> None:
        """Combine values with elements of x, as often as each is named."""
        if x.size == 0:
            return
        if self.__name__ in ("add", "subtract"):
            sums = _sums_at(self.xp, x, index, values)
            x[...] = x + sums if self.__name__ == "add" else x - sums
        elif self.__name__ == "logical_or":
            places, values = _places(self.xp, x, index, values)
            hit = self.xp.zeros(x.size, dtype=bool)
            hit[places[values.astype(bool)]] = True
            x[...] = self.xp.logical_or(x, hit.reshape(x.shape))
        else:
            self._in_turn(x, *_places(self.xp, x, index, values))

    def _in_turn(self, x: Any, places: Any, values: Any) -> None:
        """Combine one by one: first with what comes first to each element, then with what comes second, and so on."""
        xp, n = self.xp, int(places.size)
        if n == 0:
            return
        order = xp.argsort(places, kind="stable")
        places, values = places[order], values[order]
        count = xp.arange(n, dtype=np.int64)
        first = xp.concatenate([xp.ones(1, dtype=bool), places[1:] != places[:-1]])
        turn = count - Function(xp, "maximum", xp.maximum).accumulate(xp.where(first, count, 0))
        out = x.reshape(-1).copy()
        for k in range(int(turn.max()) + 1):
            now = turn == k
            out[places[now]] = self.call(out[places[now]], values[now])
        x[...] = out.reshape(x.shape)

    def accumulate(self, x: Any, axis: int = 0, **_: Any) -> Any:
        """Each element combined with all before it, in log2(n) steps over whole arrays."""
        out = self.xp.moveaxis(x, axis, -1).copy()
        step = 1
        while step < out.shape[-1]:
            out = self.xp.concatenate([out[..., :step], self.call(out[..., :-step], out[..., step:])], axis=-1)
            step *= 2
        return self.xp.ascontiguousarray(self.xp.moveaxis(out, -1, axis))

    def reduce(self, x: Any, axis: Any = 0, keepdims: bool = False, **_: Any) -> Any:
        """All elements along axes (None: all of them) combined, half with half."""
        axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        gone = {a % x.ndim for a in axes}
        kept = [1 if i in gone else n for i, n in enumerate(x.shape)]
        out = self.xp.moveaxis(x, axes, tuple(range(-len(axes), 0))) if axes else x[..., None]
        out = out.reshape(*[n for i, n in enumerate(x.shape) if i not in gone], -1)
        if out.shape[-1] == 0:
            raise Lacking(f"{self.xp.__name__} has no {self.__name__}.reduce of nothing")
        while out.shape[-1] > 1:
            half = out.shape[-1] // 2
            joined = self.call(out[..., :half], out[..., half:2 * half])
            out = self.xp.concatenate([joined, out[..., 2 * half:]], axis=-1) if out.shape[-1] % 2 else joined
        return out.reshape(kept) if keepdims else out[..., 0]

    def reduceat(self, x: Any, indices: Any, axis: int = 0, **_: Any) -> Any:
        """Elements from each index to the next combined; indices rise, as all callers have them."""
        starts = [int(i) for i in indices]
        ends = [*starts[1:], x.shape[axis]]
        whole = (slice(None),) * (axis % x.ndim)
        fold = {"add": "sum", "maximum": "max", "minimum": "min"}[self.__name__]
        parts = [getattr(x[(*whole, slice(a, max(b, a + 1)))], fold)(axis=axis)
                 for a, b in zip(starts, ends, strict=True)]
        return self.xp.stack(parts, axis=axis)


def _places(xp: Any, x: Any, index: Any, values: Any) -> tuple[Any, Any]:
    """The elements that an index names, by their number in row-major order, and the values for them, in a row each."""
    places = xp.arange(x.size, dtype=np.int64).reshape(x.shape)[index]
    values = xp.asarray(values, dtype=x.dtype) if np.isscalar(values) else values
    return places.reshape(-1), xp.broadcast_to(values, places.shape).reshape(-1)


def _sums_at(xp: Any, x: Any, index: Any, values: Any) -> Any:
    """For each element of x the sum of the values that the index sends there."""
    places, values = _places(xp, x, index, values)
    if x.size == 0 or places.size == 0:
        return xp.zeros(x.shape, dtype=x.dtype)

    def counted(weights: Any) -> Any:
        return xp.bincount(places, weights=weights.astype(np.float64), minlength=x.size)

    kind = x.dtype.kind
    if kind == "c":
        sums = counted(values.real) + 1j * counted(values.imag)
    elif kind == "f":
        sums = counted(values)
    else:                                          # in two halves, each exact in a double
        values = values.astype(np.int64)
        high, low = values >> 32, values & 0xffffffff
        sums = (counted(high).astype(np.int64) << 32) + counted(low).astype(np.int64)
    return sums.astype(x.dtype).reshape(x.shape)


def _lexsort(xp: Any) -> Callable[..., Any]:
    def lexsort(keys: Any, axis: int = -1) -> Any:
        order = None
        for key in keys:
            key = key if order is None else xp.take_along_axis(key, order, axis)
            found = xp.argsort(key, axis=axis, kind="stable")
            order = found if order is None else xp.take_along_axis(order, found, axis)
        return order
    return lexsort


def _moveaxis(module: Any) -> Callable[..., Any]:
    def moveaxis(x: Any, source: Any, destination: Any) -> Any:
        as_int = isinstance(source, (int, np.integer))
        return module.moveaxis(x, source if as_int else tuple(source), destination if as_int else tuple(destination))
    return moveaxis


def namespace(module: Any, name: str, strided: Callable[..., Any], own: dict[str, Any] | None = None,
              linalg: dict[str, Any] | None = None) -> Part:
    """The module under NumPy's names. `strided`: as numpy.lib.stride_tricks.as_strided; `own`: functions in place of
    its own or where it has none; `linalg`: the same for its linear algebra."""
    xp: Any = Part(module, name, {key: getattr(np, key) for key in _PLAIN if hasattr(np, key)})
    xp.moveaxis = _moveaxis(module)
    xp.errstate = lambda **_: contextlib.nullcontext()
    xp.lexsort = _lexsort(xp)
    xp.partition = lambda x, kth, axis=-1: xp.sort(x, axis=axis)
    xp.argpartition = lambda x, kth, axis=-1: xp.argsort(x, axis=axis)
    tricks = Part(None, f"{name}.lib.stride_tricks", {"as_strided": strided})
    xp.ndarray = lambda shape, dtype, buffer, strides: strided(buffer, shape, strides)
    xp.lib = Part(None, f"{name}.lib", {"stride_tricks": tricks})
    xp.linalg = Part(getattr(module, "linalg", None), f"{name}.linalg",
                     {"LinAlgError": getattr(module.linalg, "LinAlgError", np.linalg.LinAlgError), **(linalg or {})})
    xp.fft = Part(getattr(module, "fft", None), f"{name}.fft", {})
    for key, value in (own or {}).items():
        setattr(xp, key, value)
    for key in ("add", "subtract", "maximum", "minimum", "logaddexp", "logical_or", "logical_and", "bitwise_xor",
                "multiply"):
        setattr(xp, key, Function(xp, key, getattr(xp, key)))
    return xp
