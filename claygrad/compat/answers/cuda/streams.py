"""`torch.cuda.streams`: where PyTorch keeps names of `torch.cuda`."""
from claygrad.compat.answers.cuda import *  # noqa: F403
