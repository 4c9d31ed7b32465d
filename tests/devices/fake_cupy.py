"""A stand-in for CuPy on the arrays of strict.py: its names for devices, memory and arrays, for the table of `cuda`."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np

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


class _Kind(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Array)


class ndarray(metaclass=_Kind):
    def __new__(cls, shape: Any, dtype: Any, memptr: MemoryPointer, strides: Any) -> Any:
        return CudaArray(np.ndarray(shape, dtype, memptr.mem.buffer.data, memptr.offset, strides))


class CudaArray(Array):
    __slots__ = ()


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


class Stream:
    current: Any = None

    def __init__(self, non_blocking: bool = False) -> None:
        self.non_blocking = non_blocking

    def use(self) -> Stream:
        Stream.current = self
        return self

    synchronize = staticmethod(_nothing)


_PROPERTIES = {"major": 9, "minor": 0, "multiProcessorCount": 1, "name": b"stand-in", "totalGlobalMem": 1 << 30}
_RUNTIME = SimpleNamespace(getDeviceCount=lambda: 1, getDeviceProperties=lambda index: _PROPERTIES,
                           memGetInfo=lambda: (1 << 29, 1 << 30))


class FakeCupy(Module):
    ndarray = ndarray
    cuda = SimpleNamespace(
        Device=Device, Stream=Stream, MemoryPointer=MemoryPointer, runtime=_RUNTIME,
        get_current_stream=lambda: Stream.current or Stream(),
        alloc=lambda nbytes: MemoryPointer(Memory(np.full(nbytes, 0xAA, np.uint8)), 0),
        alloc_pinned_memory=bytearray)
    lib = SimpleNamespace(stride_tricks=SimpleNamespace(
        as_strided=lambda x, shape, strides: Array(np.lib.stride_tricks.as_strided(x.a, shape, strides))))

    def __init__(self) -> None:
        super().__init__(np)

    @staticmethod
    def array(x: Any, dtype: Any = None, **kwargs: Any) -> Array:
        return Array(np.array(x if isinstance(x, np.ndarray) else bare(x), dtype, **kwargs))

    @staticmethod
    def asnumpy(x: Array) -> np.ndarray:
        return x.a.copy()

    @staticmethod
    def get_default_memory_pool() -> Any:
        return SimpleNamespace(free_all_blocks=_nothing)


def errstate(**_: Any) -> Any:
    """CuPy's `cupyx.errstate`: NumPy's linear algebra raises by itself."""
    return nullcontext()
