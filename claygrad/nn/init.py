"""First values for parameters. Each function fills a tensor in place, outside any graph, and returns it.

The same seed gives the same numbers as in PyTorch.
"""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from claygrad.autograd import no_grad
from claygrad.core.dispatch.factories import as_factory
from claygrad.core.user_warnings import warn
from claygrad.ops._registry import NAMESPACES

if TYPE_CHECKING:
    from collections.abc import Callable

    from claygrad.core import Tensor
    from claygrad.native.random import Generator

__all__ = ["calculate_gain", "constant", "constant_", "dirac", "dirac_", "eye", "eye_", "kaiming_normal",
           "kaiming_normal_", "kaiming_uniform", "kaiming_uniform_", "normal", "normal_", "ones_", "orthogonal",
           "orthogonal_", "sparse", "sparse_", "trunc_normal_", "uniform", "uniform_", "xavier_normal",
           "xavier_normal_", "xavier_uniform", "xavier_uniform_", "zeros_"]

_ops: dict[str, Any] = NAMESPACES["torch"]
_LINEAR = {"linear", "sigmoid", *(f"{conv}{n}d" for conv in ("conv", "conv_transpose") for n in (1, 2, 3))}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """By how much weights are to be larger, so that values keep their spread through a nonlinearity.

    >>> claygrad.nn.init.calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "selu":
        return 3.0 / 4
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope ** 2))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


# --- values of one kind ------------------------------------------------------------------------------------------
@as_factory
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draw from the uniform distribution between a and b."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


@as_factory
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draw from the normal distribution."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


@as_factory
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one number."""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with 1."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with 0."""
    with no_grad():
        return tensor.zero_()


def eye_(tensor: Tensor) -> Tensor:
    """Ones on the diagonal of a matrix, zeros elsewhere."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        return tensor.copy_(_ops["eye"](*tensor.shape, dtype=tensor.dtype, device=tensor.device))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Weights of a convolution that passes as many channels through unchanged as it can, in each group."""
    if tensor.ndimension() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    out, inner, *kernel = tensor.shape
    if out % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    if tensor.is_meta:
        return tensor
    middle = tuple(size // 2 for size in kernel)
    with no_grad():
        tensor.zero_()
        for start in range(0, out, max(out // groups, 1)):
            for channel in range(min(out // groups, inner)):
                tensor[(start + channel, channel, *middle)] = 1
    return tensor


def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
                  generator: Generator | None = None) -> Tensor:
    """Draw from the normal distribution, again wherever a value lies outside [a, b]."""
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
             "incorrect.")

    def below(x: float) -> float:
        return (1.0 + math.erf((x - mean) / std / math.sqrt(2.0))) / 2.0

    with no_grad():
        # Drawing normal numbers until they fit pays only where most of them do.
        if below(b) - below(a) > 0.3:
            return _redrawn(tensor, mean, std, a, b, generator)
        beyond = max(a - mean, mean - b) / std
        if beyond > 0 and (b - a) * beyond > 400_000 * std:
            return _beside_the_bound(tensor, mean, std, a, b, beyond, generator)
        return _accepted(tensor, mean, std, a, b, generator)


def _redrawn(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None) -> Tensor:
    low, high = tensor.new_tensor(a).item(), tensor.new_tensor(b).item()
    result = tensor.normal_(mean, std, generator=generator)
    while bool((outside := (result < low) | (result > high)).any()):
        result = _ops["empty_like"](result).normal_(mean, std, generator=generator).where(outside, result)
    return tensor if result is tensor else tensor.copy_(result)


def _accepted(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None) -> Tensor:
    """Uniform candidates, each kept with the probability of its density over that of the peak."""
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2

    def too_rare(candidates: Tensor) -> Tensor:
        odds = candidates.clone().sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)
        return _ops["empty_like"](odds).uniform_(generator=generator).log_().gt(odds)

    tensor.uniform_(a, b, generator=generator)
    result, pending = tensor, too_rare(tensor)
    while bool(pending.any()):
        candidates = _ops["empty_like"](tensor).uniform_(a, b, generator=generator)
        result = candidates.where(pending, result)
        pending = too_rare(candidates) & pending
    return tensor if result is tensor else tensor.copy_(result)


def _beside_the_bound(tensor: Tensor, mean: float, std: float, a: float, b: float, beyond: float,
                      generator: Generator | None) -> Tensor:
    """Of a mean far outside [a, b]: candidates over the whole of it would hardly ever be kept, so their distances from
    the nearer bound are drawn, as far as the density is above exp(-40) of that at the bound."""
    reach = 40.0 * std / beyond
    distance, pending = _ops["empty_like"](tensor), _ops["ones_like"](tensor).bool()
    while bool(pending.any()):
        candidates = _ops["empty_like"](tensor).uniform_(0.0, reach, generator=generator)
        distance = candidates.where(pending, distance)
        odds = candidates.div(std).pow(2).mul_(-0.5).sub_(candidates.mul(beyond / std))
        pending = _ops["empty_like"](tensor).uniform_(generator=generator).log_().gt(odds) & pending
    return tensor.copy_(b - distance if mean > b else a + distance)


# --- values that fit the size of a layer ---------------------------------------------------------------------------
def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.size(1) * field, tensor.size(0) * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform numbers whose spread suits the mean of inputs and outputs of a layer (Glorot and Bengio, 2010)."""
    bound = math.sqrt(3.0) * (gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor))))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal numbers whose spread suits the mean of inputs and outputs of a layer (Glorot and Bengio, 2010)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor))), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    if 0 in tensor.shape:
        warn("Initializing zero-element tensors is a no-op")
        return None
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


@as_factory
def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                     generator: Generator | None = None) -> Tensor:
    """Uniform numbers that keep the spread of values through a layer and its nonlinearity (He et al., 2015)."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                    generator: Generator | None = None) -> Tensor:
    """Normal numbers that keep the spread of values through a layer and its nonlinearity (He et al., 2015)."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0, std, generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """A matrix with orthonormal rows or columns, whichever are fewer, times gain; further axes count as columns."""
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows = tensor.size(0)
    cols = tensor.numel() // rows
    with no_grad():
        drawn = tensor.new_empty((rows, cols)).normal_(0, 1, generator=generator)
        q, r = NAMESPACES["linalg"]["qr"](drawn.t() if rows < cols else drawn)
        q = q * r.diagonal().sign()         # makes the decomposition unique, and so the result uniform
        tensor.copy_((q.t() if rows < cols else q).reshape(tensor.shape))
        tensor.mul_(gain)
    return tensor


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Normal numbers in a matrix, with this fraction of each column set to 0."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    if tensor.is_meta:
        return tensor
    rows, cols = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(cols):
            tensor[_ops["randperm"](rows)[:zeros], column] = 0
    return tensor


# --- names without an underscore -----------------------------------------------------------------------------------
def _deprecated(current: Callable[..., Tensor]) -> Callable[..., Tensor]:
    name = current.__name__.removesuffix("_")

    def former(*args: Any, **kwargs: Any) -> Tensor:
        warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning)
        return current(*args, **kwargs)

    former.__name__ = former.__qualname__ = name
    former.__wrapped__ = current                # type: ignore[attr-defined]   # whose signature it has
    former.__doc__ = f"Deprecated name of `{name}_`."
    return former


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)
