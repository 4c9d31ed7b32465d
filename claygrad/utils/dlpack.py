"""`torch.utils.dlpack`: tensors handed to other libraries and taken from them, without a copy."""
from claygrad._lazy import lazy
from claygrad.ops.exchange import from_dlpack, to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]

__getattr__ = lazy(__name__)
