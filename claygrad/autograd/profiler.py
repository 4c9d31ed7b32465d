"""`torch.autograd.profiler`: the profiler by its older names."""

from __future__ import annotations

from typing import Any

from claygrad.core.cpython.entry_points import guard_package
from claygrad.core.user_warnings import warn
from claygrad.profiler import EventList, FunctionEvent, FunctionEventAvg, kineto_available, record_function
from claygrad.profiler import profile as _profile
from claygrad.profiler._events import Interval, Kernel
from claygrad.profiler._marks import recording as _recording
from claygrad.profiler._profile import ProfilerActivity

__all__ = [
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "Kernel",
    "ProfilerActivity",
    "emit_itt",
    "emit_nvtx",
    "kineto_available",
    "profile",
    "record_function",
]


def __getattr__(name: str) -> Any:
    if name == "_is_profiler_enabled":
        return bool(_recording)
    from claygrad._lazy import lazy

    return lazy(__name__)(name)


class profile:
    """Records the operations of a block; `enabled=False` records nothing. Of devices there is the CPU."""

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = True,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Any = None,
    ) -> None:
        if not use_kineto:
            warn("profile(use_kineto=False): there is one recorder here, and the argument changes nothing")
        self.enabled = enabled
        self.entered = False
        if use_device is not None and use_device != "cpu":
            raise ValueError(f"The {use_device} is not a valid device option: claygrad's profiler records the CPU")
        self._inner = _profile(
            record_shapes=record_shapes,
            with_flops=with_flops,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_modules=with_modules,
            use_cuda=use_cuda,
            experimental_config=experimental_config,
            acc_events=acc_events,
            custom_trace_id_callback=custom_trace_id_callback,
        )
        if not use_cpu:
            raise AssertionError("Device-only events supported only with Kineto (use_kineto=True)")

    def __enter__(self) -> profile:
        if self.enabled:
            if self.entered:
                raise RuntimeError("Profiler context manager is not reentrant")
            self.entered = True
            self._inner.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self.enabled:
            self._inner.stop()

    @property
    def function_events(self) -> EventList:
        if not self.entered:
            raise RuntimeError("Profiler didn't finish running")
        return self._inner.events()

    def events(self) -> EventList:
        return self.function_events

    def table(self, *args: Any, **kwargs: Any) -> str:
        return self.function_events.table(*args, **kwargs)

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        return self.function_events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> FunctionEventAvg:
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        return self.function_events.self_cpu_time_total

    def export_chrome_trace(self, path: str) -> None:
        self._inner.export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        self._inner.export_stacks(path, metric)

    def export_flame_graph(self, path: str, title: str = "claygrad") -> None:
        self._inner.export_flame_graph(path, title)

    def __str__(self) -> str:
        return str(self.function_events) if self.entered else "<unfinished torch.autograd.profile>"

    def __repr__(self) -> str:
        return str(self) if self.entered else "<unfinished torch.autograd.profile>"


class _OfADevice:
    """Marks for a tool of NVIDIA or Intel, which this build cannot reach."""

    what = ""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.record_shapes = enabled, record_shapes

    def __enter__(self) -> _OfADevice:
        if self.enabled:
            raise RuntimeError(
                f"{self.what} functions not installed. Are you sure you have a CUDA build?"
                if self.what == "NVTX"
                else f"The {self.what} feature is not available in this build. Use claygrad.profiler.profile instead."
            )
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing was begun."""


class emit_nvtx(_OfADevice):
    what = "NVTX"


class emit_itt(_OfADevice):
    what = "ITT"

guard_package(__name__)          # Note [Entry points]
