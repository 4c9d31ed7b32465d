"""Private names of `torch.nn.modules.transformer` that layers of other packages are made of."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from claygrad.core import Tensor
from claygrad.nn import ModuleList
from claygrad.nn.modules import transformer


def _get_clones(module: Any, N: int) -> ModuleList:
    """A module, copied that often."""
    return ModuleList([copy.deepcopy(module) for _ in range(N)])


def _get_activation_fn(activation: str) -> Callable[[Tensor], Tensor]:
    """`relu` or `gelu` by its name."""
    return transformer._named(activation)


def _get_seq_len(src: Tensor, batch_first: bool) -> int | None:
    """How long the sequences are."""
    return src.size(1 if src.dim() == 3 and batch_first else 0)


def _detect_is_causal_mask(mask: Tensor | None, is_causal: bool | None = None, size: int | None = None) -> bool:
    """Whether each place sees only what came before: as said, or else as the mask is."""
    if is_causal is not None or mask is None:
        return is_causal is True
    causal = transformer._generate_square_subsequent_mask(
        mask.size(-2) if size is None else size, mask.device, mask.dtype
    )
    return mask.size() == causal.size() and bool((mask == causal).all())
