"""Activation functions as modules."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad.core.user_warnings import warn
from claygrad.nn import functional as F
from claygrad.nn import init as initial
from claygrad.nn.modules.attention import MultiheadAttention
from claygrad.nn.modules.module import Module
from claygrad.nn.modules.utils import OwnInit, new_parameter

if TYPE_CHECKING:
    from claygrad.core import Tensor

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "MultiheadAttention",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


# With nothing to choose

class Sigmoid(Module):
    """The logistic function of every element: 1 / (1 + exp(-x))."""

    def forward(self, input: Tensor) -> Tensor:
        return input.sigmoid()


class Tanh(Module):
    """The hyperbolic tangent of every element."""

    def forward(self, input: Tensor) -> Tensor:
        return input.tanh()


class LogSigmoid(Module):
    """The logarithm of the sigmoid of every element: log(1 / (1 + exp(-x)))."""

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softsign(Module):
    """x / (1 + |x|) of every element."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x) of every element."""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


# With a choice of overwriting the input

class _InPlace(OwnInit, Module):
    """Says that it works in place, if it does."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class ReLU(_InPlace):
    """The rectified linear unit: max(x, 0) of every element. With `inplace` it overwrites its input."""

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, inplace=self.inplace)


class SiLU(_InPlace):
    """The sigmoid linear unit, also called swish: x * sigmoid(x) of every element."""

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, inplace=self.inplace)


class Mish(_InPlace):
    """x * tanh(log(1 + exp(x))) of every element."""

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, inplace=self.inplace)


class SELU(_InPlace):
    """The scaled exponential linear unit: ELU with the scale and alpha under which activations keep mean 0 and variance
    1."""

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class _QuietlyInPlace(OwnInit, Module):
    """PyTorch's text of these layers keeps silent about `inplace`."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class Hardsigmoid(_QuietlyInPlace):
    """A piecewise linear sigmoid: x / 6 + 1 / 2 of every element, clamped to 0 .. 1."""

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)


class Hardswish(_QuietlyInPlace):
    """x * hardsigmoid(x) of every element."""

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)


# With numbers of their own

class _Tuned(Module):
    """Says the numbers it was made with, and that it works in place if it does."""

    _numbers: tuple[str, ...] = ()
    inplace = False

    def extra_repr(self) -> str:
        said = [f"{name}={getattr(self, name)}" for name in self._numbers]
        return ", ".join([*said, "inplace=True"] if self.inplace else said)


class Threshold(_Tuned):
    """x where x > threshold, `value` elsewhere."""

    _numbers = ("threshold", "value")

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)


class RReLU(_Tuned):
    """x where x > 0, slope * x elsewhere. The slopes are drawn from `lower` .. `upper` in training; in evaluation the
    mean is used."""

    _numbers = ("lower", "upper")

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class Hardtanh(_Tuned):
    """Every element clamped to `min_val` .. `max_val`."""

    _numbers: tuple[str, ...] = ("min_val", "max_val")

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False,
                 min_value: float | None = None, max_value: float | None = None) -> None:
        super().__init__()
        renamed = "keyword argument `{0}_value` is deprecated and renamed to `{0}_val`"
        if min_value is not None:
            warn(renamed.format("min"), FutureWarning)
            min_val = min_value
        if max_value is not None:
            warn(renamed.format("max"), FutureWarning)
            max_val = max_value
        self.min_val, self.max_val, self.inplace = min_val, max_val, inplace
        if max_val <= min_val:
            raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


class ReLU6(Hardtanh):
    """Every element clamped to 0 .. 6."""

    _numbers = ()

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


class ELU(_Tuned):
    """The exponential linear unit: x where x > 0, alpha * (exp(x) - 1) elsewhere."""

    _numbers = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)


class CELU(_Tuned):
    """x where x > 0, alpha * (exp(x / alpha) - 1) elsewhere: an ELU that is smooth at 0 for every alpha."""

    _numbers = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


class LeakyReLU(_Tuned):
    """x where x > 0, negative_slope * x elsewhere."""

    _numbers = ("negative_slope",)

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class Softplus(_Tuned):
    """A smooth ReLU: log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold."""

    _numbers = ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)


class GELU(Module):
    """The Gaussian error linear unit: x * Φ(x), Φ being the distribution function of the normal distribution.

    With approximate="tanh", Φ is approximated by a formula with tanh.
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class _Shrink(OwnInit, Module):
    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        return str(self.lambd)


class Hardshrink(_Shrink):
    """x where |x| > lambd, 0 elsewhere."""

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """x - lambd where x > lambd, x + lambd where x < -lambd, 0 elsewhere."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


class PReLU(_Tuned):
    """x where x > 0, weight * x elsewhere. The slope `weight` is a parameter: one for all channels, or one for each."""

    _numbers = ("num_parameters",)

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = new_parameter(num_parameters, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Every slope becomes `init`."""
        initial.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)


# Along an axis

class GLU(_Tuned):
    """The gated linear unit: the first half of an axis times the sigmoid of the second half."""

    _numbers = ("dim",)

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)


class _Scores(OwnInit, _Tuned):
    _numbers = ("dim",)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim


class Softmin(_Scores):
    """Softmax of -x along an axis."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax(_Scores):
    """Softmax along the axis `dim`: exp(x) / sum(exp(x)). The results are positive and sum to 1."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)


class LogSoftmax(_Scores):
    """The logarithm of softmax along the axis `dim`, computed without overflow."""

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """Softmax over the channels of images (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)
