"""Distances between tensors and between rows, and scaling to a norm."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import int64, result_type
from claygrad.core.graph.intercept import differentiated
from claygrad.ops._geometry import axis as axis_of
from claygrad.ops._geometry import broadcast
from claygrad.ops._out import EXACT
from claygrad.ops._registry import NAMESPACES, REGISTRY, composite, missing, op
from claygrad.ops.arithmetic import check_subtraction
from claygrad.ops.linalg_norm import number_text
from claygrad.ops.moments import check_norm, norm_gradient, vector_norm

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor

inf = float("inf")


def measured(xp, x, p: float, dim: tuple[int, ...] | None, keepdim: bool = False):
    """The p-norm of an array along some axes."""
    return REGISTRY["vector_norm"].fn(xp, x, p, dim, keepdim)


def check_dist(input: Tensor, other: Tensor) -> None:
    check_subtraction(input, other, 1)
    broadcast(input.shape, other.shape)
    kind = result_type(input, other)
    if not (kind.is_floating_point or kind.is_complex):
        raise RuntimeError("norm(): input dtype should be either floating point or complex. Got "
                           f"{kind.legacy} instead.")


@op(kernel="dist", out=False, promote="common", check=check_dist,
    meta=lambda input, other: ((), result_type(input, other).to_real()),
    samples=lambda t: [t.args(t(3, 4), t(3, 4)), t.args(t(3, 4), t(4), 1), t.args(t(5), t(5), 3),
                       t.args(t(5), t(5), inf), t.args(t(5, requires_grad=False), t(5, requires_grad=False), 0)],
    errors=lambda t: [(t.args(t(2, dtype="int64"), t(2, dtype="int64")), RuntimeError,
                       "norm(): input dtype should be either floating point or complex. Got Long instead."),
                      (t.args(t(2), t(2, dtype="bool")), RuntimeError, "Subtraction, the `-` operator, with a bool")])
def dist(xp, input: Tensor, other: Tensor, p: Number = 2):
    """The p-norm of input - other."""
    gap = xp.asarray(input - other)
    return measured(xp, gap, p, None) if gap.size or p < inf else xp.zeros((), gap.real.dtype)


@dist.rules
def dist_gradient(g: Tensor, input: Tensor, other: Tensor, p: float, out: Tensor, needs: tuple[bool, bool]) -> tuple:
    slope = norm_gradient(g, input - other, p, out, None, False)
    if slope is None:
        return None, None
    return slope if needs[0] else None, -slope if needs[1] else None


# Rows no longer than a limit

def check_renorm(input: Tensor, p: Number, dim: int, maxnorm: Number) -> None:
    if isinstance(p, complex):
        raise RuntimeError("renorm: p must be real-valued")
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if isinstance(maxnorm, complex):
        raise RuntimeError("renorm: maxnorm must be real-valued")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {number_text(maxnorm)}")
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    check_norm(input, p, other_axes(input.ndim, axis_of(dim, input.ndim)))


def other_axes(ndim: int, dim: int) -> tuple[int, ...]:
    return tuple(i for i in range(ndim) if i != dim % ndim)


SHORT = 1e-7                # added to a norm before something is divided by it


@op(kernel="renorm", inplace=True, out=EXACT, check=check_renorm, meta=lambda input: input.shape,
    samples=lambda t: [t.args(t(3, 4), 2, 0, 1.0), t.args(t(2, 3, 4), 1, 1, 5.0), t.args(t(3, 4), inf, 1, 0.5)],
    errors=lambda t: [(t.args(t(3), 2, 0, 1.0), RuntimeError,
                       "renorm: input needs at least 2 dimensions, got 1 dimensions"),
                      (t.args(t(2, 2), -1, 0, 1.0), RuntimeError, "renorm: non-positive-norm not supported")])
def renorm(xp, input: Tensor, p: Number, dim: int, maxnorm: Number):
    """Every slice along `dim` whose p-norm is larger than maxnorm scaled down to that."""
    size = measured(xp, input, p, other_axes(input.ndim, dim), True)
    scale = xp.where(size > maxnorm, maxnorm / (size + SHORT), 1).astype(size.dtype)
    return xp.ascontiguousarray(input * scale)


def renorm_gradient(g: Tensor, input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    axes = other_axes(input.ndim, dim)
    size = vector_norm(input, p, axes, True)
    long = size > maxnorm
    inverse = (size + SHORT).reciprocal()
    product = input.conj() * g
    along = (product.real if product.is_complex() else product).sum(axes, keepdim=True)
    slope = norm_gradient(along * inverse, input, p, size, axes, True)
    scaled = (g if slope is None else g - slope) * (inverse * maxnorm)
    return NAMESPACES["torch"]["where"](long, scaled, g)


renorm.rule(input=renorm_gradient)


@composite(namespace="nn.functional", method=False, out=True,
           samples=lambda t: [t.args(t(3, 4)), t.args(t(2, 3, 4), 1.0, 2), t.args(t(4), dim=0, eps=10.0)],
           errors=lambda t: [(t.args(t(3)), IndexError, "Dimension out of range")])
def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: Tensor | Number = 1e-12) -> Tensor:
    """Scales vectors along an axis to norm 1: out = input / max(norm(input, p), eps)."""
    return input / input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)


# Distances between the rows of one matrix

def check_pdist(input: Tensor, p: float) -> None:
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if not input.is_floating_point():
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    if input.dtype.itemsize == 2 and input.shape[0] > 1 and input.shape[1]:
        raise NotImplementedError(f"\"pdist\" not implemented for '{input.dtype.legacy}'")


def pairs(n: int) -> tuple[list[int], list[int]]:
    return [i for i in range(n) for _ in range(i + 1, n)], [j for i in range(n) for j in range(i + 1, n)]


@op(kernel="pdist", namespace=("nn.functional", "torch"), method=False, out=False, check=check_pdist,
    meta=lambda input: (input.shape[0] * (input.shape[0] - 1) // 2 if input.shape[0] else 0,),
    samples=lambda t: [t.args(t(4, 3)), t.args(t(3, 2), 1.0), t.args(t(3, 2), 3.0), t.args(t(3, 4), inf),
                       t.args(t(1, 3)), t.args(t(3, 0))],
    errors=lambda t: [(t.args(t(3)), RuntimeError, "pdist only supports 2D tensors, got: 1D")])
def pdist(xp, input: Tensor, p: float = 2.0):
    """The distance between each pair of rows i < j, one after the other: norm(input[i] - input[j], p)."""
    first, second = xp.triu_indices(input.shape[0], 1)
    if not input.shape[1]:
        return xp.zeros(first.shape, input.dtype)
    gap = input[first] - input[second]
    return xp.where(xp.isnan(gap), gap, gap != 0).sum(1, dtype=gap.dtype) if p == 0 else measured(xp, gap, p, (1,))


def gap_gradient(g: Tensor, gap: Tensor, p: float, out: Tensor) -> Tensor:
    """The gradient of distances with respect to the differences: zeros for p = 0; for inf the largest get it whole."""
    if p == 0:
        return gap.new_zeros(gap.shape)
    if p == inf:
        return gap.sgn() * (gap.abs() == out.unsqueeze(-1)) * g.unsqueeze(-1)
    return norm_gradient(g, gap, p, out, (gap.ndim - 1,), False)


def pdist_gradient(g: Tensor, input: Tensor, p: float, out: Tensor) -> Tensor | None:
    if p in (1, 2) and input.numel() and not differentiated():
        return pdist_back(g, input, out, p)
    first, second = (g.new_tensor(at, dtype=int64) for at in pairs(input.shape[0]))
    if not input.shape[1]:
        return None
    slope = gap_gradient(g, input[first] - input[second], p, out)
    return input.new_zeros(input.shape).index_add(0, first, slope).index_add(0, second, -slope)


pdist.rule(input=pdist_gradient)


@op(kernel="pdist_backward", name="_pdist_backward", function=False, method=False, out=False,
    meta=lambda input: input.shape)
def pdist_back(xp, grad_output: Tensor, input: Tensor, out: Tensor, p: float):
    """The gradient for p = 1 and p = 2: what was compared moves apart along the difference, or its sign."""
    first, second = xp.triu_indices(input.shape[0], 1)
    gap = input[first] - input[second]
    each = xp.sign(gap) * grad_output[:, None] if p == 1 else gap * xp.where(
        out == 0, 0, grad_output / xp.where(out == 0, 1, out))[:, None]
    result = xp.zeros_like(input)
    xp.add.at(result, first, each)
    xp.subtract.at(result, second, each)
    return result
pdist_back.rule(grad_output=missing, input=missing, out=missing)
