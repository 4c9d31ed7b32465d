"""Charts: a table of a page as bars, drawn in SVG with the page's own colours.

A table is drawn if a line before it says so, and stays below its chart for those who want the numbers:

    <!-- chart: torch, claygrad; the title of the chart -->
    | workload | torch | claygrad | ratio |
    ...

The columns named are drawn, as bars beside each other. Cells are times ("1.8 µs") or plain numbers ("3,229"). With the
word `log` before the columns the axis is logarithmic.
"""

from __future__ import annotations

import html
import math
import re

MARK = re.compile(r"^<!-- chart: (?P<log>log )?(?P<columns>[^;]+); (?P<title>.+?) -->\n(?P<table>(?:\|.*\n)+)",
                  re.MULTILINE)
UNITS = {"": 1.0, "ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "KB": 1e3, "MB": 1e6}
LABELS, BARS, ROW, BAR = 250, 360, 40, 14        # widths and heights, in the picture's own units


def drawn(text: str) -> str:
    """The page with a chart above every table that asks for one."""
    return MARK.sub(lambda match: f"{chart(match)}\n\n{match['table']}", text)


def value(cell: str) -> float:
    number, unit = re.fullmatch(r"([\d.,]+)\s*([^\d\s]*)", cell.strip()).groups()        # type: ignore[union-attr]
    return float(number.replace(",", "")) * UNITS[unit]


def plain(cell: str) -> str:
    return cell.strip().replace("`", "").replace("\\|", "|")


def chart(match: re.Match[str]) -> str:
    lines = [line.strip().strip("|").split("|") for line in match["table"].strip().splitlines()]
    head, rows = [plain(cell) for cell in lines[0]], lines[2:]
    columns = [head.index(name.strip()) for name in match["columns"].split(",")]
    values = [[value(row[column]) for column in columns] for row in rows]
    largest, smallest = max(map(max, values)), min(map(min, values))

    def width(number: float) -> float:
        if not match["log"]:
            return BARS * number / largest
        lowest = math.floor(math.log10(smallest))
        return BARS * (math.log10(number) - lowest) / (math.log10(largest) - lowest)

    step = max(ROW, BAR * len(columns) + 12)
    height = step * len(rows) + 34
    title = html.escape(match["title"])
    parts = [f'<svg class="chart" viewBox="0 0 {LABELS + BARS + 90} {height}" role="img" aria-label="{title}">']
    for place, column in enumerate(columns):
        x = LABELS + 110 * place
        parts.append(f'<rect class="bar-{place}" x="{x}" y="4" width="12" height="12" rx="2"/>'
                     f'<text x="{x + 18}" y="15">{html.escape(head[column])}</text>')
    for number, (row, of_row) in enumerate(zip(rows, values)):
        top = 34 + step * number
        middle = top + BAR * len(columns) / 2
        parts.append(f'<text class="label" x="{LABELS - 10}" y="{middle + 4}">{html.escape(plain(row[0]))}</text>')
        for place, (column, size) in enumerate(zip(columns, of_row)):
            y = top + BAR * place
            wide, words = max(width(size), 1), plain(row[column])
            parts += [f'<rect class="bar-{place}" x="{LABELS}" y="{y}" width="{wide:.1f}" height="{BAR - 2}" rx="2"/>',
                      f'<text class="number" x="{LABELS + wide + 6:.1f}" y="{y + BAR - 4}">{words}</text>']
    return f'<figure class="chart">{"".join(parts)}</svg><figcaption>{title}</figcaption></figure>'
