"""The old names of dtypes as classes: `FloatTensor([1.])`, `isinstance(x, LongTensor)`, `x.type(DoubleTensor)`."""
from __future__ import annotations

from typing import Any

from claygrad.core import DTYPES, Tensor, dtype, prefix, set_default_device, set_default_dtype
from claygrad.core.cpython.entry_points import guard
from claygrad.core.user_warnings import warn_once
from claygrad.ops._constructor import construct
from claygrad.ops._formats import layout, strided


class tensortype(type):
    """The class of classes such as FloatTensor: they make tensors of one dtype and know them, but have no instances."""

    dtype: dtype
    layout: layout
    is_cuda: bool
    is_sparse: bool

    def __new__(cls, name: str, bases: tuple[type, ...], given: dict[str, Any]) -> tensortype:
        if bases:
            raise TypeError(f"type '{prefix()}.{bases[0].__name__}' is not an acceptable base type")
        return super().__new__(cls, name, bases, given)

    @guard
    def __call__(cls, *args: Any, **kwargs: Any) -> Tensor:
        if cls.is_cuda and not _has_cuda():
            raise cls._unavailable()
        return construct(args, kwargs, cls.dtype, "cuda" if cls.is_cuda else "cpu")

    def _unavailable(cls) -> TypeError:
        return TypeError(f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled.")

    def __instancecheck__(cls, value: object) -> bool:
        where = "cuda" if cls.is_cuda else "cpu"
        return isinstance(value, Tensor) and value.dtype is cls.dtype and value.device.type == where

    def __getattr__(cls, name: str) -> Any:
        try:
            return getattr(Tensor, name)
        except AttributeError:
            raise AttributeError(f"type object '{cls._path()}' has no attribute '{name}'") from None

    def _path(cls) -> str:
        return f"{prefix()}{'.cuda' if cls.is_cuda else ''}.{cls.__name__}"

    def __repr__(cls) -> str:
        return f"<class '{cls._path()}'>"


def _has_cuda() -> bool:
    from claygrad.devices import available
    return available("cuda")


def _named(kind: dtype, cuda: bool) -> tensortype:
    module = "claygrad.cuda" if cuda else "claygrad"
    return tensortype(kind.legacy + "Tensor", (), {
        "__slots__": (), "__module__": module, "__doc__": None, "dtype": kind, "layout": strided, "is_cuda": cuda,
        "is_xpu": False, "is_sparse": False})


TYPES: dict[str, tensortype] = {
    kind.legacy + "Tensor": _named(kind, False) for kind in DTYPES.values()
    if not kind.is_complex and kind.code < DTYPES["uint16"].code}
CUDA_TYPES: dict[str, tensortype] = {name: _named(kind.dtype, True) for name, kind in TYPES.items()}


def set_default_tensor_type(t: tensortype | str, /) -> None:
    """Deprecated: change the default dtype by the old name of its tensors. Use `set_default_dtype`."""
    found: Any = t
    name = t if isinstance(t, str) else f"{t.__module__}.{t.__name__}" if isinstance(t, type) else ""
    short = name.removeprefix("torch.").removeprefix("claygrad.")
    if isinstance(t, str) or short.startswith("cuda."):
        found = CUDA_TYPES.get(short.removeprefix("cuda.")) if short.startswith("cuda.") else TYPES.get(short)
    if not isinstance(found, tensortype):
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    if found.is_cuda and not _has_cuda():
        raise found._unavailable()
    if not found.dtype.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    warn_once("set_default_tensor_type", "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
              "torch.set_default_dtype() and torch.set_default_device() as alternatives.")
    set_default_dtype(found.dtype)
    if found.is_cuda:
        set_default_device("cuda")


def typename(obj: Any, /) -> str:
    """The name of an object's type: of a tensor, the old name of its dtype; of a class or function, its own.

    >>> claygrad.typename(claygrad.ones(2))
    'claygrad.FloatTensor'
    """
    if isinstance(obj, Tensor):
        return str(obj.type())
    if isinstance(obj, tensortype):
        return obj._path()
    named = obj if hasattr(obj, "__qualname__") or hasattr(obj, "__name__") else type(obj)
    module = getattr(named, "__module__", None) or ""
    name = getattr(named, "__qualname__", None) or named.__name__
    if module == "claygrad" or module.startswith(("claygrad.core", "claygrad.native")):
        module = prefix()
    return name if module in ("", "builtins") else f"{module}.{name}"
