"""Where the time goes: recordings of a program as tables, traces and flame graphs. The names are `torch.profiler`'s."""

from __future__ import annotations

from claygrad._lazy import lazy
from claygrad.core.cpython.entry_points import guard_package
from claygrad.profiler._events import DeviceType, EventList, FunctionEvent, FunctionEventAvg
from claygrad.profiler._marks import kineto_available, record_function
from claygrad.profiler._profile import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = [
    "DeviceType",
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]

__getattr__ = lazy(__name__)

guard_package(__name__)          # Note [Entry points]
