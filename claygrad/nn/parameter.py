"""Tensors that belong to a module: `Parameter`, which it trains, and `Buffer`, which it only keeps."""
from __future__ import annotations

from typing import Any, Self

from claygrad._lazy import lazy
from claygrad._printing import plain_classes
from claygrad.core import Size, Tensor, default_dtype, empty, parse_device
from claygrad.core.graph.module_call import settle
from claygrad.core.overrides import _disabled_torch_function_impl
from claygrad.ops._formats import preserve_format
from claygrad.ops.creation import checked_dtype

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin",
           "is_lazy"]


class _Marked(type(Tensor)):  # type: ignore[misc]
    """Instances of subclasses of Tensor keep their class and are told by a mark."""

    def __instancecheck__(cls, value: object) -> bool:
        if type(value) is cls or not isinstance(value, Tensor):
            return type(value) is cls
        return getattr(value, cls.__dict__.get("_mark", "_no_mark"), False) or super().__instancecheck__(value)


class Parameter(Tensor, metaclass=_Marked):
    """A tensor that a module trains: a leaf on the memory of `data`, which requires grad unless told otherwise.

    >>> claygrad.nn.Parameter(claygrad.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    _mark = "_is_param"
    __torch_function__ = _disabled_torch_function_impl      # type: ignore[assignment]

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Self:
        if data is None:
            data = empty((0,), default_dtype())
        if type(data) is Tensor or type(data) is Parameter:
            return Tensor._make_subclass(cls, data, requires_grad)      # type: ignore[return-value]
        out = data.detach().requires_grad_(requires_grad)
        if type(out) is not type(data):
            raise RuntimeError(f"Creating a Parameter from an instance of type {type(data).__name__} requires that "
                               "detach() returns an instance of the same type, but return type "
                               f"{type(out).__name__} was found instead. To use the type as a Parameter, please "
                               "correct the detach() semantics defined by its __torch_dispatch__() implementation.")
        out._is_param = True
        return out

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
        out: Any = data.detach().requires_grad_(data.requires_grad)
        out.persistent = persistent
        out._is_buffer = True
        return out


# --- not yet of a shape --------------------------------------------------------------------------------------------
class UninitializedTensorMixin:
    """What a lazy module has in place of a parameter or buffer, until it knows its shape."""

    cls_to_become: type[Any]
    __torch_function__ = _disabled_torch_function_impl

    def materialize(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Take a shape, and become an ordinary parameter or tensor, not yet filled."""
        place = self.data.device if device is None else parse_device(device)
        kind = checked_dtype("empty", dtype) or self.data.dtype
        self.data = empty((shape,) if isinstance(shape, int) else tuple(shape), kind, place)
        settle(self, self.cls_to_become)

    @property
    def shape(self) -> Size:
        raise RuntimeError("Can't access the shape of an uninitialized parameter or buffer. This error usually happens "
                           "in `load_state_dict` when trying to load an uninitialized parameter into an initialized "
                           "one. Call `forward` to initialize the parameters before accessing their attributes.")

    def share_memory_(self) -> Any:
        raise RuntimeError("Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize "
                           "the parameters before calling `module.share_memory()`.")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        return type(self), (self.requires_grad,)


def _refuse(name: str) -> Any:
    def refused(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise ValueError(f"Attempted to use an uninitialized parameter in <method '{name}' of 'torch._C.TensorBase' "
                         "objects>. This error happens when you are using a `LazyModule` or explicitly manipulating "
                         f"`torch.nn.parameter.{type(self).__name__}` objects. When using LazyModules Call `forward` "
                         "with a dummy batch to initialize the parameters before calling torch functions")
    refused.__name__ = refused.__qualname__ = name
    return refused


_ALLOWED = {"size", "copy_", "is_complex", "is_floating_point", "half", "float", "double", "bfloat16", "char", "short",
            "int", "long", "cuda", "cpu", "to", "get_device", "requires_grad_", "detach", "share_memory_",
            "register_hook", "register_post_accumulate_grad_hook", "is_contiguous", "type", "pin_memory", "is_pinned"}
_OPERATORS = ("add sub mul truediv floordiv mod pow matmul and or xor lshift rshift").split()


def _close(cls: type[Any]) -> None:
    """Refuse every method of tensors that needs values; dtype and device may change."""
    methods = [name for name in dir(Tensor) if not name.startswith("_") and name not in _ALLOWED
               and callable(getattr(Tensor, name)) and not isinstance(Tensor.__dict__.get(name), property)]
    operators = [f"__{form}{name}__" for name in _OPERATORS for form in ("", "r", "i")]
    others = ("neg abs invert getitem setitem len iter eq ne lt le gt ge bool float int index array").split()
    for name in methods + operators + [f"__{name}__" for name in others]:
        setattr(cls, name, _refuse(name.strip("_") if name.startswith("__") else name))
    cls.__hash__ = Tensor.__hash__      # type: ignore[assignment]


class UninitializedParameter(UninitializedTensorMixin, Parameter):      # type: ignore[misc, metaclass]
    """A parameter whose shape is not known yet; `materialize` makes it a `Parameter`."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return Tensor._make_subclass(cls, _shapeless(device, dtype), requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]


class UninitializedBuffer(UninitializedTensorMixin, Tensor):            # type: ignore[misc]
    """A buffer whose shape is not known yet; `materialize` makes it an ordinary tensor."""

    cls_to_become = Tensor

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None,
                persistent: bool = True) -> Any:
        out: Any = Tensor._make_subclass(cls, _shapeless(device, dtype), requires_grad)
        out.persistent = persistent
        out._is_buffer = True
        return out


def _converted(name: str) -> Any:
    """A change of dtype or device after which there is still no shape."""
    convert = getattr(Tensor, name)

    def converted(self: Any, *args: Any, **kwargs: Any) -> Any:
        out = convert(self, *args, **kwargs)
        return self if out is self else type(self)(False, out.device, out.dtype, self.persistent)
    return converted


def _shapeless(device: Any, dtype: Any) -> Tensor:
    return empty((0,), checked_dtype("empty", dtype), parse_device(device))


def is_lazy(param: Any) -> bool:
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)


_close(UninitializedParameter)
_close(UninitializedBuffer)
for _name in ("to", "half", "float", "double", "bfloat16", "cpu", "cuda"):
    setattr(UninitializedBuffer, _name, _converted(_name))
plain_classes.append(Parameter)

__getattr__ = lazy(__name__)
