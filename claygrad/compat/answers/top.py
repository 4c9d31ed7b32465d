"""Names of `torch` itself that other packages ask for."""
from __future__ import annotations

from typing import Any

import claygrad
from claygrad.compat.refusing import refusing_class, refusing_function
from claygrad.core import Tensor


def _class(name: str, base: type = object) -> type:
    return refusing_class(f"torch.{name}", base)


# Sizes are plain ints here: these are for isinstance.
SymInt, SymFloat, SymBool = _class("SymInt"), _class("SymFloat"), _class("SymBool")
Stream, Event, ScriptObject = _class("Stream"), _class("Event"), _class("ScriptObject")
PyTorchFileReader, PyTorchFileWriter = _class("PyTorchFileReader"), _class("PyTorchFileWriter")
OutOfMemoryError = _class("OutOfMemoryError", RuntimeError)
AcceleratorError = _class("AcceleratorError", RuntimeError)
TensorType, FloatType, DeviceObjType = _class("TensorType"), _class("FloatType"), _class("DeviceObjType")
StorageBase = claygrad.UntypedStorage
_scaled_mm = refusing_function("torch._scaled_mm")
_grouped_mm = refusing_function("torch._grouped_mm")


def _assert(condition: Any, message: str) -> Any:
    """An assertion that a trace may see."""
    if type(condition) is not Tensor and claygrad.overrides.has_torch_function((condition,)):
        return claygrad.overrides.handle_torch_function(_assert, (condition,), condition, message)
    assert condition, message
    return None


def _assert_async(condition: Tensor, message: str | None = None) -> None:
    """An assertion on a tensor of one element."""
    if not condition.item():
        raise RuntimeError(message or "Expected Tensor with single nonzero value, but got zero")


def _check_as(error: type[Exception], condition: Any, message: Any = None) -> None:
    if not isinstance(condition, bool):
        raise TypeError(f"cond must be a bool, but got {type(condition)}")
    if condition:
        return
    if message is None:
        raise error("Expected cond to be True, but got False. (Could this error message be improved? If so, please "
                    "report an enhancement request to PyTorch.)")
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error(str(message()))


def _check(cond: Any, message: Any = None) -> None:
    """RuntimeError, with the text that `message` gives, unless the condition holds."""
    _check_as(RuntimeError, cond, message)


def _check_index(cond: Any, message: Any = None) -> None:
    """IndexError unless the condition holds."""
    _check_as(IndexError, cond, message)


def _check_value(cond: Any, message: Any = None) -> None:
    """ValueError unless the condition holds."""
    _check_as(ValueError, cond, message)


def _check_type(cond: Any, message: Any = None) -> None:
    """TypeError unless the condition holds."""
    _check_as(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Any = None) -> None:
    """NotImplementedError unless the condition holds."""
    _check_as(NotImplementedError, cond, message)


def _check_with(error_type: type[Exception], cond: Any, message: Any) -> None:
    """An error of the given type unless the condition holds."""
    _check_as(error_type, cond, message)


def _check_is_size(i: int, message: Any = None, *, max: int | None = None) -> None:
    """RuntimeError unless the number can be a size."""
    _check(i >= 0 and (max is None or i <= max), message)


def _check_tensor_all_with(error_type: type[Exception], cond: Tensor, message: Any = None) -> None:
    """An error of the given type unless all elements hold."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not claygrad.bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_as(error_type, bool(cond.all()), message)


def _check_tensor_all(cond: Tensor, message: Any = None) -> None:
    """RuntimeError unless all elements hold."""
    _check_tensor_all_with(RuntimeError, cond, message)


def sym_int(a: Any) -> int:
    """A size as an int, rounded towards zero."""
    return int(a)


def sym_float(a: Any) -> float:
    """A size as a float."""
    return float(a)


def sym_max(a: Any, b: Any) -> Any:
    """The greater of two sizes."""
    return max(a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two sizes."""
    return min(a, b)


def sym_not(a: Any) -> bool:
    """Not, for conditions on sizes."""
    return not a


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """One of two sizes, by a condition."""
    return t if b else f


def sym_sum(args: Any) -> Any:
    """The sum of sizes."""
    return sum(args)


def _shape_as_tensor(input: Tensor) -> Tensor:
    """The shape as a tensor of ints."""
    return claygrad.tensor(list(input.shape), dtype=claygrad.int64)


def get_device_module(device: Any = None) -> Any:
    """The module of a device: `torch.cpu`, `torch.cuda`, …"""
    kind = claygrad.device(device).type if device is not None else "cpu"
    if not hasattr(claygrad, kind):
        raise RuntimeError(f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'.")
    return getattr(claygrad, kind)


def get_autocast_gpu_dtype() -> Any:
    """The dtype that autocast would use on a GPU."""
    return claygrad.get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: Any) -> None:
    """Set the dtype that autocast would use on a GPU."""
    claygrad.set_autocast_dtype("cuda", dtype)


def set_vital(*args: Any) -> bool:
    """Statistics of use are not kept: False."""
    return False


def _unique(self: Tensor, sorted: bool = True, return_inverse: bool = False) -> tuple[Tensor, Tensor]:
    """The values that occur, and where each element has its own, if asked for."""
    if return_inverse:
        values, inverse = claygrad.unique(self, sorted=sorted, return_inverse=True)
        return values, inverse
    return claygrad.unique(self, sorted=sorted), self.new_empty(0, dtype=claygrad.int64)
