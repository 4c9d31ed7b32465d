"""`torch.distributed.checkpoint.state_dict_saver`: where PyTorch keeps `save`."""

from claygrad._lazy import lazy
from claygrad.distributed.checkpoint.files import AsyncCheckpointerType, async_save, save

__all__ = ["AsyncCheckpointerType", "async_save", "save"]
__getattr__ = lazy(__name__)
