"""Mixtures of distributions of one kind."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.autograd import no_grad
from claygrad.core import Size, prefix
from claygrad.distributions import constraints
from claygrad.distributions.categorical import Categorical
from claygrad.distributions.distribution import Distribution

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from claygrad.core import Tensor

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """Draws from one of the distributions along the last batch dimension of `component_distribution`, chosen by
    `mixture_distribution`, a Categorical."""

    arg_constraints: dict[str, constraints.Constraint] = {}
    has_rsample = False
    _batched = ("_component_distribution", "_mixture_distribution")
    _kept = ("_num_component", "_event_ndims")

    def __init__(self, mixture_distribution: Categorical, component_distribution: Any,
                 validate_args: bool | None = None) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of "
                             f"{prefix()}.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of "
                             f"{prefix()}.distributions.Distribution")
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        mixed, batch = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for a, b in zip(reversed(mixed), reversed(batch), strict=False):
            if a != b and 1 not in (a, b):
                raise ValueError(f"`mixture_distribution.batch_shape` ({mixed}) is not compatible with "
                                 f"`component_distribution.batch_shape`({batch})")
        weights, components = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if weights != components:
            raise ValueError(f"`mixture_distribution component` ({weights}) does not equal "
                             f"`component_distribution.batch_shape[-1]` ({components})")
        self._num_component = weights
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(batch, event_shape, validate_args=validate_args)

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        return self._component_distribution

    def _weighted(self, values: Tensor) -> Tensor:
        """The mean of values of the components, with the mixture's weights."""
        probs = self.mixture_distribution.probs
        mixed = len(self.mixture_distribution.batch_shape)
        extra = 0 if mixed == 1 else len(self.batch_shape) - mixed
        probs = probs.reshape((*probs.shape[:-1], *(1,) * extra, probs.shape[-1], *(1,) * self._event_ndims))
        return (probs * values).sum(-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return self._weighted(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        """The mean of the variances and the variance of the means."""
        parts = self.component_distribution
        return self._weighted(parts.variance) + self._weighted((parts.mean - self._pad(self.mean)).pow(2.0))

    def cdf(self, x: Tensor) -> Tensor:
        return (self.component_distribution.cdf(self._pad(x)) * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        of_parts = self._checked(x).component_distribution.log_prob(self._pad(x))
        return (of_parts + self.mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            dim, event = len(sample_shape) + len(self.batch_shape), self.event_shape
            chosen = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            place = chosen.reshape(chosen.shape + (1,) * (len(event) + 1)).expand((*chosen.shape, 1, *event))
            return drawn.gather(dim, place).squeeze(dim)

    def _pad(self, x: Tensor) -> Tensor:
        """With a dimension for the components."""
        return x.unsqueeze(-1 - self._event_ndims)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
