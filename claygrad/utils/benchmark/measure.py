"""What a measurement says: times of a statement, with their middle and spread."""
from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_UNITS = {"ns": ("nanosecond", 1e-9), "us": ("microsecond", 1e-6), "ms": ("millisecond", 1e-3), "s": ("second", 1.0)}


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which a time reads best, and its length in seconds."""
    for name in ("s", "ms", "us"):
        if t >= _UNITS[name][1]:
            return name, _UNITS[name][1]
    return "ns", 1e-9


def unit_to_english(u: str) -> str:
    """The name of a unit."""
    return _UNITS[u][0]


def trim_sigfig(x: float, n: int) -> float:
    """A number with so many digits that count."""
    return float(f"{x:.{n - 1}e}")


@dataclass(frozen=True)
class TaskSpec:
    """What is measured."""

    stmt: str
    setup: str = "pass"
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        return self.stmt if "\n" not in self.stmt else f"stmt: \n{self.stmt}"


@dataclass
class Measurement:
    """The times of a statement: `raw_times` of `number_per_run` runs each."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = field(default=None)

    @property
    def times(self) -> list[float]:
        """Seconds of single runs."""
        return [one / self.number_per_run for one in self.raw_times]

    @property
    def median(self) -> float:
        """The middle of the times."""
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        """The mean of the times."""
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """The distance of the quarters."""
        if len(self.raw_times) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return high - low

    @property
    def has_warnings(self) -> bool:
        """Whether the times are too few or too far apart."""
        return len(self.raw_times) < 4 or self.iqr / self.median > 0.1

    @property
    def significant_figures(self) -> int:
        """How many digits of the median can be trusted."""
        import math
        spread = max(self.iqr, 1e-12) / max(self.median, 1e-12)
        return max(1, min(6, 1 + int(-math.log10(spread)))) if spread < 1 else 1

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "task_spec":
            raise AttributeError(name)
        return getattr(self.task_spec, name)

    @property
    def title(self) -> str:
        """The label, or the statement."""
        return self.task_spec.title

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Measurements of one task as one."""
        groups: dict[TaskSpec, list[Measurement]] = {}
        for one in measurements:
            groups.setdefault(one.task_spec, []).append(one)
        merged = []
        for spec, group in groups.items():
            runs = group[0].number_per_run
            merged.append(Measurement(runs, [time * runs for one in group for time in one.times], spec))
        return merged

    def __repr__(self) -> str:
        unit, scale = select_unit(self.median)
        lines = [f"{type(self).__module__}.Measurement object at {hex(id(self))}", self.title]
        if self.task_spec.description:
            lines.append(self.task_spec.description)
        if self.task_spec.setup != "pass":
            lines.append(f"setup: {self.task_spec.setup}")
        threads = f"{self.task_spec.num_threads} thread{'s' if self.task_spec.num_threads > 1 else ''}"
        if len(self.raw_times) > 1:
            lines.append(f"  Median: {self.median / scale:.2f} {unit}")
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit}")
            lines.append(f"  {len(self.raw_times)} measurements, {self.number_per_run} runs per measurement, {threads}")
        else:
            lines.append(f"  {self.median / scale:.2f} {unit}")
            lines.append(f"  1 measurement, {self.number_per_run} runs , {threads}")
        return "\n".join([f"<{lines[0]}>", *lines[1:]])
