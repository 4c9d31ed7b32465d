"""`torch.utils.benchmark.Compare`: measurements side by side in a table."""
from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from claygrad.utils.benchmark.measure import (
    Measurement,
    digits_before_point,
    ordered_unique,
    select_unit,
    trim_sigfig,
    unit_to_english,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

_BEST, _GOOD, _BAD, _VERY_BAD = "\033[92m", "\033[34m", "\033[2m\033[91m", "\033[31m"
_BOLD, _END = "\033[1m", "\033[0m"


class Colorize(enum.Enum):
    """Within what the best time is looked for."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


def _painted(text: str, value: float, best: float) -> str:
    """A time in the colour of its distance from the best one."""
    if value <= best * 1.01 or value <= best + 100e-9:
        return _BEST + _BOLD + text + _END * 2
    if value <= best * 1.1:
        return _GOOD + _BOLD + text + _END * 2
    if value >= best * 5:
        return _VERY_BAD + _BOLD + text + _END * 2
    return _BAD + text + _END * 2 if value >= best * 2 else text


class _Column:
    """The times under one description, all written with the same number of digits."""

    def __init__(self, found: list[Measurement], scale: float, trim: bool, marked: bool) -> None:
        self.scale, self.trim = scale, trim
        self.marked = marked and any(one.has_warnings for one in found)
        before = [digits_before_point(one.median / scale) for one in found]
        self.after = min(max(one.significant_figures - digits, 0)
                         for digits, one in zip(before, found, strict=True)) if trim else 1
        self.width = max(before) + self.after + bool(self.after)

    def text(self, one: Measurement | None) -> str:
        """A time as it stands in the table; as many spaces where there is none."""
        if one is None:
            return " " * len(self._written(1.0, ""))
        value = one.median / self.scale
        if self.trim:
            value = trim_sigfig(value, one.significant_figures)
        spread = f" (! {one.iqr / one.median * 100:.0f}%)" if self.marked and one.has_warnings else ""
        return self._written(value, spread)

    def _written(self, value: float, spread: str) -> str:
        return f"{value:>{self.width}.{self.after}f}{spread:>{7 if self.marked else 0}}"


class Table:
    """The measurements of one label: a row for each sub-label, a column for each description."""

    def __init__(self, results: list[Measurement], colorize: Colorize, trim_significant_figures: bool,
                 highlight_warnings: bool) -> None:
        if len({one.task_spec.label for one in results}) != 1:
            raise AssertionError("All results must share the same label")
        self.results, self.label = results, results[0].task_spec.label
        self._colorize, self._marked = colorize, highlight_warnings
        self.time_unit, self.time_scale = select_unit(min(one.median for one in results))
        self.row_keys = ordered_unique(self.row_fn(one) for one in results)
        self.row_keys.sort(key=lambda key: (key[0], key[1] or ""))
        self.column_keys = ordered_unique(self.col_fn(one) for one in results)
        self._cells = {(self.row_fn(one), self.col_fn(one)): one for one in results}
        self._columns = {key: _Column([one for (_, under), one in self._cells.items() if under == key], self.time_scale,
                                      trim_significant_figures, highlight_warnings) for key in self.column_keys}

    @staticmethod
    def row_fn(m: Measurement) -> tuple[int, str | None, str]:
        """What makes a row: threads, environment, name."""
        return m.task_spec.num_threads, m.env, m.as_row_name

    @staticmethod
    def col_fn(m: Measurement) -> str | None:
        """What makes a column."""
        return m.task_spec.description

    def _names(self) -> list[str]:
        """The first column: the environment where there are several, and the name."""
        several = {one.env for one in self.results}
        width = max(len(str(env)) for env in several) if len(several) > 1 else 0
        names, before = [], (-1, "")
        for threads, env, name in self.row_keys:
            shown = f"({env})" if width and before != (threads, env) else ""
            names.append(f"  {shown.ljust(width + 4)}{name}")
            before = (threads, env)
        return names

    def _best(self, row: tuple[int, str | None, str], column: str | None) -> float:
        return min(one.median for (at, under), one in self._cells.items()
                   if (at == row if self._colorize is Colorize.ROWWISE else at[0] == row[0] and under == column))

    def render(self) -> str:
        """The table as text."""
        names = self._names()
        found = [[self._cells.get((row, column)) for column in self.column_keys] for row in self.row_keys]
        texts = [[self._columns[key].text(one) for key, one in zip(self.column_keys, line, strict=True)]
                 for line in found]
        heads = ["" if key is None else key for key in self.column_keys]
        widths = [max(map(len, each)) for each in zip(heads, *texts, strict=True)]
        first = max(map(len, names))
        lines = ["  |  ".join([" " * first, *(head.center(width) for head, width in zip(heads, widths, strict=True))])]
        whole, threads = len(lines[0]), None
        for row, name, line, line_texts in zip(self.row_keys, names, found, texts, strict=True):
            if row[0] != threads:
                threads = row[0]
                lines.append(f"{threads} threads: ".ljust(whole, "-"))
            parts = [name.ljust(first)]
            for key, one, text, width in zip(self.column_keys, line, line_texts, widths, strict=True):
                shown = text.center(width)
                if self._colorize is not Colorize.NONE and one is not None:
                    shown = _painted(shown, one.median, self._best(row, key))
                parts.append(shown)
            lines.append("  |  ".join(parts))
        said = f"\nTimes are in {unit_to_english(self.time_unit)}s ({self.time_unit}).\n"
        if self._marked and any(one.has_warnings for one in self.results):
            said += "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n"
        return "\n".join([f"[{f' {self.label or str()} '.center(whole - 2, '-')}]", *lines, said])


class Compare:
    """A table of measurements: a row for each sub-label, a column for each description."""

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._trim_significant_figures = self._highlight_warnings = False
        self._colorize = Colorize.NONE
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """More measurements."""
        results = list(results)
        for one in results:
            if not isinstance(one, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(one)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Leave out digits that say nothing."""
        self._trim_significant_figures = True

    def colorize(self, rowwise: bool = False) -> None:
        """Paint each time by its distance from the best one of its column, or row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Mark times that are too far apart, with their spread."""
        self._highlight_warnings = True

    def print(self) -> None:
        """Print the tables."""
        print(str(self))

    def __str__(self) -> str:
        groups: dict[str | None, list[Measurement]] = {}
        for one in Measurement.merge(self._results):
            groups.setdefault(one.task_spec.label, []).append(one)
        return "\n".join(Table(group, self._colorize, self._trim_significant_figures, self._highlight_warnings).render()
                         for group in groups.values())
