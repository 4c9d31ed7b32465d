"""`torch.cuda.amp.common`."""
from claygrad.amp.old_names import amp_definitely_not_available  # noqa: F401
