"""Charts: a table of a page as bars, drawn in SVG with the page's own colours.

A table is drawn if a line before it says so, and stays below its chart for those who want the numbers:

    <!-- chart: share ratio; Time as a share of PyTorch's -->
    | workload | torch | claygrad | ratio |
    ...

The columns named are drawn, as bars beside each other. Cells are numbers: "3,229", "1.8 µs", "2.0%". With the word
`share` the numbers are shares of PyTorch's, whose bar is drawn behind, up to 1. Another page shows the same chart,
without the table, by its title:

    <!-- chart of benchmarks.md: Time as a share of PyTorch's -->
"""

from __future__ import annotations

import html
import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"

MARK = re.compile(r"^<!-- chart: (?P<share>share )?(?P<columns>[^;]+); (?P<title>.+?) -->\n(?P<table>(?:\|.*\n)+)",
                  re.MULTILINE)
OTHER_PAGE = re.compile(r"^<!-- chart of (?P<page>[\w-]+\.md): (?P<title>.+?) -->$", re.MULTILINE)
UNITS = {"": 1.0, "%": 0.01, "ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "KB": 1e3, "MB": 1e6}
BARS, NUMBERS, LABEL, BAR, GAP = 400, 60, 17, 14, 9      # widths and heights, in the picture's own units


def drawn(text: str) -> str:
    """The page with a chart above every table that asks for one, and the charts of other pages that it asks for."""
    text = OTHER_PAGE.sub(lambda match: chart(marked(match["page"], match["title"])), text)
    return MARK.sub(lambda match: f"{chart(match)}\n\n{match['table']}", text)


def marked(page: str, title: str) -> re.Match[str]:
    """The table of another page that is drawn under this title."""
    found = [match for match in MARK.finditer((DOCS / page).read_text()) if match["title"] == title]
    if len(found) != 1:
        raise ValueError(f"{page} has {len(found)} charts with the title {title!r}")
    return found[0]


def value(cell: str) -> float:
    number, unit = re.fullmatch(r"([\d.,]+)\s*([^\d\s]*)", cell.strip()).groups()        # type: ignore[union-attr]
    return float(number.replace(",", "")) * UNITS[unit]


def plain(cell: str) -> str:
    return cell.strip().replace("`", "").replace("\\|", "|")


def chart(match: re.Match[str]) -> str:
    lines = [re.split(r"(?<!\\)\|", line.strip().strip("|")) for line in match["table"].strip().splitlines()]
    head, rows = [plain(cell) for cell in lines[0]], lines[2:]
    columns = [head.index(name.strip()) for name in match["columns"].split(",")]
    values = [[value(row[column]) for column in columns] for row in rows]
    full = 1.0 if match["share"] else max(map(max, values))
    names = ["claygrad", "PyTorch: 1"] if match["share"] else [head[column] for column in columns] * (len(columns) > 1)
    step = LABEL + BAR * len(columns) + GAP
    top = 30 if names else 4
    title = html.escape(match["title"])
    box = f"0 0 {BARS + NUMBERS} {top + step * len(rows)}"
    parts = [f'<svg class="chart" viewBox="{box}" role="img" aria-label="{title}">']
    for place, name in enumerate(names):
        x = 110 * place
        parts += [f'<rect class="bar-{place}" x="{x}" y="2" width="12" height="12" rx="2"/>',
                  f'<text x="{x + 18}" y="13">{html.escape(name)}</text>']
    for number, (row, of_row) in enumerate(zip(rows, values)):
        y = top + step * number
        label = html.escape(plain(row[0]))
        parts.append(f'<text x="0" y="{y + LABEL - 5}">{label}</text>')          # above its bars: fits a narrow screen
        for place, (column, size) in enumerate(zip(columns, of_row)):
            wide, at = max(BARS * size / full, 1), y + LABEL + BAR * place
            if match["share"]:
                parts.append(f'<rect class="bar-1" x="0" y="{at}" width="{BARS}" height="{BAR - 2}" rx="2"/>')
            end = (BARS if match["share"] else wide) + 6
            parts += [f'<rect class="bar-{place}" x="0" y="{at}" width="{wide:.1f}" height="{BAR - 2}" rx="2"/>',
                      f'<text class="number" x="{end:.1f}" y="{at + BAR - 4}">{plain(row[column])}</text>']
    return f'<figure class="chart">{"".join(parts)}</svg><figcaption>{title}</figcaption></figure>'
