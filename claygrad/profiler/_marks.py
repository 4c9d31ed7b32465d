"""Ranges that a program marks, and who records them."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from claygrad.core.graph.timeline import Timeline

recording: list[Timeline] = []


class record_function(contextlib.ContextDecorator):
    """A named part of a program, which a profiler that runs shows with its time. A context manager and a decorator."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self.run_callbacks_on_exit = True
        self._open: list[list[tuple[Timeline, int]]] = []

    def _recreate_cm(self) -> record_function:
        return type(self)(self.name, self.args)  # a decorated function may call itself

    def __enter__(self) -> record_function:
        self._open.append([(timeline, timeline.enter(self.name)) for timeline in recording])
        return self

    def __exit__(self, *error: object) -> None:
        if self.run_callbacks_on_exit and self._open:
            self._leave(self._open.pop())

    def _leave(self, opened: list[tuple[Timeline, int]]) -> None:
        for timeline, at in reversed(opened):
            if timeline in recording:
                timeline.leave(at)

    def _call_end_callbacks_on_future(self, future: Any) -> Any:
        """End the range when a future is done, not when the block is."""
        if not self.run_callbacks_on_exit:
            raise RuntimeError("_call_end_callbacks_on_future can only be called once.")
        self.run_callbacks_on_exit = False
        opened = self._open.pop()

        def done(finished: Any) -> Any:
            self._leave(opened)
            return finished.value()

        return future.then(done)


@functools.cache
def kineto_available() -> bool:
    """Whether operations can be recorded: always."""
    return True
