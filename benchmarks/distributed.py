"""How training scales over ranks: measured on 1, 2 and 4, predicted for 8 to 256, as a page and a chart.

    python benchmarks/distributed.py                # measures, prints, writes docs/distributed-scaling.md and .svg
    python benchmarks/distributed.py --rounds 10    # more rounds, for a busy machine

The prediction is a model of a step: backward fills buckets one after the other, a bucket is summed while the next
fills, and a sum takes what Rabenseifner's algorithm takes (MPICH's for large arrays):
T = 2 log2(p) a + 2 (p-1)/p n b + (p-1)/p n c, with the latency a and the time per byte b of the link, and the time c to
add a byte. All three are measured here.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE, CHART = ROOT / "docs/distributed-scaling.md", ROOT / "docs/distributed-scaling.svg"
RANKS = [1, 2, 4, 8, 16, 32, 64, 128, 256]
COLOURS = ["#1b6ca8", "#c0392b", "#2e8b57", "#8e5ea2"]


class Link(NamedTuple):
    """A network link: latency in seconds, and seconds per byte."""

    name: str
    latency: float
    byte: float


class Work(NamedTuple):
    """What a rank does in a step: seconds of computation, a third of it forward, and bytes of gradients."""

    name: str
    seconds: float
    gradients: float


# The model


def sum_of(p: int, size: float, link: Link, add: float) -> float:
    """Seconds to sum `size` bytes over p ranks."""
    if p == 1:
        return 0.0
    share = (p - 1) / p
    return 2 * math.log2(p) * link.latency + 2 * share * size * link.byte + share * size * add


def step(p: int, work: Work, link: Link, add: float, bucket: float = 25e6, first: float = 1e6) -> float:
    """Seconds of a step on p ranks, each with its own inputs."""
    forward, backward = work.seconds / 3, work.seconds * 2 / 3
    buckets, left = [], work.gradients
    while left > 0:
        buckets.append(min(left, first if not buckets else bucket))
        left -= buckets[-1]
    done = free = forward
    filled = 0.0
    for size in buckets:
        filled += size
        ready = forward + backward * filled / work.gradients
        free = max(free, ready) + sum_of(p, size, link, add)
        done = max(done, free)
    return max(done, forward + backward)


def efficiency(p: int, work: Work, link: Link, add: float, bucket: float = 25e6) -> float:
    """Parallel efficiency on p ranks: time of computation over time of a step."""
    return work.seconds / step(p, work, link, add, bucket)


# What ranks measure


def rank_program(what: str) -> None:
    import numpy

    import claygrad as torch
    import claygrad.distributed as dist
    from claygrad import nn
    from claygrad.nn.parallel import DistributedDataParallel

    dist.init_process_group("mpi")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)
    told: dict[str, float] = {}
    if what == "train":
        torch.manual_seed(0)
        layers = [layer for _ in range(4) for layer in (nn.Conv2d(64, 64, 3, padding=1), nn.ReLU())]
        net = DistributedDataParallel(nn.Sequential(*layers))
        opt = torch.optim.SGD(net.parameters(), 1e-4)
        x = torch.randn(1, 64, 32, 32)
        wall, busy = [], []
        for _ in range(300):
            began, spent = time.perf_counter(), time.process_time()
            opt.zero_grad()
            net(x).square().mean().backward()
            opt.step()
            wall.append(time.perf_counter() - began)
            busy.append(time.process_time() - spent)
        slowest = torch.tensor([min(wall[5:]), sorted(wall[5:])[147], min(busy[5:])], dtype=torch.float64)
        dist.all_reduce(slowest, dist.ReduceOp.MAX)
        told = dict(zip(("best", "middle", "busy"), slowest.tolist()))
        told["bytes"] = 4.0 * sum(p.numel() for p in net.parameters())
    else:

        def best(function: Any, times: int) -> float:
            found = math.inf
            for _ in range(times):
                dist.barrier()
                began = time.perf_counter()
                function()
                found = min(found, time.perf_counter() - began)
            return found

        def there_and_back(n: int) -> Any:
            t = torch.zeros(n, dtype=torch.uint8)

            def go() -> None:
                if rank == 0:
                    dist.send(t, 1)
                    dist.recv(t, 1)
                elif rank == 1:
                    dist.recv(t, 0)
                    dist.send(t, 0)

            return go

        large = 8_000_000
        small = best(there_and_back(8), 200) / 2
        told = {"small": small, "large": best(there_and_back(large), 20) / 2}
        flat = torch.ones(large // 4)
        told["all_reduce"] = best(lambda: dist.all_reduce(flat), 10)
        a, b = numpy.ones(large // 4, numpy.float32), numpy.ones(large // 4, numpy.float32)
        told["add"] = best(lambda: numpy.add(a, b, out=b), 10) / large
    if rank == 0:
        print(json.dumps({"ranks": size, **told}))


def measured(n: int, what: str) -> dict[str, float]:
    mpiexec = Path(sys.executable).with_name("mpiexec")
    done = subprocess.run(
        [str(mpiexec), "-n", str(n), sys.executable, "-P", __file__, "--rank-program", what],
        check=False,
        text=True,
        capture_output=True,
        timeout=300,
        env={**os.environ, "CLAYGRAD_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    if done.returncode:
        raise SystemExit(f"{n} ranks ended with {done.returncode}:\n{done.stderr}")
    told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return told


def link_of(name: str, told: dict[str, float]) -> Link:
    """A link by the times of a message of 8 bytes and of one of 8 MB."""
    return Link(name, told["small"], (told["large"] - told["small"]) / 8e6)


def between_hosts(delay: float) -> Link | None:
    """The link of tests/distributed/two_hosts.py, if this process may create network namespaces."""
    script = ROOT / "tests/distributed/two_hosts.py"
    done = subprocess.run(
        [sys.executable, str(script), "--delay", str(delay), __file__, "--rank-program", "link"],
        text=True,
        capture_output=True,
        timeout=200,
    )
    if done.returncode:
        print(done.stderr.strip(), file=sys.stderr)
        return None
    told = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    kind = re.search(r"two hosts, ([^,]+),", done.stdout)
    return link_of(f"TCP, {delay:g} ms ({kind[1] if kind else ''})", told)


# The page


def chart(lines: list[tuple[str, list[float]]]) -> str:
    """Efficiency over ranks, as SVG."""
    wide, high, left, top = 840, 420, 60, 30
    x = lambda at: left + at * (wide - left - 330) / (len(RANKS) - 1)
    y = lambda value: top + (1 - value) * (high - top - 50)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}">',
        '<g font-family="sans-serif" font-size="12">',
        f'<rect width="{wide}" height="{high}" fill="white"/>',
        f'<text x="{left}" y="18" font-size="14">computation left after communication, buckets of 25 MB</text>',
    ]
    for tenth in range(0, 11, 2):
        out.append(
            f'<path d="M{left} {y(tenth / 10):.1f}H{x(len(RANKS) - 1):.1f}" stroke="#ddd"/>'
            f'<text x="{left - 8}" y="{y(tenth / 10) + 4:.1f}" text-anchor="end">{tenth * 10} %</text>'
        )
    for at, p in enumerate(RANKS):
        out.append(f'<text x="{x(at):.1f}" y="{high - 32}" text-anchor="middle">{p}</text>')
    out.append(f'<text x="{x(4):.1f}" y="{high - 12}" text-anchor="middle">ranks</text>')
    for number, (name, values) in enumerate(lines):
        colour, dash = COLOURS[number % len(COLOURS)], ' stroke-dasharray="5 3"' if number >= len(COLOURS) else ""
        path = " ".join(f"{'L' if at else 'M'}{x(at):.1f} {y(value):.1f}" for at, value in enumerate(values))
        out.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        row = top + 14 + 18 * number
        out.append(
            f'<path d="M{wide - 312} {row - 4}h22" stroke="{colour}" stroke-width="2"{dash}/>'
            f'<text x="{wide - 284}" y="{row}">{name}</text>'
        )
    return "\n".join([*out, "</g></svg>\n"])


TEXT = """# How training scales over ranks

How much faster does data-parallel training become with more ranks? Up to four ranks were measured on one machine; a
simple model predicts the rest. `python benchmarks/distributed.py` measures, computes and writes this page and its
chart.

## Measured

On {machine}, one thread per rank: a convolutional network with {megabytes:.1f} MB of gradients, each rank with its own
inputs, {rounds} rounds of 300 steps. The machine was shared with other programs (load {load:.0f} on {processors}
cores). So the table has the fastest step, and the CPU time of the fastest step, in which waiting for a core does not
count.

| ranks | fastest step | median step | CPU time | speed-up | speed-up by CPU time |
|--:|--:|--:|--:|--:|--:|
| 1 | {one:.2f} ms | {one_middle:.1f} ms | {one_busy:.2f} ms | 1 | 1 |
| 2 | {two:.2f} ms | {two_middle:.1f} ms | {two_busy:.2f} ms | {speed_up:.2f} | {by_busy:.2f} (model {by_model:.2f}) |
{fourth}

With four ranks on {processors} cores the ranks take turns. So compare the last column with the model, which assumes a
core for each rank. CPU time includes waiting for other ranks, because a waiting rank polls.

The links, measured by messages of 8 bytes and of 8 MB:

| link | latency | bandwidth |
|---|--:|--:|
{links}

Adding two gradients takes {add:.3f} ns per byte. An `all_reduce` of 8 MB, the fastest of all rounds, beside the model:

| ranks | measured | model | measured over model |
|--:|--:|--:|--:|
| 2 | {all_reduce:.2f} ms | {all_reduce_model:.2f} ms | {all_reduce_ratio:.1f} |
| 4 | {all_reduce_four:.2f} ms | {all_reduce_four_model:.2f} ms | {all_reduce_four_ratio:.1f} |

## Predicted

The efficiency: the share of a step that is computation rather than waiting for communication. 100 % means that twice
the ranks train twice as fast. Gradients are sent in buckets of 25 MB.

![efficiency over ranks](distributed-scaling.svg)

| workload | link | {columns} |
|---|---|{rule}
{rows}

The size of the buckets matters. For {workload} over {link} on 64 ranks: {buckets}.

## What the model assumes

- Every rank has a core of its own and computes as fast as one rank does here.
- Two thirds of a step are backward, and gradients become ready evenly during it.
- An `all_reduce` over p ranks takes 2 log2(p) messages, sends 2 (p-1)/p of its bytes and adds (p-1)/p of them. It runs
  beside backward at no cost to it, as with a network card that moves the data itself.
- All ranks send at once without slowing each other, and no rank is late. Real clusters have slower links between racks,
  and ranks that wait for the slowest.

The links are those of this machine, and are not typical. Messages through shared memory stay in the cache, so the model
is too fast there. The TCP links pass through a Python process that adds the delay and limits the bandwidth, so they are
a worst case; if the link with the longer delay has the higher bandwidth, the machine was busier when the other was
measured.

The prediction was compared with 2 and 4 ranks on one host, and is too optimistic there: the ranks share cores and
memory. It has not been compared with a larger cluster.
"""


FOURTH = (
    "| 4 | {four:.2f} ms | {four_middle:.1f} ms | {four_busy:.2f} ms | {speed_up_four:.2f} | "
    "{by_busy_four:.2f} (model {model:.2f}) |"
)


def page(facts: dict[str, Any], works: list[Work], links: list[Link], add: float) -> str:
    short = lambda link: link.name.split(" (")[0]
    rows = [
        f"| {work.name} | {short(link)} | "
        + " | ".join(f"{efficiency(p, work, link, add):.0%}" for p in RANKS[3:])
        + " |"
        for work in works
        for link in links
    ]
    sizes = [f"{size} MB {efficiency(64, works[1], links[-1], add, size * 1e6):.0%}" for size in (1, 5, 25, 100)]
    table = [f"| {link.name} | {link.latency * 1e6:,.0f} µs | {1e-9 / link.byte:.2f} GB/s |" for link in links]
    return TEXT.format(
        **facts,
        fourth=FOURTH.format(**facts, model=4 * efficiency(4, works[0], links[0], add)),
        megabytes=works[0].gradients / 1e6,
        by_model=2 * efficiency(2, works[0], links[0], add),
        links="\n".join(table),
        add=add * 1e9,
        all_reduce_model=sum_of(2, 8e6, links[0], add) * 1e3,
        all_reduce_four_model=sum_of(4, 8e6, links[0], add) * 1e3,
        all_reduce_ratio=facts["all_reduce"] / 1e3 / sum_of(2, 8e6, links[0], add),
        all_reduce_four_ratio=facts["all_reduce_four"] / 1e3 / sum_of(4, 8e6, links[0], add),
        columns=" | ".join(map(str, RANKS[3:])),
        rule="--:|" * len(RANKS[3:]),
        rows="\n".join(rows),
        workload=works[1].name,
        link=short(links[-1]),
        buckets=", ".join(sizes),
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rank-program", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if options.rank_program:
        rank_program(options.rank_program)
        return
    names = ("best", "middle", "busy")
    one, two, four = (dict.fromkeys(names, math.inf) for _ in range(3))
    for _ in range(options.rounds):
        for n, kept in ((1, one), (2, two), (4, four)):
            told = measured(n, "train")
            kept.update({name: min(kept[name], told[name]) for name in names}, bytes=told["bytes"])
        ratios = [2 * one[name] / two[name] for name in ("best", "busy")]
        print(f"1 rank {one['best'] * 1e3:.2f} ms, 2 ranks {two['best'] * 1e3:.2f} ms: speed-up", end=" ")
        print(f"{ratios[0]:.2f}, by processor time {ratios[1]:.2f}; 4 ranks {four['best'] * 1e3:.2f} ms", flush=True)
    tries = [measured(2, "link") for _ in range(options.rounds)]
    here = {name: min(each[name] for each in tries) for name in tries[0]}
    of_four = min(measured(4, "link")["all_reduce"] for _ in range(options.rounds))
    links = [link_of("shared memory, one host", here)]
    links += [link for delay in (0, 1) if (link := between_hosts(delay)) is not None]
    works = [
        Work("the network above", one["busy"], one["bytes"]),
        Work("25 M parameters, 1 s a step", 1.0, 100e6),
        Work("1,000 M parameters, 60 s a step", 60.0, 4e9),
    ]
    facts = {"machine": f"{os.cpu_count()} cores, Linux", "processors": os.cpu_count(), "rounds": options.rounds}
    facts |= {
        "load": os.getloadavg()[0],
        "all_reduce": here["all_reduce"] * 1e3,
        "all_reduce_four": of_four * 1e3,
        "speed_up_four": 4 * one["best"] / four["best"],
        "by_busy_four": 4 * one["busy"] / four["busy"],
        "speed_up": ratios[0],
        "by_busy": ratios[1],
    }
    for which, kept in (("one", one), ("two", two), ("four", four)):
        facts |= {
            which: kept["best"] * 1e3,
            f"{which}_middle": kept["middle"] * 1e3,
            f"{which}_busy": kept["busy"] * 1e3,
        }
    PAGE.write_text(page(facts, works, links, here["add"]))
    lines = [
        (
            f"{work.name.split(', ')[0]}: {link.name.split(' (')[0]}",
            [efficiency(p, work, link, here["add"]) for p in RANKS],
        )
        for work in works[1:]
        for link in links
    ]
    CHART.write_text(chart(lines))
    print(PAGE.read_text())


if __name__ == "__main__":
    main()
