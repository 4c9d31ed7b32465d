"""`torch.cpu.amp.grad_scaler`."""
from claygrad.cpu.amp import GradScaler  # noqa: F401
