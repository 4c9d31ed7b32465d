"""A device of its own for tests: a wrapper around NumPy that converts nothing implicitly.

Its arrays are no `numpy.ndarray`, refuse to become one, and do not mix with one. So it finds what would fail on a GPU, in
seconds and everywhere. `use_strict()` makes it the device "privateuseone".
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from claygrad.devices import use
from claygrad.devices._namespace import namespace
from claygrad.devices._table import Table


class Array:
    """An array on the device."""

    __slots__ = ("a",)
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, a: np.ndarray) -> None:
        self.a = a

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __len__(self) -> int:
        return len(self.a)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self.a)))

    def __bool__(self) -> bool:
        return bool(self.a)

    def __int__(self) -> int:
        return int(self.a)

    def __float__(self) -> float:
        return float(self.a)

    def __complex__(self) -> complex:
        return complex(self.a)

    def __index__(self) -> int:
        return operator.index(self.a)

    def __getitem__(self, key: Any) -> Array:
        return wrapped(self.a[_index(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.a[_index(key)] = bare(value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self.a, name)
        if callable(found):
            return lambda *args, **kwargs: wrapped(found(*bare(args), **bare(kwargs)))
        return wrapped(found) if isinstance(found, np.ndarray) else found

    @property
    def real(self) -> Array:
        return Array(self.a.real)

    @real.setter
    def real(self, value: Any) -> None:
        self.a.real = bare(value)

    @property
    def imag(self) -> Array:
        return Array(self.a.imag)

    @imag.setter
    def imag(self, value: Any) -> None:
        self.a.imag = bare(value)

    @property
    def flat(self) -> Any:
        raise TypeError("strict arrays have no flat iterator")

    def __repr__(self) -> str:
        return f"strict{self.a!r}"


def _index(key: Any) -> Any:
    """An index of integers, slices and arrays next to each other: other array modules take no more."""
    parts = key if isinstance(key, tuple) else (key,)
    for part in parts:
        if isinstance(part, list | range):
            raise TypeError(f"strict: an index is an array, not a {type(part).__name__}")
    arrays = [i for i, part in enumerate(parts) if isinstance(part, Array) and part.a.ndim]
    if arrays and any(isinstance(parts[i], slice) for i in range(arrays[0], arrays[-1])):
        raise TypeError("strict: arrays of an index are separated by a slice")
    return bare(key)


def bare(value: Any) -> Any:
    """NumPy's array behind the wall; an array that is on the host is refused."""
    if isinstance(value, Array):
        return value.a
    if isinstance(value, np.ndarray):
        raise TypeError(f"strict: unsupported type numpy.ndarray of shape {value.shape}")
    if isinstance(value, list | tuple):
        return type(value)(bare(x) for x in value) if not hasattr(value, "_fields") else value
    return {k: bare(v) for k, v in value.items()} if isinstance(value, dict) else value


def wrapped(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return Array(np.asarray(value))
    if isinstance(value, tuple):
        return tuple(wrapped(x) for x in value)
    return [wrapped(x) for x in value] if isinstance(value, list) else value


def _operator(name: str) -> None:
    def call(self: Array, *others: Any) -> Any:
        if any(isinstance(other, np.ndarray) for other in others):
            raise TypeError("strict: unsupported operand numpy.ndarray")
        made = getattr(self.a, name)(*bare(others))
        if made is NotImplemented:
            return made
        if name.startswith("__i") and name not in ("__invert__",):
            return self
        return wrapped(made)

    setattr(Array, name, call)


for _name in ("add sub mul truediv floordiv mod pow matmul and or xor lshift rshift").split():
    _operator(f"__{_name}__")
    _operator(f"__r{_name}__")
    _operator(f"__i{_name}__")
for _name in ("neg pos abs invert eq ne lt le gt ge divmod").split():
    _operator(f"__{_name}__")


# What no array library for accelerators has: names of NumPy that are about Python objects or its own scalars.
_ABSENT = frozenset("vectorize frompyfunc nditer ndenumerate fromiter busday_count argpartition partition lexsort".split())


class Module:
    """NumPy's functions for the device's arrays."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        if name in _ABSENT or name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self._module, name)
        if isinstance(found, type) or not callable(found):
            return Module(found) if name in ("linalg", "fft") else found
        return _Function(found)


class _Function:
    def __init__(self, call: Any) -> None:
        self.call, self.__name__ = call, call.__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        kwargs = bare(kwargs)
        if out is not None:
            self.call(*bare(args), out=bare(out), **kwargs)
            return out
        return wrapped(self.call(*bare(args), **kwargs))


def _strided(x: Array, shape: Any, strides: Any) -> Array:
    return Array(np.lib.stride_tricks.as_strided(x.a, shape, strides))


class Strict(Table):
    """The table of the device."""

    type = "privateuseone"
    packages = ("strict", "tests")

    def __init__(self, count: int = 2) -> None:
        super().__init__(namespace(Module(np), "strict", _strided))
        self.devices = count

    def count(self) -> int:
        return self.devices

    def new_memory(self, nbytes: int, index: int) -> np.ndarray:
        return np.full(nbytes, 0xAA, np.uint8)

    def array_on(self, raw: np.ndarray, kind: Any, shape: Any, strides: Any, offset: int) -> Array:
        steps = tuple(step * kind.itemsize for step in strides)
        return Array(np.ndarray(shape, kind, raw.data, offset * kind.itemsize, steps))

    def memory_of(self, array: Array) -> tuple[Any, int, int]:
        base: Any = array.a
        while getattr(base, "base", None) is not None:  # behind as_strided stands an object that only has a base
            base = base.base
        if not isinstance(base, np.ndarray):
            base = np.frombuffer(base, np.uint8)
        return base, base.ctypes.data, base.nbytes

    def at_start(self, array: Array, begin: int) -> bool:
        return array.a.ctypes.data == begin

    def address_of(self, raw: np.ndarray) -> int:
        return raw.ctypes.data

    def block_of(self, array: Array, keep_order: bool, others: Any) -> Any:
        found = super().block_of(array, keep_order, others)
        if found is not None:
            root = found[0].raw
            axes = sorted(range(root.ndim), key=lambda i: -root.strides[i])
            found[0].raw = np.frombuffer(root.transpose(axes).reshape(-1).view(np.uint8).data, np.uint8)
        return found

    def from_host(self, array: np.ndarray, index: int) -> Array:
        return Array(array.copy())

    def to_host(self, array: Array) -> np.ndarray:
        return array.a.copy()

    def is_array(self, value: Any) -> bool:
        if isinstance(value, np.ndarray) and value.ndim:
            raise TypeError("strict: a forward returned an array of the host")
        return isinstance(value, Array)

    def pinned(self, nbytes: int) -> np.ndarray:
        return np.empty(nbytes, np.uint8)

    def total_memory(self, index: int) -> int:
        return 1 << 30


def use_strict() -> str:
    use("privateuseone", Strict)
    return "privateuseone"
