"""Dropout: elements or whole channels set to zero at random, the others scaled so that the mean stays.

The same seed gives the masks that PyTorch draws on the CPU. Samples are cases that no chance enters; masks are compared
with PyTorch's in tests/oracle.
"""
from __future__ import annotations

from math import sqrt

from claygrad.core import Tensor, empty, is_wrapper
from claygrad.core import bool as bool_dtype
from claygrad.core.user_warnings import warn
from claygrad.ops._drawing import empty_like, wrong
from claygrad.ops._registry import composite, constant, op
from claygrad.ops._words import refuse_gradient
from claygrad.ops.random_fill import bernoulli_

_RANGE = "dropout probability has to be between 0 and 1, but got {}"
_ALPHA = 1.7580993408473766             # selu's value far below zero, its scale times its alpha


def _checked(p: float, error: type[Exception] = RuntimeError) -> float:
    if not 0 <= p <= 1:
        raise error(_RANGE.format(p)) if error is ValueError and p == p else RuntimeError(_RANGE.format(f"{p:g}"))
    return p


def _noise(input: Tensor, feature: bool) -> Tensor:
    """What a mask is drawn into: the size of the input, in the order of its memory, or one number per channel."""
    if is_wrapper(input) and not feature:
        return input.new_empty(input.shape)
    if not feature:
        return empty_like(input)
    if input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    size = (*input.shape[:2], *[1] * (input.ndim - 2))
    return input.new_empty(size) if is_wrapper(input) else empty(size, input.dtype, input.device)


def _dropped(input: Tensor, p: float, inplace: bool, feature: bool = False) -> Tensor:
    if p == 0 or not input.numel():
        return input
    if p == 1:
        nothing = input.new_zeros(())
        return input.mul_(nothing) if inplace else input * nothing
    mask = bernoulli_(_noise(input, feature), 1 - p).div_(1 - p)
    return input.mul_(mask) if inplace else input * mask


def _alpha_dropout(input: Tensor, p: float, inplace: bool, feature: bool = False) -> Tensor:
    """The dropout of selu networks: what is dropped becomes selu's lowest value, and mean and variance stay."""
    if p == 0 or p == 1 or not input.numel():
        return _dropped(input, p, inplace)
    scale = 1 / sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    mask = bernoulli_(_noise(input, feature), 1 - p)
    shift = mask.add(-1).mul_(_ALPHA * scale).add_(_ALPHA * scale * p)
    mask.mul_(scale)
    return input.mul_(mask).add_(shift) if inplace else input * mask + shift


def _cases(t) -> list:
    return [t.args(t(3, 4, 2), 0.0), t.args(t(3, 4, 2), 1.0), t.args(t(3, 4, 2), 0.5, False)]


def _cases_said(t) -> list:
    return [t.args(t(3, 4), 0.0, True), t.args(t(3, 4), 1.0, True), t.args(t(3, 4), 0.5, False)]


def _in_place_cases(t) -> list:
    return [t.args(t(3, 4, requires_grad=False), 0.5, False)]


def _mistakes(t) -> list:
    return [(t.args(t(2, 2, 2), 1.5), ValueError, "dropout probability has to be between 0 and 1, but got 1.5")]


def _mistakes_said(t) -> list:
    return [(t.args(t(2, 2), 1.5, True), RuntimeError, "dropout probability has to be between 0 and 1, but got 1.5")]


# Of elements

@composite(method=False, raw=True, namespace="nn.functional", samples=_cases, errors=_mistakes)
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Sets each element to zero with probability p in training, and scales the others by 1 / (1 - p).

    The same seed gives the masks that PyTorch draws on the CPU.
    """
    refuse_gradient("dropout", "p", _checked(p, ValueError), "float")
    if not isinstance(input, Tensor):
        raise wrong("dropout", "input", 1, "Tensor", input)
    return _dropped(input, p, inplace) if training else input


@composite(method=False, name="dropout", samples=_cases_said, errors=_mistakes_said)
def dropout_if(input: Tensor, p: float, train: bool) -> Tensor:
    "As `nn.functional.dropout`, with all its arguments said."
    return _dropped(input, _checked(p), False) if train else input


@composite(method=False, name="dropout_", samples=_in_place_cases)
def dropout_if_(input: Tensor, p: float, train: bool) -> Tensor:
    "As `dropout`, in place."
    return _dropped(input, _checked(p), True) if train else input


@op(strides=lambda input, mask: "like" if mask.stride() == input.stride() else None,
    name="_native_dropout", node="NativeDropoutBackward0", function=False, method=False, out=False,
    meta=lambda input: input.shape, samples=lambda t: [t.args(t(3, 4), t(3, 4, dtype="bool"), 2.0)])
def masked(xp, input: Tensor, mask: Tensor, scale: float):
    "out = input * scale where the mask is true, 0 elsewhere."
    return input * mask * input.dtype.type(scale)
masked.rule(input=lambda g, mask, scale: g * mask * scale, mask=constant)


@composite(method=False, samples=lambda t: [t.args(t(3, 4), t(3, 4, dtype="bool"), 2.0)],
           errors=lambda t: [(t.args(t(2), t(2, dtype="float32"), 2.0), RuntimeError,
                              "Mask should be Bool Scalar TypeFloat")])
def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    "The gradient of native_dropout's input."
    if mask.dtype is not bool_dtype:
        raise RuntimeError(f"Mask should be Bool Scalar Type{mask.dtype.legacy}")
    return grad_output * mask * scale


@composite(method=False, samples=_cases_said)
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    "dropout, with the mask: true for what is kept."
    if not input.numel():
        return input, empty_like(input)
    if train is False:
        everything = input.new_ones(input.shape, dtype=bool_dtype)
        return masked(input, everything, 1.0), everything
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise RuntimeError(f"result type Float can't be cast to the desired output type {input.dtype.legacy}")
    mask = bernoulli_(empty_like(input, bool_dtype), 1 - p)
    return masked(input, mask, 0.0 if p == 1 else 1 / (1 - p)), mask


# Of channels

@composite(method=False, samples=_cases_said, errors=_mistakes_said)
def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    "dropout of whole channels: the mask has one element for each example and channel."
    return _dropped(input, _checked(p), False, True) if train else input


@composite(method=False, samples=_in_place_cases)
def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    "As `feature_dropout`, in place."
    return _dropped(input, _checked(p), True, True) if train else input


def _of_channels(input: Tensor, p: float, training: bool, inplace: bool, batched: bool) -> Tensor:
    if not batched:
        input = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = _dropped(input, p, inplace, True) if training else input
    if batched:
        return result
    return result.squeeze_(0) if inplace else result.squeeze(0)


@composite(method=False, namespace="nn.functional", samples=_cases, errors=lambda t: [
    *_mistakes(t), (t.args(t(2, 2, 2, 2)), RuntimeError, "dropout1d: Expected 2D or 3D input, but received a 4D ")])
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Sets whole channels of (N, C, L) or (C, L) to zero with probability p in training, and scales the others by 1 /
    (1 - p)."""
    _checked(p, ValueError)
    if input.ndim not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. Note that "
                           "dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, a "
                           "channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs).")
    return _of_channels(input, p, training, inplace, input.ndim == 3)


def _deprecated(name: str, ndim: int, axes: int) -> None:
    warn(f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result in an error in a "
         f"future release. To retain the behavior and silence this warning, please use dropout instead. Note "
         f"that {name} exists to provide channel-wise dropout on inputs with {axes} spatial dimensions, a "
         f"channel dimension, and an optional batch dimension (i.e. {axes + 1}D or {axes + 2}D inputs).")


@composite(method=False, namespace="nn.functional", errors=_mistakes,
           samples=lambda t: [t.args(t(2, 3, 2, 2), 0.0), t.args(t(2, 3, 2, 2), 1.0),
                              t.args(t(2, 3, 2, 2), 0.5, False)])
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    "Sets whole channels of (N, C, H, W) to zero with probability p in training, and scales the others by 1 / (1 - p)."
    _checked(p, ValueError)
    if input.ndim not in (3, 4):
        _deprecated("dropout2d", input.ndim, 2)
    if input.ndim == 3:
        warn("dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior "
             "is desired - input is interpreted as shape (N, C, L), where C is the channel dim. This behavior "
             "will change in a future release to interpret the input as one without a batch dimension, i.e. "
             "shape (C, H, W). To maintain the 1D channel-wise dropout behavior, please switch to using "
             "dropout1d instead.")
    return _of_channels(input, p, training, inplace, True)


@composite(method=False, namespace="nn.functional", errors=lambda t: [
    (t.args(t(2, 2, 2, 2), 1.5), ValueError, "dropout probability has to be between 0 and 1, but got 1.5")],
           samples=lambda t: [t.args(t(2, 3, 2, 2), 0.0), t.args(t(2, 3, 2, 2), 1.0),
                              t.args(t(1, 2, 3, 2, 2), 0.5, False)])
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    "Each channel of (examples, channels, depth, height, width), or without examples, is zero with probability p."
    _checked(p, ValueError)
    if input.ndim not in (4, 5):
        _deprecated("dropout3d", input.ndim, 3)
    return _of_channels(input, p, training, inplace, input.ndim == 5)


# For selu networks

@composite(method=False, samples=_cases_said, errors=_mistakes_said)
def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    "As `nn.functional.alpha_dropout`, with all its arguments said."
    return _alpha_dropout(input, _checked(p), False) if train else input


@composite(method=False, samples=_in_place_cases)
def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    "As `alpha_dropout`, in place."
    return _alpha_dropout(input, _checked(p), True) if train else input


@composite(method=False, samples=_cases_said, errors=_mistakes_said)
def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    "As `nn.functional.feature_alpha_dropout`, with all its arguments said."
    return _alpha_dropout(input, _checked(p), False, True) if train else input


@composite(method=False, samples=_in_place_cases)
def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    "As `feature_alpha_dropout`, in place."
    return _alpha_dropout(input, _checked(p), True, True) if train else input


def _cases_training(t) -> list:
    return [t.args(t(3, 4, 2), 0.0, True), t.args(t(3, 4, 2), 1.0, True), t.args(t(3, 4, 2), 0.5)]


@composite(name="alpha_dropout", method=False, namespace="nn.functional", samples=_cases_training, errors=_mistakes)
def functional_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    "The dropout of selu networks: dropped elements become selu's lowest value, and mean and variance stay."
    _checked(p, ValueError)
    return _alpha_dropout(input, p, inplace) if training else input


@composite(name="feature_alpha_dropout", method=False, namespace="nn.functional", samples=_cases_training,
           errors=_mistakes)
def functional_feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False,
                                     inplace: bool = False) -> Tensor:
    "alpha_dropout of whole channels."
    _checked(p, ValueError)
    return _alpha_dropout(input, p, inplace, True) if training else input
