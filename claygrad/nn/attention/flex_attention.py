"""`torch.nn.attention.flex_attention`: attention whose scores are changed and masked by functions of the place."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from claygrad._lazy import lazy
from claygrad.core import Tensor, float32, float64
from claygrad.core import bool as bool_
from claygrad.core.cpython.entry_points import guard_package
from claygrad.core.user_warnings import warn
from claygrad.nn.attention._blocks import (
    BLOCK,
    BlockMask,
    blocks_of,
    noop_mask,
    over_positions,
    positional,
    sliced_mask_mod,
    to_ordered,
)
from claygrad.ops.fill import zeros

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "FlexKernelOptions",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

_DEFAULT_SPARSE_BLOCK_SIZE = BLOCK
_LARGE_SPARSE_BLOCK_SIZE = 1 << 30
_BACKENDS = ("AUTO", "TRITON", "FLASH", "TRITON_DECODE")
_warned: set[str] = set()


class FlexKernelOptions(TypedDict, total=False):
    """How PyTorch's kernels for GPUs go about it. Here they change nothing."""

    BACKEND: str
    PRESCALE_QK: bool
    ROWS_GUARANTEED_SAFE: bool
    BLOCKS_ARE_CONTIGUOUS: bool
    WRITE_DQ: bool
    FORCE_USE_FLEX_ATTENTION: bool
    BLOCK_M: int
    BLOCK_N: int
    num_warps: int
    num_stages: int


class AuxRequest(NamedTuple):
    """Which results to give besides the attention."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The results that were asked for; None for the others."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def or_masks(*mask_mods: Callable[..., Any]) -> Callable[..., Any]:
    """A mask of the positions that one of the masks keeps."""
    if not all(map(callable, mask_mods)):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def or_mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_zeros((), dtype=bool_)
        for mask in mask_mods:
            result = result | mask(b, h, q_idx, kv_idx)
        return result

    return or_mask


def and_masks(*mask_mods: Callable[..., Any]) -> Callable[..., Any]:
    """A mask of the positions that all masks keep."""
    if not all(map(callable, mask_mods)):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def and_mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_ones((), dtype=bool_)
        for mask in mask_mods:
            result = result & mask(b, h, q_idx, kv_idx)
        return result

    return and_mask


def create_mask(
    mod_fn: Callable[..., Any], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None
) -> Tensor:
    """The positions that a mask keeps, or that a change of scores does not make -inf."""
    on = "cpu" if device is None else device
    sizes = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    if positional(mod_fn) == 5:
        return ~over_positions(mod_fn, sizes, zeros(sizes, device=on), on).isneginf()
    return over_positions(mod_fn, sizes, None, on)


def create_block_mask(
    mask_mod: Callable[..., Any],
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = BLOCK,
    _compile: bool = False,
    separate_full_blocks: bool = True,
    compute_dq_write_order: bool = False,
    dq_kv_order: bool = True,
) -> BlockMask:
    """The blocks that a mask does not leave empty.

    >>> mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 6, 6, BLOCK_SIZE=2)
    >>> mask.to_dense()[0, 0]
    tensor([[1, 0, 0],
            [1, 1, 0],
            [1, 1, 1]], dtype=claygrad.int32)
    """
    if positional(mask_mod) != 4:
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}")
    if compute_dq_write_order:
        raise NotImplementedError(
            "compute_dq_write_order=True: claygrad has no kernels that write gradients by blocks\n"
            "  gradients come in one order here; leave the argument out"
        )
    if not isinstance(dq_kv_order, bool):
        raise ValueError("dq_kv_order must be a bool when using create_block_mask")
    sizes = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    if mask.dtype is not bool_:
        raise AssertionError(f"mask.dtype must be torch.bool, got {mask.dtype}")
    partly, full = blocks_of(mask, sizes, separate_full_blocks)
    blocks, indices = to_ordered(partly)
    full_blocks, full_indices = (None, None) if full is None else to_ordered(full)
    return BlockMask.from_kv_blocks(
        blocks, indices, full_blocks, full_indices, BLOCK_SIZE=sizes, mask_mod=mask_mod, seq_lengths=(Q_LEN, KV_LEN)
    )


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable[..., Any] | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: FlexKernelOptions | None = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Attention with `score_mod(score, batch, head, query, key)` for each score, and a mask by blocks.

    All scores are computed, also those of empty blocks. Unlike PyTorch's on the CPU it has gradients, of
    what the functions capture too.
    """
    _check(query, key, value, block_mask, enable_gqa)
    _check_options(kernel_options)
    if return_lse and return_aux is not None:
        raise ValueError(
            "Cannot specify both return_lse and return_aux. return_lse is deprecated, please use "
            "return_aux=AuxRequest(lse=True) instead."
        )
    if return_lse and "return_lse" not in _warned:
        _warned.add("return_lse")
        warn(
            "return_lse is deprecated and will be removed in v2.10. "
            "Please use return_aux=AuxRequest(lse=True) instead.",
            FutureWarning,
        )
    groups = query.size(1) // key.size(1)
    batch = query.size(0)
    key, value = (x.repeat_interleave(groups, 1).expand(batch, -1, -1, -1) for x in (key, value))
    precision = float64 if query.dtype is float64 else float32
    scores = (
        query.to(precision) @ key.to(precision).transpose(-2, -1) * (query.size(-1) ** -0.5 if scale is None else scale)
    )
    if score_mod is not None:
        scores = over_positions(score_mod, scores.shape, scores, scores.device).to(precision)
    if block_mask is not None:
        kept = over_positions(block_mask.mask_mod, scores.shape, None, scores.device)
        scores = scores.masked_fill(~kept, -math.inf)
    dead = scores.isneginf().all(-1, keepdim=True)  # nothing is kept there: no weights, no gradients
    weights = scores.masked_fill(dead, 0).softmax(-1).masked_fill(dead, 0)
    out = weights.to(query.dtype) @ value.to(query.dtype)
    lse = scores.logsumexp(-1) if return_lse or (return_aux is not None and return_aux.lse) else None
    if return_aux is not None:
        return out, AuxOutput(lse, scores.amax(-1) if return_aux.max_scores else None)
    return (out, lse) if return_lse else out


def _check(query: Tensor, key: Tensor, value: Tensor, mask: BlockMask | None, grouped: bool) -> None:
    """What PyTorch asks of the shapes."""
    if query.device != key.device or query.device != value.device:
        raise ValueError(
            "Expected query, key, and value to have the same device type, but got query.device: "
            f"{query.device}, key.device: {key.device}, and value.device: {value.device} instead."
        )
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise ValueError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.dim()}, key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )
    if query.size(-1) != key.size(-1):
        raise ValueError(
            "Expect query and key/value to have the same embedding dimension "
            f"but got E={query.size(-1)} and E={key.size(-1)}."
        )
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    heads, others = query.size(1), key.size(1)
    if not grouped and heads != others:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={heads} and "
            f"Hkv={others}. Try setting enable_gqa=True for GQA."
        )
    if grouped and heads % others:
        raise ValueError(
            f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={heads} and Hkv={others}."
        )
    if query.size(0) != key.size(0):
        if mask is None:
            raise ValueError(
                "Expect query and key/value to have the same batch size, or non-none block_mask, but got "
                f"block_mask=None, Bq={query.size(0)}, and Bkv={key.size(0)}."
            )
        if mask.kv_num_blocks.size(0) != query.size(0):
            raise ValueError(
                "Expect query and key/value to have the same batch size, or block_mask and query to have the "
                f"same batch size, but got Bq={query.size(0)}, Bkv={key.size(0)}, "
                f"B_block_mask={mask.kv_num_blocks.size(0)}."
            )
        if key.size(0) != 1:
            raise RuntimeError(f"Bq and Bkv must broadcast. Got Bq={query.size(0)} and Bkv={key.size(0)}")
    if mask is not None:
        _check_lengths(mask, query.size(-2), key.size(-2))


def _check_lengths(mask: BlockMask, rows: int, columns: int) -> None:
    if mask.mask_mod is sliced_mask_mod:
        raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")
    if mask.BLOCK_SIZE[0] == mask.BLOCK_SIZE[1] == _LARGE_SPARSE_BLOCK_SIZE:  # one block for everything
        return
    said = f"block_mask was created for block_mask.shape={mask.shape} but got q_len={rows} and kv_len={columns}. "
    if rows > mask.shape[-2] or columns > mask.shape[-1]:
        raise ValueError(
            said + "As the block mask was created for a smaller length than you're using it for, you likely need to "
            "create a new block mask."
        )
    if rows < mask.shape[-2] or columns < mask.shape[-1]:
        raise ValueError(
            said + "As the block mask was created for a larger length than you're using it for, you can either 1. "
            "create a new block mask with the correct length, or 2. 'adjust' the existing block mask to the correct "
            "length by calling block_mask._adjust(q_len, kv_len). This essentially 'crops' the block mask to the upper "
            "left corner, which does not work for all mask_mods!"
        )


def _check_options(options: Any) -> None:
    if not options:
        return
    if "BACKEND" in options and options.get("FORCE_USE_FLEX_ATTENTION", False):
        raise RuntimeError(
            "BACKEND cannot be combined with legacy FORCE_USE_FLEX_ATTENTION. BACKEND supersedes the legacy "
            "knob; please drop FORCE_USE_FLEX_ATTENTION and only specify the desired BACKEND."
        )
    if options.get("BACKEND", "AUTO") not in _BACKENDS:
        raise ValueError(f"Invalid BACKEND value '{options['BACKEND']}'. Must be one of {_BACKENDS}")


__getattr__ = lazy(__name__)

guard_package(__name__)          # Note [Entry points]
