"""Attention with several heads, with the projections before and after it."""
from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from claygrad.core.user_warnings import warn
from claygrad.ops._registry import composite
from claygrad.ops.attention import MINUS, scaled_dot_product_attention
from claygrad.ops.dropout import dropout_if
from claygrad.ops.join import cat
from claygrad.ops.matmul import linear

if TYPE_CHECKING:
    from claygrad.core import Tensor, dtype


def expect(holds: bool, text: str) -> None:
    if not holds:
        raise AssertionError(text)


def check_shapes(query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None, attn_mask: Tensor | None,
                 num_heads: int) -> bool:
    """Whether there is an axis of examples."""
    if query.ndim not in (2, 3):
        raise AssertionError("query should be unbatched 2D or batched 3D tensor but received "
                             f"{query.ndim}-D query tensor")
    n = query.ndim
    batch = f"For {'batched' if n == 3 else 'unbatched'} ({n}-D) `query`, expected "
    expect(key.ndim == value.ndim == n, f"{batch}`key` and `value` to be {n}-D but found {key.ndim}-D and "
           f"{value.ndim}-D tensors respectively")
    if key_padding_mask is not None:
        expect(key_padding_mask.ndim == n - 1, f"{batch}`key_padding_mask` to be `None` or {n - 1}-D but found "
               f"{key_padding_mask.ndim}-D tensor instead")
    if attn_mask is not None:
        expect(attn_mask.ndim in (2, 3), f"{batch}`attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.ndim}-D "
               "tensor instead")
        if n == 2 and attn_mask.ndim == 3:
            wanted = (num_heads, query.shape[0], key.shape[0])
            expect(tuple(attn_mask.shape) == wanted,
                   f"Expected `attn_mask` shape to be {wanted} but got {attn_mask.shape}")
    return n == 3


def as_bias(mask: Tensor | None, name: str, other: dtype | None, kind: dtype) -> Tensor | None:
    """A mask as numbers to add: a boolean one is True, and becomes -inf, where nobody may look."""
    if mask is None or mask.is_floating_point():
        if mask is not None and other is not None and mask.dtype != other:
            mismatched(name)
        return mask
    expect(mask.dtype.name == "bool", f"only bool and floating types of {name} are supported")
    if other is not None and mask.dtype != other:
        mismatched(name)
    return mask.new_zeros(mask.shape, dtype=kind).masked_fill_(mask, MINUS)


def mismatched(name: str) -> None:
    warn(f"Support for mismatched {name} and attn_mask is deprecated. Use same type for both instead.")


def projected(query: Tensor, key: Tensor, value: Tensor, weight: Tensor, bias: Tensor | None) -> tuple[Tensor, ...]:
    """Queries, keys and values by one packed matrix; in as few products as the inputs are different."""
    size = query.shape[-1]
    if query is key and key is value:
        return tuple(parts(linear(query, weight, bias), 3))
    if key is value:
        w_query, w_rest = weight.split([size, 2 * size])
        b_query, b_rest = (None, None) if bias is None else bias.split([size, 2 * size])
        return linear(query, w_query, b_query), *parts(linear(key, w_rest, b_rest), 2)
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    return tuple(linear(x, w, b) for x, w, b in zip((query, key, value), weight.chunk(3), biases))


def parts(packed: Tensor, count: int) -> list[Tensor]:
    """The `count` parts of the last axis, each contiguous."""
    return list(packed.unflatten(-1, (count, -1)).movedim(-2, 0).contiguous().unbind(0))


def projected_apart(query: Tensor, key: Tensor, value: Tensor, weights: tuple[Tensor | None, ...],
                    bias: Tensor | None) -> list[Tensor]:
    size = query.shape[-1]
    for letter, weight in zip("qkv", weights):
        expect(weight is not None, f"use_separate_proj_weight is True but {letter}_proj_weight is None")
    for name, x, weight in zip(("query", "key", "value"), (query, key, value), weights):
        expect(tuple(weight.shape) == (size, x.shape[-1]),
               f"expecting {name} weights shape of {(size, x.shape[-1])}, but got {weight.shape}")
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    for name, part in zip(("query", "key", "value"), biases):
        expect(part is None or tuple(part.shape) == (size,),
               f"expecting {name} bias shape of {(size,)}, but got {None if part is None else part.shape}")
    return [linear(x, weight, b) for x, weight, b in zip((query, key, value), weights, biases)]


def with_mask_axes(attn_mask: Tensor | None, examples: int, num_heads: int, rows: int, columns: int) -> Tensor | None:
    if attn_mask is None:
        return None
    if attn_mask.ndim not in (2, 3):
        raise RuntimeError(f"attn_mask's dimension {attn_mask.ndim} is not supported")
    wanted = (rows, columns) if attn_mask.ndim == 2 else (examples * num_heads, rows, columns)
    if tuple(attn_mask.shape) != wanted:
        raise RuntimeError(f"The shape of the {attn_mask.ndim}D attn_mask is {attn_mask.shape}, but should be "
                           f"{wanted}.")
    return attn_mask.unsqueeze(0) if attn_mask.ndim == 2 else attn_mask


def one_more(mask: Tensor | None) -> Tensor | None:
    """A mask with a further column that everybody may look at."""
    return None if mask is None else cat([mask, mask.new_zeros((*mask.shape[:-1], 1))], -1)


def in_heads(x: Tensor, static: Tensor | None, name: str, examples: int, num_heads: int, head_size: int) -> Tensor:
    """(examples * heads, positions, size)."""
    if static is None:
        return x.reshape(x.shape[0], examples * num_heads, head_size).transpose(0, 1)
    for axis, wanted in ((0, examples * num_heads), (2, head_size)):
        expect(static.shape[axis] == wanted, f"expecting {name}.size({axis}) of {wanted}, but got {static.shape[axis]}")
    return static


@composite(namespace="nn.functional", method=False, raw=True, samples=lambda t: [
    t.args(t(3, 2, 4), t(5, 2, 4), t(5, 2, 4), 4, 2, t(12, 4), t(12), None, None, False, 0.0, t(4, 4), t(4)),
    t.args(t(3, 4), t(5, 4), t(5, 4), 4, 2, t(12, 4), None, t(1, 1, 4), t(1, 1, 4), True, 0.0, t(4, 4), None,
           attn_mask=t(3, 5), average_attn_weights=False),
    t.args(t(3, 2, 4), t(5, 2, 4), t(5, 2, 4), 4, 2, t(12, 4), t(12), None, None, False, 0.0, t(4, 4), t(4),
           need_weights=False)],
           errors=lambda t: [(t.args(t(3, 2, 4), t(5, 2, 4), t(5, 2, 4), 6, 2, t(12, 4), t(12), None, None, False, 0.0,
                                     t(4, 4), t(4)), AssertionError, "was expecting embedding dimension of 6, "),
                             (t.args(t(3, 2, 4), t(5, 2, 4), t(5, 2, 4), 4, 3, t(12, 4), t(12), None, None, False, 0.0,
                                     t(4, 4), t(4)), AssertionError, "embed_dim 4 not divisible by num_heads 3")])
def multi_head_attention_forward(query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int,
                                 in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None,
                                 bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor,
                                 out_proj_bias: Tensor | None, training: bool = True,
                                 key_padding_mask: Tensor | None = None, need_weights: bool = True,
                                 attn_mask: Tensor | None = None, use_separate_proj_weight: bool = False,
                                 q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None,
                                 v_proj_weight: Tensor | None = None, static_k: Tensor | None = None,
                                 static_v: Tensor | None = None, average_attn_weights: bool = True,
                                 is_causal: bool = False) -> tuple[Tensor, Tensor | None]:
    """Attention of (positions, examples, size) with several heads: projections in, attention, projection out.

    Returns the result and the weights of attention, averaged over the heads, if they are asked for.
    """
    batched = check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        same_key, same_value = key is query, value is key
        query = query.unsqueeze(1)
        key = query if same_key else key.unsqueeze(1)
        value = key if same_value else value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    rows, examples, size = query.shape
    columns = key.shape[0]
    key_padding_mask = as_bias(key_padding_mask, "key_padding_mask", None if attn_mask is None else attn_mask.dtype,
                               query.dtype)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
                           "`generate_square_subsequent_mask` to create this mask.")
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None                        # the hint says all that the mask says
    else:
        attn_mask = as_bias(attn_mask, "attn_mask", None, query.dtype)
        is_causal = is_causal and key_padding_mask is None
    expect(size == embed_dim_to_check, f"was expecting embedding dimension of {embed_dim_to_check}, but got {size}")
    head_size = size // num_heads
    expect(head_size * num_heads == size, f"embed_dim {size} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        expect(key.shape[:2] == value.shape[:2],
               f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
        q, k, v = projected_apart(query, key, value, (q_proj_weight, k_proj_weight, v_proj_weight), in_proj_bias)
    else:
        expect(key.shape == value.shape, f"key shape {key.shape} does not match value shape {value.shape}")
        expect(in_proj_weight is not None, "use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = projected(query, key, value, in_proj_weight, in_proj_bias)
    attn_mask = with_mask_axes(attn_mask, examples, num_heads, rows, columns)
    if bias_k is not None and bias_v is not None:
        expect(static_k is None, "bias cannot be added to static key.")
        expect(static_v is None, "bias cannot be added to static value.")
        k, v = cat([k, bias_k.repeat(1, examples, 1)]), cat([v, bias_v.repeat(1, examples, 1)])
        attn_mask, key_padding_mask = one_more(attn_mask), one_more(key_padding_mask)
    expect(bias_k is None or bias_v is not None, "bias_k is set but bias_v is None")
    expect(bias_v is None or bias_k is not None, "bias_v is set but bias_k is None")
    q = in_heads(q, None, "", examples, num_heads, head_size)
    k = in_heads(k, static_k, "static_k", examples, num_heads, head_size)
    v = in_heads(v, static_v, "static_v", examples, num_heads, head_size)
    if add_zero_attn:
        nothing = (examples * num_heads, 1, head_size)
        k, v = cat([k, k.new_zeros(nothing)], 1), cat([v, v.new_zeros(nothing)], 1)
        attn_mask, key_padding_mask = one_more(attn_mask), one_more(key_padding_mask)
    columns = k.shape[1]
    if key_padding_mask is not None:
        attn_mask = merged(attn_mask, key_padding_mask, examples, num_heads, columns)
    dropout_p = dropout_p if training else 0.0
    if need_weights:
        out, weights = weighed(q, k, v, attn_mask, dropout_p, is_causal)
        out = out.transpose(0, 1).reshape(rows * examples, size)
        weights = weights.view(examples, num_heads, rows, columns)
        weights = weights.mean(1) if average_attn_weights else weights
    else:
        if attn_mask is not None and attn_mask.shape[0] == 1:
            attn_mask = attn_mask.unsqueeze(0)
        elif attn_mask is not None:
            attn_mask = attn_mask.view(examples, num_heads, attn_mask.shape[1], columns)
        q, k, v = (x.view(examples, num_heads, x.shape[1], head_size) for x in (q, k, v))     # there may be no examples
        out = scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)
        out, weights = out.permute(2, 0, 1, 3).reshape(rows * examples, size), None
    out = linear(out, out_proj_weight, out_proj_bias)
    out = out.view(rows, examples, out.shape[1])
    if batched:
        return out, weights
    return out.squeeze(1), None if weights is None else weights.squeeze(0)


def merged(attn_mask: Tensor | None, key_padding_mask: Tensor, examples: int, num_heads: int, columns: int) -> Tensor:
    expect(key_padding_mask.shape[0] == examples,
           f"Expected key_padded_mask.shape[0] to be {examples}, but got {key_padding_mask.shape[0]}")
    expect(key_padding_mask.shape[1] == columns,
           f"Expected key_padded_mask.shape[1] to be {columns}, but got {key_padding_mask.shape[1]}")
    spread = key_padding_mask.view(examples, 1, 1, columns).expand(-1, num_heads, -1, -1)
    spread = spread.reshape(examples * num_heads, 1, columns)
    return spread if attn_mask is None else attn_mask + spread


def weighed(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None, dropout_p: float,
            is_causal: bool) -> tuple[Tensor, Tensor]:
    """The result for every head, and the weights it was made with."""
    expect(not is_causal or attn_mask is not None, "FIXME: is_causal not implemented for need_weights")
    q = q * sqrt(1 / q.shape[-1])
    scores = q.bmm(k.transpose(-2, -1)) if attn_mask is None else attn_mask.baddbmm(q, k.transpose(-2, -1))
    weights = scores.softmax(-1)
    if dropout_p > 0:
        weights = dropout_if(weights, dropout_p, True)
    return weights.bmm(v), weights
