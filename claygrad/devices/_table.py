"""What claygrad asks of a device: memory, views on it, copies, its array module and its native forms."""
from __future__ import annotations

import os
import threading
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from claygrad.core.errors import Lacking
from claygrad.core.user_warnings import warn_once
from claygrad.devices._special import forms

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from types import TracebackType

    from claygrad.core import dtype

HOST_FALLBACK = "CLAYGRAD_ENABLE_HOST_FALLBACK"


class Memory:
    """Bytes in use on one device, and the most there were."""

    def __init__(self) -> None:
        self.used = self.peak = self.blocks = self.made = 0
        self.lock = threading.Lock()

    def add(self, nbytes: int) -> None:
        with self.lock:
            self.used += nbytes
            self.blocks += 1
            self.made += 1
            self.peak = max(self.peak, self.used)

    def remove(self, nbytes: int) -> None:
        with self.lock:
            self.used -= nbytes
            self.blocks -= 1


class Mark:
    """When a mark was passed, in seconds."""

    at = 0.0


class Block:
    """A piece of a device's memory that one storage owns; `raw` is what the array module keeps it in."""

    __slots__ = ("__weakref__", "counted", "nbytes", "raw")

    def __init__(self, raw: Any, nbytes: int, counted: Memory) -> None:
        self.raw, self.nbytes, self.counted = raw, nbytes, counted
        counted.add(nbytes)

    def __del__(self) -> None:
        self.counted.remove(self.nbytes)


class Table:
    """A type of device. A subclass says how its array module makes, views and copies memory."""

    type = ""
    none_there = "no device was found"
    packages: tuple[str, ...] = ()           # errors that are raised in these say what the module lacks
    has_float64 = True
    forms_from = ""                          # the module whose `install(table)` gives the table its native forms
    steps: Any = None                        # steps of optimizers over many parameters, if the device has them

    def __init__(self, xp: Any) -> None:
        self.xp = xp
        self.forms: dict[str, Callable[..., Any]] = forms()
        self.memory: dict[int, Memory] = {}
        self._index = 0
        self._kept: dict[np.dtype, np.dtype] = {}

    # --- what a subclass has to say ------------------------------------------------------------------------------
    def count(self) -> int:
        """How many devices there are."""
        raise NotImplementedError

    def new_memory(self, nbytes: int, index: int) -> Any:
        """That many bytes, at least one, not initialised."""
        raise NotImplementedError

    def array_on(self, raw: Any, kind: np.dtype, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Any:
        """An array on memory; strides and offset are counted in elements."""
        raise NotImplementedError

    def memory_of(self, array: Any) -> tuple[Any, int, int]:
        """What keeps the memory that an array lies in, the address where that begins, and its bytes."""
        raise NotImplementedError

    def address_of(self, raw: Any) -> int:
        raise NotImplementedError

    def pointer(self, array: Any) -> int:
        """Where the first element of an array lies."""
        raise NotImplementedError

    def from_host(self, array: np.ndarray, index: int) -> Any:
        raise NotImplementedError

    def to_host(self, array: Any) -> np.ndarray:
        raise NotImplementedError

    def is_array(self, value: Any) -> bool:
        raise NotImplementedError

    def strides_of(self, array: Any) -> tuple[int, ...]:
        """Strides in elements."""
        return tuple(step // array.dtype.itemsize for step in array.strides)

    def synchronize(self, index: int) -> None:
        """Wait until all that was asked of the device is done."""

    def on(self, index: int) -> AbstractContextManager[Any]:
        """A context in which the array module makes its arrays on this device."""
        return nullcontext()

    def name_of(self, index: int) -> str:
        return self.type

    def total_memory(self, index: int) -> int:
        return 0

    def empty_cache(self) -> None:
        """Give memory that the module keeps for later back to the device."""

    def free_memory(self, index: int) -> int:
        return max(self.total_memory(index) - self.counted(index).used, 0)

    def properties(self, index: int) -> dict[str, Any]:
        """What else is known of a device."""
        return {}

    def capability(self, index: int) -> Any:
        """What a program may ask of the device: a pair of numbers for `cuda`, words for others."""
        return self.properties(index)

    # Streams and events. A device has one order of work, and its one stream is None, unless a subclass says otherwise.
    def new_stream(self, index: int, priority: int) -> Any:
        return None

    def current_stream(self, index: int) -> Any:
        return None

    def hold(self, raw: Any, value: Any) -> None:
        """Keep something until a stream has done what was asked of it: nothing to do where calls wait."""

    def default_stream(self, index: int) -> Any:
        return None

    def external_stream(self, address: int, index: int) -> Any:
        """A stream that something else made."""
        raise NotImplementedError(f"streams of others are not there on {self.type}\n  use its current stream")

    def limit_memory(self, fraction: float, index: int) -> None:
        """Refuse to allocate more than this part of a device's memory."""
        raise NotImplementedError(f"set_per_process_memory_fraction: memory of {self.type} has no limit of its own")

    def use_stream(self, raw: Any, index: int) -> None:
        """Make a stream the current one of its device."""

    def stream_number(self, raw: Any) -> int:
        """What tells two streams of a device apart; 0 is the default one."""
        return 0

    def stream_done(self, raw: Any, index: int) -> bool:
        """Whether all that was asked of a stream is done."""
        self.synchronize(index)
        return True

    def wait_for_stream(self, raw: Any, index: int) -> None:
        self.synchronize(index)

    def new_event(self, timing: bool, blocking: bool) -> Any:
        """A mark in a stream. Here its clock is read when all before it is done, so recording waits."""
        return Mark()

    def record_event(self, event: Any, raw: Any, index: int) -> None:
        """Mark what was asked of a stream so far."""
        self.wait_for_stream(raw, index)
        event.at = time.perf_counter()

    def event_done(self, event: Any) -> bool:
        return True

    def wait_for_event(self, event: Any) -> None:
        """Wait until what a mark stands behind is done."""

    def stream_waits(self, raw: Any, event: Any) -> None:
        """Let what is asked of a stream from now on come after a mark."""

    def elapsed(self, begin: Any, end: Any) -> float:
        """Milliseconds between two marks."""
        return (end.at - begin.at) * 1000

    def without_waiting(self) -> AbstractContextManager[Any]:
        """A context in which a copy from pinned memory to the device need not be done when it returns."""
        return nullcontext()

    def host_twin(self, generator: Any, where: Any) -> tuple[Any, Callable[[], None]]:
        """A generator of the CPU that draws what the given one, or else the device's own, would; and what has that one
        go on where the twin has come to."""
        from claygrad.native.random import follow, host_twin
        mine, twin = host_twin(generator, where)
        return twin, lambda: follow(mine, twin)

    def pinned(self, nbytes: int) -> np.ndarray | None:
        """Bytes of main memory that the device reads by itself; None where there is no such memory."""
        return None

    # --- what follows from that ----------------------------------------------------------------------------------
    def current(self) -> int:
        return self._index

    def set_current(self, index: int) -> None:
        self.check(index)
        self._index = index

    def check(self, index: int) -> None:
        count = self.count()
        if not 0 <= index < count:
            raise RuntimeError(f"{self.type.upper()} error: invalid device ordinal\n  {self.type}:{index} was asked "
                               f"for; there {'is one device' if count == 1 else f'are {count} devices'}")

    def counted(self, index: int) -> Memory:
        return self.memory.setdefault(index, Memory())

    def allocate(self, nbytes: int, index: int) -> Block:
        return Block(self.new_memory(max(nbytes, 1), index), nbytes, self.counted(index))

    def kept_as(self, kind: np.dtype) -> np.dtype:
        """The dtype in which the module keeps elements: its own, or the integer with the bits of one it has not."""
        found = self._kept.get(kind)
        if found is None:
            known = kind.isbuiltin == 1 and kind.kind in "biufc" and kind.names is None
            found = self._kept[kind] = kind if known else np.dtype(f"u{kind.itemsize}")
        return found

    def view(self, block: Block, kind: dtype, shape: tuple[int, ...], strides: tuple[int, ...], offset: int,
             index: int) -> Any:
        if 0 in shape:
            strides, offset = _row_major(shape), 0
        return self.array_on(block.raw, self.kept_as(kind.numpy), shape, strides, offset)

    def _bytes(self, block: Block, first: int, count: int) -> Any:
        return self.array_on(block.raw, np.dtype(np.uint8), (count,), (1,), first)

    def copy_block(self, into: Block, source: Block, nbytes: int) -> None:
        if nbytes:
            self.assign(self._bytes(into, 0, nbytes), self._bytes(source, 0, nbytes))

    def fill_block(self, block: Block, first: int, count: int, byte: int) -> None:
        self._bytes(block, first, count)[...] = byte

    def upload_block(self, block: Block, content: Any) -> None:
        """Write bytes (or a storage in main memory) to a block."""
        if not isinstance(content, bytes):
            content = content.to_bytes()
        if content:
            array = np.frombuffer(content, np.uint8)
            self.assign(self._bytes(block, 0, len(content)), self.from_host(array, 0))

    def download_block(self, block: Block, nbytes: int) -> bytes:
        return self.to_host(self._bytes(block, 0, nbytes)).tobytes() if nbytes else b""

    def address(self, block: Block) -> int:
        return self.address_of(block.raw)

    def assign(self, into: Any, array: Any) -> None:
        """Write an array into another, broadcast and cast."""
        if into.size:
            into[...] = array

    def as_array(self, value: Any, index: int) -> Any:
        return value if self.is_array(value) else self.from_host(np.asarray(value), index)

    def block_of(self, array: Any, keep_order: bool, others: Sequence[Block]
                 ) -> tuple[Block, int, tuple[int, ...]] | None:
        """A block for the memory of a result, its bytes, and the strides of the result; None if it must be copied.

        That is where it lies in the memory of an input, has gaps, or is not in the order that is wanted.
        """
        raw, begin, nbytes = self.memory_of(array)
        steps = _row_major(array.shape) if 0 in array.shape else self.strides_of(array)
        size = array.size * array.dtype.itemsize
        plain = steps == _row_major(array.shape) or array.size == 0 or _same_order(array.shape, steps)
        if nbytes < size or nbytes > size + 512 or not (plain or (keep_order and _dense(array.shape, steps))):
            return None
        if any(self.address_of(block.raw) == begin for block in others) or not self.at_start(array, begin):
            return None
        block = Block(raw, size, self.counted(self.index_of(array)))
        return block, size, _row_major(array.shape) if plain else steps

    def at_start(self, array: Any, begin: int) -> bool:
        """Whether the first element of an array lies where its memory begins."""
        raise NotImplementedError

    def index_of(self, array: Any) -> int:
        """The number of the device that an array is on."""
        return 0

    # --- bfloat16, which array modules have not: by its bits ---------------------------------------------------------
    def from_bfloat16(self, bits: Any) -> Any:
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)

    def to_bfloat16(self, values: Any) -> Any:
        """Rounded to nearest, ties to even; a NaN stays one."""
        xp = self.xp
        bits = values.view(np.uint32)
        rounded = (bits + np.uint32(0x7fff) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
        return xp.where(xp.isnan(values), np.uint32(0x7fc0), rounded).astype(np.uint16)

    # --- what the module lacks -----------------------------------------------------------------------------------
    def lacks(self, error: BaseException, traceback: TracebackType | None) -> bool:
        """Whether an error says that the module cannot do something, and not that the arguments are wrong."""
        if isinstance(error, Lacking):
            return True
        if not isinstance(error, (TypeError, NotImplementedError, AttributeError)) or traceback is None:
            return False
        while traceback.tb_next is not None:
            traceback = traceback.tb_next
        module = traceback.tb_frame.f_globals.get("__name__", "")
        if module.startswith("claygrad.native") and isinstance(error, TypeError):      # a kernel that a forward calls
            return True
        where, text = module.partition(".")[0], str(error)
        return where in self.packages or any(f"{name}." in text or f"'{name}" in text for name in self.packages)

    def lacking_text(self, operation: str, error: BaseException) -> str:
        why = (str(error).splitlines() or [""])[0]
        return (f"The operator 'aten::{operation}' is not currently implemented for the {self.type} device.\n"
                f"  {self.packages[0] if self.packages else self.type}: {why}\n"
                f"  compute it on the CPU (x.cpu()), or set the environment variable {HOST_FALLBACK}=1: it then runs "
                "there by itself, on copies")

    def may_use_host(self) -> bool:
        return os.environ.get(HOST_FALLBACK, "0") not in ("", "0")

    def note_host_use(self, operation: str) -> None:
        warn_once(f"{self.type} {operation}",
                  f"The operator 'aten::{operation}' is not currently supported on the {self.type} backend and will "
                  "fall back to run on the CPU. This may have performance implications.")


def _row_major(shape: Sequence[int]) -> tuple[int, ...]:
    out, step = [], 1
    for n in reversed(shape):
        out.append(step)
        step *= max(n, 1)
    return tuple(reversed(out))


def _same_order(shape: Sequence[int], steps: Sequence[int]) -> bool:
    """Whether strides are row-major but for axes of one element, whose strides say nothing."""
    return all(n == 1 or have == want for n, have, want in zip(shape, steps, _row_major(shape), strict=True))


def _dense(shape: Sequence[int], steps: Sequence[int]) -> bool:
    """Whether elements lie without gaps and overlaps, in any order of the axes."""
    expected = 1
    for step, n in sorted((step, n) for step, n in zip(steps, shape, strict=True) if n != 1):
        if step != expected:
            return False
        expected *= n
    return True
