"""Mixed precision: `torch.amp`."""
from claygrad.core.cpython.entry_points import guard_package
from claygrad.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from claygrad.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

guard_package(__name__)          # Note [Entry points]
