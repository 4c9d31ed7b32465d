"""The arrays of the namespace: tensors whose operators and indices follow the array API standard.

A tensor's own operators are PyTorch's: in them, an array without axes has a weaker dtype than one with axes, and no
slice goes backwards. What the functions of `claygrad.array_api` return is an `Array`, a view of the tensor they
computed, so gradients pass. Inside them every `Array` is a plain tensor again.
"""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import claygrad
from claygrad.array_api import _elementwise, _manipulation
from claygrad.array_api._common import common_dtype, is_whole, of_number
from claygrad.core import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

_NUMBERS = (bool, int, float, complex)


def plain(value: Any) -> Any:
    """Arrays as the tensors they are views of, also in lists and tuples."""
    if isinstance(value, Array):
        return value.as_subclass(Tensor)
    if type(value) in (list, tuple):
        return type(value)(map(plain, value))
    return value


def wrapped(value: Any) -> Any:
    """Tensors as arrays, also in lists, tuples and named tuples. Other subclasses of Tensor stay as they are."""
    if type(value) is Tensor:
        return value.as_subclass(Array)
    if isinstance(value, tuple) and type(value) is not claygrad.Size:
        return getattr(type(value), "_make", type(value))(map(wrapped, value))
    return list(map(wrapped, value)) if type(value) is list else value


def of_arrays(function: Callable) -> Callable:
    """A function of tensors as one that takes arrays too and returns arrays."""
    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        if named:
            named = {name: plain(value) for name, value in named.items()}
        return wrapped(function(*map(plain, args), **named))
    return call


def publish(namespace: dict[str, Any], names: list[str]) -> None:
    """Make the functions of a module that have these names take and return arrays."""
    for name in names:
        namespace[name] = of_arrays(namespace[name])


class CallableSize(int):
    """The number of elements, as the standard wants `size`; calling it gives the shape, as PyTorch wants it."""

    shape: claygrad.Size

    def __call__(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]


class Array(Tensor):
    """A tensor whose operators and indices follow the array API standard."""

    __module__ = "claygrad.array_api"
    __hash__ = Tensor.__hash__

    @property
    def size(self) -> CallableSize:
        """The number of elements."""
        made = CallableSize(self.numel())
        made.shape = self.shape
        return made

    @property
    def T(self) -> Array:
        """The transpose of a matrix."""
        if self.ndim != 2:
            raise ValueError(f"T is for arrays of two dimensions, not of {self.ndim}\n  mT exchanges the last two axes")
        return wrapped(plain(self).mT)

    @property
    def mT(self) -> Array:
        """The transposes of a stack of matrices."""
        return wrapped(_manipulation.matrix_transpose(plain(self)))

    def __getitem__(self, key: Any, /) -> Array:
        source, key = _forwards(plain(self), key)
        return wrapped(source[key])

    def __setitem__(self, key: Any, value: Any, /) -> None:
        parts = _parts(self, key)
        if any(_goes_back(part) for part in parts):
            source, key = _forwards(claygrad.arange(self.numel()).reshape(self.shape), parts)
            places = source[key]
            value = claygrad.as_tensor(plain(value), dtype=self.dtype).expand(places.shape)
            key = claygrad.unravel_index(places, self.shape)
        else:
            key = tuple(parts)
        with claygrad.overrides.DisableTorchFunctionSubclass():
            Tensor.__setitem__(self, key, plain(value))


def _goes_back(part: Any) -> bool:
    return isinstance(part, slice) and part.step is not None and part.step < 0


def _place(part: Any) -> Any:
    """A part of an index for a tensor: whole numbers of any dtype count, where PyTorch takes uint8 for a mask."""
    if isinstance(part, Tensor):
        part = plain(part)
        return part.to(claygrad.int64) if is_whole(part.dtype) else part
    return part


def _parts(source: Tensor, key: Any) -> list[Any]:
    """An index as the parts that a tensor takes. A mask without elements selects nothing, whatever the axes have."""
    parts = [_place(part) for part in (key if isinstance(key, (tuple, list)) else (key,))]
    mask = parts[0] if len(parts) == 1 else None
    if isinstance(mask, Tensor) and mask.dtype == claygrad.bool and 0 < mask.ndim <= source.ndim and not mask.numel() \
            and all(side in (0, whole) for side, whole in zip(mask.shape, source.shape)):
        return [claygrad.empty(0, dtype=claygrad.int64)] * mask.ndim
    return parts


def _forwards(source: Tensor, key: Any) -> tuple[Tensor, Any]:
    """A tensor and an index without slices that go backwards: those are taken from the tensor first."""
    parts = _parts(source, key)
    if not any(map(_goes_back, parts)):
        return source, tuple(parts)
    taken = [0 if part is None or part is Ellipsis or isinstance(part, bool) else
             part.ndim if isinstance(part, Tensor) and part.dtype == claygrad.bool else 1 for part in parts]
    axis = 0
    for number, part in enumerate(parts):
        if part is Ellipsis:
            axis += source.ndim - sum(taken)
        if _goes_back(part):
            if axis >= source.ndim:
                raise IndexError(f"too many indices for an array of {source.ndim} dimensions")
            chosen = range(source.shape[axis])[part]
            ordered = slice(chosen[-1], chosen[0] + 1, -chosen.step) if chosen else slice(0, 0)
            source = source[(slice(None),) * axis + (ordered,)].flip(axis)
            parts[number] = slice(None)
        axis += taken[number]
    return source, tuple(parts)


def _operand(other: Any) -> bool:
    return isinstance(other, (Tensor, *_NUMBERS))


def _operator(name: str, function: Callable, *, reflected: bool = True, in_place: bool = True) -> None:
    """`x + y`, `y + x` and `x += y` by a function of the namespace."""
    def forward(self: Array, other: Any, /) -> Any:
        return wrapped(function(plain(self), plain(other))) if _operand(other) else NotImplemented

    def backward(self: Array, other: Any, /) -> Any:
        return wrapped(function(plain(other), plain(self))) if _operand(other) else NotImplemented

    def onto(self: Array, other: Any, /) -> Any:
        if not _operand(other):
            return NotImplemented
        kind = common_dtype([self.dtype, other.dtype]) if isinstance(other, Tensor) else of_number(other, self.dtype)
        if not claygrad.can_cast(kind, self.dtype):             # float64 is rounded into float32, as by PyTorch
            raise TypeError(f"{kind}, the dtype of the result, cannot be written into an array of {self.dtype}")
        with claygrad.overrides.DisableTorchFunctionSubclass():
            self.copy_(function(plain(self), plain(other)))
        return self

    made = [(f"__{name}__", forward)]
    if reflected:
        made.append((f"__r{name}__", backward))
    if in_place:
        made.append((f"__i{name}__", onto))
    for method, call in made:
        call.__name__, call.__qualname__ = method, f"Array.{method}"
        setattr(Array, method, call)


def _define_operators() -> None:
    functions: Any = _elementwise
    for name, theirs in (("add", "add"), ("sub", "subtract"), ("mul", "multiply"), ("truediv", "divide"),
                         ("floordiv", "floor_divide"), ("mod", "remainder"), ("pow", "pow"), ("and", "bitwise_and"),
                         ("or", "bitwise_or"), ("xor", "bitwise_xor"), ("lshift", "bitwise_left_shift"),
                         ("rshift", "bitwise_right_shift")):
        _operator(name, getattr(functions, theirs))
    _operator("matmul", _manipulation.matmul)
    for name, theirs in (("eq", "equal"), ("ne", "not_equal"), ("lt", "less"), ("le", "less_equal"), ("gt", "greater"),
                         ("ge", "greater_equal")):
        _operator(name, getattr(functions, theirs), reflected=False, in_place=False)
    for name, theirs in (("abs", "abs"), ("neg", "negative"), ("pos", "positive"), ("invert", "bitwise_invert")):
        _of_itself(f"__{name}__", getattr(functions, theirs))


def _of_itself(name: str, function: Callable) -> None:
    def call(self: Array) -> Any:
        return wrapped(function(plain(self)))
    call.__name__, call.__qualname__ = name, f"Array.{name}"
    setattr(Array, name, call)


_define_operators()
