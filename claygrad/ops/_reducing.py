"""What reductions share: sums that stay accurate, and the way back from a reduced shape."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.native.reduce import spread_over
from claygrad.ops._geometry import product
from claygrad.ops._registry import constant, op

if TYPE_CHECKING:
    from collections.abc import Callable

    from claygrad.core import Tensor

    Axes = tuple[int, ...] | None        # None: all of them
    ints = int | tuple[int, ...] | list[int]

BLOCK = 128


def total(xp, x, dim: Axes, keepdim: bool = False):
    """The sum over `dim`, with an error that grows like the logarithm of the length and not like the length.

    NumPy adds in pairs only along the axis it walks fastest; along any other it adds row after row.
    Long slow axes are therefore summed in blocks first.
    """
    if x.size > BLOCK and x.dtype.kind in "fc":
        axes = range(x.ndim) if dim is None else dim
        steps = [abs(step) if length > 1 else x.size * x.itemsize for step, length in zip(x.strides, x.shape)]
        dense = dim is None and (x.flags.c_contiguous or x.flags.f_contiguous)
        fastest = min(range(x.ndim), key=steps.__getitem__)
        for axis in axes:
            while not dense and axis != fastest and x.shape[axis] > 2 * BLOCK:
                x = _in_blocks(xp, x, axis)
    return xp.sum(x, axis=dim, keepdims=keepdim)


def _in_blocks(xp, x, axis: int):
    """Sums of BLOCK neighbours along an axis; what is left over becomes one more."""
    before, length, after = x.shape[:axis], x.shape[axis], x.shape[axis + 1:]
    whole = length - length % BLOCK
    at = (slice(None),) * axis
    sums = x[(*at, slice(whole))].reshape(*before, whole // BLOCK, BLOCK, *after).sum(axis + 1)
    if whole == length:
        return sums
    return xp.concatenate([sums, x[(*at, slice(whole, None))].sum(axis, keepdims=True)], axis)


def spread(t: Tensor, shape: tuple[int, ...], dim: Axes, keepdim: bool) -> Tensor:
    """A reduced tensor expanded to the shape it was reduced from."""
    if dim is None:
        expanded = spread_over(t, shape)
        return t.expand(shape) if expanded is None else expanded
    return restored(t, shape, dim, keepdim).expand(shape)


def restored(t: Tensor, shape: tuple[int, ...], dim: Axes, keepdim: bool) -> Tensor:
    """A reduced tensor with its lost axes back as axes of one element."""
    if dim is not None and not keepdim and shape:
        for axis in sorted(dim):
            t = t.unsqueeze(axis)
    return t


def reduced(shape: tuple[int, ...], dim: Axes, keepdim: bool) -> tuple[int, ...]:
    """What is left of a shape."""
    axes = range(len(shape)) if dim is None else dim
    return tuple(1 if i in axes else n for i, n in enumerate(shape) if keepdim or i not in axes)


FEW = 16


def order_beside_nan(n: int, less: Callable[[int, int], bool]) -> list[int]:
    """Up to `FEW` things in PyTorch's order where some are NaN: each goes to the front if it is less than the first,
    else before those that are greater, up to the first that is not. NaN is neither less nor greater."""
    indices: list[int] = []
    for i in range(n):
        j = 0 if indices and less(i, indices[0]) else i
        while j > 0 and less(i, indices[j - 1]):
            j -= 1
        indices.insert(j, i)
    return indices


def count(shape: tuple[int, ...], dim: Axes) -> int:
    """How many elements go into each element of the result."""
    return product(shape) if dim is None else product(shape[axis] for axis in dim) if shape else 1


def selected(g: Tensor, indices: Tensor, shape: tuple[int, ...], dim: int, keepdim: bool = True) -> Tensor:
    """The gradient of values selected along `dim`: zeros with g at the indices they came from."""
    if not shape:
        return g
    if not keepdim:
        g, indices = g.unsqueeze(dim), indices.unsqueeze(dim)
    return g.new_zeros(shape).scatter_add(dim, indices, g)


@op(kernel="placed", function=False, method=False, out=False, node="ScatterBackward0", meta=lambda size: size,
    samples=lambda t: [t.args(t(3), t.index((3,), 4), (3, 4), 1, False),
                       t.args(t(1, 4), t.index((1, 4), 3), (3, 4), 0, True)])
def placed(xp, grad: Tensor, indices: Tensor, size: ints, dim: int, keepdim: bool):
    """Zeros of this size, with an element of grad in each line along an axis: the gradient of what was picked there."""
    if not size:
        return grad.copy()
    out = xp.zeros(size, grad.dtype)
    if not keepdim:
        grad, indices = xp.expand_dims(grad, dim), xp.expand_dims(indices, dim)
    xp.put_along_axis(out, indices, grad, dim)
    return out


def _scattered_back(g: Tensor, indices: Tensor, size: tuple[int, ...], dim: int, keepdim: bool) -> Tensor:
    if not size:
        return g
    return g.gather(dim, indices) if keepdim else g.gather(dim, indices.unsqueeze(dim)).squeeze(dim)


placed.rule(grad=_scattered_back, indices=constant)


def shared(g: Tensor, mask: Tensor, dim: Axes = None) -> Tensor:
    """The gradient of an extreme value, in equal parts to all elements that attain it."""
    n = mask.sum() if dim is None else mask.sum(dim, keepdim=True)
    return mask * (g / n)


@op(strides="like",
    function=False, method=False, samples=lambda t: [t.args(t(3, 4), 0, 1, 1.0), t.args(t(5), 0, -1, 0.0)])
def shift(xp, input: Tensor, dim: int, by: int, fill: float):
    """The elements moved one place along an axis, `fill` in the place that becomes free.

    by = 1: forward, the first place becomes free; -1: back, the last.
    """
    out = xp.full_like(input, fill)
    at = (slice(None),) * dim
    ahead, behind = (*at, slice(1, None)), (*at, slice(None, -1))
    if by == 1:
        out[ahead] = input[behind]
    else:
        out[behind] = input[ahead]
    return out
shift.rule(input=lambda g, dim, by: shift(g, dim, -by, 0.0))


def no_complex_gradient(name: str, *inputs: Tensor | None) -> None:
    """Refuse to record what has no complex derivative (where no kernel has refused complex numbers already)."""
    if any(t is not None and t.requires_grad and t.is_complex() for t in inputs):
        raise RuntimeError(f"{name} does not support automatic differentiation for outputs with complex dtype.")


def need_elements(name: str, shape: tuple[int, ...], dim: Axes, call: str = "()") -> None:
    """Refuse to look for the extreme of nothing."""
    if 0 not in shape:
        return
    if dim is None:
        raise RuntimeError(f"{name}{call}: Expected reduction dim to be specified for input.numel() == 0. Specify the "
                           "reduction dim with the 'dim' argument.")
    for axis, given in zip(dim, getattr(dim, "given", dim), strict=True):
        if shape[axis] == 0:
            raise IndexError(f"{name}{call}: Expected reduction dim {given} to have non-zero size.")


def far(t, *shape: int):
    """A sample whose elements differ even as integers: PyTorch leaves the order of equal ones open."""
    return t(*shape, low=-100, high=100)
