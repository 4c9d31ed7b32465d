"""`torch.cuda.amp.autocast_mode`."""
from claygrad.cuda.amp import *  # noqa: F403
