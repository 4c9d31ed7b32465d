"""`torch.utils.data._utils.worker`."""
from claygrad.utils.data.worker import Failure, WorkerInfo, get_worker_info  # noqa: F401
from claygrad.utils.data.worker import numpy_seed as _generate_state  # noqa: F401

MP_STATUS_CHECK_INTERVAL = 5.0       # seconds between two looks whether a process still lives
