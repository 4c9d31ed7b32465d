"""The chi-squared distribution."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.distributions import constraints
from claygrad.distributions.gamma import Gamma

if TYPE_CHECKING:
    from typing import Any

    from claygrad.core import Tensor

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The sum of the squares of `df` independent standard normal variables: Gamma(df / 2, 1 / 2)."""

    arg_constraints = {"df": constraints.positive}
    _batched = ("concentration", "rate")

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        return self.concentration * 2
