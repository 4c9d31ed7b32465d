"""A table of events in PyTorch's layout, with the line and the module where these were asked for."""

from __future__ import annotations

import math
from typing import Any

WIDTH = 12
GAP = "  "


def time_text(us: float) -> str:
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


def time_in(us: float, unit: str | None) -> str:
    scale = {"s": 1e6, "ms": 1e3, "us": 1.0}
    if unit is None:
        return time_text(us)
    if unit not in scale:
        raise ValueError(f"time_unit must be 's', 'ms' or 'us', not {unit!r}")
    return f"{us / scale[unit]:.3f}{unit}"


def memory_text(nbytes: int) -> str:
    size = abs(nbytes)
    for unit, scale in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if size >= scale:
            return f"{nbytes / scale:.2f} {unit}"
    return f"{nbytes} B"


def share_text(part: float, whole: float) -> str:
    if whole == 0:
        return "NaN" if part else "0.00%"
    return f"{part * 100 / whole:.2f}%"


def _flop_unit(least: int) -> tuple[float, str]:
    names = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")
    at = int(max(0, min(math.log10(least) / 3, len(names) - 1)))
    return 10.0 ** (-3 * at), names[at]


def _cut_front(text: str, width: int) -> str:
    return text if len(text) <= width else "..." + text[len(text) - width + 3 :]


def _limited(width: int, most: int | None) -> int:
    return width if most is None else min(width, most)


def build_table(
    events: Any,
    *,
    sort_by: str | None,
    row_limit: int,
    max_src_column_width: int | None,
    max_name_column_width: int | None,
    max_shapes_column_width: int | None,
    header: str | None,
    top_level_events_only: bool,
    time_unit: str | None,
    profile_memory: bool,
    with_flops: bool,
    with_modules: bool,
) -> str:
    if not events:
        return ""
    rows = list(events)
    if sort_by is not None:
        sort_by = sort_by.replace("cuda", "device").replace("xpu", "device").replace("privateuse1", "device")
        rows.sort(key=lambda event: getattr(event, sort_by), reverse=True)
    whole = sum(event.self_cpu_time_total for event in rows)
    columns = [("Name", _limited(max(len(event.key) for event in rows) + 4, max_name_column_width), ">")]
    columns += [(name, WIDTH, ">") for name in ("Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg")]
    if profile_memory:
        columns += [("CPU Mem", WIDTH, ">"), ("Self CPU Mem", WIDTH, ">")]
    columns.append(("# of Calls", WIDTH, ">"))
    shapes = any(event.input_shapes for event in rows)
    if shapes:
        columns.append(
            (
                "Input Shapes",
                _limited(max(len(str(event.input_shapes)) for event in rows) + 4, max_shapes_column_width),
                ">",
            )
        )
    stacked = any(event.stack for event in rows)
    lined = not stacked and with_modules
    if stacked or lined:
        texts = [text for event in rows for text in (event.stack if stacked else [event.line])]
        columns.append(("Source Location", max(15, _limited(max(map(len, texts)) + 4, max_src_column_width)), "<"))
    if with_modules:
        columns.append(("Module", max(len(event.module) for event in rows) + 4, "<"))
    counted = [event.flops for event in rows if event.flops > 0] if with_flops else []
    if counted:
        scale, unit = _flop_unit(min(counted))
        columns.append((f"Total {unit}", WIDTH, ">"))

    def line(values: list[str]) -> str:
        return "".join(f"{value:{side}{width}}{GAP}" for value, (_, width, side) in zip(values, columns, strict=True))

    rule = "".join("-" * width + GAP for _, width, _ in columns)
    length = len(rule) - len(GAP)
    out = []
    if header is not None:
        out += ["=" * length, header]
    if top_level_events_only:
        out += ["=" * length, "This report only display top-level ops statistics"]
    out += [rule, line([name for name, _, _ in columns]), rule]
    shown = 0
    for event in rows:
        if shown == row_limit:
            break
        if top_level_events_only and event.cpu_parent is not None:
            continue
        shown += 1
        name = event.key
        if max_name_column_width is not None and len(name) >= max_name_column_width - 3:
            name = name[: max_name_column_width - 3] + "..."
        values = [
            name,
            share_text(event.self_cpu_time_total, whole),
            time_in(event.self_cpu_time_total, time_unit),
            share_text(event.cpu_time_total, whole),
            time_in(event.cpu_time_total, time_unit),
            time_in(event.cpu_time, time_unit),
        ]
        if profile_memory:
            values += [memory_text(event.cpu_memory_usage), memory_text(event.self_cpu_memory_usage)]
        values.append(str(event.count))
        if shapes:
            values.append(str(event.input_shapes)[: columns[len(values)][1]])
        more: list[str] = []
        if stacked or lined:
            width = columns[len(values)][1]
            more = [_cut_front(text, width) for text in event.stack[1:]] if stacked else []
            first = (event.stack[0] if event.stack else "") if stacked else event.line
            values.append(_cut_front(first, width))
            at = len(values) - 1
        if with_modules:
            values.append(event.module)
        if counted:
            values.append("--" if event.flops <= 0 else f"{event.flops * scale:8.3f}")
        out.append(line(values))
        for text in more:
            out.append(line([text if k == at else "" for k in range(len(columns))]))
        if more:
            out.append(line([""] * len(columns)))
    out += [rule, f"Self CPU time total: {time_in(whole, time_unit)}", ""]
    return "\n".join(out)
