"""What a measurement says: times of a statement, with their middle and spread."""
from __future__ import annotations

import contextlib
import math
import textwrap
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from claygrad.core import get_num_threads, set_num_threads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_UNITS = {"ns": ("nanosecond", 1e-9), "us": ("microsecond", 1e-6), "ms": ("millisecond", 1e-3), "s": ("second", 1.0)}
_SPREAD, _WIDE_SPREAD = 0.1, 0.25           # interquartile range over the median, above which a measurement warns
_MOST_FIGURES = 4
_LEAST_INTERVAL = 25e-9                     # seconds; a clock tells no less


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which a time reads best, and its length in seconds."""
    power = math.log10(np.float32(t)) // 3 if t > 0 else 0
    unit = {-3: "ns", -2: "us", -1: "ms"}.get(int(power), "s")
    return unit, _UNITS[unit][1]


def unit_to_english(u: str) -> str:
    """The name of a unit."""
    return _UNITS[u][0]


def trim_sigfig(x: float, n: int) -> float:
    """A number with so many digits that count."""
    if n != int(n):
        raise AssertionError("Number of significant figures must be an integer")
    scale = 10.0 ** (digits_before_point(x) - n)
    return float(np.float32(x / scale).round() * np.float32(scale))


def digits_before_point(x: float) -> int:
    return math.ceil(float(np.log10(np.float32(abs(x)))))


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """Each element once, in the order of their first coming."""
    return list(dict.fromkeys(elements))


@contextlib.contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Another number of threads inside the block."""
    former = get_num_threads()
    try:
        set_num_threads(n)
        yield
    finally:
        set_num_threads(former)


@dataclass(repr=False, frozen=True)
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
        sub = self.sub_label or ""
        if self.label is None and "\n" in self.stmt:
            return f"stmt:{f' ({sub})' if sub else ''}\n{textwrap.indent(self.stmt, '  ')}"
        return (self.stmt if self.label is None else self.label) + (f": {sub}" if sub else "")

    def setup_str(self) -> str:
        """The setup, if there is one."""
        if self.setup in ("", "pass"):
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Title, description and setup, a line each or a paragraph."""
        parts = [part for part in (self.title, self.description or "", self.setup_str()) if part]
        return "\n".join(f"{part}\n" if "\n" in part else part for part in parts)


_OF_TASK = tuple(one.name for one in fields(TaskSpec))


@dataclass(repr=False)
class Measurement:
    """The times of a statement: `raw_times` of `number_per_run` runs each."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in _OF_TASK:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'Measurement' object has no attribute '{name}'", name=name, obj=self)

    @property
    def times(self) -> list[float]:
        """Seconds of single runs."""
        return [one / self.number_per_run for one in self.raw_times]

    def _at(self, part: float) -> float:
        return float(np.quantile(self.times, part)) if self.raw_times else -1.0

    @property
    def median(self) -> float:
        """The middle of the times."""
        return self._at(0.5)

    @property
    def mean(self) -> float:
        """The mean of the times."""
        return float(np.mean(self.times)) if self.raw_times else -1.0

    @property
    def iqr(self) -> float:
        """The distance of the quarters."""
        return self._at(0.75) - self._at(0.25)

    @property
    def significant_figures(self) -> int:
        """How many digits of the median can be trusted, by the spread of the middle half of the times."""
        times = sorted(self.times)
        middle = np.array(times[len(times) // 4:math.ceil(3 * len(times) / 4)], dtype=np.float32)
        interval = max(1.645 * float(middle.std()) / math.sqrt(len(middle)), _LEAST_INTERVAL)
        return min(max(math.floor(np.log10(np.float32(self.median / interval))), 1), _MOST_FIGURES)

    def meets_confidence(self, threshold: float = _SPREAD) -> bool:
        """Whether the quarters are nearer than this share of the median."""
        return self.iqr / self.median < threshold

    @property
    def _warning(self) -> str:
        if not self.raw_times or self.meets_confidence(_SPREAD):
            return ""
        why = ("This could indicate system fluctuation." if self.meets_confidence(_WIDE_SPREAD)
               else "This suggests significant environmental influence.")
        return (f"  WARNING: Interquartile range is {self.iqr / self.median * 100:.1f}% of the median measurement.\n"
                f"           {why}")

    @property
    def has_warnings(self) -> bool:
        """Whether the times are too far apart."""
        return bool(self._warning)

    @property
    def title(self) -> str:
        """The label, or the statement."""
        return self.task_spec.title

    @property
    def env(self) -> str | None:
        """The environment that the task names."""
        return self.task_spec.env

    @property
    def as_row_name(self) -> str:
        """The name of the row in a table."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Measurements of one task as one, of single runs."""
        groups: dict[TaskSpec, list[float]] = {}
        for one in measurements:
            groups.setdefault(one.task_spec, []).extend(one.times)
        return [Measurement(1, times, spec) for spec, times in groups.items()]

    def __repr__(self) -> str:
        unit, scale = select_unit(self.median)
        count, threads = len(self.raw_times), self.task_spec.num_threads
        lines = [object.__repr__(self), self.task_spec.summarize(),
                 f"  {'Median: ' if count > 1 else ''}{self.median / scale:.2f} {unit}"]
        if count >= 4:
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({self._at(0.25) / scale:.2f} to "
                         f"{self._at(0.75) / scale:.2f})")
        lines.append(f"  {count} measurement{'s' if count > 1 else ''}, {self.number_per_run} runs "
                     f"{'per measurement,' if count > 1 else ','} {threads} thread{'s' if threads > 1 else ''}")
        return "\n".join([*lines, self._warning] if self._warning else lines)
