"""`torch.xpu` of a machine that has none."""
from claygrad.compat.devices import device_module, legacy_types


def _error() -> Exception:
    return AssertionError("Torch not compiled with XPU enabled\n  claygrad runs on the CPU")


globals().update(device_module("xpu", _error))
globals().update(legacy_types("xpu"))
