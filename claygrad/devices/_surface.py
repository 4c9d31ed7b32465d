"""The functions that `torch.xpu`, `torch.cuda` and `torch.accelerator` share, over the table of a type of device.

Where there is no such device, questions are answered (none, nothing) and uses are refused as PyTorch refuses them.
"""
from __future__ import annotations

from collections import OrderedDict
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from claygrad.core.cpython.entry_points import guard_package
from claygrad.core.data.device import device as Device
from claygrad.core.data.device import parse_device
from claygrad.devices import available, table_of
from claygrad.native.random import generator_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from claygrad.core import Tensor
    from claygrad.devices._table import Table


def place(kind: str, given: Any = None) -> Device:
    """A device of this type, given as None (the current one), a number, a string or a device."""
    if given is None or (isinstance(given, int) and given < 0):
        return parse_device(kind)
    found = parse_device(Device(kind, given) if isinstance(given, int) else given)
    if found is None or found.type != kind:
        raise ValueError(f"Expected a {kind} device, but got: {given}")
    return found


def _number(where: Device) -> int:
    return where.index or 0


_OWN = object()


class Stream:
    """An order in which a device works: what is asked of one stream is done in turn, two streams may work side by side.

    A device has one stream, unless its array module has more (`cuda`).
    """

    kind = ""

    def __init__(self, device: Any = None, priority: int = 0, *, _raw: Any = _OWN, **_: Any) -> None:
        self.device = place(self.kind, device)
        self.table: Table = self.device.table
        self.device_index: int = _number(self.device)
        self.priority = priority
        self.raw = self.table.new_stream(self.device_index, priority) if _raw is _OWN else _raw
        self._outer: list[tuple[int, Any]] = []

    @property
    def stream_id(self) -> int:
        """What tells the streams of a device apart."""
        return self.table.stream_number(self.raw)

    @property
    def cuda_stream(self) -> int:
        """CUDA's handle."""
        return self.stream_id

    sycl_queue = cuda_stream

    def synchronize(self) -> None:
        """Wait until all that was asked of it is done."""
        self.table.wait_for_stream(self.raw, self.device_index)

    def query(self) -> bool:
        """Whether all that was asked of it is done."""
        return self.table.stream_done(self.raw, self.device_index)

    def wait_stream(self, stream: Stream) -> None:
        """Let what is asked of this one from now on come after what was asked of the other."""
        self.wait_event(stream.record_event())

    def wait_event(self, event: Event) -> None:
        """Let what is asked from now on come after an event; one that was not recorded holds nothing up."""
        if event.raw is not None:
            self.table.stream_waits(self.raw, event.raw)

    def record_event(self, event: Event | None = None) -> Event:
        """A mark after what was asked so far."""
        out = (_classes(self.kind)["Event"])() if event is None else event
        out.record(self)
        return out

    def __enter__(self) -> Stream:
        self._outer.append((self.table.current(), self.table.current_stream(self.device_index)))
        self.table.set_current(self.device_index)
        self.table.use_stream(self.raw, self.device_index)
        return self

    def __exit__(self, *exc: object) -> None:
        index, raw = self._outer.pop()
        self.table.use_stream(raw, self.device_index)
        self.table.set_current(index)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return NotImplemented
        return (self.device, self.stream_id) == (other.device, other.stream_id)

    def __hash__(self) -> int:
        return hash((self.device_index, self.stream_id))

    def __repr__(self) -> str:
        return f"<claygrad.{self.kind}.Stream device={self.device} {self.kind}_stream={self.stream_id:#x}>"


class ExternalStream(Stream):
    """A stream that something else made, by its address; it must live as long as this."""

    def __init__(self, stream_ptr: int, device: Any = None, **_: Any) -> None:
        where = place(self.kind, device)
        super().__init__(where, _raw=where.table.external_stream(stream_ptr, _number(where)))


class Event:
    """A mark in what a stream is asked to do."""

    kind = ""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False,
                 **_: Any) -> None:
        if interprocess:
            raise NotImplementedError("events are not shared between processes")
        self.enable_timing, self.blocking = enable_timing, blocking
        self.raw: Any = None                    # made when it is first recorded: then its device is known
        self.table: Any = None
        self.device: Device | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Mark what was asked so far of a stream, the current one if none is given."""
        stream = current(self.kind) if stream is None else stream
        if self.raw is None:
            self.table, self.device = stream.table, stream.device
            with self.table.on(stream.device_index):
                self.raw = self.table.new_event(self.enable_timing, self.blocking)
        elif self.device != stream.device:
            raise RuntimeError(f"Event device {self.device} does not match recording stream's device {stream.device}.")
        self.table.record_event(self.raw, stream.raw, stream.device_index)

    def query(self) -> bool:
        """Whether what it marks is done; so it is if it was never recorded."""
        return self.raw is None or self.table.event_done(self.raw)

    def synchronize(self) -> None:
        """Wait until what it marks is done."""
        if self.raw is not None:
            self.table.wait_for_event(self.raw)

    def wait(self, stream: Stream | None = None) -> None:
        """Let what is asked of a stream from now on come after it."""
        (current(self.kind) if stream is None else stream).wait_event(self)

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds between two marks."""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self.raw is None or end_event.raw is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not (self.query() and end_event.query()):
            raise ValueError("Both events must be completed before calculating elapsed time.")
        return self.table.elapsed(self.raw, end_event.raw)

    def __repr__(self) -> str:
        return f"<claygrad.{self.kind}.Event {'uninitialized' if self.raw is None else self.device}>"


def current(kind: str, device: Any = None) -> Stream:
    """The current stream of a device."""
    where = place(kind, device)
    return _classes(kind)["Stream"](where, _raw=where.table.current_stream(_number(where)))


def _class(kind: str, name: str, base: type) -> type:
    return type(name, (base,), {"kind": kind, "__module__": f"claygrad.{kind}", "__doc__": base.__doc__})


@cache
def _classes(kind: str) -> dict[str, Any]:
    stream = _class(kind, "Stream", Stream)
    external = type("ExternalStream", (stream, ExternalStream), {
        "kind": kind, "__module__": f"claygrad.{kind}", "__doc__": ExternalStream.__doc__,
        "__init__": ExternalStream.__init__})
    return {"Stream": stream, "Event": _class(kind, "Event", Event), "ExternalStream": external}


class _Current:
    """A device as the current one of its type: `with torch.xpu.device(1):`."""

    kind = ""

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None else device if isinstance(device, int) else _number(place(self.kind, device))
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            table = table_of(self.kind)
            self.prev_idx = table.current()
            table.set_current(self.idx)

    def __exit__(self, *exc: object) -> None:
        if self.idx >= 0:
            table_of(self.kind).set_current(self.prev_idx)


# What needs the vendor's own libraries. Other names that PyTorch has are answered, and refused, as on every machine.
_REFUSED = ("clock_rate", "memory_snapshot", "power_draw", "temperature", "utilization",
            "get_per_process_memory_fraction")
_REFUSED_BY_CUDA = ("caching_allocator_alloc", "caching_allocator_delete", "cudart", "host_memory_stats", "graph",
                    "list_gpu_processes")
_STORAGES = tuple(f"{kind}Storage" for kind in "Float Double Half BFloat16 Byte Char Short Int Long Bool ComplexFloat "
                  "ComplexDouble".split())
_REFUSED_CLASSES = ("MemPool",), ("MemPool", "CUDAGraph", *_STORAGES)


def surface(kind: str) -> dict[str, Any]:
    """The names of a module of devices."""

    def is_available() -> bool:
        return available(kind)

    def device_count() -> int:
        return table_of(kind).count() if available(kind) else 0

    def is_initialized() -> bool:
        from claygrad.devices import _TABLES
        return kind in _TABLES

    def init() -> None:
        table_of(kind)

    def current_device() -> int:
        return table_of(kind).current()

    def set_device(device: Any) -> None:
        if not (isinstance(device, int) and device < 0):
            table_of(kind).set_current(device if isinstance(device, int) else _number(place(kind, device)))

    def get_device_name(device: Any = None) -> str:
        where = place(kind, device)
        return where.table.name_of(where.index)

    def get_device_properties(device: Any = None) -> Any:
        where = place(kind, device)
        table, index = where.table, where.index
        return SimpleNamespace(name=table.name_of(index), total_memory=table.total_memory(index),
                               **table.properties(index))

    def get_device_capability(device: Any = None) -> Any:
        where = place(kind, device)
        return where.table.capability(where.index)

    def synchronize(device: Any = None) -> None:
        where = place(kind, device)
        where.table.synchronize(where.index)

    def every() -> Iterable[Device]:
        return [place(kind, i) for i in range(device_count())]

    def manual_seed(seed: int) -> None:
        if available(kind):
            generator_of(place(kind)).manual_seed(int(seed))

    def manual_seed_all(seed: int) -> None:
        for where in every():
            generator_of(where).manual_seed(int(seed))

    def seed() -> None:
        if available(kind):
            generator_of(place(kind)).seed()

    def seed_all() -> None:
        if available(kind):
            manual_seed_all(generator_of(place(kind)).seed())

    def initial_seed() -> int:
        return generator_of(place(kind)).initial_seed()

    def get_rng_state(device: Any = kind) -> Tensor:
        return generator_of(place(kind, device)).get_state()

    def set_rng_state(new_state: Tensor, device: Any = kind) -> None:
        generator_of(place(kind, device)).set_state(new_state)

    def get_rng_state_all() -> list[Tensor]:
        return [generator_of(where).get_state() for where in every()]

    def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
        for i, state in enumerate(new_states):
            set_rng_state(state, i)

    def _generators() -> tuple[Any, ...]:
        return tuple(generator_of(where) for where in every())

    def empty_cache() -> None:
        if is_initialized():
            table_of(kind).empty_cache()

    def counted(what: str) -> Callable[..., int]:
        def read(device: Any = None) -> int:
            if not available(kind):
                return 0
            where = place(kind, device)
            return getattr(where.table.counted(where.index), what)
        return read

    def reset_peak_memory_stats(device: Any = None) -> None:
        if available(kind):
            where = place(kind, device)
            found = where.table.counted(where.index)
            found.peak = found.used

    def memory_stats(device: Any = None) -> dict[str, Any]:
        if not available(kind):
            return OrderedDict()
        where = place(kind, device)
        found = where.table.counted(where.index)
        return OrderedDict({"allocated_bytes.all.current": found.used, "allocated_bytes.all.peak": found.peak,
                            "allocation.all.current": found.blocks, "allocation.all.allocated": found.made})

    def mem_get_info(device: Any = None) -> tuple[int, int]:
        where = place(kind, device)
        return where.table.free_memory(where.index), where.table.total_memory(where.index)

    def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
        nested: dict[str, Any] = {}
        for path, value in memory_stats(device).items():
            *inside, last = path.split(".")
            at = nested
            for step in inside:
                at = at.setdefault(step, {})
            at[last] = value
        return nested

    def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
        where = place(kind, device)
        found = where.table.counted(where.index)
        rows = [("bytes now", found.used), ("bytes at most", found.peak), ("blocks now", found.blocks),
                *([] if abbreviated else [("blocks allocated in all", found.made),
                                          ("bytes of the device", where.table.total_memory(where.index))])]
        return "\n".join([f"claygrad's memory on {where}", *(f"  {name:<24}{value:>20,}" for name, value in rows)])

    def device_memory_used(device: Any = None) -> int:
        free, total = mem_get_info(device)
        return total - free

    def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
        where = place(kind, device)
        if not isinstance(fraction, float):
            raise TypeError("Invalid type for fraction argument, must be `float`")
        if not 0 <= fraction <= 1:
            raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
        where.table.limit_memory(fraction, _number(where))

    def get_stream_from_external(data_ptr: int, device: Any = None) -> Any:
        return _classes(kind)["ExternalStream"](data_ptr, device)

    def set_sync_debug_mode(debug_mode: int | str) -> None:
        table_of(kind)
        if debug_mode not in (0, 1, 2, "default", "warn", "error"):
            raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`")
        if debug_mode not in (0, "default"):
            raise not_there("set_sync_debug_mode")

    def get_sync_debug_mode() -> int:
        table_of(kind)
        return 0

    def is_tf32_supported() -> bool:
        return kind == "cuda" and available(kind) and get_device_capability() >= (8, 0)

    def not_there(name: str) -> NotImplementedError:
        table = table_of(kind)                      # without a device: the refusal of that
        return NotImplementedError(f"torch.{kind}.{name} is not there\n  claygrad's {kind} devices are those of "
                                   f"{table.packages[0]}, through which it does not reach this: docs/devices.md says "
                                   "what there is")

    def refused(name: str) -> Callable[..., Any]:
        def refuse(*args: Any, **kwargs: Any) -> Any:
            raise not_there(name)
        refuse.__name__ = refuse.__qualname__ = name
        return refuse

    def refused_class(name: str) -> type:
        return type(name, (), {"__module__": f"claygrad.{kind}", "__init__": refused(name),
                               "__doc__": "Refused when it is instantiated: claygrad's devices have no such thing."})

    def current_stream(device: Any = None) -> Any:
        return current(kind, device)

    def default_stream(device: Any = None) -> Any:
        where = place(kind, device)
        return _classes(kind)["Stream"](where, _raw=where.table.default_stream(_number(where)))

    def set_stream(stream: Any) -> None:
        if stream is not None:
            stream.table.set_current(stream.device_index)
            stream.table.use_stream(stream.raw, stream.device_index)

    context = _class(kind, "device", _Current)

    def device_of(obj: Any) -> Any:
        return context(obj.get_device() if obj.device.type == kind else -1)

    out: dict[str, Any] = {one.__name__: one for one in (
        is_available, device_count, is_initialized, init, current_device, set_device, get_device_name,
        get_device_properties, get_device_capability, synchronize, manual_seed, manual_seed_all, seed, seed_all,
        initial_seed, _generators, get_rng_state, set_rng_state, get_rng_state_all, set_rng_state_all, empty_cache,
        reset_peak_memory_stats, memory_stats, memory_stats_as_nested_dict, memory_summary, device_memory_used,
        mem_get_info, current_stream, default_stream, set_stream, device_of, set_per_process_memory_fraction,
        get_stream_from_external, is_tf32_supported)}
    out |= {name: refused(name) for name in _REFUSED}
    out |= {name: refused_class(name) for name in _REFUSED_CLASSES[kind == "cuda"]}
    if kind == "cuda":
        out |= {name: refused(name) for name in _REFUSED_BY_CUDA}
        out |= {"get_sync_debug_mode": get_sync_debug_mode, "set_sync_debug_mode": set_sync_debug_mode,
                 "memory_cached": counted("used"), "max_memory_cached": counted("peak"),
                 "reset_max_memory_cached": reset_peak_memory_stats}
    out |= {"memory_allocated": counted("used"), "max_memory_allocated": counted("peak"),
             "memory_reserved": counted("used"), "max_memory_reserved": counted("peak"),
             "reset_accumulated_memory_stats": reset_peak_memory_stats,
             "reset_max_memory_allocated": reset_peak_memory_stats,
             "device": context, "stream": _stream_context, "StreamContext": _stream_context,
             "is_bf16_supported": lambda including_emulation=True: available(kind) and including_emulation,
             **_classes(kind)}
    return out


class _stream_context:
    """Use a stream for a while; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *exc: object) -> None:
        if self.stream is not None:
            self.stream.__exit__(*exc)

guard_package(__name__)          # Note [Entry points]
