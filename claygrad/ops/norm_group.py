"""Normalisation over groups of channels, and by the neighbouring channels."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core.dispatch.convert_half import recast
from claygrad.ops._conv import same_format
from claygrad.ops._formats import contiguous_format, suggested_format
from claygrad.ops._norms import (
    affine,
    check_parameters,
    dot,
    input_grad,
    live,
    moments,
    second,
    statistics_dtype,
    wide,
)
from claygrad.ops._registry import composite, op
from claygrad.ops._words import need
from claygrad.ops.norm_batch import check_batch_size

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor

inner = {"function": False, "method": False, "out": False}
AXES, SPREAD = (2, 3), (0, 3)        # of (examples, groups, channels of a group, positions): the moments', the weight's


def grouped(array, N: int, C: int, HxW: int, group: int):
    return array.reshape(N, group, C // group, HxW)


def spread(vector, group: int):
    return None if vector is None else vector.reshape(1, group, -1, 1)


def check_group(input, weight, bias, group, shape) -> None:
    channels = shape[1]
    if group <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {group}")
    if channels % group:
        raise RuntimeError("Expected number of channels in input to be divisible by num_groups, but got input of shape "
                           f"{list(shape)} and num_groups={group}")
    for name, given in (("weight", weight), ("bias", bias)):
        if given is not None and (given.ndim != 1 or given.numel() != channels):
            got = [0] if name == "bias" and weight is None else list((weight if name == "bias" else given).shape)
            raise RuntimeError(f"Expected {name} to be a vector of size equal to the number of channels in input, but "
                               f"got {name} of shape {got} and input of shape {list(shape)}")


def check_native(input, weight, bias, N, C, HxW, group) -> None:
    check_group(input, weight, bias, group, (N, C))
    if input.numel() != N * C * HxW:
        raise RuntimeError(f"Expected X.numel() == N * C * HxW to be true, but got false.  (input of {input.numel()} "
                           f"elements, N={N}, C={C}, HxW={HxW})")
    check_parameters("GroupNormKernelImpl", input, weight, bias)


def group_norm_results(input, weight, bias, N, group) -> list:
    small = (N, group), statistics_dtype(input, weight, bias)
    return [(input.shape, input.dtype), small, small]


@op(kernel="group_norm", half="added", method=False, out=False, check=check_native, meta=group_norm_results)
def native_group_norm(xp, input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int,
                      group: int, eps: float):
    "group_norm, with the mean and the reciprocal of the standard deviation of every group."
    x = grouped(wide(input), N, C, HxW, group)
    unit, mean, variance = moments(xp, x, AXES)
    rstd = 1 / xp.sqrt(variance + x.dtype.type(eps))
    unit *= rstd
    out = affine(xp, unit, spread(wide(weight), group), spread(wide(bias), group))
    kind = statistics_dtype(input, weight, bias)
    return (same_format(xp, recast(out.reshape(input.shape), input.dtype), input),
            *[s.reshape(N, group).astype(kind, copy=False) for s in (mean, rstd)])


@native_group_norm.rules
def group_norm_grads(gs, aux, input, weight, N, C, HxW, group, eps, needs):
    g, to_mean, to_rstd = gs
    to_x = to_weight = to_bias = None
    if g is not None:
        out = group_norm_backward(g, input, *aux, weight, N, C, HxW, group, eps, needs[:2])
        to_x, to_weight = (x if need else None for x, need in zip(out, needs))
        if needs[2]:                                     # in the dtype of the parameters: float32 beside halves
            to_bias = g.reshape(N, C, HxW).sum((0, 2), dtype=None if aux[0].dtype is g.dtype else aux[0].dtype)
    if needs[0] and (to_mean is not None or to_rstd is not None):
        through = through_moments(to_mean, to_rstd, grouped(input, N, C, HxW, group), *aux, eps).reshape(input.shape)
        to_x = through if to_x is None else to_x + through
    return to_x, to_weight, to_bias


def through_moments(to_mean: Tensor | None, to_rstd: Tensor | None, x: Tensor, mean: Tensor, rstd: Tensor,
                    eps: float) -> Tensor:
    """The gradient of x for given ones of its mean and of the reciprocal of its deviation."""
    count = x.shape[2] * x.shape[3]
    out = None if to_mean is None else to_mean.reshape(mean.shape)[..., None, None].expand(x.shape) / count
    if to_rstd is None:
        return out
    mean, rstd = moments_of(x, mean, rstd, eps)
    through_rstd = to_rstd[..., None, None] * (mean - x) * rstd ** 3 / count
    return through_rstd if out is None else out + through_rstd


def moments_of(x: Tensor, mean: Tensor, rstd: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """The saved moments, or, where a rule is itself recorded, the same as functions of x."""
    if not live(x):
        return mean[..., None, None], rstd[..., None, None]
    mean = x.mean(AXES, keepdim=True)
    return mean, ((x - mean).square().mean(AXES, keepdim=True) + eps).rsqrt()


def backward_results(input, weight, C, output_mask) -> list:
    kind = input.dtype if weight is None else weight.dtype
    shapes = (input.shape, input.dtype), ((C,), kind)
    return [pair if wanted else ((0,), kind) for pair, wanted in zip(shapes, output_mask)]


@op(kernel="group_norm_backward", half="added", node="NativeGroupNormBackwardBackward0", meta=backward_results, **inner)
def group_norm_backward(xp, grad_out: Tensor, input: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor | None,
                        N: int, C: int, HxW: int, group: int, eps: float, output_mask: tuple):
    "The gradients of input and weight; empty where they are not needed."
    g, x = (grouped(wide(v), N, C, HxW, group) for v in (grad_out, input))
    mean, rstd = (wide(v).reshape(N, group, 1, 1) for v in (mean, rstd))
    kind = grad_out.dtype if weight is None else weight.dtype
    to_x = to_weight = xp.empty(0, dtype=kind)
    unit = (x - mean) * rstd
    if output_mask[0]:
        to_x = input_grad(xp, g, unit, rstd, spread(wide(weight), group), AXES)
        to_x = recast(to_x.reshape(input.shape), input.dtype)
    if output_mask[1]:
        to_weight = dot(xp, g, unit, SPREAD).reshape(-1).astype(kind, copy=False)
    return to_x, to_weight


@group_norm_backward.rules
def group_norm_second(gs, grad_out, input, mean, rstd, weight, N, C, HxW, group, eps, output_mask):
    g, x = (grouped(v, N, C, HxW, group) for v in (grad_out, input))
    mean, rstd = moments_of(x, mean, rstd, eps)
    a, b = (v if wanted else None for v, wanted in zip(gs, output_mask))
    to_g, to_x, to_weight = second(None if a is None else a.reshape(x.shape), spread(b, group), None, g, x,
                                   spread(weight, group), mean, rstd, AXES)
    return (None if to_g is None else to_g.reshape(grad_out.shape), None if to_x is None else to_x.reshape(input.shape),
            None, None, None if to_weight is None else to_weight.sum(SPREAD).reshape(weight.shape))


def normalised(input: Tensor, num_groups: int, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    check_group(input, weight, bias, num_groups, input.shape)
    positions = 1
    for n in input.shape[2:]:
        positions *= n
    if suggested_format(input.shape, input.stride()) is contiguous_format:
        input = input.contiguous()
    return native_group_norm(input, weight, bias, *input.shape[:2], positions, num_groups, eps)[0]


def group_samples(t) -> list:
    return [t.args(t(2, 4, 3), 2, t(4), t(4)), t.args(t(3, 4), 2), t.args(t(2, 6, 2, 2), 3, t(6), eps=0.1)]


@composite(method=False, native="group_norm", parts=(native_group_norm,), samples=group_samples)
def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-5, cudnn_enabled: bool = True) -> Tensor:
    "As nn.functional.group_norm."
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    return normalised(input, num_groups, weight, bias, eps)


@composite(name="group_norm", namespace="nn.functional", method=False, native="group_norm",
           parts=(native_group_norm,), samples=group_samples,
           errors=lambda t: [(t.args(t(3, 4), 3), RuntimeError,
                              "Expected number of channels in input to be divisible by num_groups, but got input of"),
                             (t.args(t(4), 2), RuntimeError,
                              "Expected at least 2 dimensions for input tensor but received 1"),
                             (t.args(t(1, 4), 4), ValueError,
                              "Expected more than 1 value per channel when training, got input size [1, 4]")])
def functional_group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
                          eps: float = 1e-5) -> Tensor:
    """Normalization over groups of channels (axis 1) of each example: out = (input - mean) / sqrt(variance + eps) *
    weight + bias."""
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    check_batch_size([input.shape[0] * input.shape[1] // num_groups, num_groups, *input.shape[2:]])
    return normalised(input, num_groups, weight, bias, eps)


# By the neighbours

@op(node="SqueezeBackward1", meta=lambda input: input.shape, **inner,
    samples=lambda t: [t.args(t(2, 5, 3), 2, 1), t.args(t(1, 3, 2, 2), 0, 1)])
def neighbour_mean(xp, input: Tensor, before: int, after: int):
    "The mean over the channels from `before` below to `after` above, those beyond the ends being 0."
    need(input, "fViu", "avg_pool2d" if input.ndim == 3 else "avg_pool3d_out_frame")
    total, channels = input.copy(), input.shape[1]
    for step in range(1, min(before, channels - 1) + 1):         # farther away there are none
        total[:, step:] += input[:, :-step]
    for step in range(1, min(after, channels - 1) + 1):
        total[:, :-step] += input[:, step:]
    size = before + after + 1
    return total // size if input.dtype.kind in "iu" else total / total.dtype.type(size)
neighbour_mean.rule(input=lambda g, before, after: neighbour_mean(g, after, before))


@composite(namespace="nn.functional", method=False,
           samples=lambda t: [t.args(t(2, 5, 3), 3), t.args(t(2, 4, 2, 2), 2, 0.1, 0.5, 2.0)],
           errors=lambda t: [(t.args(t(3, 4), 2), ValueError, "Expected 3D or higher dimensionality"),
                             (t.args(t(3, 4, 5, 5, 5), 0), RuntimeError,
                              "kernel size should be greater than zero, but got kT: 0 kH: 1 kW: 1")])
def local_response_norm(input: Tensor, size: int, alpha: Tensor | Number = 1e-4, beta: Tensor | Number = 0.75,
                        k: Tensor | Number = 1.0) -> Tensor:
    """Normalization by neighbouring channels: out = input / (k + alpha * m) ** beta, m being the mean square of `size`
    channels."""
    if input.ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality                          input (got {input.ndim} "
                         "dimensions)")
    if not input.numel():
        return input
    if size <= 0:
        raise RuntimeError("kernel size should be greater than zero, but got "
                           + (f"kH: {size} kW: 1" if input.ndim == 3 else f"kT: {size} kH: 1 kW: 1"))
    return input / neighbour_mean(input * input, size // 2, (size - 1) // 2).mul(alpha).add(k).pow(beta)
