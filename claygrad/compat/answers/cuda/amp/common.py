"""`torch.cuda.amp.common`."""
from claygrad.cuda.amp import amp_definitely_not_available  # noqa: F401
