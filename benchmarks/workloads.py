"""What is measured. A workload takes the library (claygrad or torch), makes its tensors and returns the call to time.

The targets are claygrad's time as a share of PyTorch's; a workload without one is measured to be known.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

Setup = Callable[[ModuleType], Callable[[], object]]


class Workload(NamedTuple):
    title: str
    target: float | None
    setup: Setup
    group: str                     # the module it stands in: overhead, training, throughput, models
    work: tuple[str, float] | None = None      # ("flops" or "bytes", how many a call): its share of the peak


WORKLOADS: dict[str, Workload] = {}


def workload(title: str, target: float | None = None, *, flops: float = 0,
             moved: float = 0) -> Callable[[Setup], Setup]:
    """`flops` counts additions and multiplications, `moved` the bytes that must be read and written at the least."""
    def register(setup: Setup) -> Setup:
        work = ("flops", flops) if flops else ("bytes", moved) if moved else None
        WORKLOADS[setup.__name__] = Workload(title, target, setup, setup.__module__.rpartition(".")[2], work)
        return setup
    return register


GROUPS = ("overhead", "training", "throughput", "models")


def gather() -> None:
    """Every group registers its workloads when it is imported."""
    for group in GROUPS:
        importlib.import_module(group)
