"""Weights as length times direction, recomputed before every forward. The older form; see `parametrizations`."""
from __future__ import annotations

from typing import Any

from claygrad.core import Tensor
from claygrad.core.user_warnings import warn
from claygrad.nn.modules.module import Module
from claygrad.nn.parameter import Parameter, UninitializedParameter

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


def norm_except_dim(v: Tensor, pow: float = 2, dim: int = 0) -> Tensor:
    """The norms of the slices along an axis, as many axes as the tensor has; for -1 the norm of all."""
    if dim == -1:
        return v.norm(pow)
    shape = [1] * v.ndim
    shape[dim] = v.size(dim)
    return v.transpose(0, dim).reshape(v.size(dim), -1).norm(pow, 1).view(shape)


def normed(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """v with the norms g along an axis."""
    return v * (g / norm_except_dim(v, 2, dim))


class WeightNorm:
    """The forward pre-hook that computes a weight from its length `_g` and its direction `_v`."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Any:
        """The weight for the present length and direction."""
        return normed(getattr(module, self.name + "_v"), getattr(module, self.name + "_g"), self.dim)

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        """Split a parameter of a module into length and direction."""
        warn("`torch.nn.utils.weight_norm` is deprecated in favor of "
             "`torch.nn.utils.parametrizations.weight_norm`.", FutureWarning)
        if any(isinstance(hook, WeightNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
            raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        fn = WeightNorm(name, dim)
        weight = getattr(module, name)
        if isinstance(weight, UninitializedParameter):
            raise ValueError("The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run "
                             "the dummy forward before applying weight normalization")
        del module._parameters[name]
        module.register_parameter(name + "_g", Parameter(norm_except_dim(weight, 2, fn.dim).data))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, fn.compute_weight(module))
        module.register_forward_pre_hook(fn)
        return fn

    def remove(self, module: Module) -> None:
        """Make the weight one parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"], module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Replace a parameter by its lengths along an axis, `_g`, and its direction, `_v`."""
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Undo `weight_norm`; the weight keeps its value."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
