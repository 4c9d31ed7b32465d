"""Arithmetic on shapes and strides, with PyTorch's words where it fails."""
from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING

from claygrad.ops._formats import contiguous_strides, product

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Ints = Sequence[int]

__all__ = ["axes", "axis", "broadcast", "expanded", "infer", "product", "sizes", "text", "view_strides"]


def axis(dim: int, ndim: int, *, scalar: bool = True) -> int:
    """`dim` counted from the front. A tensor without axes passes for one of a single axis unless `scalar` is False."""
    if ndim == 0:
        if not scalar:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        ndim = 1
    if not -ndim <= dim < ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {dim})")
    return dim + ndim if dim < 0 else dim


def axes(dims: int | Ints, ndim: int, *, scalar: bool = True) -> tuple[int, ...]:
    """Several dims counted from the front, none of them twice."""
    found = tuple(axis(dim, ndim, scalar=scalar) for dim in sizes(dims))
    for i, dim in enumerate(found):
        if dim in found[:i]:
            raise RuntimeError(f"dim {dim} appears multiple times in the list of dims")
    return found


def sizes(size: int | Iterable[int]) -> tuple[int, ...]:
    """A tuple of plain ints from an int, a sequence of ints, NumPy ints or 0-dim int tensors."""
    try:
        return tuple(map(index, size))
    except TypeError:
        if hasattr(size, "__iter__") and getattr(size, "ndim", 1):
            raise
        return (index(size),)


def text(size: Iterable[int]) -> str:
    """A shape as messages print it: [2, 3]."""
    return str(list(size))


def infer(shape: Ints, numel: int) -> tuple[int, ...]:
    """`shape` with its -1 replaced by what is left of `numel` elements."""
    known, unknown = 1, None
    for i, length in enumerate(shape):
        if length == -1:
            if unknown is not None:
                raise RuntimeError("only one dimension can be inferred")
            unknown = i
        elif length < 0:
            raise RuntimeError(f"invalid shape dimension {length} at index {i} of shape {text(shape)}")
        else:
            known *= length
    if unknown is None:
        if known != numel:
            raise RuntimeError(f"shape '{text(shape)}' is invalid for input of size {numel}")
        return tuple(shape)
    if known == 0 and numel == 0:
        raise RuntimeError(f"cannot reshape tensor of 0 elements into shape {text(shape)} because the unspecified "
                           "dimension size -1 can be any value and is ambiguous")
    if known == 0 or numel % known:
        raise RuntimeError(f"shape '{text(shape)}' is invalid for input of size {numel}")
    return (*shape[:unknown], numel // known, *shape[unknown + 1:])


def view_strides(old: Ints, strides: Ints, new: Ints) -> tuple[int, ...] | None:
    """Strides under which the same memory reads as shape `new`, or None where it cannot.

    Old axes are walked from the fastest in runs that lie end to end in memory; each run must be a product of new axes.
    """
    if 0 in old:
        return tuple(strides) if tuple(old) == tuple(new) else contiguous_strides(new)
    if not old:
        return (1,) * len(new)
    out = [0] * len(new)
    at, step, run, covered = len(new) - 1, strides[-1], 1, 1
    for i in range(len(old) - 1, -1, -1):
        run *= old[i]
        if i == 0 or (old[i - 1] != 1 and strides[i - 1] != run * step):       # the run ends here
            while at >= 0 and (covered < run or new[at] == 1):
                out[at] = covered * step
                covered *= new[at]
                at -= 1
            if covered != run:
                return None
            if i:
                step, run, covered = strides[i - 1], 1, 1
    return tuple(out) if at == -1 else None


def expanded(shape: Ints, strides: Ints, target: Ints, type_name: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides of a tensor expanded to `target`, where -1 keeps an axis and new axes come first."""
    new = len(target) - len(shape)
    if new < 0:
        raise RuntimeError(f"expand({type_name}{{{text(shape)}}}, size={text(target)}): the number of sizes provided "
                           f"({len(target)}) must be greater or equal to the number of dimensions in the tensor "
                           f"({len(shape)})")
    out_shape, out_strides = list(target), [0] * len(target)
    for i in range(len(target) - 1, -1, -1):
        wanted, have = target[i], 1
        if i >= new:
            have, stride = shape[i - new], strides[i - new]
        elif shape:                            # a new axis of one element steps over all that follow
            stride = out_shape[i + 1] * out_strides[i + 1]
        else:
            stride = 0
        if wanted == -1:
            if i < new:
                raise RuntimeError("The expanded size of the tensor (-1) isn't allowed in a leading, non-existing "
                                   f"dimension {i}")
            wanted = have
        if wanted != have:
            if have != 1:
                raise RuntimeError(f"The expanded size of the tensor ({wanted}) must match the existing size ({have}) "
                                   f"at non-singleton dimension {i}.  Target sizes: {text(target)}.  Tensor sizes: "
                                   f"{text(shape)}")
            if wanted < 0:
                raise RuntimeError(f"numel: integer multiplication overflow\nexpand: size {wanted} at dimension {i} "
                                   "is negative; -1 keeps the size")
            stride = 0
        out_shape[i], out_strides[i] = wanted, stride
    return tuple(out_shape), tuple(out_strides)


def broadcast(*shapes: Ints) -> tuple[int, ...]:
    """The shape that all of these stretch to."""
    out: list[int] = []
    for shape in shapes:
        gap = len(shape) - len(out)
        if gap > 0:
            out[:0] = [1] * gap
        for i in range(1, len(shape) + 1):
            have, new = out[-i], shape[-i]
            if have == 1:
                out[-i] = new
            elif new not in (1, have):
                raise RuntimeError(f"The size of tensor a ({have}) must match the size of tensor b ({new}) at "
                                   f"non-singleton dimension {len(out) - i}")
    return tuple(out)
