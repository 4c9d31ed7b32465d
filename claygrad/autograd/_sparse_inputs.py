"""Sparse inputs of `gradcheck`: dense leaves stand for them, and become sparse inside the function that is checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.autograd.function import Function
from claygrad.core import Tensor
from claygrad.ops._formats import strided

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def is_sparse(x: Any) -> bool:
    return isinstance(x, Tensor) and x.layout is not strided


class _Sparse(Function):
    """The elements of a dense tensor where a sparse one has entries.

    As in PyTorch, a gradient of other elements is an error where Jacobians are compared, and is left out (`drop`) where
    products with random vectors are: these have the entries of the input.
    """

    @staticmethod
    def forward(ctx: Any, dense: Tensor, pattern: Tensor, drop: bool, error: type[Exception]) -> Tensor:
        ctx.pattern, ctx.drop, ctx.error = pattern, drop, error
        return dense.sparse_mask(pattern)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        if g.is_sparse and ctx.pattern.is_sparse:
            for what in ("sparse_dim", "dense_dim"):
                if getattr(g, what)() != getattr(ctx.pattern, what)():
                    raise ctx.error(f"grad is sparse tensor, but has incorrect {what}")
        g = g.to_dense() if is_sparse(g) else g
        return g.sparse_mask(ctx.pattern).to_dense() if ctx.drop else g, None, None, None


def as_dense(func: Callable, args: tuple, masked: bool, drop: bool, error: type[Exception]) -> tuple[Callable, tuple]:
    """The function of dense leaves, and those leaves. `masked`: only the entries that an input has count; else all."""
    patterns: dict[int, Tensor] = {}
    leaves = list(args)
    for i, x in enumerate(args):
        if not is_sparse(x) or not x.requires_grad:
            continue
        dense = x.detach().to_dense()
        if masked:
            patterns[i] = x.detach().coalesce() if x.is_sparse else x.detach()
        elif x.is_sparse:
            patterns[i] = dense.new_ones(dense.shape).to_sparse(x.sparse_dim())
        else:
            patterns[i] = dense.new_ones(dense.shape).to_sparse(layout=x.layout)
        leaves[i] = dense.requires_grad_()

    def dense_func(*given: Any) -> Any:
        return func(*(_Sparse.apply(x, patterns[i], drop, error) if i in patterns else x for i, x in enumerate(given)))

    return dense_func, tuple(leaves)
