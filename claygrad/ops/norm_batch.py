"""Normalisation of every channel over the batch: batch_norm, and instance_norm, which is that of single examples."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import array_of, write_into
from claygrad.core.dispatch.convert_half import recast
from claygrad.ops._conv import same_format
from claygrad.ops._norms import (
    affine,
    check_parameters,
    dot,
    input_grad,
    live,
    moments,
    over,
    second,
    statistics_dtype,
    wide,
)
from claygrad.ops._registry import composite, op

if TYPE_CHECKING:
    from claygrad.core import Tensor

inner = {"function": False, "method": False, "out": False}
AXES = (0, 2)


def channels(array):
    """(examples, channels, positions)."""
    positions = 1
    for n in array.shape[2:]:
        positions *= n
    return array.reshape(*array.shape[:2], positions)


def column(vector):
    """One number per channel, to be spread over examples and positions."""
    return None if vector is None else vector.reshape(1, -1, 1)


def check_batch_norm(input, weight, bias, running_mean, running_var, training) -> None:
    features = input.shape[1] if input.ndim > 1 else 0
    for name, given in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight),
                        ("bias", bias)):
        if given is not None and given.numel() != features:
            raise RuntimeError(f"{name} should contain {features} elements not {given.numel()}")
        if given is None and not training and name.startswith("running"):
            raise RuntimeError(f"{name} must be defined in evaluation mode")
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    if input.ndim < 2:
        raise RuntimeError(f"batch_norm expects an input of 2 dimensions or more (examples, channels, ...), got "
                           f"{input.ndim}")
    check_parameters("batch_norm", input, weight, bias, running_mean, running_var)


def batch_norm_results(input, weight, bias, running_mean, running_var, training) -> list:
    kind = statistics_dtype(input, weight, bias, running_mean, running_var)
    small = (input.shape[1] if training else 0,), kind
    return [(input.shape, input.dtype), small, small, ((input.shape[1] if training else 0,), kind)]


def applied(xp, x, mean, rstd, weight, bias):
    """x normalised by given moments: one multiplication and one addition per element."""
    scale = rstd if weight is None else rstd * weight
    out = x * scale
    out += mean * -scale if bias is None else bias - mean * scale
    return out


@op(kernel="batch_norm", name="_batch_norm", half="raw", differentiable=(0,), node="NativeBatchNormBackward0",
    check=check_batch_norm,
    meta=batch_norm_results, **inner,
    samples=lambda t: [t.args(t(3, 2, 2), t(2), t(2), None, None, True, 1e-5),
                       t.args(t(3, 2), t(2), None, t(2, requires_grad=False), t(2, low=0.5, requires_grad=False), False,
                              1e-5)])
def per_channel(xp, input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
                running_var: Tensor | None, training: bool, eps: float):
    "The normalised input; in training also mean, reciprocal deviation and variance of every channel."
    x = channels(wide(input))
    kind = statistics_dtype(input, weight, bias, running_mean, running_var)
    weight, bias = column(wide(weight)), column(wide(bias))
    if training:
        out, mean, variance = moments(xp, x, AXES)
        rstd = 1 / xp.sqrt(variance + x.dtype.type(eps))
        kept = [recast(s.reshape(-1), kind) for s in (mean, rstd, variance)]
        out *= rstd
        out = affine(xp, out, weight, bias)
        if kind.itemsize == 2:                # PyTorch applies the moments as it keeps them, rounded
            out = applied(xp, x, *(column(wide(s)) for s in kept[:2]), weight, bias)
    else:
        rstd = 1 / xp.sqrt(column(wide(running_var)) + x.dtype.type(eps))
        out = applied(xp, x, column(wide(running_mean)), rstd, weight, bias)
        kept = [xp.empty(0, dtype=kind)] * 3
    return same_format(xp, recast(out.reshape(input.shape), input.dtype), input), *kept


@per_channel.rules(constant=("running_mean", "running_var"))
def batch_norm_grads(g, aux, input, weight, running_mean, running_var, training, eps, needs):
    if training:
        mean, rstd = aux[:2]
    else:
        mean, rstd = running_mean, (running_var + eps).rsqrt()
    out = batch_norm_backward(g, input, mean, rstd, weight, training, eps, needs[:3])
    return *[x if need else None for x, need in zip(out, needs[:3])], None, None


def backward_results(input, weight, output_mask) -> list:
    kind = input.dtype if weight is None else weight.dtype
    shapes = (input.shape, input.dtype), (input.shape[1:2], kind), (input.shape[1:2], kind)
    return [pair if wanted else ((0,), kind) for pair, wanted in zip(shapes, output_mask)]


@op(kernel="batch_norm_backward", half="raw", node="NativeBatchNormBackwardBackward0", meta=backward_results, **inner)
def batch_norm_backward(xp, grad_out: Tensor, input: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor | None,
                        training: bool, eps: float, output_mask: tuple):
    "The gradients of input, weight and bias; empty where they are not needed."
    g, x, rstd = channels(wide(grad_out)), channels(wide(input)), column(wide(rstd))
    kind = grad_out.dtype if weight is None else weight.dtype
    nothing = xp.empty(0, dtype=kind)
    to_x = to_weight = to_bias = nothing
    unit = (x - column(wide(mean))) * rstd if training or output_mask[1] else None
    if output_mask[0]:
        spread = column(wide(weight))
        if training:
            to_x = input_grad(xp, g, unit, rstd, spread, AXES)
        else:
            to_x = g * (rstd if spread is None else rstd * spread)
        to_x = recast(to_x.reshape(input.shape), input.dtype)
    if output_mask[1]:
        to_weight = dot(xp, g, unit, AXES).reshape(-1).astype(kind, copy=False)
    if output_mask[2]:
        to_bias = g.sum(axis=AXES).astype(kind, copy=False)
    return to_x, to_weight, to_bias


@batch_norm_backward.rules
def batch_norm_second(gs, grad_out, input, mean, rstd, weight, training, eps, output_mask):
    g, x, mean, rstd = channels(grad_out), channels(input), column(mean), column(rstd)
    if training and live(input):
        mean = x.mean(AXES, keepdim=True)
        rstd = ((x - mean).square().mean(AXES, keepdim=True) + eps).rsqrt()
    a, b, c = (v if wanted else None for v, wanted in zip(gs, output_mask))
    to_g, to_x, to_weight = second(None if a is None else channels(a), column(b), column(c), g, x, column(weight),
                                   mean, rstd, AXES, frozen=not training)
    return (None if to_g is None else to_g.reshape(grad_out.shape), None if to_x is None else to_x.reshape(input.shape),
            None, None, None if to_weight is None else to_weight.sum(AXES))


def update(running_mean: Tensor, running_var: Tensor, mean: Tensor, variance: Tensor, count: int,
           momentum: float) -> None:
    """Move the running statistics towards those of a batch; the variance kept is the unbiased one."""
    unbiased = count / (count - 1) if count != 1 else float("nan")
    for running, new in ((running_mean, wide(array_of(mean))), (running_var, wide(array_of(variance)) * unbiased)):
        old = wide(array_of(running))
        out = old * old.dtype.type(1 - momentum) + (new * old.dtype.type(momentum)).reshape(old.shape)
        write_into(running, out)


def normalised(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
               running_var: Tensor | None, training: bool, momentum: float, eps: float) -> tuple[Tensor, ...]:
    """The op, and what training does to the running statistics."""
    out = per_channel(input, weight, bias, running_mean, running_var, training, eps)
    if training and running_mean is not None and input.numel() and input.device.type != "meta":
        update(running_mean, running_var, out[1], out[3], over(input, (0, *range(2, input.ndim))), momentum)
    return out


def result(input: Tensor, weight: Tensor | None, bias: Tensor | None, *rest) -> Tensor:
    """The normalised input alone. As in PyTorch an empty one asks nothing of the other tensors' sizes."""
    if input.numel():
        return normalised(input, weight, bias, *rest)[0]
    out = input.clone()
    out = out if weight is None else out * weight[0]
    return out if bias is None else out + bias[0]


native_form = {"native": "batch_norm", "parts": (per_channel,)}
functional_form = {**native_form, "native": "functional_batch_norm"}      # whose arguments are in another order


def statistics(t) -> tuple:
    return t(3, requires_grad=False), t(3, low=0.5, requires_grad=False)


def with_all(t) -> list:
    return [t.args(t(4, 3, 2), t(3), t(3), None, None, True, 0.1, 1e-5),
            t.args(t(4, 3), t(3), t(3), *statistics(t), False, 0.1, 1e-5)]


@composite(method=False, **native_form, samples=with_all)
def native_batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
                      running_var: Tensor | None, training: bool, momentum: float, eps: float) -> tuple[Tensor, ...]:
    "batch_norm, with the mean and the reciprocal of the standard deviation of every channel (empty in evaluation)."
    if training and not input.numel():
        raise RuntimeError(f"input tensor must have at least one element, but got input_sizes = {list(input.shape)}")
    if not input.numel():
        return input.clone(), input.new_empty((0,)), input.new_empty((0,))
    return normalised(input, weight, bias, running_mean, running_var, training, momentum, eps)[:3]


@composite(method=False, **native_form,
           samples=lambda t: [t.args(t(4, 3, 2), t(3), t(3), None, None, True, 0.1, 1e-5, False)])
def batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
               running_var: Tensor | None, training: bool, momentum: float, eps: float, cudnn_enabled: bool) -> Tensor:
    "nn.functional.batch_norm with all its arguments said."
    return result(input, weight, bias, running_mean, running_var, training, momentum, eps)


def check_batch_size(size: object) -> None:
    count = size[0]
    for n in size[2:]:
        count *= n
    if count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


@composite(name="batch_norm", namespace="nn.functional", method=False, **functional_form,
           samples=lambda t: [t.args(t(4, 3), None, None, t(3), t(3), True),
                              t.args(t(4, 3, 2, 2), None, None, t(3), None, True),
                              t.args(t(4, 3, 2), *statistics(t), t(3), t(3)), t.args(t(4, 3), *statistics(t))],
           errors=lambda t: [(t.args(t(1, 4), None, None, training=True), ValueError,
                              "Expected more than 1 value per channel when training, got input size torch."),
                             (t.args(t(3, 4), t(4, requires_grad=False), None), RuntimeError,
                              "running_var must be defined in evaluation mode"),
                             (t.args(t(3, 4), None, None, t(3), training=True), RuntimeError,
                              "weight should contain 4 elements not 3"),
                             (t.args(t(3, 4), None, None, training=True, eps=0.0), ValueError,
                              "batch_norm eps must be positive during training, but got 0.0")])
def functional_batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None,
                          weight: Tensor | None = None, bias: Tensor | None = None, training: bool = False,
                          momentum: float | None = 0.1, eps: float = 1e-5) -> Tensor:
    """Batch normalization of each channel (axis 1): out = (input - mean) / sqrt(variance + eps) * weight + bias.

    In training the moments are those of the batch, and the running ones move towards them by `momentum`; otherwise
    they are the running ones.
    """
    if training:
        check_batch_size(input.shape)
    if training and eps <= 0.0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    if eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    if momentum is None:                                # the cumulative mean is the layer's business
        raise TypeError("batch_norm(): argument 'momentum' (position 7) must be float, not NoneType")
    return result(input, weight, bias, running_mean, running_var, training, momentum, eps)


# Every example by itself

def by_instance(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
                running_var: Tensor | None, use_input_stats: bool, momentum: float, eps: float) -> Tensor:
    """Examples become channels of a single one; the running statistics move by the mean of theirs."""
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    examples, features = input.shape[:2]

    def spread(vector: Tensor | None) -> Tensor | None:
        return None if vector is None else vector.repeat(examples)

    mean, var = spread(running_mean), spread(running_var)
    if input.is_floating_point() and input.element_size() > 2:            # they may be of another precision
        mean, var = (x if x is None or x.dtype is input.dtype else x.to(input.dtype) for x in (mean, var))
    flat = input.contiguous().view((1, examples * features, *input.shape[2:]))
    out = result(flat, spread(weight), spread(bias), mean, var, use_input_stats, momentum, eps)
    if use_input_stats and input.device.type != "meta":
        for running, new in ((running_mean, mean), (running_var, var)):
            if running is not None:
                write_into(running, wide(array_of(new)).reshape(examples, features).mean(axis=0))
    return out.view(input.shape)


@composite(method=False, samples=lambda t: [t.args(t(2, 3, 4), t(3), t(3), None, None, True, 0.1, 1e-5, False)])
def instance_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
                  running_var: Tensor | None, use_input_stats: bool, momentum: float, eps: float,
                  cudnn_enabled: bool) -> Tensor:
    "nn.functional.instance_norm with all its arguments said."
    return by_instance(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps)


@composite(name="instance_norm", namespace="nn.functional", method=False, native="instance_norm", parts=(per_channel,),
           samples=lambda t: [t.args(t(2, 3, 4)), t.args(t(2, 3, 2, 2), None, None, t(3), t(3)),
                              t.args(t(2, 3, 2), *statistics(t), use_input_stats=False)],
           errors=lambda t: [(t.args(t(3, 4, 1)), ValueError,
                              "Expected more than 1 spatial element when training, got input size torch."),
                             (t.args(t(3, 4, 2), use_input_stats=False), RuntimeError,
                              "Expected running_mean and running_var to be defined when use_input_stats is false")])
def functional_instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None,
                             weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True,
                             momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    "Normalization of each channel of each example by its own mean and variance."
    if use_input_stats and over(input, tuple(range(2, input.ndim))) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    return by_instance(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps)
