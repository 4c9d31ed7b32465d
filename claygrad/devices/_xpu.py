"""`xpu`: dpnp, NumPy's functions on SYCL. Intel's GPUs, and CPUs through OpenCL (docs/devices.md)."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dpctl
import dpctl.memory
import dpnp
import dpnp.tensor as usm
import numpy as np
from dpctl.utils._order_manager import SequentialOrderManager, _SequentialOrderManager

from claygrad.devices._namespace import Part, namespace
from claygrad.devices._table import Table

if TYPE_CHECKING:
    from collections.abc import Callable


class _InStep(_SequentialOrderManager):
    """dpnp's record of the work on a queue. This one waits until all of it is done before the next function starts.

    On a CPU, MKL's functions (elementwise ones, factorizations) wait for earlier work with the interpreter's lock held.
    If that work is a host task that drops references, it waits for this lock, and both would wait for ever. Here the
    wait is without the lock.
    """

    @property
    def submitted_events(self) -> list[Any]:
        dpctl.SyclEvent.wait_for([*super().submitted_events, *self.host_task_events])
        return []


_REFUSALS = ("does not support input type", "is not understood")           # of dtypes, which dpnp tells by a ValueError


class Xpu(Table):
    type = "xpu"
    none_there = "dpctl finds no SYCL device; the OpenCL runtime for CPUs is pip install intel-opencl-rt"
    packages = ("dpnp", "dpctl")

    def __init__(self) -> None:
        devices = dpctl.get_devices()
        self.devices = [d for d in devices if d.is_gpu] or devices
        # dpnp's own queues, which it keeps in order itself. One that is in order by the runtime deadlocks: a wait with
        # the interpreter's lock held then waits for the host tasks that drop references, and these for the lock.
        self.queues = [dpctl.get_device_cached_queue(d) for d in self.devices]
        for queue in self.queues:
            if queue.sycl_device.is_cpu:
                SequentialOrderManager[queue].wait()
                SequentialOrderManager._map.get()[queue] = _InStep()
        solve = {"solve": lambda a, b: dpnp.ascontiguousarray(dpnp.linalg.solve(a, b))}
        super().__init__(namespace(dpnp, "dpnp", self.strided, _own(self), solve))

    def count(self) -> int:
        return len(self.devices)

    def queue(self) -> Any:
        return self.queues[self.current()]

    def new_memory(self, nbytes: int, index: int) -> Any:
        return dpctl.memory.MemoryUSMDevice(nbytes, queue=self.queues[index])

    def array_on(self, raw: Any, kind: np.dtype, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Any:
        out = usm.usm_ndarray(shape, dtype=kind, buffer=raw, strides=strides, offset=offset)
        return dpnp.ndarray._create_from_usm_ndarray(out)

    def memory_of(self, array: Any) -> tuple[Any, int, int]:
        raw = array.get_array().usm_data
        return raw, raw._pointer, raw.nbytes

    def at_start(self, array: Any, begin: int) -> bool:
        return array.get_array()._pointer == begin

    def address_of(self, raw: Any) -> int:
        return raw._pointer

    def index_of(self, array: Any) -> int:
        device = array.sycl_device
        return next((i for i, one in enumerate(self.devices) if one == device), 0)

    def from_host(self, array: np.ndarray, index: int) -> Any:
        return dpnp.asarray(array, sycl_queue=self.queues[index], copy=True)

    def to_host(self, array: Any) -> np.ndarray:
        return dpnp.asnumpy(array)

    def is_array(self, value: Any) -> bool:
        return isinstance(value, dpnp.ndarray)

    def synchronize(self, index: int) -> None:
        self.queues[index].wait()

    def name_of(self, index: int) -> str:
        return self.devices[index].name

    def total_memory(self, index: int) -> int:
        return self.devices[index].global_mem_size

    def properties(self, index: int) -> dict[str, Any]:
        device = self.devices[index]
        return {"vendor": device.vendor, "driver_version": device.driver_version,
                "max_compute_units": device.max_compute_units,
                "has_fp16": device.has_aspect_fp16, "has_fp64": device.has_aspect_fp64,
                "type": "gpu" if device.is_gpu else "cpu"}

    def pinned(self, nbytes: int) -> np.ndarray:
        return np.frombuffer(dpctl.memory.MemoryUSMHost(max(nbytes, 1), queue=self.queue()), np.uint8)[:nbytes]

    def lacks(self, error: BaseException, traceback: Any) -> bool:
        return super().lacks(error, traceback) or (isinstance(error, ValueError)
                                                   and any(words in str(error) for words in _REFUSALS))

    def strided(self, x: Any, shape: Any, strides: Any) -> Any:
        """A view of an array; strides in bytes, as NumPy's as_strided has them."""
        base, item = x.get_array(), x.dtype.itemsize
        return self.array_on(base.usm_data, x.dtype, tuple(shape), tuple(step // item for step in strides),
                             base._element_offset)


def _own(table: Xpu) -> dict[str, Any]:
    """Functions that dpnp has with fewer arguments than NumPy, or on its default queue, or not at all."""

    def factory(name: str) -> Callable[..., Any]:
        call = getattr(dpnp, name)

        def make(shape: Any, *args: Any, dtype: Any = None, **kwargs: Any) -> Any:
            if args and name != "full":
                dtype, args = args[0], args[1:]
            elif len(args) > 1:
                dtype, args = args[1], args[:1]
            return call(shape, *args, dtype=dtype, sycl_queue=table.queue(), **kwargs)
        return make

    def arange(*args: Any, dtype: Any = None) -> Any:
        if dtype is None and all(isinstance(x, (int, np.integer)) for x in args):
            dtype = np.int64
        return dpnp.arange(*args, dtype=dtype, sycl_queue=table.queue())

    def asarray(x: Any, dtype: Any = None, **kwargs: Any) -> Any:
        if isinstance(x, dpnp.ndarray):
            return x if dtype is None or x.dtype == dtype else x.astype(dtype)
        if isinstance(x, np.ndarray) and x.ndim:
            raise TypeError("dpnp: unsupported type numpy.ndarray")
        return dpnp.asarray(np.asarray(x, dtype) if np.isscalar(x) else x, dtype=dtype, sycl_queue=table.queue())

    def array(x: Any, dtype: Any = None, copy: bool = True, **kwargs: Any) -> Any:
        out = asarray(x, dtype)
        return out.copy() if out is x and copy else out

    def joined(name: str) -> Callable[..., Any]:
        call = getattr(dpnp, name)

        def join(arrays: Any, axis: int = 0, out: Any = None) -> Any:
            result = call([asarray(x) for x in arrays], axis=axis)
            if out is None:
                return result
            out[...] = result
            return out
        return join

    def elementwise(name: str) -> Callable[..., Any]:
        call = getattr(dpnp, name)

        def run(*args: Any, out: Any = None, **kwargs: Any) -> Any:
            if not any(isinstance(x, dpnp.ndarray) for x in args):        # numbers alone
                return getattr(np, name)(*args, **kwargs)
            result = call(*args, **kwargs)
            if out is None:
                return result
            out[...] = result
            return out
        return run

    def where(condition: Any, *values: Any) -> Any:
        return dpnp.where(asarray(condition), *values)

    def product(name: str) -> Callable[..., Any]:
        """dpnp multiplies no matrices that are broadcast over an axis of them."""
        call = getattr(dpnp, name)

        def run(a: Any, b: Any, **kwargs: Any) -> Any:
            return call(*(x.copy() if 0 in x.strides and x.size else x for x in (a, b)), **kwargs)
        return run

    def ordered(name: str) -> Callable[..., Any]:
        """dpnp sorts the last axis, and returns a transposed array for another."""
        call = getattr(dpnp, name)
        return lambda x, axis=-1, **kwargs: dpnp.ascontiguousarray(call(x, axis=axis, **kwargs))

    own: dict[str, Any] = {name: factory(name) for name in ("empty", "zeros", "ones", "full")}
    own |= {name: joined(name) for name in ("concatenate", "stack")}
    own |= {name: elementwise(name) for name in _ELEMENTWISE if hasattr(dpnp, name)}
    own |= {name: product(name) for name in ("matmul", "dot")}
    own |= {name: ordered(name) for name in ("sort", "argsort")}
    def transform(name: str) -> Callable[..., Any]:
        """On a CPU, MKL plans a Fourier transform in a host task, which must not stand behind those of `_InStep`."""
        call = getattr(dpnp.fft, name)

        def run(*args: Any, **kwargs: Any) -> Any:
            queue = table.queue()
            if queue.sycl_device.is_cpu:
                queue.wait()
            return call(*args, **kwargs)
        return run

    own["fft"] = Part(dpnp.fft, "dpnp.fft", {name: transform(name) for name in dpnp.fft.__all__ if "fft" in name})
    return own | {"arange": arange, "asarray": asarray, "array": array, "where": where,
                  "tril": lambda x, k=0: dpnp.tril(x, k=k), "triu": lambda x, k=0: dpnp.triu(x, k=k),
                  "take": lambda x, indices, axis=None: dpnp.take(x, indices, axis=axis),
                  "broadcast_arrays": lambda *arrays: dpnp.broadcast_arrays(*map(asarray, arrays))}


# Functions of elements, which forwards also call with numbers.
_ELEMENTWISE = ("absolute abs add angle arccos arccosh arcsin arcsinh arctan arctan2 arctanh bitwise_and bitwise_or "
                "bitwise_xor ceil clip conj copysign cos cosh divide equal exp exp2 expm1 floor floor_divide fmax fmin "
                "fmod gcd greater hypot imag invert isfinite isinf isnan isneginf isposinf lcm left_shift less log "
                "log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor maximum minimum "
                "multiply negative nextafter power real reciprocal remainder right_shift rint sign signbit sin sinc "
                "sinh sqrt square subtract tan tanh true_divide trunc any all").split()


def make() -> Table:
    return Xpu()
