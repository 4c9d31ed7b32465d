"""Tensors and other array libraries: NumPy's functions on tensors, and DLPack in both directions.

Memory that is handed out or received counts as shared: a value saved from it is protected against writes that claygrad
cannot see. NumPy's own DLPack carries it, so an exported capsule keeps an array alive, and that the export.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from claygrad.core import DTYPES, Tensor, parse_device, share
from claygrad.core.data.device import no_cuda
from claygrad.ops._data import shareable
from claygrad.ops._registry import composite
from claygrad.ops.creation import from_numpy

if TYPE_CHECKING:
    from claygrad.core import device

_CPU, _CUDA, _CUDA_HOST = 1, 2, 3        # DLPack's numbers for kinds of devices
_UINT = 1                                # and of families of dtypes
# What NumPy does not know: DLPack's family, bits and lanes. NumPy carries the memory as unsigned integers.
_CARRIED = {"bfloat16": (4, 16, 1), "complex32": (5, 32, 1), "float8_e4m3fn": (10, 8, 1), "float8_e4m3fnuz": (11, 8, 1),
            "float8_e5m2": (12, 8, 1), "float8_e5m2fnuz": (13, 8, 1), "float8_e8m0fnu": (14, 8, 1),
            "float4_e2m1fn_x2": (17, 4, 2)}
_CARRIERS = {1: "uint8", 2: "uint16", 4: "uint32"}
_PARTS_OF_BYTES = [f"{kind}{bits}" for kind in ("int", "uint") for bits in range(1, 8)]     # handed over as whole bytes
_SPENT = ("from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you "
          "might have already constructed a tensor from it once.")


@composite(function=False, raw=True)
def __array_wrap__(self: Tensor, array: np.ndarray, context: Any = None, return_scalar: bool = False) -> Tensor:
    """What NumPy's functions make of tensors becomes a tensor again; truth values become uint8, as in PyTorch."""
    return from_numpy(np.asarray(array.astype(np.uint8) if array.dtype == bool else array))


@composite(function=False, raw=True)
def __array_ufunc__(self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """NumPy's functions of elements on tensors: with NumPy's results, and with a gradient where one is to be recorded.

    >>> x = claygrad.tensor([0.0, 1.0], requires_grad=True)
    >>> numpy.exp(x)
    tensor([1.0000, 2.7183], grad_fn=<ExpBackward0>)
    """
    from claygrad.ops._ufuncs import apply
    return apply(ufunc, method, inputs, kwargs)


@composite(function=False, raw=True)
def __array_namespace__(self: Tensor, *, api_version: str | None = None) -> Any:
    """The functions of the array API standard, which libraries that take any array ask for."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"Unrecognized array API version: {api_version!r}\n  claygrad.array_api is of 2024.12")
    return importlib.import_module("claygrad.array_api")


@composite(function=False, raw=True)
def to_device(self: Tensor, device: device | str, /, *, stream: int | None = None) -> Tensor:
    """The tensor on another device, in the words of the array API standard."""
    if stream is not None:
        raise ValueError("a tensor on the CPU waits for no stream: stream must be None")
    return self.to(parse_device(device))


def _no_cuda_array(self: Tensor) -> Any:
    raise AttributeError(f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()} If CUDA data is "
                         "required use tensor.cuda() to copy tensor to device memory.")


_no_cuda_array.__name__ = "__cuda_array_interface__"
_no_cuda_array.__doc__ = "The description of CUDA memory for other libraries, which a tensor on the CPU has not."
composite(property=True, raw=True)(_no_cuda_array)


# --- DLPack: out ------------------------------------------------------------------------------------------------
@composite(function=False, raw=True)
def __dlpack__(self: Tensor, *, stream: int | None = None, max_version: tuple[int, int] | None = None,
               dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any:
    """A DLPack capsule on the tensor's memory, or on a copy's."""
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if self.is_conj():
        raise BufferError("Can't export tensors with the conjugate bit set")
    if self.is_neg():
        raise BufferError("Can't export tensors with the negative bit set\n  resolve_neg() computes its values")
    if stream is not None and type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``")
    if stream not in (None, -1):
        raise AssertionError("stream should be None on cpu.")
    if self.device.type != "cpu":
        raise BufferError(f"Cannot pack tensors on {self.device}")
    if dl_device is not None and int(dl_device[0]) != _CPU:
        raise BufferError(f"Cannot pack a tensor on cpu for the DLPack device {tuple(map(int, dl_device))}")
    kind = self.dtype.name
    if kind.startswith("bits"):
        raise BufferError("Bit types are not supported by dlpack")
    if kind.startswith(("quint", "qint")):
        raise BufferError("QUInt/QInt types are not supported by dlpack")
    source = self.clone() if copy else self.detach()
    if kind in _CARRIED:
        source = source.view(DTYPES[_CARRIERS[self.dtype.itemsize]])
    elif kind in _PARTS_OF_BYTES:
        source = source.view(DTYPES["uint8" if kind[0] == "u" else "int8"])
    array = source.numpy()
    versioned = max_version is not None and max_version[0] >= 1
    capsule = array.__dlpack__(max_version=max_version) if versioned else array.__dlpack__()
    if kind in _CARRIED:
        field = _dtype_field(capsule)
        field.code, field.bits, field.lanes = _CARRIED[kind]
    return capsule


@composite(function=False, raw=True)
def __dlpack_device__(self: Tensor) -> tuple[int, int]:
    """DLPack's numbers for the kind and the index of the device."""
    if self.device.type != "cpu":
        raise ValueError(f"Unknown device type {self.device.type} for Dlpack")
    return _CPU, 0


@composite(method=False, raw=True)
def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule on the tensor's memory."""
    return tensor.__dlpack__()


# --- DLPack: in -------------------------------------------------------------------------------------------------
class _Capsule:
    """A capsule as an object that NumPy can import."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CPU, 0


@composite(method=False, raw=True)
def from_dlpack(ext_tensor: Any, *, device: device | str | None = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of any object with the DLPack protocol, or of a DLPack capsule.

    >>> claygrad.from_dlpack(numpy.arange(3))
    tensor([0, 1, 2])
    """
    capsule, due = (_asked(ext_tensor, device, copy) if hasattr(ext_tensor, "__dlpack__")
                    else (ext_tensor, bool(copy)))
    versioned = '"dltensor_versioned"' in repr(capsule)
    if not versioned and '"dltensor"' not in repr(capsule):
        raise RuntimeError(_SPENT)
    try:
        array = np.from_dlpack(_Capsule(capsule))
    except (RuntimeError, BufferError):      # NumPy 2.4, 2.5
        field = _dtype_field(capsule)
        known = {said: name for name, said in _CARRIED.items()}
        name = known.get((field.code, field.bits, field.lanes))
        if name is None:
            raise
        field.code, field.bits, field.lanes = _UINT, 8 * DTYPES[name].itemsize, 1
        array = np.from_dlpack(_Capsule(capsule)).view(DTYPES[name].numpy)
    if versioned and not array.flags.writeable and not due:          # before versions nobody could say so
        if copy is False:
            raise BufferError("the memory is read-only, and a tensor may be written: it needs a copy\n"
                              "  leave out copy=False, or hand over memory that may be written")
        due = True
    return share(shareable(array.copy() if due else array))


def _asked(exporter: Any, device: Any, copy: bool | None) -> tuple[Any, bool]:
    """The capsule of an object, by the newest form of the protocol that it knows, and whether a copy is still due."""
    if device is not None and parse_device(device).type != "cpu":
        raise BufferError(f"Cannot pack tensors on {parse_device(device)}")
    kind = int(exporter.__dlpack_device__()[0])
    if kind == _CUDA:
        raise no_cuda()
    if kind not in (_CPU, _CUDA_HOST):
        raise BufferError(f"Unsupported DLPack device type {kind}")
    options: dict[str, Any] = {}
    if device is not None:
        options["dl_device"] = (_CPU, 0)
    if copy is not None:
        options["copy"] = copy
    try:
        return exporter.__dlpack__(max_version=(1, 0), **options), False
    except TypeError:                    # from before the protocol had versions
        return exporter.__dlpack__(), bool(copy)


def _dtype_field(capsule: Any) -> Any:
    """Where a capsule says of which dtype it is: `code`, `bits` and `lanes`, which may be written."""
    import ctypes

    class Field(ctypes.Structure):
        _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]

    name = b"dltensor_versioned" if '"dltensor_versioned"' in repr(capsule) else b"dltensor"
    api = ctypes.pythonapi.PyCapsule_GetPointer
    api.restype, api.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    # struct DLTensor { void* data; int32 device[2]; int32 ndim; Field dtype; ... }; a versioned capsule puts
    # a version, two pointers and flags before it.
    before = 32 if name == b"dltensor_versioned" else 0
    return Field.from_address(api(capsule, name) + before + 20)
