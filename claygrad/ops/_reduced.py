"""Reductions at indices that may repeat, shared by `scatter_reduce` and `index_reduce`."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core.graph.intercept import differentiated
from claygrad.ops._indices import add_at
from claygrad.ops._registry import op

if TYPE_CHECKING:
    from collections.abc import Callable

    from claygrad.core import Tensor

REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def refuse_complex_gradients(name: str, *tensors: Tensor) -> None:
    """Only real reductions have derivatives."""
    if tensors[0].dtype.is_complex and differentiated(*tensors):
        raise RuntimeError(f"{name} does not support automatic differentiation for outputs with complex dtype.")


def _identity(xp, reduce: str, dtype):
    """What leaves every number unchanged under a reduction."""
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if dtype.kind == "b":
        return reduce == "amin"
    if dtype.kind in "iu":
        limits = xp.iinfo(dtype)
        return limits.min if reduce == "amax" else limits.max
    return -xp.inf if reduce == "amax" else xp.inf


def reduce_at(xp, reduce: str, out, indices, values, include_self: bool = True) -> None:
    """Reduce `values` into out.flat[indices], in place; `out` is in row-major order."""
    flat, indices = out.reshape(-1), indices.reshape(-1)
    if not include_self:
        flat[indices] = _identity(xp, reduce, out.dtype)
    values = values.astype(out.dtype, copy=False).reshape(-1)
    if reduce in ("sum", "mean"):
        add_at(xp, out, indices, values)
    elif reduce == "prod":
        (xp.logical_and if out.dtype == bool else xp.multiply).at(flat, indices, values)
    else:
        (xp.maximum if reduce == "amax" else xp.minimum).at(flat, indices, values)
    if reduce == "mean":
        count = xp.bincount(indices, minlength=flat.size) + include_self
        count[count == 0] = 1
        if out.dtype.kind in "iu":
            xp.floor_divide(flat, count.astype(out.dtype), out=flat)
        elif out.dtype.kind != "b":
            xp.true_divide(flat, count.astype(out.real.dtype), out=flat)


@op(name="delayed_error", node="DelayedError", function=False, method=False, out=False)
def once(xp, input: Tensor, said: str):
    "The input, which cannot be differentiated: that raises an error of this text."
    return input.copy()


def refused(g: Tensor, said: str) -> Tensor:
    raise RuntimeError(said)


once.rule(input=refused)


def reduction_gradients(name: str, word: str, g: Tensor, out: Tensor, input: Tensor, src: Tensor, reduce: str,
                        include_self: bool, *, pick: Callable, add: Callable, clear: Callable,
                        again: Callable) -> tuple[Tensor, Tensor]:
    """Gradients of input and src of a reduction at indices.

    `pick(x)` reads x at the indices, `add(x, values)` adds values there, `clear(x)` puts zeros there, and
    `again(input, src)` is the reduction itself.
    """
    if reduce == "sum":
        for_input, for_src = g, pick(g)
    elif reduce == "mean":
        count = g.new_ones(g.shape) if include_self else g.new_zeros(g.shape)
        count = add(count, src.new_ones(src.shape))
        count = count.masked_fill(count == 0, 1)
        for_input, for_src = g / count, pick(g) / pick(count)
    elif reduce == "prod":
        # Where a factor is 0, the product of the others is had by putting 1 in its place.
        without = input.masked_fill(input == 0, 1)
        for_input = g * again(without, src) / without
        zero = src == 0
        zeros = pick(add(input.new_zeros(input.shape), zero.to(input.dtype)))
        alone = zero & (zeros == 1)
        others = again(input, src.masked_fill(alone, 1))
        for_src = (pick(g * others)).where(alone, pick(g * out) / src.masked_fill(zero, 1))
        if for_src.requires_grad and bool((zeros > 1).any()):
            for_src = once(for_src, f"{name}(): Double backward is unsupported for {word} when >1 zeros in {word} are "
                                    "scattered to the same position in self")
    else:
        # The elements that equal the extremum share its gradient.
        from_input = (input == out).to(g.dtype)
        from_src = (src == pick(out)).to(g.dtype)
        share = g / add(from_input, from_src)
        for_input, for_src = from_input * share, from_src * pick(share)
    return (for_input if include_self else clear(for_input)), for_src
