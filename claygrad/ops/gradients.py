"""Attributes of tensors that say what their gradients are like: `grad_dtype`, and older names for the graph."""
from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from claygrad.core import UPCALLS, dtype, prefix, take_grads_as
from claygrad.core.user_warnings import warn
from claygrad.ops._registry import METHODS

if TYPE_CHECKING:
    from claygrad.core import Tensor

_set: dict[int, tuple[weakref.ref[Tensor], dtype | None]] = {}       # by the id of a leaf: copies of it have their own


def _wanted(leaf: Tensor) -> dtype | None:
    return _set[id(leaf)][1] if id(leaf) in _set else leaf.dtype


def _grad_dtype(self: Tensor) -> dtype | None:
    """The dtype that gradients are cast to when they reach this leaf: its own unless set, None for any."""
    if not self.is_leaf:
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
    return _wanted(self)


def _set_grad_dtype(self: Tensor, kind: Any) -> None:
    if kind is not None and not isinstance(kind, dtype):
        raise RuntimeError(f"grad_dtype must be a {prefix()}.dtype or None, but got {type(kind).__name__}")
    if not self.is_leaf:
        raise RuntimeError("grad_dtype can only be set on leaf tensors.")
    if kind is not None and self.grad is not None and self.grad.dtype is not kind:
        raise RuntimeError(f"Cannot set grad_dtype to '{kind.legacy}' because there is already a gradient with dtype "
                           f"'{self.grad.dtype.c_name}'. Please clear the gradient (.grad = None) before changing "
                           "grad_dtype, or ensure the new grad_dtype matches the existing gradient's dtype.")
    key = id(self)
    _set[key] = weakref.ref(self, lambda gone: _set.pop(key, None)), kind
    take_grads_as(self, kind)


def _grad_fn(self: Tensor) -> Any:
    return self.grad_fn


def _set_grad_fn(self: Tensor, node: None) -> None:
    if node is not None:
        raise RuntimeError("_grad_fn can be only set to None")
    self.detach_()


def _delete_grad_fn(self: Tensor) -> None:
    raise RuntimeError("Deletion of _grad_fn not allowed. Detach tensor instead!")


def _volatile(self: Tensor) -> bool:
    warn("volatile was removed (Variable.volatile is always False)")
    return False


def _set_volatile(self: Tensor, value: Any) -> None:
    warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")


METHODS["grad_dtype"] = property(_grad_dtype, _set_grad_dtype)
METHODS["_grad_fn"] = property(_grad_fn, _set_grad_fn, _delete_grad_fn)
METHODS["volatile"] = property(_volatile, _set_volatile)
UPCALLS["grad_dtype"] = _wanted
