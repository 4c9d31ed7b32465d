"""`torch.cuda.profiler` of a machine without CUDA."""
from contextlib import contextmanager

from claygrad.core.data.device import no_cuda


def start() -> None:
    """Refused: there is nothing to profile."""
    raise no_cuda()


stop = init = start


@contextmanager
def profile():
    """Refused: there is nothing to profile."""
    raise no_cuda()
    yield
