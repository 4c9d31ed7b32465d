"""`torch.backends.mkl`: products go to OpenBLAS."""
from claygrad.backends.mkldnn import verbose as verbose

VERBOSE_OFF, VERBOSE_ON = 0, 1


def is_available() -> bool:
    """No."""
    return False
