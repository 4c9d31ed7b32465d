"""Private names of `torch.nn.functional` that attention layers of other packages are made of."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import claygrad
from claygrad.core import Tensor
from claygrad.core.user_warnings import warn
from claygrad.ops.matmul import linear
from claygrad.ops.multihead import as_bias, expect, projected
from claygrad.ops.multihead import check_shapes as _mha_shape_check  # noqa: F401
from claygrad.ops.norm_batch import check_batch_size as _verify_batch_size  # noqa: F401
from claygrad.ops.softmax import implied

if TYPE_CHECKING:
    from claygrad.core import dtype


GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


def _none_or_dtype(input: Tensor | None) -> dtype | None:
    """The dtype of a tensor, or None of None."""
    if input is not None and not isinstance(input, Tensor):
        raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")
    return None if input is None else input.dtype


def _canonical_mask(mask: Tensor | None, mask_name: str, other_type: dtype | None, other_name: str,
                    target_type: dtype, check_other: bool = True) -> Tensor | None:
    """A mask as numbers to add to scores; with a warning where another mask is of another type."""
    added: Tensor | None = as_bias(mask, mask_name, None, target_type)
    if mask is not None and check_other and other_type is not None and mask.dtype != other_type:
        warn(f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.")
    return added


def _in_projection_packed(q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None = None) -> tuple[Tensor, ...]:
    """Queries, keys and values by one packed matrix."""
    made: tuple[Tensor, ...] = projected(q, k, v, w, b)
    return made


def _in_projection(q: Tensor, k: Tensor, v: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, b_q: Tensor | None = None,
                   b_k: Tensor | None = None, b_v: Tensor | None = None) -> tuple[Tensor, ...]:
    """Queries, keys and values, each by a matrix of its own."""
    size = q.shape[-1]
    given = list(zip(("query", "key", "value"), (q, k, v), (w_q, w_k, w_v), (b_q, b_k, b_v)))
    for name, x, weight, _ in given:
        wanted = (size, x.shape[-1])
        expect(tuple(weight.shape) == wanted, f"expecting {name} weights shape of {wanted}, but got {weight.shape}")
    for name, _, _, bias in given:
        if bias is not None:
            expect(tuple(bias.shape) == (size,), f"expecting {name} bias shape of {(size,)}, but got {bias.shape}")
    return tuple(linear(x, weight, bias) for _, x, weight, bias in given)


def _get_softmax_dim(name: str, ndim: int, stacklevel: Any = None) -> int:
    """The axis of a softmax that names none, with a warning at the line of the program that asks."""
    dim: int = implied(name, ndim)
    return dim


def _list_or_empty(value: Any) -> Any:
    """A value as it is; an empty list for None."""
    return [] if value is None else value


def _is_integer(x: Any) -> bool:
    """Whether a number is whole by its type, or a tensor by its dtype."""
    if isinstance(x, Tensor):
        return not x.is_floating_point() and not x.is_complex() and x.dtype is not claygrad.bool
    return isinstance(x, int)


def _verify_spatial_size(size: list[int]) -> None:
    """A norm over space needs more than one place."""
    if math.prod(size[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {size}")



# Under the names that they have before PyTorch wraps them.
globals().update({f"_{name}": getattr(claygrad.nn.functional, name) for name in (
    "threshold", "max_pool1d", "max_pool2d", "max_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "fractional_max_pool2d", "fractional_max_pool3d")})
