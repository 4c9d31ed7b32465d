"""The `t` of the samples in claygrad/ops: tensors to be made, with the same numbers for every library.

`t(3, 4)` does not make a tensor: it notes a shape and draws numbers from a stream of its own. `build` makes the tensor, in the
library, dtype and memory layout that a test asks for. Methods called on it in a sample (`t(3, 4).t()`) are noted and done then.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy

FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEXES = ("complex64", "complex128")
INTS = ("uint8", "int8", "int16", "int32", "int64")
DTYPES = ("bool", *INTS, *FLOATS, *COMPLEXES)
LAYOUTS = ("contiguous", "transposed", "strided", "offset")


@dataclass(frozen=True)
class Build:
    """What a test wants of the tensors: whose, of which dtype where the sample leaves it open, how laid out, recorded or not."""

    lib: ModuleType
    dtype: str = "float64"
    grad: bool = False
    layout: str = "contiguous"
    device: str = "cpu"


class Data:
    """A tensor to be made. Attribute access stands for a method of that tensor."""

    def __init__(self, array: numpy.ndarray, dtype: str | None, requires_grad: bool | None, steps: tuple = ()) -> None:
        self._array, self._dtype, self._requires_grad, self._steps = array, dtype, requires_grad, steps

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self._then(("call", name, args, kwargs))

    def __getitem__(self, key: Any) -> Data:
        return self._then(("item", key))

    def __mul__(self, other: Any) -> Data:
        return self._then(("call", "__mul__", (other,), {}))

    def __add__(self, other: Any) -> Data:
        return self._then(("call", "__add__", (other,), {}))

    def __sub__(self, other: Any) -> Data:
        return self._then(("call", "__sub__", (other,), {}))

    def __gt__(self, other: Any) -> Data:
        return self._then(("call", "__gt__", (other,), {}))

    def _then(self, step: tuple) -> Data:
        return Data(self._array, self._dtype, self._requires_grad, (*self._steps, step))

    def __repr__(self) -> str:
        text = f"t({', '.join(map(str, self._array.shape))}" + (f", dtype={self._dtype!r}" if self._dtype else "")
        return text + ")" + "".join(f".{s[1]}{s[2]}" if s[0] == "call" else f"[{s[1]}]" for s in self._steps)

    def build(self, how: Build) -> Any:
        lib, name = how.lib, self._dtype or how.dtype
        tensor = _lay_out(lib, _cast(self._array, name), how.layout)
        dtype = getattr(lib, name)
        if tensor.dtype is not dtype:
            tensor = tensor.to(dtype)
        if how.device != "cpu":
            elsewhere = lib.empty_strided(tensor.shape, tensor.stride(), dtype=dtype, device=how.device)
            tensor = elsewhere if how.device == "meta" else elsewhere.copy_(tensor)
        for step in self._steps:
            tensor = getattr(tensor, step[1])(*step[2], **step[3]) if step[0] == "call" else tensor[step[1]]
        wanted = how.grad if self._requires_grad is None else how.grad and self._requires_grad
        return tensor.detach().requires_grad_() if wanted and (dtype.is_floating_point or dtype.is_complex) else tensor


def _cast(array: numpy.ndarray, name: str) -> numpy.ndarray:
    """The numbers as an array that lib.tensor takes; bfloat16, which NumPy lacks, goes by way of float32."""
    if name in ("bool", *INTS):
        whole = numpy.where(numpy.isfinite(array.real), array.real, 0) if array.dtype.kind in "fc" else array
        if name == "uint8":
            whole = numpy.abs(whole)
        return (
            (whole > 0 if array.dtype.kind == "f" else whole != 0)
            if name == "bool"
            else numpy.round(whole).astype(name)
        )
    if array.dtype.kind == "c" and name not in COMPLEXES:
        array = array.real
    elif array.dtype.kind == "f" and name in COMPLEXES:
        array = array + 0.5j * array.ravel()[::-1].reshape(array.shape)
    with numpy.errstate(all="ignore"):  # special values overflow in the narrow dtypes, as they should
        return array.astype("float32" if name == "bfloat16" else name)


def _lay_out(lib: ModuleType, array: numpy.ndarray, layout: str) -> Any:
    """The same values in other memory: reversed order of axes, every other element, or behind an offset."""
    if layout == "transposed" and array.ndim:
        axes = tuple(reversed(range(array.ndim)))
        return lib.tensor(numpy.ascontiguousarray(array.transpose())).permute(axes)
    if layout == "strided" and array.ndim:
        return lib.tensor(numpy.repeat(array, 2, axis=-1))[..., ::2]
    if layout == "offset":
        padded = numpy.concatenate([numpy.zeros(2, array.dtype), array.ravel()])
        return lib.tensor(padded)[2:].view(array.shape)
    return lib.tensor(numpy.ascontiguousarray(array) if array.ndim else array)


@dataclass(frozen=True)
class Call:
    """The arguments of one call, tensors not yet made."""

    args: tuple
    kwargs: dict

    def build(self, how: Build) -> tuple[list, dict]:
        return [_built(a, how) for a in self.args], {k: _built(v, how) for k, v in self.kwargs.items()}

    def data(self) -> Iterator[Data]:
        yield from _all((self.args, self.kwargs))

    def map(self, change: Any) -> Call:
        """The same call with every floating tensor's numbers changed."""
        return replace(self, args=_changed(self.args, change), kwargs=_changed(self.kwargs, change))

    def __repr__(self) -> str:
        return ", ".join([*map(repr, self.args), *(f"{k}={v!r}" for k, v in self.kwargs.items())])


def _built(value: Any, how: Build) -> Any:
    if isinstance(value, Data):
        return value.build(how)
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(_built(v, how) for v in value)
    if type(value).__name__ == "dtype" and hasattr(value, "itemsize"):  # claygrad's dtype, for whichever library
        return getattr(how.lib, str(value).rpartition(".")[2])
    return value


def _all(value: Any) -> Iterator[Data]:
    if isinstance(value, Data):
        yield value
    elif isinstance(value, dict):
        yield from _all(tuple(value.values()))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _all(item)


def _changed(value: Any, change: Any) -> Any:
    if isinstance(value, Data):
        return Data(change(value._array), value._dtype, value._requires_grad, value._steps)
    if isinstance(value, dict):
        return {k: _changed(v, change) for k, v in value.items()}
    return type(value)(_changed(v, change) for v in value) if isinstance(value, list | tuple) else value


class Factory:
    """Makes samples; the same name and seed give the same numbers on every machine."""

    def __init__(self, name: str, seed: int = 0) -> None:
        self._random = numpy.random.RandomState((zlib.crc32(name.encode()) + seed) % 2**32)

    def __call__(
        self,
        *shape: int,
        low: float = -2,
        high: float = 2,
        dtype: str | None = None,
        requires_grad: bool | None = None,
        nonzero: bool = False,
    ) -> Data:
        draw = self._random
        if dtype == "bool":
            array = draw.random_sample(shape) < 0.5
        elif dtype in INTS:
            low, high = int(low), int(high)
            array = draw.randint(max(low, 0) if dtype == "uint8" else low, high, size=shape)
            array = numpy.where(array == 0, 1, array) if nonzero else array
        else:
            array = draw.uniform(low, high, size=shape)
            if dtype in COMPLEXES:
                array = array + 1j * draw.uniform(low, high, size=shape)
            if nonzero:  # away from zero by a tenth of the range, on the side where it is
                gap = 0.1 * (high - low)
                array = numpy.where(abs(array) < gap, numpy.where(array.real < 0, -gap, gap) + array, array)
        return Data(numpy.asarray(array), dtype, requires_grad)

    def index(self, shape: tuple, high: int, *, unique: int | None = None, dtype: str = "int64") -> Data:
        """Indices below `high`; along axis `unique`, if given, no index comes twice."""
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        if unique is None:
            array = self._random.randint(0, max(high, 1), size=shape)
        else:
            others = shape[:unique] + shape[unique + 1 :]
            rows = [self._random.permutation(high)[: shape[unique]] for _ in range(int(numpy.prod(others)))]
            array = numpy.moveaxis(numpy.array(rows).reshape(*others, shape[unique]), -1, unique)
        return Data(numpy.asarray(array), dtype, False)

    def args(self, *args: Any, **kwargs: Any) -> Call:
        return Call(args, kwargs)
