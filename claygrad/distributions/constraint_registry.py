"""From regions to transforms of all real numbers into them: `biject_to` by bijections, `transform_to` by any."""
from __future__ import annotations

from numbers import Number
from typing import TYPE_CHECKING

from claygrad.distributions import constraints, transforms

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from claygrad.distributions.transforms import Transform

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Makers of transforms by the class of a region."""

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], Transform]] = {}

    def register(self, constraint: Any, factory: Callable[[Any], Transform] | None = None) -> Any:
        """Enter a maker for the class of a region, or for a region's class; without a maker, a decorator for one."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError("Expected constraint to be either a Constraint subclass or instance, "
                            f"but got {constraint}")
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: constraints.Constraint) -> Transform:
        """A transform from all real numbers into a region."""
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints") from None
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _affine(first: Transform, loc: Any, scale: Any) -> Transform:
    return transforms.ComposeTransform([first, transforms.AffineTransform(loc, scale)])


def _to_interval(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, Number) and isinstance(high, Number) and low == 0 and high == 1:
        return transforms.SigmoidTransform()
    return _affine(transforms.SigmoidTransform(), low, high - low)


# In both, by the class: the bound of `positive` and `nonnegative` is an attribute of theirs.
for _region, _make in (
    (constraints.real, lambda c: transforms.identity_transform),
    (constraints.greater_than, lambda c: _affine(transforms.ExpTransform(), c.lower_bound, 1)),
    (constraints.greater_than_eq, lambda c: _affine(transforms.ExpTransform(), c.lower_bound, 1)),
    (constraints.less_than, lambda c: _affine(transforms.ExpTransform(), c.upper_bound, -1)),
    (constraints.interval, _to_interval),
    (constraints.half_open_interval, _to_interval),
    (constraints.corr_cholesky, lambda c: transforms.CorrCholeskyTransform()),
):
    biject_to.register(_region, _make)
    transform_to.register(_region, _make)

biject_to.register(constraints.simplex, lambda c: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda c: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda c: transforms.LowerCholeskyTransform())
transform_to.register(constraints.positive_definite, lambda c: transforms.PositiveDefiniteTransform())
transform_to.register(constraints.positive_semidefinite, lambda c: transforms.PositiveDefiniteTransform())


def _register_compounds(to: ConstraintRegistry) -> None:
    """Regions made of regions, by the same registry."""
    to.register(constraints.independent, lambda c: transforms.IndependentTransform(
        to(c.base_constraint), c.reinterpreted_batch_ndims))
    to.register(constraints.cat, lambda c: transforms.CatTransform([to(part) for part in c.cseq], c.dim, c.lengths))
    to.register(constraints.stack, lambda c: transforms.StackTransform([to(part) for part in c.cseq], c.dim))


_register_compounds(biject_to)
_register_compounds(transform_to)
