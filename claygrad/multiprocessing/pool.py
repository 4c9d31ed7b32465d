"""A pool of processes: Python's own, whose pipes carry tensors in shared memory."""
from multiprocessing.pool import Pool, ThreadPool

__all__ = ["Pool", "ThreadPool"]
