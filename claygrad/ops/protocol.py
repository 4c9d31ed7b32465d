"""Tensors as Python objects: lists, membership, functions applied to elements, and questions about memory."""
from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from claygrad.core import Tensor as TensorType
from claygrad.core import host_array, recast, recast_array, share, storage_shares, write_into
from claygrad.core.user_warnings import warn
from claygrad.ops._data import numbers_from
from claygrad.ops._formats import contiguous_format, strided, strides_like
from claygrad.ops._registry import composite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from claygrad.core import Storage, Tensor
    from claygrad.ops._formats import memory_format

    ints = int | tuple[int, ...]


# --- lists and members ------------------------------------------------------------------------------------------
@composite(function=False, raw=True, samples=lambda t: [t.args(t(3, 4)), t.args(t()), t.args(t(2, 0, 3))])
def tolist(self: Tensor) -> list[Any] | Any:
    """The elements as Python numbers, in lists nested as the axes are; of a tensor without axes, the number.

    >>> claygrad.tensor([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]]
    """
    array = host_array(self)
    if array.dtype.kind == "V":
        if array.dtype.names and not self.is_complex():
            raise NotImplementedError(f"\"_local_scalar_dense_cpu\" not implemented for '{self.dtype.legacy}'")
        array = recast_array(array, "complex64" if self.is_complex() else "float32")
    return array.tolist()


@composite(function=False, raw=True, samples=lambda t: [t.args(t(3), 1.5), t.args(t(2, 3), t(3))])
def __contains__(self: Tensor, element: Any) -> bool:
    """Whether any element equals a number, or the element of another tensor in the same place: `2.0 in x`."""
    if not isinstance(element, (TensorType, int, float, complex, np.number)):
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")
    return bool((element == self).any().item())


@composite(function=False, raw=True, samples=lambda t: [t.args(t(3)), t.args(t(2, 3)), t.args(t())])
def __reversed__(self: Tensor) -> Tensor:
    """The tensor with its first axis the other way round, for `reversed(x)`."""
    return self.flip(0) if self.ndim else self


@composite(function=False, raw=True)
def __dir__(self: Tensor) -> list[str]:
    """The names that a person may want after the dot."""
    return sorted({*dir(type(self)), *self.__dict__} - {"__cuda_array_interface__", "volatile"})


# --- Python functions on elements -------------------------------------------------------------------------------
def _rewritten(name: str, self: Tensor, others: tuple[Tensor, ...], function: Callable[..., Any]) -> Tensor:
    """Every element replaced by what a function makes of it and of its neighbours in other tensors."""
    if any(t.requires_grad for t in (self, *others)):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    columns: Iterable[list] = (t.expand_as(self).reshape(-1).tolist() for t in (self, *others))
    if not self.is_meta:
        values = numbers_from([function(*row) for row in zip(*columns)], self.dtype)
        # Through an alias with a counter of its own: PyTorch does not count these writes.
        write_into(self.data, values.reshape(self.shape))
    return self


@composite(function=False, raw=True)
def apply_(self: Tensor, callable: Callable[[Any], Any], /) -> Tensor:
    """Replace every element by what a Python function makes of it; slow, one call per element.

    >>> claygrad.tensor([1., 2.]).apply_(lambda v: v * 10)
    tensor([10., 20.])
    """
    return _rewritten("apply_", self, (), callable)


def _same_type(name: str, self: Tensor, other: Tensor, argument: str) -> None:
    if self.type() != other.type():
        raise TypeError(f"{name}: expected {self.type()} for {argument} (got {other.type()})")


@composite(function=False)
def map_(input: Tensor, other: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    "Replace every element by what a Python function makes of it and of the one in the same place of another tensor."
    _same_type("map_", input, other, "'other'")
    return _rewritten("map_", input, (other,), callable)


@composite(function=False)
def map2_(input: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    "Replace every element by what a Python function makes of it and of those in the same place of two other tensors."
    _same_type("map2_", input, x, "argument 'x'")
    _same_type("map2_", input, y, "argument 'y'")
    return _rewritten("map2_", input, (x, y), callable)


# --- classes and memory -----------------------------------------------------------------------------------------
@composite(function=False, raw=True)
def as_subclass(self: Tensor, cls: type, /) -> Tensor:
    """A view of all elements as an instance of a subclass of Tensor; gradients flow through it."""
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type(cls).__name__})")
    if not issubclass(cls, TensorType):
        raise TypeError("Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. "
                        "Make sure your class inherits from Tensor.")
    return recast(TensorType.__getitem__(self, ...), cls)          # a subclass may index in its own way


@composite(function=False, raw=True, samples=lambda t: [t.args(t(3), 2.0)])
def __rdiv__(self: Tensor, other: Any) -> Tensor:
    "`other / self`, by the name that operator had in Python 2."
    return other / self


@composite(function=False, samples=lambda t: [t.args(t(3), t(3))])
def is_set_to(input: Tensor, tensor: Tensor) -> bool:
    "Whether two tensors see the same memory in the same shape; dtypes do not count."
    return (storage_shares(input, tensor) and input.shape == tensor.shape and input.stride() == tensor.stride()
            and input.storage_offset() == tensor.storage_offset())


@composite()
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: memory_format | None = None) -> Tensor:
    "The shape of another tensor on the same storage, which grows if it must; see `resize_`."
    shape = the_template.shape
    if memory_format is None or memory_format is contiguous_format:
        return input.resize_(shape)
    return input.resize_(shape).as_strided_(shape, strides_like(shape, the_template.stride(), memory_format))


@composite(function=False, samples=lambda t: [t.args(t(3))])
def is_shared(input: Tensor) -> bool:
    "Whether the tensor lies in memory that other processes can see, or in that of a file."
    return input.untyped_storage().is_shared()


@composite(function=False, raw=True)
def share_memory_(self: Tensor) -> Tensor:
    """Move the tensor's storage to memory that other processes can see; nothing if it is there.

    What one process writes the others see, and the memory is freed when the last of them lets go.
    """
    self.untyped_storage().share_memory_()
    return self


_PINNED: weakref.WeakSet[Storage] = weakref.WeakSet()


def _warn_of_device(name: str, device: Any) -> None:
    if device is not None:
        warn(f"The argument 'device' of Tensor.{name}() is deprecated. Please do not pass this argument.",
             DeprecationWarning)


@composite(function=False, raw=True)
def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the memory is such that an accelerator reads it by itself: never without one."""
    _warn_of_device("is_pinned", device)
    return self.device.type == "cpu" and self.layout is strided and self.untyped_storage() in _PINNED


@composite(function=False, raw=True)
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """A copy in main memory that the accelerator reads by itself; an error where there is none."""
    _warn_of_device("pin_memory", device)
    from claygrad.devices import first_there, table_of
    kind = first_there()
    if kind is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    if self.device.type != "cpu" or self.layout is not strided:
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    if is_pinned(self):
        return self
    memory = table_of(kind).pinned(self.nbytes)
    if memory is None:
        raise NotImplementedError(f"{kind} has no memory that is pinned")
    out = share(memory.view(self.dtype.numpy).reshape(self.shape))
    _PINNED.add(out.untyped_storage())
    return out.copy_(self)


def _never(name: str, kind: str) -> None:
    def answer(input: Tensor) -> bool:
        return False
    answer.__name__ = answer.__qualname__ = name
    answer.__doc__ = f"Whether the tensor is {kind}: never, in claygrad."
    answer.__annotations__ = {"input": "Tensor", "return": "bool"}
    composite(property=True, samples=lambda t: [t.args(t(3))])(answer)


for _name, _kind in (("is_mps", "on an Apple GPU"), ("is_ipu", "on an IPU"),
                     ("is_xla", "on an XLA device"), ("is_maia", "on a Maia device"), ("is_mtia", "on an MTIA device"),
                     ("is_vulkan", "on a Vulkan device"), ("is_mkldnn", "in oneDNN's layout"),
                     ("is_nested", "a nested tensor")):
    _never(_name, _kind)


@composite(property=True, samples=lambda t: [t.args(t(3))])
def is_xpu(input: Tensor) -> bool:
    "Whether the tensor is on an Intel GPU, or on what else SYCL knows."
    return input.device.type == "xpu"


@composite(property=True, samples=lambda t: [t.args(t(3))])
def is_sparse_csr(input: Tensor) -> bool:
    "Whether the tensor is sparse, by rows."
    return False


# --- methods of the tensor as functions -------------------------------------------------------------------------
@composite(method=False, samples=lambda t: [t.args(t(3))])
def detach(input: Tensor) -> Tensor:
    "Returns a tensor that shares memory with the input and has no history: it does not require a gradient."
    return input.detach()


@composite(method=False)
def detach_(input: Tensor) -> Tensor:
    "Removes a tensor from its graph, in place."
    return input.detach_()


@composite(method=False)
def zero_(input: Tensor) -> Tensor:
    "Fills a tensor with zeros, in place."
    return input.zero_()


@composite(method=False)
def as_strided_(input: Tensor, size: ints, stride: ints, storage_offset: int | None = None) -> Tensor:
    "Sets the shape and strides of a tensor on its storage, in place."
    return input.as_strided_(size, stride, storage_offset)


@composite(method=False, samples=lambda t: [t.args(t(3))])
def get_device(input: Tensor) -> int:
    "The index of the tensor's GPU; -1 on the CPU."
    return input.get_device()


@composite(method=False, samples=lambda t: [t.args(t(3))])
def is_inference(input: Tensor) -> bool:
    "Whether the tensor was made in inference mode."
    return input.is_inference()


@composite(samples=lambda t: [t.args(t(3))])
def is_distributed(input: Tensor) -> bool:
    "Whether the tensor is spread over several machines: never."
    return False
