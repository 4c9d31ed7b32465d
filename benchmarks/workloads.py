"""What is measured. A workload takes the library (claygrad or torch), makes its tensors and returns the call to time.

The targets are claygrad's time as a share of PyTorch's; a workload without one is measured only.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import NamedTuple

Setup = Callable[[ModuleType], Callable[[], object]]


class Pass(NamedTuple):
    """A pass over arrays of so many floats: how many are read, how many others are written (negative: those read)."""
    floats: int
    reads: int
    writes: int


class Workload(NamedTuple):
    title: str
    target: float | None
    setup: Setup
    group: str                     # the module it stands in: overhead, training, throughput, models
    flops: float = 0                           # additions and multiplications of a call
    passes: tuple[Pass, ...] = ()              # or the min memory traffic: see floors.cpp


WORKLOADS: dict[str, Workload] = {}
TWINS: dict[str, dict[str, Setup]] = {"numpy": {}, "jax": {}}


def workload(title: str, target: float | None = None, *, flops: float = 0,
             passes: Sequence[tuple[int, int, int]] = ()) -> Callable[[Setup], Setup]:
    """With `flops` or `passes`, its share of the roofline is known."""
    def register(setup: Setup) -> Setup:
        group = setup.__module__.rpartition(".")[2]
        WORKLOADS[setup.__name__] = Workload(title, target, setup, group, flops, tuple(Pass(*one) for one in passes))
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
