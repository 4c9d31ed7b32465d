"""`torch.cuda`, by CuPy (docs/devices.md). Without a GPU questions are answered and uses refused as PyTorch does."""
from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from claygrad._lazy import lazy


def is_available() -> bool:
    """Whether CuPy is installed and finds a GPU."""
    from claygrad.devices import available
    return available("cuda")


def is_initialized() -> bool:
    """Whether a GPU was used."""
    return _surface("is_initialized")() if is_available() else False


def device_count() -> int:
    """How many GPUs there are."""
    return _surface("device_count")() if is_available() else 0


def _surface(name: str) -> Any:
    from claygrad.devices._surface import surface
    if not globals().get("_names"):
        classes = importlib.import_module("claygrad._legacy").CUDA_TYPES         # made of operations, which stand above
        globals()["_names"] = {**classes, **surface("cuda")}
    return globals()["_names"][name]


_lazy_name = lazy(__name__, ("amp",))


def __getattr__(name: str) -> Any:
    if not name.startswith("__") and name != "amp" and is_available():
        try:
            if name == "default_generators":
                return _surface("_generators")()
            return _surface(name)
        except KeyError:
            pass
    return _lazy_name(name)


_OWN = frozenset(globals())


def _forget() -> None:
    """Answer anew: another table was given to this type of device."""
    for name in [name for name, value in globals().items() if name not in _OWN and not isinstance(value, ModuleType)]:
        if name not in ("_OWN", "_forget"):
            del globals()[name]
