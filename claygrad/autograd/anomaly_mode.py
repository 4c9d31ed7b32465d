"""Anomaly mode: NaN found where it is made, and the forward call that caused an error in backward."""

from __future__ import annotations

from claygrad.core.graph.modes import get_anomaly, set_anomaly
from claygrad.core.user_warnings import warn

__all__ = ["detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "set_detect_anomaly"]


def is_anomaly_enabled() -> bool:
    return get_anomaly()[0]


def is_anomaly_check_nan_enabled() -> bool:
    return get_anomaly()[1]


class detect_anomaly:
    """Inside, every node remembers its forward call, and backward stops at the first NaN (unless `check_nan=False`)."""

    def __init__(self, check_nan: bool = True) -> None:
        self.prev = get_anomaly()
        self.check_nan = check_nan
        warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging."
        )

    def __enter__(self) -> None:
        set_anomaly(True, self.check_nan)

    def __exit__(self, *error: object) -> None:
        set_anomaly(*self.prev)


class set_detect_anomaly:
    """Turns anomaly mode on or off, at once as a plain call; as a context manager until the block ends."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.prev = get_anomaly()
        set_anomaly(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        set_anomaly(*self.prev)
