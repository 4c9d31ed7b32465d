"""Private names of `torch.optim.optimizer` that optimizers of other packages are made of."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import claygrad
from claygrad.core import Tensor
from claygrad.optim.optimizer import Optimizer

ParamsT = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
_group_tensors_by_device_and_dtype = Optimizer._group_tensors_by_device_and_dtype
_params_doc = "params (iterable): parameters, or dicts that define groups of them"
_foreach_doc = "foreach (bool, optional): whether the update works on lists of tensors"
_fused_doc = "fused (bool, optional): whether the update is one loop over each tensor"
_capturable_doc = "capturable (bool, optional): of CUDA alone"
_differentiable_doc = "differentiable (bool, optional): whether the step itself is recorded"
_maximize_doc = "maximize (bool, optional): climb instead of descend"


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """Make a step that is recorded where the optimizer says `differentiable`, and only there."""

    @functools.wraps(func)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        with claygrad.set_grad_enabled(self.defaults["differentiable"]):
            return func(self, *args, **kwargs)

    return step


def _disable_dynamo_if_unsupported(single_tensor_fn: Any = None) -> Callable[[Any], Any]:
    """A decorator that leaves the function as it is: nothing is compiled."""
    return lambda func: func


def _get_value(x: Any) -> Any:
    """A number, also from a tensor of one element."""
    return x.item() if isinstance(x, Tensor) else x


def _stack_if_compiling(x: Any) -> Any:
    """As it is: nothing is compiled."""
    return x


def _default_to_fused_or_foreach(params: Iterable[Tensor | None], differentiable: bool,
                                 use_fused: bool = False) -> tuple[bool, bool]:
    """Whether the fused form, or the one over lists, is to be used. On the CPU lists are off."""
    fused = not differentiable and use_fused and all(p is None or p.is_floating_point() for p in params)
    return fused, False


def _get_scalar_dtype(is_fused: bool | None = None) -> Any:
    """The dtype of counts of steps."""
    if is_fused:
        return claygrad.float32
    return claygrad.float64 if claygrad.get_default_dtype() is claygrad.float64 else claygrad.float32


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """The kinds of devices whose graphs can hold a step."""
    return ["cuda", "xpu", "hpu", *(["xla"] if supports_xla else [])]


def _view_as_real(params: list[Tensor], *state_and_grads: list[Tensor]) -> None:
    """Replace complex tensors in the lists by their real views."""
    for place, p in enumerate(params):
        if claygrad.is_complex(p):
            params[place] = claygrad.view_as_real(p)
            for others in state_and_grads:
                others[place] = claygrad.view_as_real(others[place])


def _to_scalar(x: Any) -> Any:
    """A tensor of one element without dimensions; others as they are."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() != 0 else x


StateDict = dict[str, Any]
DeviceDict = dict[Any, Tensor]
DeviceDtypeDict = dict[Any, Tensor]
_foreach_supported_types = [Tensor, claygrad.nn.Parameter]


def _device_dtype_check_for_fused(p: Tensor, cuda_unsupported: bool = False) -> None:
    """The one loop over a tensor is there for floating point."""
    if not p.is_floating_point():
        raise RuntimeError("`fused=True` requires all the params to be floating point Tensors of supported devices: "
                           f"['mps', 'cuda', 'xpu', 'hpu', 'cpu', 'mtia', "
                           f"'privateuseone'] but {p.dtype} and {p.device.type}")
