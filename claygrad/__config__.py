"""What the library was built with, as text: `torch.__config__`."""
from __future__ import annotations

import os

from claygrad.core import get_num_threads
from claygrad.core.python_api import instruction_set
from claygrad.version import TORCH_VERSION, __version__

__all__ = ["parallel_info", "show"]


def show() -> str:
    """The versions and the processor's instruction set."""
    return (f"claygrad {__version__} built with:\n  - OpenBLAS\n  - CPU capability usage: {instruction_set()}\n"
            f"  - Build settings: TORCH_VERSION={TORCH_VERSION}, USE_CUDA=0, USE_MKL=OFF, USE_MKLDNN=OFF, \n")


def parallel_info() -> str:
    """The number of threads, and the settings of the environment that it comes from."""
    asked = "".join(f"\t{name} : {os.environ.get(name, '[not set]')}\n"
                    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"))
    return (f"ATen/Parallel:\n\tat::get_num_threads() : {get_num_threads()}\n"
            f"std::thread::hardware_concurrency() : {os.cpu_count()}\nEnvironment variables:\n{asked}"
            "ATen parallel backend: native thread pool\n")


def _cxx_flags() -> str:
    """Nothing to tell: the parts in C++ are built for several instruction sets, each with its own flags."""
    return ""
