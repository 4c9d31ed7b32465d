"""`profile`: records a program, all of it or some steps, and hands out what it found."""

from __future__ import annotations

import enum
import json
import os
import socket
import time
from typing import TYPE_CHECKING, Any

from claygrad.core.graph.timeline import Timeline, now
from claygrad.core.user_warnings import warn
from claygrad.profiler._events import EventList, build
from claygrad.profiler._export import write_flame_graph, write_stacks, write_trace
from claygrad.profiler._flops import flops_of
from claygrad.profiler._marks import record_function, recording

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class ProfilerActivity(enum.IntEnum):
    """What may be recorded; the CPU is what there is."""

    CPU = 0
    XPU = 1
    CUDA = 2
    HPU = 3
    MTIA = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """What a profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


RECORDS = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities() -> set[ProfilerActivity]:
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Which steps to record: after skip_first steps, cycles of `wait` steps without, `warmup` steps that are thrown
    away and `active` steps that are kept; `repeat` cycles, or 0 for as many as there are. With skip_first_wait, the
    first cycle does not wait."""
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warn("Profiler won't be using warmup, this can skew profiler results")

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait != 0:
            step += wait
        cycle = wait + warmup + active
        if repeat > 0 and step / cycle >= repeat:
            return ProfilerAction.NONE
        at = step % cycle
        if at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = True
) -> Callable[[profile], None]:
    """An on_trace_ready that writes a trace for each recorded cycle into a folder, as TensorBoard's plugin reads it.

    use_python_export: how PyTorch writes it; there is one way here, and the file is the same.
    """

    def handler(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return handler


class profile:
    """Records operations, forward and backward, and the ranges that `record_function` marks.

    activities: ProfilerActivity.CPU, which is what there is. schedule: which steps; step() ends one. on_trace_ready is
    called with the profiler at the end of each recorded cycle. record_shapes, profile_memory, with_stack, with_flops,
    with_modules: what to keep, or show, besides the time, the line and the module, which are always kept.
    acc_events: keep the events of all cycles.
    All threads are recorded.
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
    ) -> None:
        self.activities = set(activities) if activities is not None else supported_activities()
        if not self.activities:
            raise AssertionError("No valid profiler activities found")
        if experimental_config is not None or execution_trace_observer is not None:
            raise NotImplementedError(
                "profile(): experimental_config and execution_trace_observer are of PyTorch's own recorder"
            )
        if use_cuda:
            warn("CUDA is not available, disabling CUDA profiling")
        for activity in self.activities - supported_activities():
            warn(
                "{0} is not available, disabling {0} profiling".format(ProfilerActivity(activity).name),
            )
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.record_shapes, self.profile_memory, self.with_stack = (
            record_shapes or with_flops,
            profile_memory,
            with_stack,
        )
        self.with_flops, self.with_modules, self.acc_events = with_flops, with_modules, acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.metadata: dict[str, Any] = {}
        self._timeline: Timeline | None = None
        self._begin = 0
        self._events: EventList | None = None
        self._step: record_function | None = None

    # Switching on and off
    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        if self.current_action in RECORDS:
            self.start_trace()
        self._begin_step()

    def stop(self) -> None:
        self._end_step()
        if self.is_recording:
            self.stop_trace()
            self._tell()

    def step(self) -> None:
        """A step of the program has ended: the schedule says what the next one is for."""
        self._end_step()
        was, self.step_num = self.current_action, self.step_num + 1
        self.current_action = self.schedule(self.step_num)
        if was == ProfilerAction.RECORD_AND_SAVE or (
            was == ProfilerAction.RECORD and self.current_action not in RECORDS
        ):
            if was == ProfilerAction.RECORD:
                warn("Incorrect schedule: RECORD followed by " + self.current_action.name)
            self.stop_trace()
            if was == ProfilerAction.RECORD_AND_SAVE:
                self._tell()
        if self.current_action in RECORDS and not self.is_recording:
            self.start_trace()
        self._begin_step()

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        self.custom_trace_id_callback = callback

    def get_trace_id(self) -> str | None:
        return None if self.custom_trace_id_callback is None else self.custom_trace_id_callback()

    @property
    def is_recording(self) -> bool:
        return self._timeline is not None and self._timeline in recording

    def prepare_trace(self) -> None:
        """Nothing has to be prepared."""

    def start_trace(self) -> None:
        if self.is_recording:
            raise RuntimeError("this profiler is recording already")
        wants = ["lines"]
        wants += ["shapes"] * self.record_shapes + ["memory"] * self.profile_memory + ["stack"] * self.with_stack
        if not (self.acc_events and self._timeline is not None):
            self._timeline = Timeline(*wants, flops=flops_of if self.with_flops else None)
            self._begin = now()
        self._events = None
        recording.append(self._timeline)
        self._timeline.add()

    def stop_trace(self) -> None:
        if self._timeline is not None and self._timeline in recording:
            self._timeline.remove()
            recording.remove(self._timeline)

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[ProfilerActivity]) -> None:
        """Stop and go on in the middle of a recording."""
        if (
            self._timeline is not None
            and ProfilerActivity.CPU in set(activities)
            and self._timeline.is_active != enable
        ):
            (self._timeline.add if enable else self._timeline.remove)()

    def _begin_step(self) -> None:
        if self.record_steps and self.is_recording:
            self._step = record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _end_step(self) -> None:
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None

    def _tell(self) -> None:
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    # What was found
    def events(self) -> EventList:
        """All events, in the order in which they began."""
        if self._timeline is None:
            raise AssertionError("Profiler must be initialized before accessing events")
        if self._events is None or self.is_recording:
            self._events = build(
                self._timeline,
                self._begin,
                profile_memory=self.profile_memory,
                with_flops=self.with_flops,
                with_modules=self.with_modules,
            )
        return self._events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Averages over events of one name, and of one list of shapes or piece of stack if that is asked for."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path: str) -> None:
        """Write a trace that chrome://tracing and Perfetto show; packed if the name ends in .gz."""
        write_trace(
            self.events(),
            str(path),
            {
                "record_shapes": int(self.record_shapes),
                "profile_memory": int(self.profile_memory),
                "with_stack": int(self.with_stack),
                "with_flops": int(self.with_flops),
                "with_modules": int(self.with_modules),
                **self.metadata,
            },
        )

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write stacks with their microseconds, for tools that draw flame graphs; needs with_stack=True."""
        if not self.with_stack:
            raise ValueError("export_stacks() requires with_stack=True.")
        write_stacks(self.events(), str(path), metric)

    def export_flame_graph(self, path: str, title: str = "claygrad") -> None:
        """Write one HTML file that needs no network: modules, and inside them the operations, as wide as their time."""
        write_flame_graph(self.events(), str(path), title)

    def add_metadata(self, key: str, value: str) -> None:
        self.metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        self.metadata[key] = json.loads(value)

    preset_metadata_json = add_metadata_json
