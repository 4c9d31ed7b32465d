"""Gradients kept within bounds: of their common norm, or of each value."""
from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

from claygrad.autograd import no_grad
from claygrad.core import Tensor
from claygrad.core.user_warnings import warn
from claygrad.native import clip_grad as native
from claygrad.ops._registry import NAMESPACES

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_"]

_ops: dict[str, Any] = NAMESPACES["torch"]
_norm: Any = NAMESPACES["linalg"]["vector_norm"]
over_ranks: Any = None                 # of `distributed.fsdp`: the norm of parameters of which every rank has a part


def _listed(tensors: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _check_foreach(tensors: list[Tensor], foreach: bool | None) -> None:
    # One call for all tensors gives the same numbers as one after the other, so there is nothing to choose but this.
    if foreach:
        for tensor in tensors:
            if tensor.is_meta:
                raise RuntimeError("foreach=True was passed, but can't use the foreach API on meta tensors")


def _get_total_norm(tensors: Tensor | Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False,
                    foreach: bool | None = None) -> Tensor:
    """The norm of all elements of all tensors together.

    >>> claygrad.nn.utils.get_total_norm([claygrad.tensor([3.0]), claygrad.tensor([4.0])])
    tensor(5.)
    """
    tensors = _listed(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return _ops["tensor"](0.0)
    _check_foreach(tensors, foreach)
    total = native.total_norm(tensors, norm_type)
    if total is None:
        total = _norm_of_norms(tensors, norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it "
                           "cannot be clipped. To disable this error and scale the gradients by the non-finite norm "
                           "anyway, set `error_if_nonfinite=False`")
    return total


def _norm_of_norms(tensors: list[Tensor], norm_type: float) -> Tensor:
    with no_grad():
        where = tensors[0].device
        norms = [_norm(tensor, norm_type).to(where) for tensor in tensors]
        total: Tensor = norms[0] if len(norms) == 1 else _norm(_ops["stack"](norms), norm_type)
    return total


def _clip_grads_with_norm_(parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor,
                           foreach: bool | None = None) -> None:
    """Scale the gradients of parameters, whose common norm is known, so that it becomes `max_norm` at most."""
    grads = [p.grad for p in _listed(parameters) if p.grad is not None]
    max_norm = float(max_norm)
    if not grads:
        return
    _check_foreach(grads, foreach)
    if native.scale_to_norm(grads, total_norm, max_norm):
        return
    with no_grad():
        # Without asking whether it is needed: multiplying by 1 is cheaper than waiting for the norm.
        factor = (max_norm / (total_norm + 1e-6)).clamp(max=1.0)
        for grad in grads:
            grad.mul_(factor.to(grad.device))


def clip_grad_norm_(parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0,
                    error_if_nonfinite: bool = False, foreach: bool | None = None) -> Tensor:
    """Scale the gradients of parameters in place, so that their common norm is `max_norm` at most; what it was.

    >>> w = claygrad.zeros(2, requires_grad=True)
    >>> w.grad = claygrad.tensor([3.0, 4.0])
    >>> claygrad.nn.utils.clip_grad_norm_(w, 1.0), w.grad
    (tensor(5.), tensor([0.6000, 0.8000]))
    """
    listed = _listed(parameters)
    if not listed and isinstance(parameters, types.GeneratorType):
        warn("`parameters` is an empty generator, no gradient clipping will occur.")
    grads = [p.grad for p in listed if p.grad is not None]
    total = None if over_ranks is None else over_ranks(listed, float(norm_type), error_if_nonfinite)
    if total is None:
        total = _get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
    _clip_grads_with_norm_(listed, max_norm, total, foreach)
    return total


def clip_grad_norm(parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0,
                   error_if_nonfinite: bool = False, foreach: bool | None = None) -> Tensor:
    """Deprecated name of `clip_grad_norm_`."""
    warn("`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
         FutureWarning)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Bring every element of the gradients between -clip_value and clip_value, in place."""
    clip_value = float(clip_value)
    grads = [p.grad for p in _listed(parameters) if p.grad is not None]
    _check_foreach(grads, foreach)
    if native.limit(grads, clip_value):
        return
    with no_grad():
        for grad in grads:
            grad.clamp_(min=-clip_value, max=clip_value)
