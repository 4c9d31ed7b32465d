"""Sums, means and maxima over bags of embeddings."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import int64
from claygrad.core.graph.intercept import differentiated
from claygrad.core.user_warnings import warn
from claygrad.ops._indices import out_of_bounds
from claygrad.ops._norms import wide
from claygrad.ops._registry import composite, op
from claygrad.ops._words import tensor_type
from claygrad.ops.embedding import check_index_dtype, embedding_renorm_, sparse_rows, sums_by_row

if TYPE_CHECKING:
    from claygrad.core import Tensor

inner = {"function": False, "method": False, "out": False}
SUM, MEAN, MAX = 0, 1, 2


# Note [Bags]
# Entry i of `indices` belongs to the last bag whose offset is at most i. Entries that name `padding_idx` (-1: none)
# count for nothing. With `include_last_offset` the last offset is the end of the last bag and starts none.

def bags_of(xp, offsets, count: int, last: bool):
    """The bag of every entry, and how many bags there are."""
    starts = offsets[:-1] if last and len(offsets) else offsets
    bags = xp.searchsorted(starts, xp.arange(count), side="right") - 1
    return bags, len(starts)


def kept(xp, indices, bags, padding_idx: int):
    """The entries that count, by place."""
    return xp.flatnonzero((indices != padding_idx) & (bags >= 0)) if padding_idx >= 0 else xp.arange(len(indices))


def check_bag(weight, indices, offsets, mode, per_sample_weights, include_last_offset) -> None:
    check_index_dtype(indices, 1, "embedding_bag")
    if not weight.dtype.is_floating_point:
        raise RuntimeError("Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, "
                           f"BFloat16, Float, Double; but got {tensor_type(weight.dtype)} instead (while "
                           "checking arguments for embedding_bag)")
    if per_sample_weights is not None and mode != SUM:
        raise RuntimeError("embedding_bag: per_sample_weights only supported with mode='sum'")
    if per_sample_weights is not None and per_sample_weights.dtype != weight.dtype:
        raise RuntimeError("Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
                           f"'per_sample_weights'; but type {tensor_type(weight.dtype)} does not equal "
                           f"{tensor_type(per_sample_weights.dtype)} (while checking arguments for embedding_bag)")
    if include_last_offset and not offsets.numel():
        raise RuntimeError("include_last_offset: number of offset should be at least 1")


def check_offsets(xp, offsets, count: int) -> None:
    if not len(offsets):
        return
    if offsets[0] != 0:
        raise RuntimeError("offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
                           f"position 0. However, got {int(offsets[0])}")
    if offsets[-1] > count:
        raise RuntimeError(f"offsets[-1] can not be greater than input's length {count} but got offsets[-1] of "
                           f"{int(offsets[-1])}")
    if xp.any(offsets[1:] < offsets[:-1]):
        raise RuntimeError("Expected i < index_size to be true, but got false.  (Could this error message be "
                           "improved?  If so, please report an enhancement request to PyTorch.)")


def check_entries(xp, indices, rows: int, mode: int) -> None:
    bad = out_of_bounds(xp, indices, rows)
    if bad is not None and mode == MAX:
        raise RuntimeError(f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {bad}")
    if bad is not None:
        at = int(xp.argmax((indices < 0) | (indices >= rows)))
        raise RuntimeError(f"Index {at} of input takes value {bad} which is not in the valid range [0, {rows})")


def bag_results(weight, indices, offsets, mode, include_last_offset) -> list:
    bags = offsets.shape[0] - (1 if include_last_offset else 0)
    return [((bags, weight.shape[1]), weight.dtype), (indices.shape, int64), ((bags,), int64),
            ((bags, weight.shape[1]) if mode == MAX else (bags,), int64)]


@op(kernel="embedding_bag", name="_embedding_bag", half="raw", node="EmbeddingBagBackward0", differentiable=(0,),
    check=check_bag,
    meta=bag_results, **inner,
    samples=lambda t: [t.args(t(4, 3), t.index((5,), 4), t.index((2,), 1), 0, t(5), False, -1, False, False),
                       t.args(t(4, 3), t.index((5,), 4), t.index((2,), 1), 1, None, False, -1, False, False)])
def bagged(xp, weight: Tensor, indices: Tensor, offsets: Tensor, mode: int, per_sample_weights: Tensor | None,
           include_last_offset: bool, padding_idx: int, scale_grad_by_freq: bool, sparse: bool):
    "The rows of every bag reduced; the bag of every entry, the sizes of the bags, and the rows that gave the maxima."
    check_offsets(xp, offsets, len(indices))
    check_entries(xp, indices, len(weight), mode)
    bags, count = bags_of(xp, offsets, len(indices), include_last_offset)
    at = kept(xp, indices, bags, padding_idx)
    named, bag = indices[at], bags[at]
    sizes = xp.bincount(bag, minlength=count).astype(xp.int64) if len(bag) else xp.zeros(count, dtype=xp.int64)
    rows = wide(weight[named])
    if mode == MAX:
        out, best = highest(xp, rows, named, bag, sizes, count)
        return out.astype(weight.dtype, copy=False), bags.astype(xp.int64), sizes, best
    if per_sample_weights is not None:
        rows = rows * wide(per_sample_weights[at])[:, None]
    out = sums_by_row(xp, rows, bag, count)
    if mode == MEAN:
        out /= xp.maximum(sizes, 1).astype(out.dtype)[:, None]
    return out.astype(weight.dtype, copy=False), bags.astype(xp.int64), sizes, sizes.copy()


def highest(xp, rows, named, bag, sizes, count: int):
    """The maxima of every bag and the first rows that have them; zeros for an empty bag."""
    out = xp.zeros((count, rows.shape[1]), dtype=rows.dtype)
    best = xp.zeros(out.shape, dtype=xp.int64)
    full = xp.flatnonzero(sizes)
    if len(full) and out.size:
        starts = (xp.cumsum(sizes) - sizes)[full]
        out[full] = xp.maximum.reduceat(rows, starts, axis=0)
        place = xp.arange(len(rows))[:, None]
        hits = xp.where((rows == out[bag]) | (rows != rows), place, len(rows))
        best[full] = named[xp.minimum.reduceat(hits, starts, axis=0)]
    return out, best


@bagged.rules
def bagged_grads(g, aux, weight, indices, offsets, mode, per_sample_weights, padding_idx, scale_grad_by_freq, sparse,
                 needs):
    bags, sizes, best = aux
    to_weight = to_samples = None
    if needs[0] and sparse and mode != MAX:
        rows = g[bags] if mode == SUM else (g / sizes.clamp(min=1).unsqueeze(-1))[bags]
        rows = rows if per_sample_weights is None else rows * per_sample_weights.unsqueeze(-1)
        to_weight = sparse_rows(rows, indices, weight.shape[0], padding_idx, scale_grad_by_freq)
    elif needs[0]:
        to_weight = bag_backward(g, indices, bags, sizes, best, per_sample_weights, weight.shape[0], mode, padding_idx,
                                 scale_grad_by_freq)
    if needs[3]:
        to_samples = sample_grad(g, weight, indices, bags, padding_idx)
    return to_weight, None, None, to_samples


@op(node="EmbeddingBagBackwardBackward0", meta=lambda indices, grad_output: (indices.shape, grad_output.dtype), **inner,
    samples=lambda t: [t.args(t(2, 3), t(4, 3), t.index((5,), 4), t.index((5,), 2), -1)])
def sample_grad(xp, grad_output: Tensor, weight: Tensor, indices: Tensor, bags: Tensor, padding_idx: int):
    "The gradient of the weights of the entries: the product of each row with the gradient of its bag."
    out = xp.einsum("ij,ij->i", grad_output[bags], weight[indices])
    return xp.where(indices == padding_idx, out.dtype.type(0), out) if padding_idx >= 0 else out


@sample_grad.rules
def sample_second(g, grad_output, weight, indices, bags, padding_idx, needs):
    g = g if padding_idx < 0 else g.masked_fill(indices == padding_idx, 0)
    zeros = grad_output.new_zeros
    return (zeros(grad_output.shape).index_add(0, bags, g.unsqueeze(-1) * weight[indices]) if needs[0] else None,
            zeros(weight.shape).index_add(0, indices, g.unsqueeze(-1) * grad_output[bags]) if needs[1] else None,
            None, None)


@op(kernel="embedding_bag_backward", name="_embedding_bag_dense_backward", node="EmbeddingBagDenseBackwardBackward0",
    meta=lambda grad_output, num_weights: (num_weights, grad_output.shape[1]), **inner,
    samples=lambda t: [t.args(t(2, 3), t.index((5,), 4), t.index((5,), 1), t.index((2,), 1).add(2), t.index((2,), 1),
                              t(5), 4, 0, -1, False)])
def bag_backward(xp, grad_output: Tensor, indices: Tensor, bags: Tensor, sizes: Tensor, best: Tensor,
                 per_sample_weights: Tensor | None, num_weights: int, mode: int, padding_idx: int,
                 scale_grad_by_freq: bool):
    "The gradient of the table."
    if mode == MAX:
        out = xp.zeros((num_weights, grad_output.shape[1]), dtype=grad_output.dtype)
        full = xp.flatnonzero(sizes)
        xp.add.at(out, (best[full], xp.arange(grad_output.shape[1])), grad_output[full])
        return out
    at = kept(xp, indices, bags, padding_idx)
    named, bag = indices[at], bags[at]
    scale = entry_scale(xp, named, bag, sizes, mode, num_weights, scale_grad_by_freq, grad_output.dtype)
    each = grad_output[bag] * scale
    if per_sample_weights is not None:
        each = each * per_sample_weights[at][:, None]
    return sums_by_row(xp, each, named, num_weights)


def entry_scale(xp, named, bag, sizes, mode: int, num_weights: int, scale_grad_by_freq: bool, kind):
    """What the gradient of every entry is multiplied by: one over the size of its bag, or over its frequency."""
    scale = xp.ones((len(named), 1), dtype=kind)
    if mode == MEAN:
        scale /= sizes[bag, None].astype(kind)
    if scale_grad_by_freq and len(named):
        scale /= xp.bincount(named, minlength=num_weights)[named, None].astype(kind)
    return scale


def bag_second(g, indices, bags, sizes, best, per_sample_weights, mode, padding_idx, scale_grad_by_freq, grad_output,
               needs):
    if mode == MAX:
        picked = g.gather(0, best.view(-1, g.shape[1]))
        return picked * (sizes > 0).unsqueeze(-1), None, None, None, None, None
    counted = indices != padding_idx
    rows = g[indices] * counted.unsqueeze(-1)
    if mode == MEAN:
        rows = rows / sizes[bags].clamp(min=1).unsqueeze(-1)
    if scale_grad_by_freq:
        rows = rows / indices.bincount(minlength=g.shape[0])[indices].unsqueeze(-1)
    to_samples = (rows * grad_output[bags]).sum(-1) if needs[5] else None
    rows = rows if per_sample_weights is None else rows * per_sample_weights.unsqueeze(-1)
    to_g = grad_output.new_zeros(grad_output.shape).index_add(0, bags, rows) if needs[0] else None
    return to_g, None, None, None, None, to_samples


bag_backward.rules(bag_second)


# The public forms

def outcome(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool, mode: int, sparse: bool,
            per_sample_weights: Tensor | None, include_last_offset: bool,
            padding_idx: int | None) -> tuple[Tensor, ...]:
    rows = weight.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise RuntimeError(f"padding_idx must be within the number of embeddings, {-rows} through {rows - 1}, but got "
                           f"{padding_idx}")
    padding = -1 if padding_idx is None else padding_idx % rows
    return bagged(weight, indices, offsets, mode, per_sample_weights, include_last_offset, padding, scale_grad_by_freq,
                  sparse)


@composite(method=False,
           samples=lambda t: [t.args(t(4, 3), t.index((5,), 4), t.index((1,), 1), False, m) for m in range(3)])
def embedding_bag(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool = False, mode: int = 0,
                  sparse: bool = False, per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
                  padding_idx: int | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Bags of rows of `weight` reduced by sum (mode 0), mean (1) or maximum (2).

    Also gives the bag of every index, the sizes of the bags, and the rows that gave the maxima. As in PyTorch a sum
    counts no sizes, and does not always say the bags.
    """
    out, bags, sizes, best = outcome(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
                                     include_last_offset, padding_idx)
    if mode == SUM:
        length = sizes.shape[0]
        if include_last_offset and not (differentiated(weight)):
            length += 1
        sizes, best = sizes.new_zeros((length,)), sizes.new_zeros((length,))
        if padding_idx is None and weight.dtype.name != "float64":
            bags = bags.new_empty((0,))
    return out, bags, sizes, best


def check_form(input: Tensor, weight: Tensor, offsets: Tensor | None, per_sample_weights: Tensor | None) -> None:
    if per_sample_weights is not None and input.shape != per_sample_weights.shape:
        raise ValueError(f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must "
                         f"have the same shape as the input ({input.shape})")
    if weight.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    if input.ndim == 2 and offsets is not None:
        raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed "
                         f"length sequences. However, found offsets of type {type(offsets)}")
    if input.ndim == 1 and (offsets is None or offsets.ndim != 1):
        raise ValueError("offsets has to be a 1D Tensor" + (" but got None" if offsets is None else ""))
    if input.ndim not in (1, 2):
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")


@composite(name="embedding_bag", namespace="nn.functional", method=False, native="embedding_bag", parts=(bagged,),
           samples=lambda t: [t.args(t.index((2, 3), 4), t(4, 3), mode=m) for m in ("mean", "sum", "max")]
           + [t.args(t.index((2, 3), 4), t(4, 3), mode="sum", per_sample_weights=t(2, 3))],
           errors=lambda t: [(t.args(t.index((3,), 4), t(4, 3)), ValueError, "offsets has to be a 1D Tensor but got "),
                             (t.args(t.index((3, 1), 4), t(4, 3), mode="x"), ValueError,
                              "mode has to be one of sum, mean or max"),
                             (t.args(t.index((3, 1), 4), t(4, 3), padding_idx=9), RuntimeError,
                              "padding_idx must be within the number of embeddings, -4 through 3, but got 9")])
def functional_embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None,
                             max_norm: float | None = None, norm_type: float = 2, scale_grad_by_freq: bool = False,
                             mode: str = "mean", sparse: bool = False, per_sample_weights: Tensor | None = None,
                             include_last_offset: bool = False, padding_idx: int | None = None) -> Tensor:
    "Bags of rows of `weight` reduced: a bag is a row of a 2-D input, or starts at each of `offsets` in a 1-D one."
    if weight.dtype is int64 and input.is_floating_point():
        warn("Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, "
             "...)` is deprecated, and should now be `embedding_bag(input, weight, ...)`.")
        weight, input = input, weight
    check_form(input, weight, offsets, per_sample_weights)
    if input.ndim == 2:
        width, include_last_offset = input.shape[1], False
        offsets = (input.new_ones((input.shape[0],)).cumsum(0) - 1) * width if width else input.new_zeros((0,))
        input = input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if max_norm is not None:
        embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError("embedding_bag: per_sample_weights was not None. per_sample_weights is only "
                                  f"supported for mode='sum' (got mode='{mode}'). Please open a feature request on "
                                  "GitHub.")
    return outcome(weight, input, offsets, scale_grad_by_freq, ("sum", "mean", "max").index(mode), sparse,
                   per_sample_weights, include_last_offset, padding_idx)[0]
