"""Several modules, each on its own inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad._lazy import lazy
from claygrad.core import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claygrad.nn.modules.module import Module

__all__ = ["get_a_var", "parallel_apply"]


def get_a_var(obj: Any) -> Tensor | None:
    """Some tensor in a structure, the first that is met."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, (list, tuple)):
        return next(filter(lambda x: isinstance(x, Tensor), map(get_a_var, obj)), None)
    if isinstance(obj, dict):
        return next(filter(lambda x: isinstance(x, Tensor), map(get_a_var, obj.items())), None)
    return None


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> list[Any]:
    """What each module gives for its inputs, one after the other: on the CPU every module uses all threads already.

    PyTorch refuses this without a GPU.
    """
    if len(modules) != len(inputs):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of inputs {len(inputs)}")
    named = [{} for _ in modules] if kwargs_tup is None else kwargs_tup
    if len(modules) != len(named):
        raise AssertionError(
            f"The number of modules {len(modules)} is not equal to the number of kwargs_tup {len(named)}"
        )
    if devices is not None and len(modules) != len(devices):
        raise AssertionError(
            f"The number of modules {len(modules)} is not equal to the number of devices {len(devices)}"
        )
    return [
        module(*(x if isinstance(x, (list, tuple)) else (x,)), **more)
        for module, x, more in zip(modules, inputs, named)
    ]


__getattr__ = lazy(__name__)
