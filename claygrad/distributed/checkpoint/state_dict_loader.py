"""`torch.distributed.checkpoint.state_dict_loader`: where PyTorch keeps `load`."""

from claygrad._lazy import lazy
from claygrad.distributed.checkpoint.files import load

__all__ = ["load"]
__getattr__ = lazy(__name__)
