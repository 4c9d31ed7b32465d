"""Linear and bilinear maps."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from claygrad.autograd.grad_mode import no_grad
from claygrad.nn import functional as F
from claygrad.nn import init
from claygrad.nn.modules.lazy import LazyModuleMixin
from claygrad.nn.modules.module import Module
from claygrad.nn.modules.utils import new_parameter
from claygrad.nn.parameter import Parameter, UninitializedParameter

if TYPE_CHECKING:
    from claygrad.core import Tensor

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]


class Identity(Module):
    """Returns its input unchanged. It ignores all arguments of its constructor."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """Applies a linear map to the last axis of the input: `input @ weight.T + bias`.

    An input of shape (*, in_features) gives an output of shape (*, out_features). `weight` has the shape (out_features,
    in_features), `bias` the shape (out_features). Both are initialized from the uniform distribution between -k and k,
    k = 1 / sqrt(in_features).

    >>> claygrad.nn.Linear(3, 2)(claygrad.ones(5, 3)).shape
    claygrad.Size([5, 2])
    """

    weight: Parameter
    bias: Any

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = new_parameter((out_features, in_features), device, dtype)
        if bias:
            self.bias = new_parameter(out_features, device, dtype)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize weight and bias again."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            draw_bias(self.bias, self.weight)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


def draw_bias(bias: Tensor, weight: Tensor) -> None:
    """Uniform, with the bound of a weight of this shape."""
    inputs, _ = init._calculate_fan_in_and_fan_out(weight)
    bound = 1 / math.sqrt(inputs) if inputs > 0 else 0
    init.uniform_(bias, -bound, bound)


class NonDynamicallyQuantizableLinear(Linear):
    """The output map of attention, under the name that PyTorch gives it."""


class Bilinear(Module):
    """Applies a bilinear map to two inputs: output k is `input1 @ weight[k] @ input2 + bias[k]`."""

    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = new_parameter((out_features, in1_features, in2_features), device, dtype)
        if bias:
            self.bias = new_parameter(out_features, device, dtype)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize weight and bias again, uniformly between -k and k, k = 1 / sqrt(in1_features)."""
        if self.in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={self.in1_features})")
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
                f"out_features={self.out_features}, bias={self.bias is not None}")


class LazyLinear(LazyModuleMixin, Linear):
    """A Linear layer that takes `in_features` from its first input."""

    cls_to_become = Linear
    weight: UninitializedParameter

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Initialize the parameters again; does nothing before the first input."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Create the parameters for inputs of this shape."""
        found = input.shape[-1]
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = found
                self.weight.materialize((self.out_features, found))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:           # the parameters came with a state_dict
            if found != self.weight.shape[-1]:
                raise AssertionError(f"The in_features inferred from input: {found} is not equal to in_features from "
                                     f"self.weight: {self.weight.shape[-1]}")
            self.in_features = found
