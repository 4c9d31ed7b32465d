"""`cuda`: CuPy. The same operations as on `xpu`; all that differs between the two modules is in these two files.

It has not run on a GPU yet: no machine of ours has one. docs/devices.md says what was tested and how.
"""
from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np

from claygrad.devices._namespace import namespace
from claygrad.devices._table import Table

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


class Cuda(Table):
    type = "cuda"
    none_there = "CuPy finds no GPU"
    packages = ("cupy", "cupyx", "cupy_backends")

    def __init__(self, module: Any, errors: Any) -> None:
        self.module, self.errors = module, errors
        super().__init__(namespace(module, "cupy", module.lib.stride_tricks.as_strided))

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

    def index_of(self, array: Any) -> int:
        return array.device.id

    def from_host(self, array: np.ndarray, index: int) -> Any:
        with self.module.cuda.Device(index):
            return self.module.array(array)

    def to_host(self, array: Any) -> np.ndarray:
        return self.module.asnumpy(array)

    def is_array(self, value: Any) -> bool:
        return isinstance(value, self.module.ndarray)

    def synchronize(self, index: int) -> None:
        self.module.cuda.Device(index).synchronize()

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
            return self.module.cuda.Stream(non_blocking=True)

    def wait_for_stream(self, raw: Any, index: int) -> None:
        raw.synchronize()

    def enter_stream(self, raw: Any) -> Any:
        outer = self.module.cuda.get_current_stream()
        raw.use()
        return outer

    def leave_stream(self, raw: Any, outer: Any) -> None:
        outer.use()

    def pinned(self, nbytes: int) -> np.ndarray:
        return np.frombuffer(self.module.cuda.alloc_pinned_memory(max(nbytes, 1)), np.uint8, nbytes)


def make() -> Table:
    import cupy
    import cupyx
    return Cuda(cupy, cupyx.errstate)
