"""Private names of `torch.nn.modules.activation`: what decides whether attention may run as one operation."""
from __future__ import annotations

from claygrad.compat.refusing import always
from claygrad.core import Tensor

_is_make_fx_tracing = always(False)


def _check_arg_device(x: Tensor | None) -> bool:
    """Whether a tensor is where such an operation is."""
    return x is None or x.device.type in ("cpu", "cuda")


def _arg_requires_grad(x: Tensor | None) -> bool:
    """Whether a tensor requires gradients."""
    return x is not None and x.requires_grad
