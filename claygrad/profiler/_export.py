"""Recordings as files: a trace for Chrome, stacks, a flame graph."""

from __future__ import annotations

import gzip
import html
import json
import os
import pathlib
import socket
from typing import TYPE_CHECKING, Any

from claygrad.profiler._events import tree_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claygrad.profiler._events import EventList, FunctionEvent

CATEGORIES = {"user": "user_annotation", "backward": "cpu_op", "leaf": "cpu_op"}


def write_trace(events: EventList, path: str, metadata: dict[str, Any]) -> None:
    pid = os.getpid()
    out: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "ts": 0, "pid": pid, "tid": 0, "args": {"name": "python"}}
    ]
    for thread in sorted({event.thread for event in events}):
        out.append(
            {
                "ph": "M",
                "name": "thread_name",
                "ts": 0,
                "pid": pid,
                "tid": thread,
                "args": {"name": f"thread {thread}"},
            }
        )
    for event in events:
        args: dict[str, Any] = {"External id": event.id}
        for name, value in (
            ("Input Dims", event.input_shapes),
            ("Source", event.line),
            ("Code", event.source),
            ("Module", event.module),
            ("Bytes", event.cpu_memory_usage),
            ("FLOPs", event.flops),
            ("Call stack", ";".join(event.stack)),
        ):
            if value:
                args[name] = value
        out.append(
            {
                "ph": "X",
                "cat": CATEGORIES.get(event.kind, "cpu_op"),
                "name": event.name,
                "pid": pid,
                "tid": event.thread,
                "ts": event.time_range.start,
                "dur": event.cpu_time_total,
                "args": args,
            }
        )
    trace = {
        "schemaVersion": 1,
        **metadata,
        "host_name": socket.gethostname(),
        "displayTimeUnit": "ms",
        "traceEvents": out,
        "traceName": path,
    }
    with (
        gzip.open(path, "wt", encoding="utf-8") if path.endswith(".gz") else open(path, "w", encoding="utf-8")
    ) as file:
        json.dump(trace, file)


def write_stacks(events: EventList, path: str, metric: str) -> None:
    if metric not in ("self_cpu_time_total", "self_cuda_time_total", "self_device_time_total"):
        raise ValueError("metric should be one of: ['self_cpu_time_total', 'self_cuda_time_total']")
    times: dict[str, float] = {}
    for event in events:
        if event.stack:
            stack = ";".join(reversed([entry.replace(";", " ").replace(" ", "_") for entry in event.stack]))
            times[stack] = times.get(stack, 0) + (event.self_cpu_time_total if metric == "self_cpu_time_total" else 0)
    with open(path, "w", encoding="utf-8") as file:
        for stack, us in times.items():
            if int(us) > 0:
                file.write(f"{stack} {int(us)}\n")


# --- flame graphs ---
PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
{style}</style>
<header>
<h1>{title}</h1>
<input id="search" type="search" placeholder="Search (regular expression)" aria-label="Search">
<button id="reset" type="button">Whole graph</button>
<span id="found"></span>
</header>
<p id="guide"></p>
<div id="graph" role="tree"></div>
<section><h2>Most time of their own</h2><table id="top"></table></section>
<div id="tip"></div>
<script id="data" type="application/json">{data}</script>
<script>
{script}</script>
</html>
"""


class Frame:
    """A box of a flame graph: everything that has the same name in the same place."""

    def __init__(self, name: str, kind: str) -> None:
        self.name, self.kind = name, kind
        self.time = 0.0
        self.count = self.bytes = 0
        self.lines: dict[str, float] = {}
        self.module = ""
        self.frames: dict[tuple[str, str], Frame] = {}

    def frame(self, name: str, kind: str) -> Frame:
        return self.frames.setdefault((name, kind), Frame(name, kind))

    def compact(self) -> dict[str, Any]:
        lines = sorted(self.lines, key=self.lines.__getitem__, reverse=True)[:3]
        frames = sorted(self.frames.values(), key=lambda frame: -frame.time)
        return {
            "n": self.name,
            "k": self.kind,
            "t": round(self.time, 3),
            "c": self.count,
            "b": self.bytes,
            "l": lines,
            "m": self.module,
            "f": [frame.compact() for frame in frames],
        }


def _put(event: FunctionEvent, above: Frame) -> None:
    frame = above.frame(event.name, event.kind)
    frame.time += event.cpu_time_total
    frame.count += 1
    frame.bytes += event.cpu_memory_usage
    frame.module = event.module
    if event.line:
        text = f"{event.line}  {event.source}".rstrip()
        frame.lines[text] = frame.lines.get(text, 0) + event.cpu_time_total
    for child in event.cpu_children:
        _put_in_module(child, frame, event.module)


def _put_in_module(event: FunctionEvent, above: Frame, outer: str = "") -> None:
    """Below the boxes of the modules that ran it, those aside that the boxes above tell already."""
    path = event.module
    if path and path != outer:
        known = outer.split(".") if outer and (path + ".").startswith(outer + ".") else []
        time, parts = event.cpu_time_total, path.split(".")
        for i in range(len(known), len(parts)):
            above = above.frame(parts[i], "module")
            above.time += time
            above.count += 1
            above.module = ".".join(parts[: i + 1]) + (f": {event.module_class}" if i == len(parts) - 1 else "")
    _put(event, above)


def flame_tree(events: Iterable[FunctionEvent]) -> Frame:
    """Threads, forward and backward, modules and operations as boxes inside one another."""
    root = Frame("all", "all")
    events = list(events)
    threads = {event.thread for event in events}
    for event in tree_of(events):
        above = root.frame(f"thread {event.thread}", "thread") if len(threads) > 1 else root
        above = above.frame("backward", "group") if event.kind in ("backward", "leaf") else above
        _put_in_module(event, above)
    _add_up(root)
    return root


def _add_up(frame: Frame) -> None:
    """Boxes that only gather are as wide as what is in them."""
    for inner in frame.frames.values():
        _add_up(inner)
    if frame.kind in ("all", "thread", "group"):
        frame.time = sum(inner.time for inner in frame.frames.values())


def write_flame_graph(events: EventList, path: str, title: str) -> None:
    here = pathlib.Path(__file__).parent
    data = json.dumps(flame_tree(events).compact(), separators=(",", ":")).replace("<", "\\u003c")
    page = PAGE.format(
        title=html.escape(title),
        data=data,
        style=(here / "flame.css").read_text(encoding="utf-8"),
        script=(here / "flame.js").read_text(encoding="utf-8"),
    )
    pathlib.Path(path).write_text(page, encoding="utf-8")
