"""A layer and the batch normalisation after it as one layer, for inference."""
from __future__ import annotations

import copy
from typing import Any

from claygrad.core import Tensor
from claygrad.nn.parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _check(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution that does what another followed by a normalisation does; both must be in eval mode."""
    _check(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps,
                                                    bn.weight, bn.bias, transpose)
    return fused


def fuse_conv_bn_weights(conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
                         bn_w: Tensor | None, bn_b: Tensor | None, transpose: bool = False
                         ) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution with those of the normalisation after it taken in."""
    bias = bn_rm.new_zeros(bn_rm.shape) if conv_b is None else conv_b
    scale = (bn_rv + bn_eps).rsqrt()
    gain = scale if bn_w is None else bn_w * scale
    shape = [1] * conv_w.ndim
    shape[1 if transpose else 0] = -1
    shifted = (bias - bn_rm) * gain
    shifted = shifted if bn_b is None else shifted + bn_b
    return (Parameter((conv_w * gain.reshape(shape)).to(dtype=conv_w.dtype), conv_w.requires_grad),
            Parameter(shifted.to(dtype=(conv_w if conv_b is None else conv_b).dtype), bias.requires_grad))


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A linear layer that does what another followed by a normalisation does; both must be in eval mode."""
    if linear.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
                             f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}")
    _check(linear, bn)
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps,
                                                      bn.weight, bn.bias)
    return fused


def fuse_linear_bn_weights(linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
                           bn_w: Tensor, bn_b: Tensor) -> tuple[Parameter, Parameter]:
    """Weight and bias of a linear layer with those of the normalisation after it taken in."""
    bias = bn_rm.new_zeros(bn_rm.shape) if linear_b is None else linear_b
    gain = bn_w * (bn_rv + bn_eps).rsqrt()
    weight = linear_w * gain.unsqueeze(-1).to(dtype=linear_w.dtype)
    shifted = ((bias - bn_rm) * gain + bn_b).to(dtype=(linear_w if linear_b is None else linear_b).dtype)
    return Parameter(weight, linear_w.requires_grad), Parameter(shifted, bias.requires_grad)
