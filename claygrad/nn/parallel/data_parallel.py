"""`DataParallel` where there are no GPUs to spread over: a program that wraps its model goes on as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad._lazy import lazy
from claygrad.nn.modules.module import Module

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claygrad.core import device

    Place = int | device

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """A module under the name `module`, as in the states that PyTorch saves on many GPUs. Its calls go straight to it,
    as they do in PyTorch if there is no GPU, whatever devices are named."""

    def __init__(
        self, module: Any, device_ids: Sequence[Place] | None = None, output_device: Place | None = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[int] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Place] | None = None,
    output_device: Place | None = None,
    dim: int = 0,
    module_kwargs: Any = None,
) -> Any:
    """Spread the inputs over GPUs, call `module` on each, gather the results: there are none."""
    raise RuntimeError("device type could not be determined\n  claygrad sees no GPU to spread the inputs over.")


__getattr__ = lazy(__name__)
