"""`cuda`: CuPy. The same operations as on `xpu`; all that differs between the two modules is in these two files.

It has not run on a GPU yet: no machine of ours has one. docs/devices.md says what was tested and how.
"""
from __future__ import annotations

import threading
import weakref
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from claygrad.devices._namespace import namespace
from claygrad.devices._table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager


class Cuda(Table):
    type = "cuda"
    none_there = "CuPy finds no GPU"
    packages = ("cupy", "cupyx", "cupy_backends")
    forms_from = "claygrad.cuda._kernels"

    def __init__(self, module: Any, errors: Any) -> None:
        self.module, self.errors = module, errors
        self.hurry = threading.local()
        self.under_way: list[tuple[Any, np.ndarray]] = []       # copies that nobody waited for, and what they read
        self.held: list[tuple[Any, Any]] = []       # streams, and what must live until they are done
        self.pinned_ranges: dict[int, int] = {}
        super().__init__(namespace(module, "cupy", module.lib.stride_tricks.as_strided, *self.own(module)))

    @staticmethod
    def own(module: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Functions that CuPy has with fewer arguments than NumPy, or not at all; the same of its linear algebra."""
        return {}, {}

    def count(self) -> int:
        return self.module.cuda.runtime.getDeviceCount()         # as CUDA_VISIBLE_DEVICES lets it

    def on(self, index: int) -> AbstractContextManager[Any]:
        """Also: a matrix that cannot be factored is an error, which CuPy overlooks unless it is told."""
        stack = ExitStack()
        stack.enter_context(self.module.cuda.Device(index))
        stack.enter_context(self.errors(linalg="raise"))
        return stack

    def new_memory(self, nbytes: int, index: int) -> Any:
        with self.module.cuda.Device(index):
            return self.module.cuda.alloc(nbytes)

    def array_on(self, raw: Any, kind: np.dtype, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Any:
        return self.module.ndarray(shape, kind, raw + offset * kind.itemsize,
                                   tuple(step * kind.itemsize for step in strides))

    def memory_of(self, array: Any) -> tuple[Any, int, int]:
        memory = array.data.mem
        return self.module.cuda.MemoryPointer(memory, 0), memory.ptr, memory.size

    def at_start(self, array: Any, begin: int) -> bool:
        return array.data.ptr == begin

    def address_of(self, raw: Any) -> int:
        return raw.ptr

    def pointer(self, array: Any) -> int:
        return array.data.ptr

    def index_of(self, array: Any) -> int:
        return array.device.id

    def from_host(self, array: np.ndarray, index: int) -> Any:
        with self.module.cuda.Device(index):
            if not (getattr(self.hurry, "on", False) and array.size and self.is_pinned(array)):
                return self.module.array(array, blocking=True)
            out = self.module.empty(array.shape, array.dtype)
            stream = self.module.cuda.get_current_stream()
            out.data.copy_from_host_async(array.ctypes.data, array.nbytes, stream)
            self.under_way = [pair for pair in self.under_way if not pair[0].done] + [(stream.record(), array)]
            return out

    @contextmanager
    def without_waiting(self) -> Iterator[None]:
        outer, self.hurry.on = getattr(self.hurry, "on", False), True
        try:
            yield
        finally:
            self.hurry.on = outer

    def to_host(self, array: Any) -> np.ndarray:
        return self.module.asnumpy(array)

    def is_array(self, value: Any) -> bool:
        return isinstance(value, self.module.ndarray)

    def synchronize(self, index: int) -> None:
        self.module.cuda.Device(index).synchronize()
        self._let_go()

    def hold(self, raw: Any, value: Any) -> None:
        self._let_go()
        self.held.append((raw, value))

    def _let_go(self) -> None:
        self.held = [pair for pair in self.held if not pair[0].done]

    def properties(self, index: int) -> dict[str, Any]:
        major, minor = self.capability(index)
        found = self.module.cuda.runtime.getDeviceProperties(index)
        return {"major": major, "minor": minor, "multi_processor_count": found["multiProcessorCount"]}

    def capability(self, index: int) -> tuple[int, int]:
        found = self.module.cuda.runtime.getDeviceProperties(index)
        return found["major"], found["minor"]

    def name_of(self, index: int) -> str:
        name = self.module.cuda.runtime.getDeviceProperties(index)["name"]
        return name.decode() if isinstance(name, bytes) else name

    def total_memory(self, index: int) -> int:
        return self.module.cuda.runtime.getDeviceProperties(index)["totalGlobalMem"]

    def free_memory(self, index: int) -> int:
        with self.module.cuda.Device(index):
            return self.module.cuda.runtime.memGetInfo()[0]

    def empty_cache(self) -> None:
        self.module.get_default_memory_pool().free_all_blocks()

    def new_stream(self, index: int, priority: int) -> Any:
        with self.module.cuda.Device(index):
            return self.module.cuda.Stream(non_blocking=True, priority=priority or None)

    def external_stream(self, address: int, index: int) -> Any:
        return self.module.cuda.ExternalStream(address, index)

    def limit_memory(self, fraction: float, index: int) -> None:
        with self.module.cuda.Device(index):
            self.module.get_default_memory_pool().set_limit(fraction=fraction)

    def current_stream(self, index: int) -> Any:
        return self.module.cuda.get_current_stream(index)

    def default_stream(self, index: int) -> Any:
        return self.module.cuda.Stream.null

    def use_stream(self, raw: Any, index: int) -> None:
        with self.module.cuda.Device(index):
            raw.use()

    def stream_number(self, raw: Any) -> int:
        return raw.ptr

    def stream_done(self, raw: Any, index: int) -> bool:
        return raw.done

    def wait_for_stream(self, raw: Any, index: int) -> None:
        raw.synchronize()

    def new_event(self, timing: bool, blocking: bool) -> Any:
        return self.module.cuda.Event(block=blocking, disable_timing=not timing)

    def record_event(self, event: Any, raw: Any, index: int) -> None:
        raw.record(event)

    def event_done(self, event: Any) -> bool:
        return event.done

    def wait_for_event(self, event: Any) -> None:
        event.synchronize()

    def stream_waits(self, raw: Any, event: Any) -> None:
        raw.wait_event(event)

    def elapsed(self, begin: Any, end: Any) -> float:
        return self.module.cuda.get_elapsed_time(begin, end)

    def pinned(self, nbytes: int) -> np.ndarray:
        memory = np.frombuffer(self.module.cuda.alloc_pinned_memory(max(nbytes, 1)), np.uint8, nbytes)
        begin = memory.ctypes.data
        self.pinned_ranges[begin] = begin + max(nbytes, 1)
        weakref.finalize(memory, self.pinned_ranges.pop, begin, None)
        return memory

    def is_pinned(self, array: np.ndarray) -> bool:
        begin = array.ctypes.data
        return any(first <= begin and begin + array.nbytes <= end for first, end in tuple(self.pinned_ranges.items()))


def make() -> Table:
    import cupy
    import cupyx
    return Cuda(cupy, cupyx.errstate)
