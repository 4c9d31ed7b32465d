"""`torch.utils.tensorboard.writer`."""
from claygrad.utils.tensorboard import SummaryWriter  # noqa: F401
