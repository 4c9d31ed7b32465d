"""Names of `torch` itself that other packages ask for."""
from __future__ import annotations

from typing import Any

import claygrad
from claygrad._legacy import CUDA_TYPES, TYPES
from claygrad.compat.answers.fake_quantize import (  # noqa: F401
    fake_quantize_per_channel_affine,
    fake_quantize_per_tensor_affine,
)
from claygrad.compat.answers.operations import NAMES
from claygrad.compat.refusing import refusing_class, refusing_function, unchanged
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
_tensor_classes = {*TYPES.values(), *CUDA_TYPES.values()}
_disable_dynamo = unchanged
for _name in ("_scaled_mm _grouped_mm _scaled_grouped_mm _cslt_compress _cslt_sparse_mm _sparse_semi_structured_tile "
              "_sparse_semi_structured_apply _sparse_semi_structured_apply_dense quantize_per_tensor "
              "quantize_per_channel quantize_per_tensor_dynamic fused_moving_avg_obs_fake_quant "
              "_fake_quantize_learnable_per_tensor_affine _fake_quantize_learnable_per_channel_affine").split():
    globals()[_name] = refusing_function(f"torch.{_name}")


class qscheme:
    """How a quantized tensor was made; claygrad has none, only the names."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"


for _name in ("per_tensor_affine per_tensor_symmetric per_channel_affine per_channel_symmetric "
              "per_channel_affine_float_qparams").split():
    globals()[_name] = qscheme(_name)


def _assert(condition: Any, message: str) -> Any:
    """An assertion that a trace may see."""
    if type(condition) is not Tensor and claygrad.overrides.has_torch_function((condition,)):
        return claygrad.overrides.handle_torch_function(_assert, (condition,), condition, message)
    assert condition, message
    return None


def _assert_async(condition: Tensor, message: str | None = None) -> None:
    """An assertion on a tensor of one element."""
    if not bool(condition):
        raise RuntimeError(message or "Expected Tensor with single nonzero value, but got zero")


def _debug_has_internal_overlap(tensor: Tensor) -> int:
    """Whether several indices reach one element: 0 no, 1 yes, 2 if strides alone do not tell."""
    axes = sorted((stride, size) for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size > 1)
    if tensor.numel() == 0 or tensor.is_contiguous():
        return 0
    if axes and axes[0][0] == 0:
        return 1
    reach = 1
    for stride, size in axes:
        if stride != reach:
            return 2
        reach *= size
    return 0


def _add_relu(input: Tensor, other: Any, *, alpha: Any = 1, out: Tensor | None = None) -> Tensor:
    """`relu(input + alpha * other)`."""
    made = claygrad.add(input, other, alpha=alpha).relu_()
    return made if out is None else out.copy_(made)


def _add_relu_(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """`_add_relu`, in place."""
    return input.add_(other, alpha=alpha).relu_()


def _masked_softmax(input: Tensor, mask: Tensor, dim: int | None = None, mask_type: int | None = None) -> Tensor:
    """softmax over what is not masked, and NaN where all is: masks by position (0), by key (1) or whole (2)."""
    if mask.dtype is not claygrad.bool:
        raise RuntimeError("Mask should be a boolean tensor")
    if mask_type is None:
        raise RuntimeError("Mask Type should be defined")
    if mask.dim() != 2 or input.dim() != 4 or mask_type == 2:       # the two others are of a batch of heads
        if mask.shape != input.shape:
            raise RuntimeError("For mask_type == 2 mask shape should match input shape")
    elif mask_type == 1:
        if mask.shape != (input.shape[0], input.shape[2]):
            raise RuntimeError("For mask_type == 1 mask shape should be (B, L)")
        mask = mask[:, None, None, :]
    elif mask_type != 0:
        raise RuntimeError("Mask Type should be 0 (src_mask), 1 (src_key_padding_mask), or 2 (default_mask)")
    elif mask.shape != (input.shape[2], input.shape[2]):
        raise RuntimeError("For mask_type == 0 mask shape should be (L, L)")
    axis = -1 if dim is None else dim
    return input.masked_fill(mask, float("-inf")).softmax(axis)


def _softmax(input: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """softmax; with `half_to_float`, of halves in float32."""
    if half_to_float and input.dtype not in (claygrad.float16, claygrad.bfloat16):
        raise RuntimeError("conversion is supported for Half and BFloat16 type only")
    return input.softmax(dim, dtype=claygrad.float32 if half_to_float else None)


def _log_softmax(input: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """log_softmax; with `half_to_float`, of halves in float32."""
    if half_to_float and input.dtype not in (claygrad.float16, claygrad.bfloat16):
        raise RuntimeError("conversion is supported for Half and BFloat16 type only")
    return input.log_softmax(dim, dtype=claygrad.float32 if half_to_float else None)


def batch_norm_update_stats(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None,
                            momentum: float) -> tuple[Tensor, Tensor]:
    """Mean and variance of each channel; those that run are moved towards them."""
    if not input.numel():
        raise RuntimeError("input tensor must have at least one element, but got input_sizes = "
                           f"[{', '.join(map(str, input.shape))}]")
    axes = [axis for axis in range(input.dim()) if axis != 1]
    var, mean = claygrad.var_mean(input, axes, correction=0)
    with claygrad.no_grad():
        count = input.numel() // max(input.shape[1], 1)
        if running_mean is not None:
            running_mean.mul_(1 - momentum).add_(mean, alpha=momentum)
        if running_var is not None:
            running_var.mul_(1 - momentum).add_(var, alpha=momentum * count / max(count - 1, 1))
    return mean, var


def _grid_sampler_2d_cpu_fallback(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int,
                                  align_corners: bool) -> Tensor:
    """`grid_sampler_2d`, of which there is one."""
    return claygrad.grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners)


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


globals().update(NAMES)
