"""Normalisation of every example by itself over its last axes: layer_norm and rms_norm."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import DTYPES
from claygrad.core.dispatch.convert_half import recast
from claygrad.ops._norms import (
    HALF_DTYPES,
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
from claygrad.ops._words import NAMES

if TYPE_CHECKING:
    from claygrad.core import Tensor

    ints = int | tuple[int, ...] | list[int]

inner = {"function": False, "method": False, "out": False}
EPSILON = {"float64": 2.220446049250313e-16, "float32": 1.1920928955078125e-07, "bfloat16": 0.0078125,
           "float16": 0.0009765625, "complex64": 1.1920928955078125e-07, "complex128": 2.220446049250313e-16}


def check_shapes(name: str, input: Tensor, normalized_shape: object, weight: Tensor | None,
                 bias: Tensor | None = None) -> None:
    if isinstance(normalized_shape, int):
        raise TypeError(f"{name}(): argument 'normalized_shape' (position 2) must be tuple of ints, not int")
    wanted, shape = tuple(normalized_shape), list(normalized_shape)
    if shape and input.shape[-len(shape):] == wanted and (weight is None or weight.shape == wanted) and (
            bias is None or bias.shape == wanted):
        return
    if not shape:
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
                           "element, but got normalized_shape = []")
    for word, given in (("weight", weight), ("bias", bias)):
        if given is not None and list(given.shape) != shape:
            raise RuntimeError(f"Expected {word} to be of same shape as normalized_shape, but got {word} of shape "
                               f"{list(given.shape)} and normalized_shape = {shape}")
    if input.ndim < len(shape) and name == "rms_norm":
        raise ValueError(f"Input tensor must have at least {len(shape)} dimensions, but got {input.ndim}")
    if list(input.shape[-len(shape):]) != shape:
        comma = "" if name == "rms_norm" else ", "
        raise RuntimeError(f"Given normalized_shape={shape}, expected input with shape [*{comma}"
                           f"{', '.join(map(str, shape))}], but got input of size{list(input.shape)}")


def rows(array, normalized_shape):
    """An array or tensor as (examples, elements): the normalised axes are one."""
    split = array.ndim - len(normalized_shape)
    examples = elements = 1
    for axis, n in enumerate(array.shape):
        if axis < split:
            examples *= n
        else:
            elements *= n
    return array.reshape(examples, elements)


def row(weight):
    return None if weight is None else weight.reshape(1, -1)


def moments_shape(input: Tensor, normalized_shape) -> tuple[int, ...]:
    return (*input.shape[:input.ndim - len(normalized_shape)], *[1] * len(normalized_shape))


def check_layer_norm(input, normalized_shape, weight, bias) -> None:
    check_shapes("layer_norm", input, normalized_shape, weight, bias)
    check_parameters("LayerNormKernelImpl", input, weight, bias)


def layer_norm_results(input, normalized_shape, weight, bias) -> list:
    small = moments_shape(input, normalized_shape), statistics_dtype(input, weight, bias)
    return [(input.shape, input.dtype), small, small]


@op(kernel="layer_norm", half="added", method=False, out=False, differentiable=(0,), check=check_layer_norm,
    meta=layer_norm_results,
    samples=lambda t: [t.args(t(3, 4), (4,), t(4), t(4), 1e-5), t.args(t(2, 3, 4), (3, 4), None, None, 1e-5)])
def native_layer_norm(xp, input: Tensor, normalized_shape: ints, weight: Tensor | None, bias: Tensor | None,
                      eps: float):
    "layer_norm, with the mean and the reciprocal of the standard deviation of every example."
    x, scale, shift = rows(wide(input), normalized_shape), wide(weight), wide(bias)
    unit, mean, variance = moments(xp, x, (1,))
    rstd = 1 / xp.sqrt(variance + x.dtype.type(eps))
    unit *= rstd
    out = affine(xp, unit, row(scale), row(shift))
    kind, shape = statistics_dtype(input, weight, bias), moments_shape(input, normalized_shape)
    return (recast(out.reshape(input.shape), input.dtype), mean.reshape(shape).astype(kind, copy=False),
            rstd.reshape(shape).astype(kind, copy=False))


@native_layer_norm.rules
def layer_norm_grads(g, aux, input, normalized_shape, weight, eps, needs):
    out = native_layer_norm_backward(g, input, tuple(normalized_shape), *aux, weight, eps, needs)
    return tuple(x if need else None for x, need in zip(out, needs))


def layer_norm_back_meta(input, normalized_shape, weight, output_mask) -> list:
    kind = input.dtype if weight is None else weight.dtype
    shapes = input.shape, normalized_shape, normalized_shape
    return [(shape if wanted else (0,), d)
            for shape, wanted, d in zip(shapes, output_mask, (input.dtype, kind, kind))]


@op(kernel="layer_norm_backward", half="added", **inner, node="NativeLayerNormBackwardBackward0",
    meta=layer_norm_back_meta)
def native_layer_norm_backward(xp, grad_out: Tensor, input: Tensor, normalized_shape: tuple, mean: Tensor,
                               rstd: Tensor, weight: Tensor | None, eps: float, output_mask: tuple):
    "The gradients of input, weight and bias; empty where they are not needed."
    g, x = rows(wide(grad_out), normalized_shape), rows(wide(input), normalized_shape)
    mean, rstd = wide(mean).reshape(-1, 1), wide(rstd).reshape(-1, 1)
    kind = grad_out.dtype if weight is None else weight.dtype
    nothing = xp.empty(0, dtype=kind)
    unit = (x - mean) * rstd
    to_x = nothing
    if output_mask[0]:
        to_x = input_grad(xp, g, unit, rstd, row(wide(weight)), (1,))
        to_x = recast(to_x.reshape(input.shape), input.dtype)
    to_weight = dot(xp, g, unit, (0,)).reshape(normalized_shape).astype(kind, copy=False) if output_mask[1] else nothing
    return (to_x, to_weight,
            g.sum(axis=0).reshape(normalized_shape).astype(kind, copy=False) if output_mask[2] else nothing)


@native_layer_norm_backward.rules
def layer_norm_second(gs, grad_out, input, normalized_shape, mean, rstd, weight, eps):
    g, x = rows(grad_out, normalized_shape), rows(input, normalized_shape)
    mean, rstd = mean.reshape(-1, 1), rstd.reshape(-1, 1)
    if live(input):
        mean = x.mean(1, keepdim=True)
        rstd = ((x - mean).square().mean(1, keepdim=True) + eps).rsqrt()
    a, b, c = gs
    a = None if a is None or a.numel() != x.numel() else a.reshape(x.shape)
    b, c = (None if v is None or not v.numel() else v.reshape(1, -1) for v in (b, c))
    to_g, to_x, to_weight = second(a, b, c, g, x, row(weight), mean, rstd, (1,))
    return (None if to_g is None else to_g.reshape(grad_out.shape),
            None if to_x is None else to_x.reshape(input.shape), None, None,
            None if to_weight is None else to_weight.sum(0).reshape(weight.shape))


def layer_norm_samples(t) -> list:
    return [t.args(t(3, 4), (4,), t(4), t(4)), t.args(t(2, 3, 4), (3, 4)), t.args(t(2, 3), (3,), t(3)),
            t.args(t(2, 3), (3,), t(3), t(3), 0.1), t.args(t(0, 3), (3,), t(3))]


def layer_norm_mistakes(t) -> list:
    return [(t.args(t(3, 4), (3,)), RuntimeError,
             "Given normalized_shape=[3], expected input with shape [*, 3], but got input of size[3, 4]"),
            (t.args(t(3, 4), (4,), t(3)), RuntimeError,
             "Expected weight to be of same shape as normalized_shape, but got weight of shape [3] and"),
            (t.args(t(3, 4), ()), RuntimeError, "Expected normalized_shape to be at least 1-dimensional, i.e., "),
            (t.args(t(3, 4, dtype="int64"), (4,)), NotImplementedError,
             "\"LayerNormKernelImpl\" not implemented for 'Long'")]


@composite(method=False, native="layer_norm", parts=(native_layer_norm,), samples=layer_norm_samples,
           errors=layer_norm_mistakes)
def layer_norm(input: Tensor, normalized_shape: ints, weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-5, cudnn_enable: bool = True) -> Tensor:
    """Layer normalization over the last axes of each example: out = (input - mean) / sqrt(variance + eps) * weight +
    bias."""
    return native_layer_norm(input, normalized_shape, weight, bias, eps)[0]


@composite(name="layer_norm", namespace="nn.functional", method=False, native="layer_norm",
           parts=(native_layer_norm,), samples=layer_norm_samples, errors=layer_norm_mistakes)
def functional_layer_norm(input: Tensor, normalized_shape: ints, weight: Tensor | None = None,
                          bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """Layer normalization over the last axes of each example: out = (input - mean) / sqrt(variance + eps) * weight +
    bias."""
    return native_layer_norm(input, normalized_shape, weight, bias, eps)[0]


# By the root of the mean square

@op(kernel="rms_norm", name="_rms_norm", half="raw", node="MulBackward0", differentiable=(0,), **inner,
    meta=lambda input, normalized_shape: [(input.shape, input.dtype),
                                          (moments_shape(input, normalized_shape), wide_dtype(input))],
    samples=lambda t: [t.args(t(3, 4), (4,), t(4), 1e-5), t.args(t(2, 3, 4), (3, 4), None, 0.1)])
def scaled_by_root(xp, input: Tensor, normalized_shape: ints, weight: Tensor | None, eps: float):
    "The elements over the root of their mean square; and its reciprocal."
    x = rows(wide(input), normalized_shape)
    rstd = 1 / xp.sqrt(dot(xp, x, x, (1,)) / x.dtype.type(x.shape[1]) + x.dtype.type(eps))
    out = affine(xp, x * rstd, row(wide(weight)), None)
    return (recast(out.reshape(input.shape), input.dtype),
            rstd.reshape(moments_shape(input, normalized_shape)))


def wide_dtype(input: Tensor):
    return DTYPES["float32"] if input.dtype.name in HALF_DTYPES else input.dtype


@scaled_by_root.rules
def rms_grads(g, aux, input, normalized_shape, weight, eps, needs):
    to_x, to_weight = rms_backward(g, input, tuple(normalized_shape), aux[0], weight if needs[0] else None, eps, needs)
    return to_x if needs[0] else None, to_weight if needs[1] else None


@op(kernel="rms_norm_backward", half="raw", node="AddBackward0", **inner,
    meta=lambda input, normalized_shape, output_mask: [(input.shape if output_mask[0] else (0,), input.dtype),
                                                 (normalized_shape if output_mask[1] else (0,), input.dtype)])
def rms_backward(xp, grad_out: Tensor, input: Tensor, normalized_shape: tuple, rstd: Tensor, weight: Tensor | None,
                 eps: float, output_mask: tuple):
    "The gradients of input and weight; empty where they are not needed."
    g, x = rows(wide(grad_out), normalized_shape), rows(wide(input), normalized_shape)
    rstd = rstd.reshape(-1, 1)
    nothing = xp.empty(0, dtype=input.dtype)
    unit = x * rstd
    to_x = nothing
    if output_mask[0]:
        to_x = input_grad(xp, g, unit, rstd, row(wide(weight)), (1,), centred=False)
        to_x = recast(to_x.reshape(input.shape), input.dtype)
    return to_x, dot(xp, g, unit, (0,)).reshape(normalized_shape).astype(input.dtype) if output_mask[1] else nothing


@rms_backward.rules
def rms_second(gs, grad_out, input, normalized_shape, rstd, weight, eps):
    g, x = rows(grad_out, normalized_shape), rows(input, normalized_shape)
    rstd = (x.square().mean(1, keepdim=True) + eps).rsqrt() if live(input) else rstd.reshape(-1, 1)
    a, b = gs
    a = None if a is None or a.numel() != x.numel() else a.reshape(x.shape)
    b = None if b is None or not b.numel() else b.reshape(1, -1)
    to_g, to_x, to_weight = second(a, b, None, g, x, row(weight), None, rstd, (1,))
    return (None if to_g is None else to_g.reshape(grad_out.shape), None if to_x is None else to_x.reshape(input.shape),
            None, None if to_weight is None else to_weight.sum(0).reshape(weight.shape))


@composite(method=False, namespace=("torch", "nn.functional"), native="rms_norm", parts=(scaled_by_root,),
           samples=lambda t: [t.args(t(3, 4), (4,), t(4)), t.args(t(2, 3, 4), (3, 4)), t.args(t(2, 3), (3,), eps=0.1)],
           errors=lambda t: [(t.args(t(3, 4), (3,)), RuntimeError,
                              "Given normalized_shape=[3], expected input with shape [*3], but got input of"),
                             (t.args(t(3, 4, dtype="int64"), (4,)), NotImplementedError,
                              "\"rms_norm\" not implemented for 'Long'")])
def rms_norm(input: Tensor, normalized_shape: ints, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """Normalization by the root mean square over the last axes: out = input / sqrt(mean(input ** 2) + eps) * weight.

    `eps` is the machine epsilon of the dtype by default.
    """
    check_shapes("rms_norm", input, normalized_shape, weight)
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise NotImplementedError(f"\"rms_norm\" not implemented for '{NAMES[input.dtype.name]}'")
    eps = EPSILON[wide_dtype(input).name] if eps is None else eps
    if input.dtype.is_floating_point and (weight is None or weight.dtype == input.dtype):
        return scaled_by_root(input, normalized_shape, weight, eps)[0]
    x = input.to(wide_dtype(input))
    axes = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    out = x * ((x * x).mean(axes, keepdim=True) + eps).rsqrt()
    return (out if weight is None else out * weight).to(input.dtype)
