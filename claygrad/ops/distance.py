"""Distances and similarities between pairs of vectors."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import result_type
from claygrad.ops._geometry import broadcast
from claygrad.ops._reducing import reduced
from claygrad.ops._registry import REGISTRY, composite, missing, op, reduction
from claygrad.ops.moments import check_norm, norm_gradient, vector_norm

if TYPE_CHECKING:
    from claygrad.core import Tensor, dtype

    ints = int | tuple[int, ...] | list[int]

def bounded_below(norm: Tensor, eps: float) -> Tensor:
    """A norm with the value of the bound where it is below it, but always with its own gradient."""
    return norm + (eps - norm.detach()).clamp_min(0)


@op(kernel="cosine_similarity", name="_cosine_similarity", function=False, method=False, out=False,
    meta=lambda x1, dim: tuple(n for i, n in enumerate(x1.shape) if i != dim % x1.ndim))
def cosines(xp, x1: Tensor, x2: Tensor, dim: int, eps: float):
    "cosine_similarity of few elements of one shape, for who asks for no gradients."
    first, second = (xp.maximum(xp.sqrt((x * x).sum(axis=dim, keepdims=True)), eps) for x in (x1, x2))
    return ((x1 / first) * (x2 / second)).sum(axis=dim)
cosines.rule(x1=missing, x2=missing)


@composite(namespace=("torch", "nn.functional"), method=False, native="cosine", parts=(cosines,),
           samples=lambda t: [t.args(t(3, 4), t(3, 4)), t.args(t(3, 4), t(4), -1),
                              t.args(t(3, 4, 2), t(3, 1, 2), 2, 1e-3)],
           errors=lambda t: [(t.args(t(2, 3, dtype="int64"), t(2, 3, dtype="int64")), RuntimeError,
                              "expected common dtype to be floating point, yet common dtype is Long"),
                             (t.args(t(3), t(3)), IndexError, "Dimension out of range"),
                             (t.args(t(2, 3), t(2, 4)), RuntimeError, "The size of tensor a (3) must match")])
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along an axis: x1 · x2 / (|x1| |x2|). Norms below `eps` are replaced by
    `eps`."""
    if eps < 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps:g}")
    kind = result_type(x1, x2)
    if not kind.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {kind.legacy}")
    x1, x2 = x1.to(kind), x2.to(kind)
    shape = broadcast(x1.shape, x2.shape)
    x1, x2 = x1.expand(shape), x2.expand(shape)
    first, second = (bounded_below(vector_norm(x, 2, dim, True), eps) for x in (x1, x2))
    return ((x1 / first) * (x2 / second)).sum(dim)


# vector_norm, under the node that PyTorch's older norm has
@reduction(name="_norm", kernel="vector_norm", node="NormBackward1", function=False, method=False, out=False,
           check=check_norm,
           meta=lambda input, dim, keepdim: (reduced(input.shape, dim, keepdim), input.dtype.to_real()))
def old_norm(xp, input: Tensor, ord: float, dim: ints, keepdim: bool, *, dtype: dtype | None = None):
    return REGISTRY["vector_norm"].fn(xp, input, ord, dim, keepdim, dtype=dtype)
old_norm.rule(input=norm_gradient)


@composite(namespace=("torch", "nn.functional"), method=False,
           samples=lambda t: [t.args(t(3, 4), t(3, 4)), t.args(t(3, 4), t(4), 1.0, 1e-3, True), t.args(t(4), t(4), 3.0),
                              t.args(t(2, 3, 4), t(3, 4), float("inf"))],
           errors=lambda t: [(t.args(t(2, 3), t(4, 3)), RuntimeError,
                              "The size of tensor a (2) must match the size of tensor b (4) at non-singleton")])
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    "The distance along the last axis: the p-norm of x1 - x2 + eps."
    return old_norm(x1 - x2 + eps, p, -1, keepdim)
