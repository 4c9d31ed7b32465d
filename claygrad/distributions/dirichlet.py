"""Distributions of shares."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from claygrad.autograd import Function
from claygrad.autograd.function import once_differentiable
from claygrad.core import Tensor
from claygrad.distributions import constraints
from claygrad.distributions.exp_family import ExponentialFamily
from claygrad.ops.embedding import one_hot
from claygrad.ops.random_each import _dirichlet_grad, _sample_dirichlet

__all__ = ["Dirichlet"]


def _Dirichlet_backward(x: Tensor, concentration: Tensor, grad_output: Tensor) -> Tensor:
    """As a component grows the others shrink in proportion: they keep their shares of what it leaves."""
    total = concentration.sum(-1, True).expand_as(concentration)
    slope = _dirichlet_grad(x, concentration, total)
    return slope * (grad_output - (x * grad_output).sum(-1, True))


class _Dirichlet(Function):
    @staticmethod
    def forward(ctx: Any, concentration: Tensor) -> Tensor:
        x = _sample_dirichlet(concentration)
        ctx.save_for_backward(x, concentration)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        x, concentration = ctx.saved_tensors
        return _Dirichlet_backward(x, concentration, grad_output)


class Dirichlet(ExponentialFamily):
    """Vectors of shares, with densities proportional to the product of x_i^(concentration_i - 1)."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _batched = ("concentration",)
    concentration: Tensor

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return _Dirichlet.apply(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        shape = self._checked(value).concentration
        return (shape - 1.0).xlogy(value).sum(-1) + shape.sum(-1).lgamma() - shape.lgamma().sum(-1)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        over = (self.concentration - 1).clamp(min=0.0)
        mode = over / over.sum(-1, True)
        corners = (self.concentration < 1).all(dim=-1)             # the density is unbounded at all corners
        mode[corners] = one_hot(mode[corners].argmax(dim=-1), over.shape[-1]).to(mode)
        return mode

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        shape, k = self.concentration, self.concentration.shape[-1]
        total = shape.sum(-1)
        return (shape.lgamma().sum(-1) - total.lgamma() - (k - total) * total.digamma()
                - ((shape - 1.0) * shape.digamma()).sum(-1))

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()
