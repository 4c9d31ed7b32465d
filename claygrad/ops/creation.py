"""Tensors from existing data: Python numbers and sequences, NumPy arrays, buffers, other tensors."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from claygrad.core import (
    DTYPES,
    Storage,
    Tensor,
    array_of,
    default_device,
    default_dtype,
    empty_strided,
    parse_device,
    parse_dtype,
    prefix,
    recast_array,
    require_grad,
    set_elements,
    share,
    wrap,
    wrap_on,
)
from claygrad.core.dispatch.wrong_arguments import type_name
from claygrad.core.user_warnings import warn, warn_once
from claygrad.ops._constructor import construct
from claygrad.ops._data import array_from, is_sequence, shareable, supported
from claygrad.ops._formats import dense_like, element_strides, strided
from claygrad.ops._formats import layout as layout_type
from claygrad.ops._registry import composite
from claygrad.ops._storages import TypedStorage, elements_of

if TYPE_CHECKING:
    from claygrad.core import device, dtype
    from claygrad.ops._formats import layout


# --- what factories ask for -------------------------------------------------------------------------------------
def checked_dtype(name: str, given: Any) -> dtype | None:
    """The dtype an argument means; None means none was given."""
    if given is None:
        return None
    found = parse_dtype(given)
    if found is None:
        raise TypeError(f"{name}(): argument 'dtype' must be {prefix()}.dtype, not {type(given).__name__}")
    return found


def checked_device(name: str, given: Any) -> device:
    """The device an argument means; None means the default one."""
    if given is None:
        return default_device()
    found = parse_device(given)
    if found is None:
        raise TypeError(f"{name}(): argument 'device' must be {prefix()}.device, not {type(given).__name__}")
    return found


def refuse_pinning(name: str, given: Any) -> None:
    if given is True:
        raise RuntimeError("pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator "
                           "is available on this system.")
    if given is not False and given is not None:
        raise TypeError(f"{name}(): argument 'pin_memory' must be bool, not {type(given).__name__}")


def check_layout(name: str, given: Any) -> None:
    if given is not None and given is not strided:
        if isinstance(given, layout_type):
            raise RuntimeError(f"{name}: layout {given} is not supported; tensors are {prefix()}.strided")
        raise TypeError(f"{name}(): argument 'layout' must be {prefix()}.layout, not {type(given).__name__}")


def leaf(name: str, out: Tensor, requires_grad: Any) -> Tensor:
    """A tensor just made, as a leaf that requires grad if that was asked for."""
    if requires_grad is False:
        return out
    if requires_grad is not True:
        raise TypeError(f"{name}(): argument 'requires_grad' must be bool, not {type(requires_grad).__name__}")
    if not (out.dtype.is_floating_point or out.dtype.is_complex):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return require_grad(out, True)


def _placed(array: np.ndarray, where: device) -> Tensor:
    supported(array.dtype)
    return wrap_on(array, where)


# --- tensor -----------------------------------------------------------------------------------------------------
def _copied(array: np.ndarray, wanted: dtype | None, where: device) -> Tensor:
    """A tensor with the elements of an array and, where they are dense, its strides."""
    kind = wanted or supported(shareable(array).dtype)
    out = empty_strided(array.shape, dense_like(array.shape, element_strides(shareable(array))), kind, where)
    if where.type != "meta":
        with np.errstate(over="ignore", invalid="ignore"):
            array = recast_array(array.real if array.dtype.kind == "c" and not kind.is_complex else array, kind.numpy)
            if where.type == "cpu":
                array_of(out)[...] = array
            else:
                set_elements(out, array)
    return out


def _is_exporter(data: Any) -> bool:
    """Whether data hands out its memory by DLPack. Sequences that could are read as such."""
    return hasattr(data, "__dlpack__") and not is_sequence(data)


def _exported(data: Any) -> Tensor:
    from claygrad.ops.exchange import from_dlpack
    return from_dlpack(data)


def _from_data(data: Any, wanted: dtype | None, where: device, advice: str) -> Tensor:
    if isinstance(data, Tensor):
        warn("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
             f"sourceTensor.detach().clone().requires_grad_(True), rather than {advice}(sourceTensor).")
        return data.detach().to(where, wanted or data.dtype, copy=True)
    if isinstance(data, (Storage, TypedStorage)):
        return elements_of(data, wanted).to(where, copy=True)
    if isinstance(data, np.ndarray) or (isinstance(data, np.generic)
                                        and (wanted is None or wanted.numpy.kind in "fcV")):
        return _copied(np.asarray(data), wanted, where)
    if _is_exporter(data):
        return _exported(data).to(where, wanted, copy=True)
    if type(data) is list and data and type(data[0]) is np.ndarray:
        warn("Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting "
             "the list to a single numpy.ndarray with numpy.array() before converting to a "
             "tensor.")
    return _placed(array_from(data, wanted), where)


@composite(method=False, raw=True,
           samples=lambda t: [t.args([[1, 2.5], [3, 4]]), t.args(2), t.args([True]), t.args([])],
           errors=lambda t: [(t.args(None), RuntimeError, "Could not infer dtype of NoneType"),
                             (t.args("a"), TypeError, "new(): invalid data type 'str'"),
                             (t.args([[1, 2], [3]]), ValueError, "expected sequence of length 2 at dim 1 (got 1)"),
                             (t.args(2**63), ValueError, "Overflow when unpacking long long")])
def tensor(data: Any, *, dtype: dtype | None = None, device: device | str | None = None, requires_grad: bool = False,
           pin_memory: bool = False) -> Tensor:
    """A new tensor with a copy of the data: a number, a nested sequence of numbers, an array or a tensor.

    Without `dtype`: floats mean the default dtype, ints int64, bools bool; arrays and tensors keep their own.

    >>> claygrad.tensor([[1, 2.5], [3, 4]])
    tensor([[1.0000, 2.5000],
            [3.0000, 4.0000]])
    """
    if pin_memory is not False:
        refuse_pinning("tensor", pin_memory)
    if dtype is not None:
        dtype = checked_dtype("tensor", dtype)
    where = default_device() if device is None else checked_device("tensor", device)
    kind = type(data)
    if (kind is list or kind is float or kind is int) and where.type == "cpu" \
            and not (kind is list and data and type(data[0]) is np.ndarray):
        out = wrap(array_from(data, dtype))
    else:
        out = _from_data(data, dtype, where, "torch.tensor")
    return out if requires_grad is False else leaf("tensor", out, requires_grad)


@composite(method=False, raw=True, samples=lambda t: [t.args([1, 2]), t.args(t(3))])
def as_tensor(data: Any, dtype: dtype | None = None, device: device | str | None = None) -> Tensor:
    """The data as a tensor, without a copy if possible: a tensor is returned itself, and a NumPy array shares its
    memory."""
    if dtype is None and device is None and isinstance(data, Tensor):
        return data
    wanted = checked_dtype("as_tensor", dtype)
    if isinstance(data, Tensor):
        where = data.device if device is None else checked_device("as_tensor", device)
        return data.to(where, wanted or data.dtype)
    where = checked_device("as_tensor", device)
    if isinstance(data, np.ndarray) and where.type == "cpu" and (wanted is None or wanted.numpy == data.dtype):
        return from_numpy(data)
    return _from_data(data, wanted, where, "torch.as_tensor")


@composite(method=False, raw=True, samples=lambda t: [t.args(np.arange(6.0).reshape(2, 3))],
           errors=lambda t: [(t.args([1]), TypeError, "expected np.ndarray (got list)")])
def from_numpy(ndarray: np.ndarray, /) -> Tensor:
    """A tensor that shares the memory of a NumPy array: a write to one changes the other."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type_name(ndarray)})")
    if not ndarray.flags.writeable:
        warn_once("from_numpy", "The given NumPy array is not writable, and PyTorch does not support non-writable "
                                "tensors. This "
                      "means writing to this tensor will result in undefined behavior. You may want to copy the array "
                      "to protect its data or make it writable before converting it to a tensor. This type of warning "
                      "will be suppressed for the rest of this program.")
    return share(shareable(ndarray))


@composite(method=False, raw=True, samples=lambda t: [t.args(bytearray(b"abcdefgh"), dtype=DTYPES["int32"])])
def frombuffer(buffer: Any, *, dtype: dtype, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A tensor that shares the memory of an object with Python's buffer protocol."""
    wanted = checked_dtype("frombuffer", dtype)
    try:
        size = memoryview(buffer).nbytes
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    if count == 0 or count < -1:
        raise ValueError(f"both buffer length ({size}) and count ({count}) must not be 0")
    if size == 0:
        raise ValueError(f"both buffer length ({size}) and count ({count}) must not be 0")
    if not 0 <= offset < size:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({size} "
                         "bytes) minus 1")
    if count < 0 and (size - offset) % wanted.itemsize:
        raise ValueError(f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a multiple of "
                         f"element size ({wanted.itemsize})")
    if count > 0 and offset + count * wanted.itemsize > size:
        raise ValueError(f"requested buffer length ({count} * {wanted.itemsize} bytes) after offset ({offset} bytes) "
                         f"must not be greater than actual buffer length ({size} bytes)")
    if memoryview(buffer).readonly:
        warn_once("frombuffer", "The given buffer is not writable, and PyTorch does not support non-writable "
                                "tensors. This means "
                  "you can write to the underlying (supposedly non-writable) buffer using the tensor. You may want "
                  "to copy the "
                  "buffer to protect its data or make it writable before converting it to a tensor. This type of "
                  "warning will "
                  "be suppressed for the rest of this program.")
    return leaf("frombuffer", share(np.frombuffer(buffer, wanted.numpy, count, offset)), requires_grad)


@composite(method=False, raw=True, samples=lambda t: [t.args([1.5, 2]), t.args(t(3))])
def asarray(obj: Any, *, dtype: dtype | None = None, device: device | str | None = None, copy: bool | None = None,
            requires_grad: bool | None = None) -> Tensor:
    """The object as a tensor: memory is shared where it can be, or never (`copy=True`), or always (`copy=False`).

    Without `requires_grad` the tensor keeps its place in the graph.
    """
    for name, value in (("copy", copy), ("requires_grad", requires_grad)):
        if value is not None and type(value) is not bool:
            raise TypeError(f"asarray(): argument '{name}' must be bool, not {type_name(value)}")
    wanted = checked_dtype("asarray", dtype)
    where = None if device is None else checked_device("asarray", device)
    source = _without_copy(obj, wanted)
    if copy is False and isinstance(obj, np.generic):
        raise RuntimeError("can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. ")
    if source is None:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return leaf("asarray", _from_data(obj, wanted, where or default_device(), "torch.asarray"), bool(requires_grad))
    kind, place = wanted or source.dtype, where or source.device
    if copy is False and kind != source.dtype:
        raise ValueError(f"can't alias tensor with dtype '{source.dtype.legacy}' into dtype '{kind.legacy}'.")
    if copy is False and place != source.device:
        raise ValueError(f"can't alias tensor with device '{source.device}' into device '{place}'.")
    if kind != source.dtype or place != source.device:
        source = source.to(place, kind)
    elif copy is True:
        source = source.clone()
    if requires_grad is None:
        if source.requires_grad:
            warn("torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of "
                 "False. Pass requires_grad=False explicitly to get the old behavior and silence this "
                 "warning.")
        return source
    if requires_grad is True and not source.requires_grad:
        return leaf("asarray", source, True)
    return source.detach() if source.requires_grad and not requires_grad else source


def _without_copy(obj: Any, wanted: dtype | None) -> Tensor | None:
    """A tensor on the memory of obj, or None where it has none to share."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, np.ndarray):
        return from_numpy(obj)
    if isinstance(obj, np.generic):
        return wrap(np.array(obj))
    if isinstance(obj, (bytes, bytearray, memoryview)) or (hasattr(obj, "typecode") and hasattr(obj, "buffer_info")):
        return frombuffer(obj, dtype=wanted or default_dtype())
    return _exported(obj) if _is_exporter(obj) or type(obj).__name__ == "PyCapsule" else None


@composite(function=False, raw=True, samples=lambda t: [t.args(t(2), [1, 2]), t.args(t(2, dtype="int64"), 1.5)])
def new_tensor(self: Tensor, data: Any, *, dtype: dtype | None = None, device: device | str | None = None,
               requires_grad: bool = False, layout: layout | None = None, pin_memory: bool = False) -> Tensor:
    """A new tensor with a copy of the data. Dtype and device are this tensor's unless given."""
    refuse_pinning("new_tensor", pin_memory)
    check_layout("new_tensor", layout)
    wanted = checked_dtype("new_tensor", dtype) or self.dtype
    where = self.device if device is None else checked_device("new_tensor", device)
    return leaf("new_tensor", _from_data(data, wanted, where, "tensor.new_tensor"), requires_grad)


# --- the constructor of the class itself ------------------------------------------------------------------------
def legacy_tensor(*args: Any, **kwargs: Any) -> Tensor:
    """What `Tensor(...)` makes: a shape left empty from ints, an alias of a tensor, else data in the default dtype."""
    return construct(args, kwargs, default_dtype(), strict=False)


@composite(function=False, raw=True, samples=lambda t: [t.args(t(2), [1, 2]), t.args(t(2), 0, 3)])
def new(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """A tensor of this one's dtype and device from a shape, a sequence or another tensor."""
    if kwargs.get("device") is not None and args and isinstance(args[0], Tensor):
        raise RuntimeError("Legacy tensor new of the form tensor.new(tensor, device=device) is not supported.  Use "
                           "torch.as_tensor(...) instead.")
    return construct(args, kwargs, self.dtype, self.device.type)
