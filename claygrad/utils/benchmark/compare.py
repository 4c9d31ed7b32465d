"""`torch.utils.benchmark.Compare`: measurements side by side in a table."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.utils.benchmark.measure import Measurement, select_unit, trim_sigfig, unit_to_english

if TYPE_CHECKING:
    from collections.abc import Iterable


class Compare:
    """A table of measurements: a row for each sub-label, a column for each description."""

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._trim = self._marked = False
        self._green = ""
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """More measurements."""
        for one in results:
            if not isinstance(one, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, {type(one)} instead.")
            self._results.append(one)

    def trim_significant_figures(self) -> None:
        """Leave out digits that say nothing."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Print the least time of each column, or row, in green."""
        self._green = "row" if rowwise else "column"

    def highlight_warnings(self) -> None:
        """Mark times that are too few or too far apart with an exclamation mark."""
        self._marked = True

    def print(self) -> None:
        """Print the table."""
        print(str(self))

    def __str__(self) -> str:
        merged = Measurement.merge(self._results)
        unit, scale = select_unit(min((one.median for one in merged), default=1.0))
        blocks = []
        for label in dict.fromkeys(one.task_spec.label or one.task_spec.stmt for one in merged):
            group = [one for one in merged if (one.task_spec.label or one.task_spec.stmt) == label]
            columns = list(dict.fromkeys(one.task_spec.description or "" for one in group))
            keys = list(dict.fromkeys((one.task_spec.num_threads,
                                       one.task_spec.sub_label or one.task_spec.stmt) for one in group))
            cells = {key: [self._cell(group, key, column, scale) for column in columns] for key in keys}
            rows = [["", *columns], *([f"{threads} threads: {name}", *cells[threads, name]] for threads, name in keys)]
            widths = [max(len(row[i]) for row in rows) for i in range(len(columns) + 1)]
            lines = ["  |  ".join(self._painted(rows, i, j, widths[j]) for j in range(len(row)))
                     for i, row in enumerate(rows)]
            blocks.append("\n".join([f"[{f' {label} ':-^{max(len(lines[0]) - 2, 4)}}]", *lines]))
        return "\n".join(blocks) + f"\n\nTimes are in {unit_to_english(unit)}s ({unit}).\n"

    def _cell(self, group: list[Measurement], key: tuple[int, str], column: str, scale: float) -> str:
        """The time of a row and column as text."""
        for one in group:
            spec = one.task_spec
            if (spec.num_threads, spec.sub_label or spec.stmt) == key and (spec.description or "") == column:
                mark = "!" if self._marked and one.has_warnings else ""
                value = one.median / scale
                return (f"{trim_sigfig(value, one.significant_figures):g}" if self._trim else f"{value:.1f}") + mark
        return ""

    def _painted(self, rows: list[list[str]], i: int, j: int, width: int) -> str:
        """A cell at its width, in green if it is the least of its column or row."""
        text = rows[i][j].rjust(width) if j else rows[i][j].ljust(width)
        if not self._green or not i or not j or not rows[i][j]:
            return text
        others = [rows[i][k] for k in range(1, len(rows[i]))] if self._green == "row" else [row[j] for row in rows[1:]]
        least = min(float(one.rstrip("!")) for one in others if one)
        return f"\033[92m{text}\033[0m" if float(rows[i][j].rstrip("!")) == least and len(others) > 1 else text
