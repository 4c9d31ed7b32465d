"""Tensors that belong to a module: `Parameter`, which it trains, and `Buffer`, which it only keeps."""
from __future__ import annotations

from typing import Any

from claygrad._printing import plain_classes
from claygrad.core import Tensor, default_dtype, empty
from claygrad.ops._formats import preserve_format

__all__ = ["Buffer", "Parameter"]


class _Marked(type(Tensor)):  # type: ignore[misc]
    """Instances of subclasses of Tensor keep their class and are told by a mark."""

    def __instancecheck__(cls, value: object) -> bool:
        return super().__instancecheck__(value) or (
            isinstance(value, Tensor) and getattr(value, cls.__dict__.get("_mark", "_no_mark"), False))


class Parameter(Tensor, metaclass=_Marked):
    """A tensor that a module trains: a leaf on the memory of `data`, which requires grad unless told otherwise.

    >>> claygrad.nn.Parameter(claygrad.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    _mark = "_is_param"

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = empty((0,), default_dtype())
        if not isinstance(data, Tensor):
            raise AttributeError(f"'{type(data).__name__}' object has no attribute 'detach'")
        if type(data) is Tensor or type(data) is Parameter:
            return Tensor._make_subclass(cls, data, requires_grad)
        made: Any = Tensor._make_subclass(type(data), data, requires_grad)
        made._is_param = True
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(memory_format=preserve_format), self.requires_grad)
        return memo[id(self)]

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()


class Buffer(Tensor, metaclass=_Marked):
    """A tensor that a module keeps but does not train: a plain tensor on the memory of `data`, with a mark.

    Of a module's state unless `persistent` is False.
    """

    _mark = "_is_buffer"

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = empty((0,), default_dtype())
        made: Any = data.detach().requires_grad_(data.requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made


plain_classes.append(Parameter)
