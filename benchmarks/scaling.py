"""Time against the size of tensors, the length of the graph and the number of parameters, on one thread and on several.

    make scaling                                       # writes out/scaling.png and out/scaling.json
    make scaling BENCH_ARGS="--rounds 1 --max 1000"

As in `run.py`: fresh processes in turns, the minimum over the rounds.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from measure import prepared, seconds_per_call
from run import OUT, in_fresh_process


class Curve(NamedTuple):
    title: str
    axis: str
    points: tuple[int, ...]
    setup: Callable[[ModuleType, int], Callable[[], object]]
    threads: tuple[int, ...]


CURVES: dict[str, Curve] = {}


def curve(title: str, axis: str, powers: range, *, threads: tuple[int, ...] = (1,)) -> Callable:
    """Adds a curve over powers of ten."""
    def register(setup: Callable) -> Callable:
        CURVES[setup.__name__] = Curve(title, axis, tuple(10 ** power for power in powers), setup, threads)
        return setup
    return register


@curve("add, unrecorded", "elements", range(1, 8), threads=(1, 2))
def add(torch: ModuleType, n: int) -> Callable[[], object]:
    a, b = torch.randn(n), torch.randn(n)
    return lambda: a + b


@curve("tanh, forward and backward", "elements", range(1, 8), threads=(1, 2))
def tanh(torch: ModuleType, n: int) -> Callable[[], object]:
    x = torch.randn(n, requires_grad=True)
    g = torch.ones(n)

    def run() -> None:
        torch.tanh(x).backward(g)
        x.grad = None
    return run


@curve("chain of multiplications of 10 floats, forward and backward", "operations in the graph", range(1, 7))
def chain(torch: ModuleType, n: int) -> Callable[[], object]:
    w, b = torch.randn(10, requires_grad=True), torch.ones(10)

    def run() -> None:
        y = w
        for _ in range(n):
            y = y * b
        y.sum().backward()
        w.grad = None
    return run


@curve("Adam step on parameters of 10 floats", "parameters", range(5))
def adam(torch: ModuleType, n: int) -> Callable[[], object]:
    parameters = [torch.nn.Parameter(torch.randn(10)) for _ in range(n)]
    for p in parameters:
        p.grad = torch.randn(10)
    return torch.optim.Adam(parameters).step


Times = dict[str, dict[str, dict[int, float]]]      # {curve: {"claygrad, 1 thread": {n: seconds}}}


def measure(library: str, threads: int, names: list[str], largest: int) -> dict[str, dict[int, float]]:
    """Seconds at each point of the curves that are asked for with so many threads, in this process."""
    lib = prepared(library, threads)
    return {name: {n: seconds_per_call(CURVES[name].setup(lib, n)) for n in CURVES[name].points if n <= largest}
            for name in names if threads in CURVES[name].threads}


def compare(names: list[str], rounds: int, largest: int) -> Times:
    best: Times = {name: {} for name in names}
    libraries = ("claygrad", "torch")
    for turn in range(rounds):
        for threads in sorted({count for name in names for count in CURVES[name].threads}):
            for library in libraries if turn % 2 == 0 else reversed(libraries):
                print(f"round {turn + 1} of {rounds}: {library}, {threads} threads", file=sys.stderr)
                seen = in_fresh_process(__file__, "--measure", library, threads, "--max", largest, "--only", *names,
                                        threads=threads)
                for name, points in json.loads(seen).items():
                    line = best[name].setdefault(f"{library}, {threads} thread{'s' * (threads > 1)}", {})
                    for n, seconds in points.items():
                        line[int(n)] = min(seconds, line.get(int(n), float("inf")))
    return best


def draw(best: Times, path: Path) -> None:
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(-(-len(best) // 2), 2, figsize=(11, 4 * -(-len(best) // 2)), layout="constrained",
                                  squeeze=False)
    for panel, (name, lines) in zip(panels.flat, best.items()):
        for label, points in sorted(lines.items()):
            panel.plot(*zip(*sorted(points.items())), marker="o", markersize=3, label=label,
                       color="tab:blue" if label.startswith("claygrad") else "tab:red",
                       linestyle="-" if "1 thread" in label else "--")
        panel.set(title=CURVES[name].title, xlabel=CURVES[name].axis, ylabel="seconds", xscale="log", yscale="log")
        panel.grid(alpha=0.3)
        panel.legend(fontsize=8)
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=CURVES, default=list(CURVES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--max", type=int, default=10 ** 7, help="the largest point measured")
    parser.add_argument("--measure", nargs=2, metavar=("LIBRARY", "THREADS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        library, threads = options.measure
        print(json.dumps(measure(library, int(threads), options.only, options.max)))
        return
    best = compare(options.only, options.rounds, options.max)
    OUT.mkdir(exist_ok=True)
    (OUT / "scaling.json").write_text(json.dumps(best, indent=1))
    if importlib.util.find_spec("matplotlib"):
        draw(best, OUT / "scaling.png")
        print(f"drawn in {OUT / 'scaling.png'}")


if __name__ == "__main__":
    main()
