"""What `torch.cuda`, `torch.xpu`, `torch.mps`, … answer on a machine that has none of them."""
from __future__ import annotations

import contextlib
from collections import OrderedDict
from typing import Any, NoReturn

from claygrad.compat.refusing import always, refusing_class


class DeviceContext(contextlib.ContextDecorator):
    """A device as the current one: none, or a negative number, changes nothing; any other is refused."""

    refusal: Any = None

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None else device

    def __enter__(self) -> None:
        if not (isinstance(self.idx, int) and self.idx < 0):
            raise type(self).refusal()

    def __exit__(self, *exc: object) -> None:
        """Nothing was changed."""


class StreamContext(contextlib.ContextDecorator):
    """A stream as the current one; without a device there is none, and None changes nothing."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        """Nothing to change."""

    def __exit__(self, *exc: object) -> None:
        """Nothing to change back."""


def device_module(name: str, error: Any) -> dict[str, Any]:
    """The names of a module of devices: how many there are (none), what to do with all of them (nothing), and a
    refusal, which `error()` makes, for whatever needs one."""

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise error()

    def set_device(device: Any) -> None:
        if not (isinstance(device, int) and device < 0):
            raise error()

    nothing, zero, no = always(None), always(0), always(False)
    made: dict[str, Any] = dict.fromkeys((
        "manual_seed", "manual_seed_all", "empty_cache", "reset_peak_memory_stats", "reset_accumulated_memory_stats",
        "reset_max_memory_allocated", "reset_max_memory_cached", "ipc_collect", "_lazy_call", "seed", "seed_all",
        "set_sync_debug_mode"), nothing)
    made.update(dict.fromkeys((
        "device_count", "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved",
        "memory_cached", "max_memory_cached", "current_allocated_memory", "driver_allocated_memory",
        "recommended_max_memory",
        "get_sync_debug_mode"), zero))
    made.update(dict.fromkeys((
        "is_available", "is_initialized", "is_bf16_supported", "is_tf32_supported", "is_current_stream_capturing",
        "_is_in_bad_fork", "is_built", "_is_compiled", "can_device_access_peer"), no))
    made.update(dict.fromkeys((
        "current_device", "synchronize", "get_device_name", "get_device_properties", "get_device_capability",
        "init", "_lazy_init", "current_stream", "default_stream", "set_stream", "get_rng_state", "set_rng_state",
        "initial_seed", "mem_get_info", "memory_summary", "memory_snapshot", "cudart", "utilization",
        "temperature", "power_draw", "clock_rate", "get_stream_from_external", "caching_allocator_alloc",
        "caching_allocator_delete", "set_per_process_memory_fraction", "list_gpu_processes", "host_memory_stats",
        "clear_graph_cache"), refuse))
    context: Any = type("device", (DeviceContext,), {"__module__": f"torch.{name}", "refusal": staticmethod(error),
                                                "__doc__": DeviceContext.__doc__})
    made.update(
        get_rng_state_all=always([]), set_rng_state_all=nothing, memory_stats=always(OrderedDict()),
        set_device=set_device,
        get_arch_list=always([]),
        get_gencode_flags=always(""), _initialized=False, default_generators=(), has_half=True, has_magma=False,
        device=context,
        device_of=type("device_of", (context,), {"__init__": lambda self, obj: context.__init__(self, -1)}),
        StreamContext=StreamContext, stream=StreamContext, OutOfMemoryError=_out_of_memory())
    for one in ("Stream", "Event", "ExternalStream", "CUDAGraph", "MemPool", "_CudaDeviceProperties"):
        made[one] = _needs_device(f"torch.{name}.{one}", error)
    return made


def _out_of_memory() -> type:
    import claygrad
    return claygrad.OutOfMemoryError                # type: ignore[attr-defined]


def _needs_device(name: str, error: Any) -> type:
    """A class that is refused for want of a device when it is instantiated."""
    made = refusing_class(name)
    said = {"torch.cuda.Stream": "torch.cuda.Stream requires CUDA support",
            "torch.cuda.Event": "Tried to instantiate dummy base class Event",
            "torch.cuda.CUDAGraph": "Tried to instantiate dummy base class CUDAGraph"}.get(name)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        raise error() if said is None else RuntimeError(f"{said}\n  {str(error()).partition(chr(10))[2]}")

    made.__init__ = __init__                        # type: ignore[misc]
    return made


def legacy_types(name: str) -> dict[str, type]:
    """`torch.cuda.FloatTensor` and its kin, which only isinstance may ask for."""
    def refuse(cls: type, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(f"type torch.{name}.{cls.__name__} not available. Torch not compiled with "
                        f"{name.upper()} enabled.")

    kinds = "Float Double Half BFloat16 Byte Char Short Int Long Bool ComplexFloat ComplexDouble".split()
    return {f"{kind}{end}": type(f"{kind}{end}", (), {"__module__": f"torch.{name}", "__new__": refuse,
                                                      "__doc__": "A type of PyTorch's other devices."})
            for kind in kinds for end in ("Tensor", "Storage")}
