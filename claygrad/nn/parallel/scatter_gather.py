"""Inputs to several devices and results from them, as PyTorch does on a machine without any: tensors are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from claygrad._lazy import lazy
from claygrad.core import Tensor
from claygrad.core import device as device_class

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["gather", "scatter", "scatter_kwargs"]

_NO_DEVICE = "\n  claygrad sees no GPU;\n  instead: call the module itself, or share the work with joblib or Dask"


def is_namedtuple(obj: Any) -> bool:
    """Whether something is a named tuple."""
    return isinstance(obj, tuple) and hasattr(obj, "_asdict") and hasattr(obj, "_fields")


_is_namedtuple = is_namedtuple


def no_device(place: Any) -> NoReturn:
    """Refuse to move something there."""
    kind = device_class(place) if isinstance(place, str) else place
    if isinstance(kind, device_class) and kind.type == "cpu":
        raise ValueError(f"Expected a non cpu device, but got: {kind}{_NO_DEVICE}")
    raise AssertionError(f"Torch not compiled with CUDA enabled{_NO_DEVICE}")


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> Any:
    """Tensors in parts, one for each device; what is no tensor is repeated."""
    if isinstance(inputs, Tensor):
        no_device(target_gpus[0])
    if is_namedtuple(inputs):
        return [type(inputs)(*args) for args in zip(*(scatter(x, target_gpus, dim) for x in inputs))]
    if isinstance(inputs, tuple) and inputs:
        return list(zip(*(scatter(x, target_gpus, dim) for x in inputs)))
    if isinstance(inputs, list) and inputs:
        return [list(part) for part in zip(*(scatter(x, target_gpus, dim) for x in inputs))]
    if isinstance(inputs, dict) and inputs:
        return [type(inputs)(part) for part in zip(*(scatter(x, target_gpus, dim) for x in inputs.items()))]
    return [inputs for _ in target_gpus]


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Positional and named inputs, as many of each."""
    positional = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    positional += [() for _ in range(len(named) - len(positional))]
    named += [{} for _ in range(len(positional) - len(named))]
    return tuple(positional), tuple(named)


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """Results of several devices on one."""
    first = outputs[0]
    if isinstance(first, Tensor):
        raise AssertionError("Gather function not implemented for CPU tensors" + _NO_DEVICE)
    if first is None:
        return None
    if isinstance(first, dict):
        if not all(len(first) == len(other) for other in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((key, gather([other[key] for other in outputs], target_device, dim)) for key in first)
    parts = (gather(part, target_device, dim) for part in zip(*outputs))
    return type(first)._make(parts) if is_namedtuple(first) else type(first)(parts)


__getattr__ = lazy(__name__)
