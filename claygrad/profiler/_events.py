"""What was recorded, as events and as averages over events of one kind."""

from __future__ import annotations

import enum
import itertools
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from claygrad.core.own_files import is_own_file
from claygrad.profiler._table import build_table, time_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claygrad.core.graph.timeline import Timeline



class DeviceType(enum.IntEnum):
    """Where an event ran: always the CPU."""

    CPU = 0
    CUDA = 1


class Interval:
    """Start and end in microseconds since the recording began."""

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        return self.end - self.start


class Kernel(NamedTuple):
    """A kernel of a device; there are none on the CPU."""

    name: str
    device: int
    duration: int


class _Times:
    """What events and their averages have in common."""

    key: str
    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    device_type = DeviceType.CPU
    use_device: str | None = None
    node_id = -1
    overload_name = ""
    is_async = is_remote = is_legacy = is_user_annotation = False
    device_time_total = self_device_time_total = device_time = 0.0
    device_memory_usage = self_device_memory_usage = 0

    @property
    def cpu_time(self) -> float:
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        return time_text(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        return time_text(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        return time_text(self.self_cpu_time_total)


class FunctionEvent(_Times):
    """One operation, one node of backward, or one range that the program marked."""

    def __init__(self, id: int, name: str, kind: str, thread: int, start: float, end: float) -> None:
        self.id, self.name, self.key, self.trace_name = id, name, name, name
        self.kind, self.thread = kind, thread
        self.time_range = Interval(start, end)
        self.count = 1
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.kernels: list[Kernel] = []
        self.cpu_memory_usage = 0
        self.flops = 0
        self.failed = False
        self.input_shapes: list[Any] = []
        self.stack: list[str] = []
        self.line: str = ""  # file:line of the program
        self.source: str = ""  # the text of it
        self.module: str = ""  # path of the module that ran it
        self.module_class: str = ""
        self.is_user_annotation = kind == "user"
        self.sequence_nr = -1
        self.scope = 1 if kind in ("backward", "leaf") else 7 if kind == "user" else 0
        self.fwd_thread: int | None = None

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start:.3f} "
            f"end_us={self.time_range.end:.3f} cpu_children={[child.id for child in self.cpu_children]} "
            f"thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
            f"line={self.line} module={self.module}>"
        )


class FunctionEventAvg(_Times):
    """All events of one key together."""

    def __init__(self) -> None:
        self.key = ""
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.flops = 0
        self.input_shapes: list[Any] = []
        self.stack: list[str] = []
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.scope = 0
        self.lines: dict[str, float] = defaultdict(float)  # microseconds of their own, by line
        self.modules: dict[str, float] = defaultdict(float)

    @property
    def line(self) -> str:
        """The line on which most of its own time was spent."""
        return max(self.lines, key=self.lines.__getitem__, default="")

    @property
    def module(self) -> str:
        """The module in which most of its own time was spent."""
        return max(self.modules, key=self.modules.__getitem__, default="")

    def add(self, other: FunctionEvent) -> FunctionEventAvg:
        if not self.count:
            self.key, self.stack, self.cpu_parent, self.scope = other.key, other.stack, other.cpu_parent, other.scope
            self.is_user_annotation = other.is_user_annotation
        self.count += other.count
        own = other.self_cpu_time_total
        if not _inside_its_like(other):  # a call of itself is part of the outer one
            self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += own
        self.cpu_memory_usage += other.cpu_memory_usage
        self.self_cpu_memory_usage += other.self_cpu_memory_usage
        self.flops += other.flops
        self.lines[other.line] += own
        self.modules[other.module] += own
        return self

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} "
            f" self_cuda_time=0.000us cuda_time=0.000us input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} cuda_memory_usage=0>"
        )


def _inside_its_like(event: FunctionEvent) -> bool:
    at = event.cpu_parent
    while at is not None:
        if at.key == event.key:
            return True
        at = at.cpu_parent
    return False


class EventList(list[Any]):
    """Events, or their averages, which can be shown as a table."""

    def __init__(
        self,
        events: Iterable[Any] = (),
        *,
        profile_memory: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
    ) -> None:
        super().__init__(events)
        self._profile_memory, self._with_flops, self._with_modules = profile_memory, with_flops, with_modules

    @property
    def self_cpu_time_total(self) -> float:
        return sum(event.self_cpu_time_total for event in self)

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as a table; sort_by is the name of an attribute: cpu_time_total, self_cpu_time_total, count,
        cpu_memory_usage, self_cpu_memory_usage, flops."""
        return build_table(
            self,
            sort_by=sort_by,
            row_limit=row_limit,
            max_src_column_width=max_src_column_width,
            max_name_column_width=max_name_column_width,
            max_shapes_column_width=max_shapes_column_width,
            header=header,
            top_level_events_only=top_level_events_only,
            time_unit=time_unit,
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
            with_modules=self._with_modules,
        )

    def __str__(self) -> str:
        return self.table()

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Averages over events of one name, and of one list of shapes or one piece of stack if that is asked for."""
        if group_by_overload_name:
            raise NotImplementedError("key_averages(group_by_overload_name=True): an operation has one form here;\n"
                                      "  group_by_input_shape=True tells its calls apart")
        found: dict[tuple[Any, ...], FunctionEventAvg] = defaultdict(FunctionEventAvg)
        for event in self:
            key: tuple[Any, ...] = (event.key, event.kind == "user")
            if group_by_input_shapes:
                key += (str(event.input_shapes),)
            if group_by_stack_n:
                key += tuple(event.stack[:group_by_stack_n])
            average = found[key].add(event)
            if group_by_input_shapes:
                average.input_shapes = event.input_shapes
            average.stack = event.stack[:group_by_stack_n] if group_by_stack_n else []
        return EventList(
            found.values(),
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
            with_modules=self._with_modules,
        )

    def total_average(self) -> FunctionEventAvg:
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        total.key = "Total"
        return total


def _named(kind: str, name: str) -> str:
    if kind in ("user", "backward", "leaf"):
        return name
    return f"optimizer::{name}" if kind == "step" else f"aten::{name}"


def build(
    timeline: Timeline, begin: int, *, profile_memory: bool, with_flops: bool, with_modules: bool
) -> EventList:
    """The records of a timeline as events that know what ran inside them."""
    out = EventList(profile_memory=profile_memory, with_flops=with_flops, with_modules=with_modules)
    paths: dict[Any, tuple[str, str]] = {}
    open_: dict[int, list[FunctionEvent]] = defaultdict(list)
    for i, (kind, name, start, end, thread, nbytes, failed, place, call, shapes, stack, flops) in enumerate(
        timeline.records()
    ):
        event = FunctionEvent(i, _named(kind, name), kind, thread, (start - begin) / 1000, (end - begin) / 1000)
        event.cpu_memory_usage, event.failed, event.flops = nbytes, failed, flops
        event.input_shapes = [] if shapes is None else [_as_list(shape) for shape in shapes]
        if place is not None:
            event.line, event.source = f"{place[0]}:{place[1]}", place[3]
        if call is not None:
            if call not in paths:
                paths[call] = (call.path, getattr(call.kind, "__name__", ""))
            event.module, event.module_class = paths[call]
            event.module = event.module or event.module_class
        if stack is not None:
            event.stack = [
                f"{code.co_filename}({line}): {code.co_name}"
                for code, line in stack
                if not is_own_file(code.co_filename) and line is not None
            ]
        above = open_[thread]
        while above and above[-1].time_range.end < event.time_range.end:
            above.pop()
        if above:
            event.cpu_parent = above[-1]
            above[-1].cpu_children.append(event)
        above.append(event)
        out.append(event)
    return out


def _as_list(shape: Any) -> Any:
    return [_as_list(part) for part in shape] if isinstance(shape, list) else list(shape)


def tree_of(events: Iterable[FunctionEvent]) -> Iterable[FunctionEvent]:
    """The events that no other one holds."""
    return itertools.filterfalse(lambda event: event.cpu_parent is not None, events)
