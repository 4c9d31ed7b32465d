"""`torch._utils`: helpers that public packages use."""
from __future__ import annotations

import sys
import traceback
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import claygrad
from claygrad.compat.answers.top import get_device_module
from claygrad.core import Tensor
from claygrad.nn.parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """All elements of some tensors in one row."""
    return claygrad.cat([tensor.contiguous().view(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """A row cut into the shapes of some tensors."""
    pieces, start = [], 0
    for tensor in tensors:
        pieces.append(flat.narrow(0, start, tensor.numel()).view_as(tensor))
        start += tensor.numel()
    return tuple(pieces)


def _take_tensors(tensors: Sequence[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Groups of tensors of one type, each of about `size_limit` bytes."""
    groups: dict[Any, tuple[list[Tensor], int]] = defaultdict(lambda: ([], 0))
    for tensor in tensors:
        kind, size = tensor.type(), tensor.numel() * tensor.element_size()
        group, total = groups[kind]
        if total + size > size_limit and total > 0:
            yield group
            group, total = [], 0
        group.append(tensor)
        groups[kind] = group, total + size
    for group, _ in groups.values():
        if group:
            yield group


def _element_size(dtype: Any) -> int:
    """Bytes of an element."""
    return dtype.itemsize


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The number of a device."""
    if isinstance(device, str):
        device = claygrad.device(device)
    if isinstance(device, claygrad.device):
        if device.type == "cpu" and not allow_cpu:
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        device = -1 if device.type == "cpu" else device.index
    if isinstance(device, int):
        return device
    if optional:
        return 0
    raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")


def _get_available_device_type() -> str | None:
    """The kind of the accelerator: there is none."""
    return None


def _get_device_module(device_type: str) -> Any:
    """The module of a kind of device."""
    return get_device_module(device_type)


def _rebuild_tensor(storage: Any, storage_offset: int, size: Any, stride: Any) -> Tensor:
    """A tensor over a storage."""
    return claygrad.empty(0, dtype=storage.dtype).set_(storage, storage_offset, tuple(size), tuple(stride))


def _rebuild_tensor_v2(storage: Any, storage_offset: int, size: Any, stride: Any, requires_grad: bool,
                       backward_hooks: Any, metadata: Any = None) -> Tensor:
    """A tensor over a storage, as pickles ask for it."""
    made = _rebuild_tensor(storage, storage_offset, size, stride)
    made.requires_grad = requires_grad
    made._backward_hooks = backward_hooks
    return made


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Parameter:
    """A parameter, as pickles ask for it."""
    made = Parameter(data, requires_grad)
    made._backward_hooks = backward_hooks
    return made


class ExceptionWrapper:
    """An exception with its traceback as text, to be raised again elsewhere."""

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        kind, error, trace = exc_info or sys.exc_info()
        self.exc_type: Any = kind
        self.exc_msg = "".join(traceback.format_exception(kind, error, trace))
        self.where = where

    def reraise(self) -> None:
        """Raise an exception of the same type, with the former traceback in its text."""
        text = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            text = _KeyErrorMessage(text)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=text)
        try:
            error = self.exc_type(text)
        except Exception:
            raise RuntimeError(text) from None
        raise error


class _KeyErrorMessage(str):
    """A text that KeyError prints line by line."""

    def __repr__(self) -> str:
        return str(self)


class _ClassPropertyDescriptor:
    """A property of a class."""

    def __init__(self, fget: Any, fset: Any = None) -> None:
        self.fget = fget

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self.fget.__get__(instance, owner or type(instance))()


def classproperty(func: Any) -> _ClassPropertyDescriptor:
    """A property that is read on the class."""
    return _ClassPropertyDescriptor(func if isinstance(func, classmethod | staticmethod) else classmethod(func))


def render_call(fn: Any, args: Any, kwargs: Any) -> str:
    """A call as text."""
    words = [repr(one) for one in args] + [f"{name}={one!r}" for name, one in kwargs.items()]
    return f"{getattr(fn, '__qualname__', fn)}({', '.join(words)})"


KeyErrorMessage = _KeyErrorMessage


def is_compiling() -> bool:
    """Never: nothing is compiled."""
    return False


def _get_all_device_indices() -> None:
    """The numbers of the accelerators: there are none."""


def _import_dotted_name(name: str) -> Any:
    """What a name such as `torch.nn.Linear` means."""
    first, *rest = name.split(".")
    found = __import__(first)
    for part in rest:
        found = getattr(found, part)
    return found


def _reorder_tensors_as(tensors: Sequence[Tensor], ordered_tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The tensors, grouped by type, in the order in which the types come among others."""
    groups: dict[Any, list[Tensor]] = defaultdict(list)
    for tensor in tensors:
        groups[tensor.type()].append(tensor)
    waiting = {kind: iter(group) for kind, group in groups.items()}
    return tuple(next(waiting[tensor.type()]) for tensor in ordered_tensors)


def _handle_complex(tensor: Tensor) -> Tensor:
    """A complex tensor as real numbers."""
    return claygrad.view_as_real(tensor) if tensor.is_complex() else tensor
