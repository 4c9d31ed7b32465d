"""`torch.cuda.amp.grad_scaler`."""
from claygrad.cuda.amp import GradScaler  # noqa: F401
