"""Tables, a chart and the summary in docs/benchmarks.md of what `run.py` measured."""

from __future__ import annotations

import math
import platform
import re
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from workloads import WORKLOADS

IMPORT_TARGET = 0.15
MEMORY_TARGET = 0.9
TITLES = {"claygrad": "claygrad", "torch": "torch", "jax": "JAX", "numpy": "NumPy", "compile": "torch.compile"}

Measures = dict[str, dict[str, float]]          # {library: {workload: seconds or bytes}}


def duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.0f} ns"


def megabytes(size: float) -> str:
    return f"{size / 1e6:.1f} MB"


def count_of_threads(threads: int) -> str:
    return "one thread" if threads == 1 else f"{threads} threads"


def ratio_of(measures: Measures, name: str) -> float:
    return measures["claygrad"][name] / measures["torch"][name]


def target_of(name: str, memory: bool = False) -> float | None:
    return MEMORY_TARGET if memory else WORKLOADS[name].target


def verdict(ratio: float, target: float | None) -> str:
    return "" if target is None else f"{target:.2f}" + ("" if round(ratio, 2) <= target else " missed")


def min_seconds(name: str, roofline: dict | None) -> float | None:
    """The shortest possible time of a workload: of its arithmetic at the peak rate, or of loops that only move its
    memory."""
    if roofline is None:
        return None
    return WORKLOADS[name].flops / roofline["flops"] if WORKLOADS[name].flops else roofline["seconds"].get(name)


def table(measures: Measures, roofline: dict | None = None, *, memory: bool = False) -> list[str]:
    """A row for each workload. Empty columns are left out."""
    written = megabytes if memory else duration
    columns: dict[str, list[str]] = {"workload": []} | {TITLES[library]: [] for library in measures}
    columns |= {"ratio": [], "target": [], "of the roofline": [], "at the roofline": []}
    for name, seconds in measures["claygrad"].items():
        columns["workload"].append(WORKLOADS[name].title)
        for library, of in measures.items():
            columns[TITLES[library]].append(written(of[name]) if name in of else "")
        ratio = ratio_of(measures, name)
        columns["ratio"].append(f"{ratio:.2f}")
        columns["target"].append(verdict(ratio, target_of(name, memory)))
        smallest, unit = min_seconds(name, roofline), "FLOP/s" if WORKLOADS[name].flops else "bytes/s"
        columns["of the roofline"].append("" if smallest is None else f"{smallest / seconds:.0%} of {unit}")
        columns["at the roofline"].append("" if smallest is None else f"{smallest / measures['torch'][name]:.2f}")
    columns = {title: cells for title, cells in columns.items() if any(cells)}
    rows = [f"| {' | '.join(columns)} |", "|---|" + "--:|" * (len(columns) - 1)]
    return rows + [f"| {' | '.join(cells)} |" for cells in zip(*columns.values())]


def machine(threads: int) -> str:
    """The line that belongs to every published figure: processor, system, versions, date."""
    cpu = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text().splitlines()
        cpu = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), cpu)
    parts = [cpu, f"{threads} cores", platform.system(), f"Python {platform.python_version()}"]
    for name in ("claygrad", "torch", "jax", "numpy"):
        try:
            parts.append(f"{name} {version(name)}")
        except PackageNotFoundError:      # JAX is not needed; claygrad may be imported from its source
            continue
    return ", ".join([*parts, str(date.today())])


def footnotes(results: dict) -> list[str]:
    lines = []
    if "import" in results:
        took = {name: duration(value) for name, value in results["import"].items()}
        beyond = f"torch {took['torch']}, claygrad {took['claygrad']} (target: under {duration(IMPORT_TARGET)})"
        lines += [f"`import`, beyond NumPy's {took['numpy']}: {beyond}.", ""]
    if "roofline" in results:
        flops = f"{results['roofline']['flops'] / 1e9:.0f} GFLOP/s"
        lines += [f"The fastest matrix product on this machine ran at {flops}.", ""]
    how = f"`make bench`, the best of {results['rounds']} rounds in alternating processes"
    return [*lines, f"{how}: {results['machine']}."]


def mean_ratio(measures: Measures) -> float:
    """The geometric mean, the right one for ratios."""
    names = measures["claygrad"]
    return math.exp(sum(math.log(ratio_of(measures, name)) for name in names) / len(names))


def summary(results: dict) -> list[str]:
    """For docs/benchmarks.md: all small workloads, which the site also draws, and one line for each other group."""
    groups = dict(results["groups"])
    lines = []
    if "overhead" in groups:
        lines = ["<!-- chart: share ratio; Time of small operations, as a share of PyTorch's -->",
                 *without_targets(table({name: groups["overhead"][name] for name in ("torch", "claygrad")})), ""]
    others = {name: measures for name, measures in groups.items() if name != "overhead"}
    if "memory" in results:
        others["memory of the models"] = results["memory"]
    if others:
        lines += ["| group | workloads | ratio, geometric mean | best | worst |", "|---|--:|--:|--:|--:|"]
    for title, measures in others.items():
        ratios = [ratio_of(measures, name) for name in measures["claygrad"]]
        lines.append(f"| {title} | {len(ratios)} | {mean_ratio(measures):.2f} | {min(ratios):.2f} | "
                     f"{max(ratios):.2f} |")
    return lines + [""] * bool(others) + [re.sub(r" \(target: [^)]*\)", "", line) for line in footnotes(results)]


def without_targets(rows: list[str]) -> list[str]:
    """A table without the target column, which is for developers."""
    cells = [row.strip("|").split("|") for row in rows]
    column = [cell.strip() for cell in cells[0]].index("target")
    return ["|" + "|".join(row[:column] + row[column + 1:]) + "|" for row in cells]


def publish(lines: list[str], page: Path) -> None:
    """Put the summary between the two marks of a page."""
    before, _, rest = page.read_text().partition("<!-- bench -->\n")
    _, _, after = rest.partition("<!-- end of bench -->")
    page.write_text(before + "<!-- bench -->\n" + "\n".join(lines) + "\n<!-- end of bench -->" + after)


def chart(results: dict, path: Path) -> None:
    """Time as a share of PyTorch's: a bar for claygrad, a mark for each other library, a stroke for the target."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    groups = results["groups"]
    heights = [len(measures["claygrad"]) for measures in groups.values()]
    figure, panels = plt.subplots(len(groups), 1, figsize=(10, 1.5 * len(groups) + 0.24 * sum(heights)), squeeze=False,
                                  height_ratios=[height + 1 for height in heights], layout="constrained", sharex=True)
    marks = {"jax": ("o", "tab:orange"), "numpy": ("s", "tab:green"), "compile": ("^", "tab:red")}
    for panel, (group, measures) in zip(panels[:, 0], groups.items()):
        names = list(measures["claygrad"])
        panel.barh(range(len(names)), [ratio_of(measures, name) for name in names], color="tab:blue", alpha=0.8,
                   label="claygrad")
        for library, (mark, colour) in marks.items():
            seen = [(measures[library][name] / measures["torch"][name], row) for row, name in enumerate(names)
                    if name in measures.get(library, {})]
            if seen:
                panel.scatter(*zip(*seen), marker=mark, color=colour, s=18, zorder=3, label=TITLES[library])
        aims = [(target, row) for row, name in enumerate(names) if (target := target_of(name)) is not None]
        if aims:
            panel.scatter(*zip(*aims), marker="|", color="black", s=90, zorder=4, label="target")
        panel.axvline(1.0, color="grey", linewidth=1)
        panel.set(title=group, xscale="log", ylim=(len(names) - 0.5, -0.5))
        panel.set_yticks(range(len(names)), [WORKLOADS[name].title for name in names], fontsize=8)
        panel.legend(fontsize=7, loc="lower right")
    panels[-1, 0].set_xlabel("time as a share of PyTorch's (less is faster)")
    figure.savefig(path, dpi=130)
