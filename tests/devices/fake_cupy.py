"""A stand-in for CuPy on the arrays of strict.py: its names for devices, memory and arrays, for the table of `cuda`."""

from __future__ import annotations

import ctypes
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.devices.host_kernels import RawModule
from tests.devices.strict import Array, Module, Strict, bare


class Memory:
    def __init__(self, buffer: np.ndarray) -> None:
        self.buffer, self.ptr, self.size = buffer, buffer.ctypes.data, buffer.nbytes


class MemoryPointer:
    """A place in memory; adding bytes moves it."""

    def __init__(self, mem: Memory, offset: int) -> None:
        self.mem, self.offset = mem, offset

    @property
    def ptr(self) -> int:
        return self.mem.ptr + self.offset

    def __add__(self, more: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self.offset + more)

    def copy_from_host_async(self, address: int, nbytes: int, stream: Any = None) -> None:
        ASKED.append(("copied", stream.ptr, nbytes))
        stream.later.append(lambda: ctypes.memmove(self.ptr, address, nbytes))


class _Kind(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Array)


class ndarray(metaclass=_Kind):
    def __new__(cls, shape: Any, dtype: Any, memptr: MemoryPointer, strides: Any) -> Any:
        return CudaArray(np.ndarray(shape, dtype, memptr.mem.buffer.data, memptr.offset, strides))


class CudaArray(Array):
    __slots__ = ()

    def __setitem__(self, key: Any, value: Any) -> None:
        """A write comes after the copies that the current stream has still to do."""
        current = Stream.current or Stream.null
        write = super().__setitem__
        if current.later:
            current.later.append(lambda: write(key, value))
        else:
            write(key, value)


def _data(self: Array) -> MemoryPointer:
    """CuPy's `array.data`."""
    root, begin, _ = Strict.memory_of(None, self)  # type: ignore[arg-type]
    axes = sorted(range(root.ndim), key=lambda i: -root.strides[i])
    line = np.frombuffer(root.transpose(axes).reshape(-1).view(np.uint8).data, np.uint8)
    return MemoryPointer(Memory(line), self.a.ctypes.data - begin)


def _nothing() -> None:
    """Nothing to wait for, or to free."""


class Device:
    def __init__(self, index: int) -> None:
        self.id = index

    synchronize = staticmethod(_nothing)

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        """The device before."""


ASKED: list[tuple[Any, ...]] = []          # what was asked of streams and events, in order


class Event:
    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self.block, self.disable_timing, self.done, self.number = block, disable_timing, False, len(ASKED)
        self.before: list[Any] = []

    def synchronize(self) -> None:
        ASKED.append(("event waited for", self.number))
        for copy in self.before:
            copy()
        self.done = True


class Stream:
    """Work of a stream is done when somebody waits for it: copies from the host and what is written after them, in their order;
    all else is done at once."""

    null: Any = None
    current: Any = None
    count = 0

    def __init__(self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: int | None = None) -> None:
        self.non_blocking, self.priority, self.events = non_blocking, priority, []
        self.later: list[Any] = []
        self.ptr = 0 if null else Stream.count + 1
        Stream.count += not null

    def use(self) -> Stream:
        Stream.current = self
        return self

    @property
    def done(self) -> bool:
        return all(event.done for event in self.events)

    def catch_up(self) -> None:
        while self.later:
            self.later.pop(0)()

    def synchronize(self) -> None:
        ASKED.append(("stream waited for", self.ptr))
        self.catch_up()
        for event in self.events:
            event.done = True

    def record(self, event: Event | None = None) -> Event:
        event = Event() if event is None else event
        event.done, event.before = False, list(self.later)
        self.events.append(event)
        ASKED.append(("recorded", self.ptr, event.number))
        return event

    def wait_event(self, event: Event) -> None:
        ASKED.append(("waits", self.ptr, event.number))
        self.later.extend(event.before)          # a copy that is done twice is done


Stream.null = Stream(null=True)


class ExternalStream(Stream):
    def __init__(self, ptr: int, device_id: int = -1) -> None:
        super().__init__(null=True)
        self.ptr = ptr


class Pool:
    fraction = 1.0
    free_all_blocks = staticmethod(_nothing)

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        assert fraction is not None
        self.fraction = fraction


_PROPERTIES = {"major": 9, "minor": 0, "multiProcessorCount": 1, "name": b"stand-in", "totalGlobalMem": 1 << 30}
_RUNTIME = SimpleNamespace(getDeviceCount=lambda: 1, getDeviceProperties=lambda index: _PROPERTIES,
                           memGetInfo=lambda: (1 << 29, 1 << 30))


class FakeCupy(Module):
    pool = Pool()
    ndarray = ndarray
    RawModule = RawModule
    cuda = SimpleNamespace(
        Device=Device, Stream=Stream, ExternalStream=ExternalStream, Event=Event, MemoryPointer=MemoryPointer, runtime=_RUNTIME,
        get_current_stream=lambda device_id=-1: Stream.current or Stream.null,
        get_elapsed_time=lambda begin, end: float(end.number - begin.number),
        alloc=lambda nbytes: MemoryPointer(Memory(np.full(nbytes, 0xAA, np.uint8)), 0),
        alloc_pinned_memory=bytearray)
    lib = SimpleNamespace(stride_tricks=SimpleNamespace(
        as_strided=lambda x, shape, strides: Array(np.lib.stride_tricks.as_strided(x.a, shape, strides))))

    def __init__(self) -> None:
        super().__init__(np)

    @staticmethod
    def array(x: Any, dtype: Any = None, *, blocking: bool = False, **kwargs: Any) -> Array:
        return Array(np.array(x if isinstance(x, np.ndarray) else bare(x), dtype, **kwargs))

    @staticmethod
    def asnumpy(x: Array) -> np.ndarray:
        """As in CuPy, a copy of the current stream, which is waited for; other streams are not."""
        (Stream.current or Stream.null).catch_up()
        return x.a.copy()

    @staticmethod
    def get_default_memory_pool() -> Any:
        return FakeCupy.pool


def errstate(**_: Any) -> Any:
    """CuPy's `cupyx.errstate`: NumPy's linear algebra raises by itself."""
    return nullcontext()
