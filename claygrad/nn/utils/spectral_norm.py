"""Weights divided by their largest singular value, before every forward. The older form; see `parametrizations`."""
from __future__ import annotations

from typing import Any

from claygrad.autograd import no_grad
from claygrad.core import Tensor
from claygrad.nn.modules.module import Module
from claygrad.nn.parameter import Parameter, UninitializedParameter
from claygrad.ops._registry import NAMESPACES

__all__ = ["SpectralNorm", "SpectralNormLoadStateDictPreHook", "SpectralNormStateDictHook", "remove_spectral_norm",
           "spectral_norm"]


def unit(vector: Tensor, eps: float) -> Tensor:
    """A vector divided by its length, which counts as `eps` at least."""
    return vector / vector.norm(2).clamp_min(eps)


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """A weight with one axis as rows and all others as columns."""
    return weight.movedim(dim, 0).reshape(weight.size(dim), -1)


def output_axis(module: Module) -> int:
    """Which axis of a module's weight counts its outputs."""
    from claygrad.nn.modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
    return int(isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)))


class SpectralNorm:
    """The forward pre-hook that divides a weight by an estimate of its largest singular value."""

    _version: int = 1           # 1: `_v` belongs to the state

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError("Expected n_power_iterations to be positive, but got "
                             f"n_power_iterations={n_power_iterations}")
        self.name, self.dim, self.n_power_iterations, self.eps = name, dim, n_power_iterations, eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """The weight with outputs as rows."""
        return as_matrix(weight, self.dim)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """The normalised weight. A power iteration improves the estimate, whose vectors the module keeps."""
        weight, u, v = (getattr(module, self.name + end) for end in ("_orig", "_u", "_v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(unit(matrix.t().mv(u), self.eps))
                    u.copy_(unit(matrix.mv(v), self.eps))
                u, v = u.clone(), v.clone()         # the next forward writes into the module's own
        return weight / u.dot(matrix.mv(v))

    def remove(self, module: Module) -> None:
        """Make the normalised weight the parameter."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for end in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + end)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    def _solve_v_and_rescale(self, matrix: Tensor, u: Tensor, target: Tensor) -> Tensor:
        """The v for which u·Wv is the target: what states from before version 1 lack."""
        v = NAMESPACES["torch"]["pinverse"](matrix.t().mm(matrix)).mm(matrix.t()).mv(u)
        return v.mul_(target / u.dot(matrix.mv(v)))

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Normalise a parameter of a module from now on."""
        if any(isinstance(hook, SpectralNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
            raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        fn = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if isinstance(weight, UninitializedParameter):
            raise ValueError("The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to "
                             "run the dummy forward before applying spectral normalization")
        with no_grad():
            rows, columns = fn.reshape_weight_to_matrix(weight).size()
            u = unit(weight.new_empty(rows).normal_(0, 1), eps)
            v = unit(weight.new_empty(columns).normal_(0, 1), eps)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.data)          # not a parameter, but there before the first forward
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(fn)
        module._register_state_dict_hook(SpectralNormStateDictHook(fn))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(fn))
        return fn


class SpectralNormLoadStateDictPreHook:
    """Completes states from before version 1, which hold the normalised weight instead of `_v`."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], strict: bool,
                 missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str]) -> None:
        fn, key = self.fn, prefix + self.fn.name
        version = local_metadata.get("spectral_norm", {}).get(fn.name + ".version")
        if version is not None and version >= 1:
            return
        if version is None and key not in state_dict and all(key + end in state_dict for end in ("_orig", "_u", "_v")):
            return
        missing = [key + end for end in ("_orig", "", "_u") if key + end not in state_dict]
        if missing:
            missing_keys.extend(missing if strict else ())
            return
        with no_grad():
            original, weight = state_dict[key + "_orig"], state_dict.pop(key)
            state_dict[key + "_v"] = fn._solve_v_and_rescale(fn.reshape_weight_to_matrix(original),
                                                             state_dict[key + "_u"], (original / weight).mean())


class SpectralNormStateDictHook:
    """Notes the version in the metadata of a state."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Module, state_dict: Any, prefix: str, local_metadata: dict[str, Any]) -> None:
        noted = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in noted:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        noted[key] = self.fn._version


def spectral_norm(module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> Any:
    """Divide a parameter by its largest singular value from now on."""
    SpectralNorm.apply(module, name, n_power_iterations, output_axis(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Undo `spectral_norm`; the weight keeps its normalised value."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            break
    else:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    for hooks, kind in ((module._state_dict_hooks, SpectralNormStateDictHook),
                        (module._load_state_dict_pre_hooks, SpectralNormLoadStateDictPreHook)):
        for key, hook in hooks.items():
            inner = getattr(hook, "hook", hook)     # load hooks are kept in a wrapper
            if isinstance(inner, kind) and inner.fn.name == name:
                del hooks[key]
                break
    return module
