"""`torch.backends.cudnn`: flags that programs set whether there is a GPU or not."""
from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from claygrad._lazy import lazy
from claygrad.backends._flags import Precision, holding, make_flags

enabled: bool
deterministic: bool
benchmark: bool
allow_tf32: bool
fp32_precision: str
benchmark_limit: int | None = None
conv = Precision()
rnn = Precision()
make_flags(__name__, enabled=True, deterministic=False, benchmark=False, allow_tf32=True, fp32_precision="none")


def version() -> int | None:
    """None: there is no cuDNN."""
    return None


def is_available() -> bool:
    """No."""
    return False


def is_acceptable(tensor: Any) -> bool:
    """No."""
    return False


def flags(enabled: bool = False, benchmark: bool = False, benchmark_limit: int = 10, deterministic: bool = False,
          allow_tf32: bool = True, fp32_precision: str = "none") -> AbstractContextManager[None]:
    """The flags at these values in a context."""
    return holding(__name__, enabled=enabled, benchmark=benchmark, deterministic=deterministic, allow_tf32=allow_tf32,
                   fp32_precision=fp32_precision)

__path__: list[str] = []         # the modules below it have no files
__getattr__ = lazy(__name__)
