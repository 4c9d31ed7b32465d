"""`torch.cpu.amp.grad_scaler`."""
from claygrad.amp.old_names import GradScaler  # noqa: F401
