"""`torch.backends.mkldnn`: claygrad has its own kernels in its place."""
from __future__ import annotations

from contextlib import AbstractContextManager

from claygrad.backends._flags import Precision, holding, make_flags

enabled: bool
deterministic: bool
fp32_precision: str
allow_tf32: bool | None
matmul = Precision()
conv = Precision()
rnn = Precision()
VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2
make_flags(__name__, enabled=True, deterministic=False, allow_tf32=None, fp32_precision="none")


def is_available() -> bool:
    """No."""
    return False


def flags(enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True,
          fp32_precision: str = "none") -> AbstractContextManager[None]:
    """The flags at these values in a context."""
    return holding(__name__, enabled=enabled, deterministic=deterministic, allow_tf32=allow_tf32,
                   fp32_precision=fp32_precision)


class verbose:
    """There is nothing to report."""

    def __init__(self, level: int) -> None:
        self.level = level

    def __enter__(self) -> verbose:
        return self

    def __exit__(self, *exc: object) -> None:
        pass
