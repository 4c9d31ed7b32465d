"""Attention: values mixed by how well keys answer to queries."""
from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from claygrad.core import float32
from claygrad.core.graph.intercept import differentiated
from claygrad.ops._norms import HALF_DTYPES, wide
from claygrad.ops._registry import composite, op
from claygrad.ops._words import FLOATS, need
from claygrad.ops.dropout import dropout_if
from claygrad.ops.softmax import softmax_backward

if TYPE_CHECKING:
    from claygrad.core import Tensor

inner = {"function": False, "method": False, "out": False}
MINUS = float("-inf")


# Softmax of rows in which everything may be masked

@op(strides="like",
    node="SafeSoftmaxBackward0", meta=lambda input: input.shape, **inner, samples=lambda t: [t.args(t(3, 4))])
def safe_softmax(xp, input: Tensor):
    "softmax along the last axis, with zeros for rows of -inf alone."
    need(input, FLOATS, "softmax_lastdim_kernel_impl")
    return masked_softmax(xp, input)
safe_softmax.rule(input=lambda g, out: softmax_backward(g, out, out.ndim - 1))


def masked_softmax(xp, scores):
    if not scores.size:
        return scores.copy()
    e, total = exponentials(xp, scores)
    e /= total
    return e


def exponentials(xp, scores):
    """exp of the scores, below their maximum, and what to divide by."""
    top = scores.max(axis=-1, keepdims=True)
    e = xp.exp(scores - xp.where(xp.isneginf(top), scores.dtype.type(0), top))
    total = e.sum(axis=-1, keepdims=True)
    return e, xp.where(total == 0, scores.dtype.type(1), total)


# The fused form

def fuses(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float) -> bool:
    """Four axes of matching sizes, nothing random, no gradient for the mask: PyTorch's CPU kernel."""
    return (query.ndim == key.ndim == value.ndim == 4 and dropout_p == 0 and query.dtype.is_floating_point
            and query.shape[:2] == key.shape[:2] == value.shape[:2] and key.shape[2] == value.shape[2]
            and query.shape[3] == key.shape[3] == value.shape[3]
            and query.numel() > 0 and key.numel() > 0 and (attn_mask is None or 2 <= attn_mask.ndim <= 4)
            and not (attn_mask is not None and differentiated(attn_mask)))


def causal(xp, rows: int, columns: int):
    """True where a query may look: at its own place and before."""
    return xp.arange(rows)[:, None] >= xp.arange(columns)


@op(name="_scaled_dot_product_flash_attention_for_cpu", kernel="attention", half="raw",
    node="ScaledDotProductFlashAttentionForCpuBackward0", differentiable=(0,),
    meta=lambda query: [(query.shape, query.dtype), (query.shape[:3], query.dtype if query.itemsize > 2 else float32)],
    **inner,
    samples=lambda t: [t.args(t(1, 2, 3, 4), t(1, 2, 5, 4), t(1, 2, 5, 4), None, False, 0.5),
                       t.args(t(1, 1, 3, 2), t(1, 1, 3, 2), t(1, 1, 3, 2), None, True, 1.0)])
def fused_attention(xp, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool,
                    scale: float):
    "softmax(query @ key.T * scale + attn_mask) @ value, and the logarithms of the sums that softmax divides by."
    scores = scored(xp, query, key, attn_mask, is_causal, scale)
    top = scores.max(axis=-1)
    e, total = exponentials(xp, scores)
    e = wide(e.astype(query.dtype, copy=False))         # products with halves are of halves
    out = xp.empty_like(query, dtype=e.dtype)           # laid out as the query: heads are often an inner axis
    xp.matmul(e, wide(value), out=out)
    out /= total
    return out.astype(query.dtype, copy=False), xp.log(total[..., 0]) + top


def scored(xp, query, key, mask, is_causal: bool, scale: float):
    """The scores, -inf where a query may not look."""
    scores = xp.matmul(wide(query), wide(key).swapaxes(-1, -2))
    scores *= scores.dtype.type(scale)
    if is_causal:
        scores[..., ~causal(xp, *scores.shape[-2:])] = MINUS
    if mask is not None and mask.dtype == bool:
        return xp.where(mask, scores, scores.dtype.type(MINUS))
    return scores if mask is None else scores + wide(mask)


@fused_attention.rules(constant=("attn_mask",))
def fused_grads(g, query, key, value, attn_mask, is_causal, scale, outs, needs):
    if not differentiated():
        return (*fused_attention_backward(g, query, key, value, attn_mask, is_causal, scale, *outs), None)
    weights = attended(query, key, attn_mask, is_causal, scale)          # second derivatives are those of the parts
    to_value = weights.transpose(-2, -1).matmul(g) if needs[2] else None
    if not (needs[0] or needs[1]):
        return None, None, to_value, None
    to_scores = softmax_backward(g.matmul(value.transpose(-2, -1)), weights, weights.ndim - 1) * scale
    return (to_scores.matmul(key) if needs[0] else None,
            to_scores.transpose(-2, -1).matmul(query) if needs[1] else None, to_value, None)


@op(name="_scaled_dot_product_flash_attention_for_cpu_backward", kernel="attention_backward", half="raw",
    differentiable=(), meta=lambda query, key, value: [(t.shape, t.dtype) for t in (query, key, value)], **inner,
    samples=None)
def fused_attention_backward(xp, grad_output: Tensor, query: Tensor, key: Tensor, value: Tensor,
                             attn_mask: Tensor | None, is_causal: bool, scale: float, out: Tensor, log_sum: Tensor):
    "The gradients of query, key and value."
    scores = scored(xp, query, key, attn_mask, is_causal, scale)
    weights = xp.exp(scores - xp.where(xp.isneginf(log_sum), log_sum.dtype.type(0), log_sum)[..., None])
    g, kind = wide(grad_output), query.dtype
    to_scores = xp.matmul(g, wide(value).swapaxes(-1, -2)) - (g * wide(out)).sum(axis=-1, keepdims=True)
    to_scores *= weights * weights.dtype.type(scale)
    transposed = to_scores.swapaxes(-1, -2), weights.swapaxes(-1, -2)
    grads = xp.matmul(to_scores, wide(key)), xp.matmul(transposed[0], wide(query)), xp.matmul(transposed[1], g)
    return tuple([grad.astype(kind, copy=False) for grad in grads])


# Made of its parts

def attended(query: Tensor, key: Tensor, attn_mask: Tensor | None, is_causal: bool, scale: float) -> Tensor:
    """The weights with which every query looks at every key."""
    scores = (query * scale).matmul(key.transpose(-2, -1))
    if is_causal:
        ahead = scores.new_ones(scores.shape[-2:]).triu(1) != 0
        scores = scores.masked_fill(ahead, MINUS)
    if attn_mask is None:
        return scores.softmax(-1)
    if attn_mask.dtype.name == "bool":
        return safe_softmax(scores.masked_fill(~attn_mask, MINUS))
    return safe_softmax(scores + attn_mask)


def check_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None) -> None:
    if not query.dtype == key.dtype == value.dtype:
        raise RuntimeError("Expected query, key, and value to have the same dtype, but got "
                           f"query.dtype: {query.dtype.c_name} key.dtype: {key.dtype.c_name} and "
                           f"value.dtype: {value.dtype.c_name} instead.")
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise RuntimeError("Expected query, key, and value to all be  at least 2 dimensional, but got "
                           f"query.dim: {query.ndim} key.dim: {key.ndim} and value.dim: {value.ndim} instead.")
    if attn_mask is None:
        return
    if attn_mask.dtype.name not in ("bool", "float32") and attn_mask.dtype != query.dtype:
        raise RuntimeError("Expected attn_mask dtype to be bool or float or to match query dtype, but got "
                           f"attn_mask.dtype: {attn_mask.dtype.c_name} and  query.dtype: {query.dtype.c_name} instead.")
    if attn_mask.ndim < 2:
        lowest, highest = -max(attn_mask.ndim, 1), max(attn_mask.ndim, 1) - 1
        raise IndexError(f"Dimension out of range (expected to be in range of [{lowest}, {highest}], but got -2)")
    _check_mask_shape((*query.shape[:-1], key.shape[-2]), tuple(attn_mask.shape))


def _check_mask_shape(scores: tuple[int, ...], mask: tuple[int, ...]) -> None:
    """Refuse a mask that does not broadcast to the scores."""
    for back in range(1, min(len(scores), len(mask)) + 1):
        if scores[-back] != mask[-back] and 1 not in (scores[-back], mask[-back]):
            raise RuntimeError(f"The size of tensor a ({scores[-back]}) must match the size of tensor b "
                               f"({mask[-back]}) at non-singleton dimension {len(scores) - back}")


def grouped(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Keys and values repeated so that every head of the query has one."""
    for tensor in (query, key, value):
        tensor.size(-3)                                  # for its refusal
    heads = query.shape[-3]
    if not key.shape[-3] or heads % key.shape[-3] or not value.shape[-3] or heads % value.shape[-3]:
        raise RuntimeError("Number of heads in key and value must divide the number of heads in \nthe query: "
                           f"{heads} are not divided by {key.shape[-3]} and {value.shape[-3]}")
    return tuple(t if t.shape[-3] == heads else t.repeat_interleave(heads // t.shape[-3], -3) for t in (key, value))


@composite(namespace="nn.functional", method=False, native="attention", parts=(fused_attention,),
           samples=lambda t: [t.args(t(2, 2, 3, 4), t(2, 2, 5, 4), t(2, 2, 5, 4)), t.args(t(3, 4), t(5, 4), t(5, 2)),
                              t.args(t(2, 3, 4), t(2, 3, 4), t(2, 3, 4), is_causal=True),
                              t.args(t(2, 3, 4), t(2, 3, 4), t(2, 3, 4), t(3, 3), scale=0.3),
                              t.args(t(1, 4, 3, 2), t(1, 2, 3, 2), t(1, 2, 3, 2), enable_gqa=True)],
           errors=lambda t: [(t.args(t(3), t(3), t(3)), RuntimeError,
                              "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: 1"),
                             (t.args(t(2, 3), t(2, 3), t(2, 3), t(2, 2, dtype="int64")), RuntimeError,
                              "Expected attn_mask dtype to be bool or float or to match query dtype, but got"),
                             (t.args(t(2, 3), t(2, 3), t(2, 3), t(2, 2), is_causal=True), RuntimeError,
                              "_scaled_dot_product_attention: Explicit attn_mask should not be set when"),
                             (t.args(t(2, 3), t(2, 3), t(2, 3), dropout_p=1.5), RuntimeError,
                              "dropout probability has to be between 0 and 1, but got 1.5")])
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
                                 dropout_p: float = 0.0, is_causal: bool = False, *, scale: float | None = None,
                                 enable_gqa: bool = False) -> Tensor:
    """softmax(query @ key.T * scale + attn_mask) @ value; scale is 1 / sqrt(size of the last axis) by default.

    A boolean mask is True where a query may look. A query that may look nowhere gets zeros.
    """
    check_attention(query, key, value, attn_mask)
    if enable_gqa:
        key, value = grouped(query, key, value)
    if scale is None:
        scale = 1 / sqrt(query.shape[-1]) if query.shape[-1] else float("inf")
    if fuses(query, key, value, attn_mask, dropout_p):
        return fused_attention(query, key, value, attn_mask, is_causal, scale)[0]
    kind = query.dtype
    if is_causal and attn_mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if not (query.dtype.is_floating_point or query.dtype.is_complex):
        query, key = query * 1.0, key * 1.0             # no scores are integers; such values are refused below
    if query.dtype.name in HALF_DTYPES:                      # the sums are kept wide until the end
        query, key, value = query.to(float32), key.to(float32), value.to(float32)
    weights = attended(query, key, attn_mask, is_causal, scale)
    out = (dropout_if(weights, dropout_p, True) if dropout_p > 0 else weights).matmul(value)
    return out.to(kind)
