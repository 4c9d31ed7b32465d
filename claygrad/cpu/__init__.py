"""`torch.cpu`: one device, on which every call is done when it returns."""
from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from claygrad.core.cpython.entry_points import guard_package
from claygrad._lazy import lazy

__all__ = ["Event", "Stream", "StreamContext", "current_device", "current_stream", "device_count", "is_available",
           "is_initialized", "set_device", "stream", "synchronize"]


def is_available() -> bool:
    return True


def is_initialized() -> bool:
    return True


def device_count() -> int:
    return 1


def current_device() -> str:
    return "cpu"


def set_device(device: Any) -> None:
    """There is one."""


def synchronize(device: Any = None) -> None:
    """Nothing is under way."""


class Stream:
    """Work in a row: all of it is, on the CPU."""

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Stream) -> None:
        """Nothing to wait for."""

    def record_event(self) -> None:
        """Nothing to wait for later."""

    def wait_event(self, event: Event) -> None:
        """Nothing to wait for."""


class Event:
    """A moment that is always past."""

    def query(self) -> bool:
        return True

    def record(self, stream: Stream | None = None) -> None:
        """Nothing to remember."""

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def wait(self, stream: Stream | None = None) -> None:
        """Nothing to wait for."""


_stream = Stream()


class StreamContext(AbstractContextManager[None]):
    """A stream as the current one, for a while."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        global _stream
        self._former = _stream
        _stream = self.stream or _stream

    def __exit__(self, *exc: object) -> None:
        global _stream
        _stream = self._former


def stream(stream: Stream | None) -> StreamContext:
    """A context in which this stream is the current one."""
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    return _stream


__getattr__ = lazy(__name__, ("amp",))

guard_package(__name__)          # Note [Entry points]
