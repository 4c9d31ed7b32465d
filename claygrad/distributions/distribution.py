"""The base of all distributions."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from claygrad.autograd import no_grad
from claygrad.core import Size, Tensor
from claygrad.core.user_warnings import warn
from claygrad.distributions import constraints
from claygrad.distributions.constraints import Constraint
from claygrad.distributions.utils import broadcast_all, lazy_property
from claygrad.ops.ranges import arange

__all__ = ["Distribution"]


class Distribution:
    """A probability distribution, or a batch of them of one kind.

    Samples have the shape `sample_shape + batch_shape + event_shape`: how many are asked for, the batch of independent
    distributions with parameters of their own, and one outcome, which is () for numbers.
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args: bool = __debug__

    # What expand() does to attributes: those that have the batch's shape in front, and those that stay as they are.
    # A class that says so is one whose constructor expand() may go round.
    _batched: ClassVar[tuple[str, ...]]
    _kept: ClassVar[tuple[str, ...]] = ()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether parameters and values are checked by default; as assertions, they are unless Python runs with -O."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Sequence[int] = Size(), event_shape: Sequence[int] = Size(),
                 validate_args: bool | None = None) -> None:
        self._batch_shape = batch_shape if isinstance(batch_shape, Size) else Size(batch_shape)
        self._event_shape = event_shape if isinstance(event_shape, Size) else Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self) -> None:
        try:
            asked = self.arg_constraints
        except NotImplementedError:
            warn(f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
                 "initialize the distribution with `validate_args=False` to turn off validation.")
            return
        for name, constraint in asked.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue                                    # follows from the others
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of "
                                 f"distribution {self!r} to satisfy the constraint {constraint!r}, but found invalid "
                                 f"values:\n{value}")

    def _take(self, **given: Any) -> Size:
        """Keep parameters, broadcast against each other, as attributes; returns their shape."""
        shape: Any = Size()
        for name, value in zip(given, broadcast_all(*given.values()), strict=True):
            setattr(self, name, value)
            shape = value.shape
        return shape

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """The same distribution with a larger batch shape, into which its parameters expand without being copied."""
        owner = next((kind for kind in type(self).__mro__ if "_batched" in vars(kind)), None)
        if owner is None:
            raise NotImplementedError
        new = self._get_checked_instance(owner, _instance)
        batch_shape, old = Size(batch_shape), len(self._batch_shape)
        for name in self._batched:
            value = self.__dict__.get(name)
            if value is not None:
                shape = value.shape if isinstance(value, Tensor) else value.batch_shape
                setattr(new, name, value.expand(batch_shape + shape[old:]))
        for name in self._kept:
            setattr(new, name, getattr(self, name))
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ != cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom "
                                      "__init__ method must also define a custom .expand() method.")
        return self.__new__(type(self)) if _instance is None else _instance

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one outcome."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, Constraint]:
        """What every parameter has to satisfy."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """What outcomes satisfy."""
        raise NotImplementedError

    @property
    def mean(self) -> Any:
        raise NotImplementedError

    @property
    def mode(self) -> Any:
        """The likeliest outcome."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Any:
        raise NotImplementedError

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Sequence[int] = Size()) -> Any:
        """Draws through which no gradient passes."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Any:
        """Draws as a differentiable function of the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Any:
        """Draws of shape (n,) + batch_shape + event_shape."""
        warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning)
        return self.sample(Size((n,)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density, or of the probability, of a value."""
        raise NotImplementedError

    def cdf(self, value: Any) -> Any:
        """The probability of at most a value."""
        raise NotImplementedError

    def icdf(self, value: Any) -> Any:
        """The value whose cdf this is."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Any:
        """All outcomes of a discrete distribution along dimension 0, over the whole batch if it is expanded."""
        raise NotImplementedError

    def _enumerate(self, count: int, **options: Any) -> Tensor:
        """0, 1, ..., count - 1 along dimension 0, to be broadcast over the batch."""
        return arange(count, **options).view((-1,) + (1,) * len(self._batch_shape))

    def entropy(self) -> Any:
        raise NotImplementedError

    def perplexity(self) -> Any:
        """exp(entropy)."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Sequence[int] = Size()) -> Size:
        """The shape of samples."""
        if not isinstance(sample_shape, Size):
            sample_shape = Size(sample_shape)
        return sample_shape + self._batch_shape + self._event_shape

    def _validate_sample(self, value: Any) -> None:
        """Refuse a value whose shape does not fit or that cannot be an outcome."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        start = value.dim() - len(self._event_shape)
        if value.shape[start:] != self._event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {value.size()} vs "
                             f"{self._event_shape}.")
        expected = self._batch_shape + self._event_shape
        for i, j in zip(reversed(value.shape), reversed(expected), strict=False):
            if i != j and 1 not in (i, j):
                raise ValueError("Value is not broadcastable with batch_shape+event_shape: "
                                 f"{value.size()} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warn(f"{self.__class__} does not define `support` to enable sample validation. Please initialize "
                 "the distribution with `validate_args=False` to turn off validation.")
            return
        if support is None:
            raise AssertionError("support is unexpectedly None")
        if not support.check(value).all():
            raise ValueError(f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be "
                             f"within the support ({support!r}) of the distribution {self!r}, but found invalid "
                             f"values:\n{value}")

    def _checked(self, value: Any) -> Self:
        """Itself, after a look at a value if values are looked at."""
        if self._validate_args:
            self._validate_sample(value)
        return self

    def __repr__(self) -> str:
        kept = {name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__}
        shown = (f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in kept.items())
        return f"{self.__class__.__name__}({', '.join(shown)})"
