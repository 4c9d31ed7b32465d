"""`torch.mps` of a machine that has none."""
from claygrad.compat.devices import device_module, legacy_types


def _error() -> Exception:
    return RuntimeError("Cannot execute this without MPS backend.\n  claygrad runs on the CPU")


globals().update(device_module("mps", _error))
globals().update(legacy_types("mps"))
