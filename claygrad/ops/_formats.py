"""Layouts and memory formats: the words that say how elements lie in memory, and the strides they mean."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import prefix

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Ints = Sequence[int]


class _Word:
    """A named constant: one object per name, printed with the library's name before it."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"{prefix()}.{self.name}"

    def __reduce__(self) -> str:
        return self.name                    # pickled by name: the constants of this module are their own copies

    def __copy__(self) -> _Word:
        return self

    def __deepcopy__(self, memo: dict) -> _Word:
        return self


class layout(_Word):
    """How a tensor keeps its elements; claygrad's are `strided`, `sparse_coo`, `sparse_csr` or `sparse_csc`."""

    __slots__ = ()


class memory_format(_Word):
    """In which order the axes of a dense tensor lie in memory."""

    __slots__ = ()


strided = layout("strided")
# Of blocks and of jagged tensors claygrad has the names alone.
sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc, jagged = map(
    layout, ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged"))
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")


def check_format(name: str, given: object) -> None:
    """Refuse what is no memory format, in PyTorch's words."""
    if given is not None and not isinstance(given, memory_format):
        raise TypeError(f"{name}(): argument 'memory_format' must be {prefix()}.memory_format, not "
                        f"{type(given).__name__}")


# Axes from the slowest to the fastest of the formats that put the channels (axis 1) last.
_CHANNELS_LAST = {channels_last: (0, 2, 3, 1), channels_last_3d: (0, 2, 3, 4, 1)}


def product(size: Iterable[int]) -> int:
    """The number of elements of a shape."""
    n = 1
    for length in size:
        n *= length
    return n


def strides_in_order(shape: Ints, order: Ints) -> tuple[int, ...]:
    """Strides of a dense tensor whose axes lie in memory in `order`, slowest first."""
    strides, step = [0] * len(shape), 1
    for axis in reversed(order):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


def contiguous_strides(shape: Ints) -> tuple[int, ...]:
    """Strides of a dense tensor in row-major order."""
    return strides_in_order(shape, range(len(shape)))


def strides_for(shape: Ints, form: memory_format) -> tuple[int, ...]:
    """Strides of a new tensor of this shape in a memory format (not `preserve_format`)."""
    order = _CHANNELS_LAST.get(form)
    if order is None:
        return contiguous_strides(shape)
    if len(shape) != len(order):
        raise RuntimeError(f"required rank {len(order)} tensor to use {form.name} format")
    return _channels_last_strides(shape, order)


def _channels_last_strides(shape: Ints, order: Ints) -> tuple[int, ...]:
    """As `strides_in_order`, but an empty axis makes the slower ones 0: these formats do not mind empty tensors."""
    strides, step = [0] * len(shape), 1
    for axis in reversed(order):
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def is_dense(shape: Ints, strides: Ints) -> bool:
    """Whether the elements fill a block of memory without gaps or overlaps, in any order of axes."""
    if 0 in shape:
        return True
    expected = 1
    for stride, size in sorted((st, n) for n, st in zip(shape, strides) if n != 1):
        if stride != expected:
            return False
        expected *= size
    return True


def dense_like(shape: Ints, strides: Ints) -> tuple[int, ...]:
    """Strides without gaps that keep a tensor's order of axes: what `preserve_format` means."""
    if is_dense(shape, strides):
        return tuple(strides)
    order = list(range(len(shape)))[::-1]              # fastest first
    for i in range(1, len(order)):                      # insertion: an axis with stride 0 stays where it is
        at = i
        for before in range(i - 1, -1, -1):
            swap = _comes_after(order[before], order[at], shape, strides)
            if swap > 0:
                order[before], order[at] = order[at], order[before]
                at = before
            elif swap < 0:
                break
    return strides_in_order(shape, order[::-1])


def _comes_after(a: int, b: int, shape: Ints, strides: Ints) -> int:
    """1: axis a is slower than b; -1: faster; 0: they cannot be told apart."""
    if strides[a] == 0 or strides[b] == 0:
        return 0
    if strides[a] != strides[b]:
        return 1 if strides[a] > strides[b] else -1
    return 1 if shape[a] > shape[b] else 0


def strides_like(shape: Ints, strides: Ints, form: memory_format | None) -> tuple[int, ...]:
    """Strides of a copy of a tensor in a memory format; `preserve_format` and None keep its own."""
    if form is None or form is preserve_format:
        return dense_like(shape, strides)
    return strides_for(shape, form)


def is_contiguous_in(shape: Ints, strides: Ints, form: memory_format) -> bool:
    """Whether a tensor already has the strides of a memory format (axes of one element do not count)."""
    order = _CHANNELS_LAST.get(form)
    if order is not None and len(shape) != len(order):
        return False
    if order is None:
        if 0 in shape:
            return True
        wanted = contiguous_strides(shape)
    else:
        wanted = _channels_last_strides(shape, order)
    return all(n == 1 or have == want for n, have, want in zip(shape, strides, wanted))


def suggested_format(shape: Ints, strides: Ints) -> memory_format:
    """The format a tensor seems to be in: channels last only where its strides say nothing else."""
    for form, order in _CHANNELS_LAST.items():
        if len(shape) == len(order) and _has_channels_last_strides(shape, strides, order):
            return form
    return contiguous_format


def common_format(arrays: Iterable) -> memory_format:
    """The format that all arrays seem to be in; row-major order if they differ."""
    formats = {suggested_format(array.shape, element_strides(array)) for array in arrays}
    return formats.pop() if len(formats) == 1 else contiguous_format


def _has_channels_last_strides(shape: Ints, strides: Ints, order: Ints) -> bool:
    if strides[1] == 0:
        return False
    smallest = 0
    for axis in reversed(order):                        # channels first, then width, height, (depth,) batch
        if shape[axis] == 0 or strides[axis] < smallest:
            return False
        # A tensor with one batch and strides all alike (NC11 in row-major order) is not channels last.
        if axis == 0 and smallest == strides[1]:
            return False
        smallest = strides[axis]
        if shape[axis] > 1:
            smallest *= shape[axis]
    return True


def empty_array(xp, shape: Ints, strides: Ints, dtype):
    """An uninitialised array with these strides (in elements), which must be dense."""
    if strides == contiguous_strides(shape):
        return xp.empty(shape, dtype)
    memory = xp.empty(max(product(shape), 1), dtype)
    return xp.ndarray(shape, dtype, memory, strides=[step * memory.itemsize for step in strides])


def element_strides(array) -> tuple[int, ...]:
    """The strides of an array counted in elements, as a tensor's."""
    return tuple(step // array.itemsize for step in array.strides)


def empty_array_like(xp, array, form: memory_format | None = None):
    """An uninitialised array of the shape and dtype of another, in a memory format (by default its own)."""
    if (form is None or form is preserve_format) and array.flags.c_contiguous and array.size \
            and 1 not in array.shape:
        return xp.empty(array.shape, array.dtype)
    return empty_array(xp, array.shape, strides_like(array.shape, element_strides(array), form), array.dtype)


def iterated_strides(shape: Ints, operands: Sequence[Ints]) -> tuple[int, ...]:
    """Strides of a new dense result of an elementwise loop over operands with these strides (in bytes): its axes lie in
    the order in which the first operand that tells two of them apart has them."""
    order = list(range(len(shape)))[::-1]              # fastest first

    def slower(a: int, b: int) -> int:
        for strides in operands:
            if strides[a] == 0 or strides[b] == 0:
                continue
            if strides[a] != strides[b]:
                return 1 if strides[a] > strides[b] else -1
            if shape[a] > shape[b]:
                return 1
        return 0

    for i in range(1, len(order)):
        at = i
        for before in range(i - 1, -1, -1):
            verdict = slower(order[before], order[at])
            if verdict > 0:
                order[before], order[at] = order[at], order[before]
                at = before
            elif verdict < 0:
                break
    return strides_in_order(shape, order[::-1])
