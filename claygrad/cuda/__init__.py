"""`torch.cuda` where there is no CUDA: questions are answered, uses are refused as PyTorch's CPU build refuses them."""
from __future__ import annotations

from claygrad._late import late


def is_available() -> bool:
    return False


def is_initialized() -> bool:
    return False


def device_count() -> int:
    return 0


__getattr__ = late(__name__, ("amp",))
