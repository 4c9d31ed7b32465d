"""`torch.utils.data._utils.worker`: the module of claygrad's workers itself."""
from claygrad.compat.answers._utils import ExceptionWrapper
from claygrad.utils.data import worker as itself
from claygrad.utils.data.worker import Failure

__all__ = ["HAS_NUMPY", "MP_STATUS_CHECK_INTERVAL", "ExceptionWrapper", "Failure", "itself"]

HAS_NUMPY = True
MP_STATUS_CHECK_INTERVAL = 5.0       # seconds between two looks whether a process still lives
