"""Exponential families: densities exp(<t(x), η> - F(η) + k(x))."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.autograd import grad
from claygrad.distributions.distribution import Distribution

if TYPE_CHECKING:
    from typing import Any

    from claygrad.core import Tensor

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution with natural parameters η and log normalizer F, whose derivatives are the moments of t(x)."""

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        """The mean of k(x)."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """F(η) - <η, F'(η)> - E[k(x)]."""
        mean_carrier = self._mean_carrier_measure
        params = [param.detach().requires_grad_() for param in self._natural_params]
        normalizer = self._log_normalizer(*params)
        entropy = normalizer - mean_carrier
        for param, slope in zip(params, grad(normalizer.sum(), params, create_graph=True), strict=True):
            entropy = entropy - (param * slope).reshape((*self._batch_shape, -1)).sum(-1)
        return entropy
