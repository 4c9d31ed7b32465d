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
TWINS: dict[str, dict[str, Setup]] = {"numpy": {}, "jax": {}}


def workload(title: str, target: float | None = None, *, flops: float = 0,
             moved: float = 0) -> Callable[[Setup], Setup]:
    """`flops` counts additions and multiplications, `moved` the bytes that must be read and written at the least."""
    def register(setup: Setup) -> Setup:
        work = ("flops", flops) if flops else ("bytes", moved) if moved else None
        WORKLOADS[setup.__name__] = Workload(title, target, setup, setup.__module__.rpartition(".")[2], work)
        return setup
    return register


def twin(setup: Setup) -> Setup:
    """The same work in a library of another kind; `jax_gpt` is the twin of the workload `gpt` for JAX."""
    library, _, name = setup.__name__.partition("_")
    TWINS[library][name] = setup
    return setup


GROUPS = ("overhead", "training", "throughput", "models")
OTHERS = ("others", "others_jax")


def gather() -> None:
    """Every group registers its workloads when it is imported, and so do the twins."""
    for module in GROUPS + OTHERS:
        importlib.import_module(module)
