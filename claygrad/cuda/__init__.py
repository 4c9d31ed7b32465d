"""`torch.cuda` where there is no CUDA: questions are answered, uses are refused as PyTorch's CPU build refuses them."""
from __future__ import annotations

from typing import Any, NoReturn

from claygrad.core.device import no_cuda


def is_available() -> bool:
    return False


def is_initialized() -> bool:
    return False


def device_count() -> int:
    return 0


def manual_seed(seed: int) -> None:
    """Nothing to seed."""


def manual_seed_all(seed: int) -> None:
    """Nothing to seed."""


def empty_cache() -> None:
    """Nothing to empty."""


def memory_allocated(device: Any = None) -> int:
    return 0


def max_memory_allocated(device: Any = None) -> int:
    return 0


def memory_reserved(device: Any = None) -> int:
    return 0


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    raise no_cuda()


current_device = synchronize = get_device_name = get_device_properties = set_device = init = _refuse


class FloatTensor:
    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled.")


class DoubleTensor(FloatTensor):
    pass


class LongTensor(FloatTensor):
    pass


def __getattr__(name: str) -> Any:
    if name == "amp":
        import importlib
        return importlib.import_module("claygrad.cuda.amp")
    raise AttributeError(f"module 'claygrad.cuda' has no attribute '{name}'")
