"""`torch.autograd.profiler`: marks in a program, which nothing records; the profiler itself is not there yet."""
from __future__ import annotations

import contextlib

from claygrad.compat.refusing import always, refusing_class


class record_function(contextlib.ContextDecorator):
    """A named part of a program. No profiler is running, so nothing is recorded."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args

    def __enter__(self) -> record_function:
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing was begun."""


kineto_available = always(False)
_is_profiler_enabled = False
NAMES = ("EnforceUnique", "EventList", "FunctionEvent", "KinetoStepTracker", "Kernel", "MemRecordsAcc",
         "ProfilerActivity", "ProfilerConfig", "ProfilerState", "emit_itt", "emit_nvtx", "profile")
globals().update({name: refusing_class(f"torch.autograd.profiler.{name}") for name in NAMES})
