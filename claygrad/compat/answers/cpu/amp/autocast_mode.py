"""`torch.cpu.amp.autocast_mode`."""
from claygrad.cpu.amp import *  # noqa: F403
