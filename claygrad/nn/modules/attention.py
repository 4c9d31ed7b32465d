"""Multi-head attention, and the masks that say which positions may be attended to."""
from __future__ import annotations

from typing import Any

from claygrad.core import DTYPES, Tensor, dtype
from claygrad.core.user_warnings import warn
from claygrad.nn import functional as F
from claygrad.nn import init
from claygrad.nn.modules.linear import NonDynamicallyQuantizableLinear
from claygrad.nn.modules.module import Module
from claygrad.nn.modules.utils import new_parameter
from claygrad.ops.fill import zeros

__all__ = ["MultiheadAttention"]


def added_mask(mask: Tensor | None, name: str, target: dtype, other: Tensor | None = None,
               other_name: str = "") -> Tensor | None:
    """A mask as numbers that are added to the scores: -inf where a bool mask is True. `other` should have the same
    dtype."""
    if mask is None:
        return None
    numbers = mask.dtype.is_floating_point
    if mask.dtype is not DTYPES["bool"] and not numbers:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if other is not None and other.dtype is not mask.dtype:
        warn(f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.")
    return mask if numbers else zeros(mask.shape, dtype=target, device=mask.device).masked_fill_(mask, float("-inf"))


class MultiheadAttention(Module):
    """Multi-head attention: softmax(q @ k.T / sqrt(head_dim) + masks) @ v in each head, between linear maps.

    `embed_dim` features are divided among `num_heads` heads. Query, key and value have the shape (L, N, E), with
    `batch_first` (N, L, E), without a batch (L, E). Returns the output and, with `need_weights`, the attention weights,
    averaged over the heads unless average_attn_weights=False. `key_padding_mask` (N, S) and `attn_mask` are True, or
    -inf, where attention is not allowed.
    """

    bias_k: Tensor | None
    bias_v: Tensor | None

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True,
                 add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int | None = None,
                 vdim: int | None = None, batch_first: bool = False, device: Any = None, dtype: Any = None) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                             f"num_heads={num_heads} instead")
        super().__init__()
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.batch_first, self.add_zero_attn = batch_first, add_zero_attn
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        if self._qkv_same_embed_dim:
            self.in_proj_weight = new_parameter((3 * embed_dim, embed_dim), device, dtype)
            absent = ["q_proj_weight", "k_proj_weight", "v_proj_weight"]
        else:
            self.q_proj_weight = new_parameter((embed_dim, embed_dim), device, dtype)
            self.k_proj_weight = new_parameter((embed_dim, self.kdim), device, dtype)
            self.v_proj_weight = new_parameter((embed_dim, self.vdim), device, dtype)
            absent = ["in_proj_weight"]
        for name in absent:
            self.register_parameter(name, None)
        self.register_parameter("in_proj_bias", new_parameter(3 * embed_dim, device, dtype) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        if add_bias_kv:
            self.bias_k = new_parameter((1, 1, embed_dim), device, dtype)
            self.bias_v = new_parameter((1, 1, embed_dim), device, dtype)
        else:
            self.bias_k = self.bias_v = None
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        maps = ("in_proj",) if self._qkv_same_embed_dim else ("q_proj", "k_proj", "v_proj")
        for name in maps:
            init.xavier_uniform_(getattr(self, name + "_weight"))
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for added in (self.bias_k, self.bias_v):
            if added is not None:
                init.xavier_normal_(added)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
                need_weights: bool = True, attn_mask: Tensor | None = None, average_attn_weights: bool = True,
                is_causal: bool = False) -> tuple[Tensor, Tensor | None]:
        padding = added_mask(key_padding_mask, "key_padding_mask", query.dtype, attn_mask, "attn_mask")
        mask = added_mask(attn_mask, "attn_mask", query.dtype)
        swapped = self.batch_first and query.dim() == 3
        if swapped:
            query, key, value = _length_first(query, key, value)
        apart = not self._qkv_same_embed_dim
        output, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k,
            self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias,
            training=self.training, key_padding_mask=padding, need_weights=need_weights, attn_mask=mask,
            use_separate_proj_weight=apart, q_proj_weight=self.q_proj_weight if apart else None,
            k_proj_weight=self.k_proj_weight if apart else None, v_proj_weight=self.v_proj_weight if apart else None,
            average_attn_weights=average_attn_weights, is_causal=is_causal)
        return output.transpose(1, 0) if swapped else output, weights

    def merge_masks(self, attn_mask: Tensor | None, key_padding_mask: Tensor | None,
                    query: Tensor) -> tuple[Tensor | None, int | None]:
        """Both masks as one, and its kind: 1 for padding alone, 2 for one of shape (N, heads, L, L)."""
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, length, _ = query.shape
        if attn_mask.dim() == 3:
            merged = attn_mask.view(batch, -1, length, length)
        else:
            merged = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            merged = merged + key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1)
        return merged, 2


def _length_first(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(N, L, E) as (L, N, E); inputs that are one tensor stay one, so that one product maps them all."""
    transposed_query = query.transpose(1, 0)
    transposed_key = transposed_query if key is query else key.transpose(1, 0)
    transposed_value = transposed_key if value is key else transposed_query if value is query else value.transpose(1, 0)
    return transposed_query, transposed_key, transposed_value
