"""`torch.distributed.checkpoint.stateful`: objects whose state `save` and `load` ask for."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from claygrad._lazy import lazy

__all__ = ["Stateful"]


@runtime_checkable
class Stateful(Protocol):
    """What has a state: `save` writes what `state_dict` gives, `load` hands `load_state_dict` what was read."""

    def state_dict(self) -> dict[str, Any]:
        """The state."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take it."""


__getattr__ = lazy(__name__)
