"""`torch.mtia` of a machine that has none."""
from claygrad.compat.devices import device_module, legacy_types


def _error() -> Exception:
    return RuntimeError("Cannot execute this without MTIA backend.\n  claygrad runs on the CPU")


globals().update(device_module("mtia", _error))
globals().update(legacy_types("mtia"))
