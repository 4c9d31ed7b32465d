"""`torch.signal.windows.windows`: where PyTorch defines the windows."""
from claygrad.signal import windows as itself

__all__ = ["itself"]
