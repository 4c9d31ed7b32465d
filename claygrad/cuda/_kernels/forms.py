"""Native forms of `cuda`: operations by one kernel or a few.

A form takes what the declared forward of its operation takes (claygrad/ops/). Where it does not apply, by a dtype, a
shape or a size, it returns None, and the forward does the work as array code. Checks of arguments are the forward's.
"""
from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from claygrad.core.dispatch.convert_half import recast
from claygrad.ops._conv import same_format
from claygrad.ops._indices import check_bounds, out_of_bounds
from claygrad.ops._norms import statistics_dtype, wide
from claygrad.ops._pool import out_sizes
from claygrad.ops.loss_class import sorted_out
from claygrad.ops.norm_layer import moments_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from claygrad.cuda._kernels.launch import Kernels

DEPTHS = {"f4": 128, "f8": 64}          # LIMIT in attention.cu
_KINDS = {np.dtype(np.float32): "f4", np.dtype(np.float64): "f8"}


def kind_of(*arrays: Any) -> str | None:
    """The word for the dtype that all arrays have (None among them says nothing), if the kernels compute in it."""
    kinds = {x.dtype for x in arrays if x is not None}
    return _KINDS.get(kinds.pop()) if len(kinds) == 1 else None


def plain(xp: Any, *arrays: Any) -> list[Any]:
    """The arrays in row-major order."""
    return [None if x is None else xp.ascontiguousarray(x) for x in arrays]


def forms(kernels: Kernels) -> dict[str, Callable[..., Any]]:
    """The forms, by the names of their operations."""
    from claygrad.cuda._kernels.convolutions import forms as convolutions
    out: dict[str, Callable[..., Any]] = {}
    for part in (_softmax, _norms, _batch_norm, _losses, _attention, _pools, _indices, convolutions):
        out |= part(kernels)
    return out


# --- softmax ---------------------------------------------------------------------------------------------------------
def _softmax(run: Kernels) -> dict[str, Callable[..., Any]]:
    def along(xp: Any, entry: str, arrays: list[Any], dim: int, logarithm: bool) -> Any:
        kind, last = kind_of(*arrays), arrays[-1]
        if kind is None or not last.ndim or not last.size or any(x.shape != last.shape for x in arrays):
            return None
        arrays = plain(xp, *arrays)
        out, axis = xp.empty(last.shape, dtype=last.dtype), dim % last.ndim
        n, inner = last.shape[axis], prod(last.shape[axis + 1:])
        if inner == 1:
            run.rows("softmax", f"softmax_rows{entry}_{kind}", last.size // n, n, *arrays, out, n, logarithm)
        else:
            columns = last.size // n
            run.each("softmax", f"softmax_columns{entry}_{kind}", columns, *arrays, out, columns, n, inner, logarithm)
        return out

    return {"_softmax": lambda xp, input, dim: along(xp, "", [input], dim, False),
            "_log_softmax": lambda xp, input, dim: along(xp, "", [input], dim, True),
            "_softmax_backward_data": lambda xp, grad_output, output, dim: along(
                xp, "_backward", [grad_output, output], dim, False),
            "_log_softmax_backward_data": lambda xp, grad_output, output, dim: along(
                xp, "_backward", [grad_output, output], dim, True)}


# --- layers, groups of channels, root mean square ---------------------------------------------------------------------
def _norms(run: Kernels) -> dict[str, Callable[..., Any]]:
    def forward(xp: Any, x: Any, weight: Any, bias: Any, rows: int, groups: int, spread: int, eps: float,
                centred: bool) -> tuple[Any, Any, Any] | None:
        x, weight, bias = wide(x), wide(weight), wide(bias)
        kind = kind_of(x, weight, bias)
        if kind is None or not x.size:
            return None
        x, weight, bias = plain(xp, x, weight, bias)
        out, mean, rstd = xp.empty(x.shape, dtype=x.dtype), xp.empty(rows, dtype=x.dtype), xp.empty(rows, dtype=x.dtype)
        n = x.size // rows
        run.rows("norm", f"norm_rows_{kind}", rows, n, x, weight, bias, out, mean, rstd, n, groups, spread, eps,
                 centred)
        return out, mean, rstd

    def backward(xp: Any, g: Any, x: Any, mean: Any, rstd: Any, weight: Any, groups: int, spread: int) -> Any:
        kind, rows, n = kind_of(g), rstd.size, x.size // rstd.size
        out = xp.empty(x.shape, dtype=x.dtype)
        run.rows("norm", f"norm_rows_backward_{kind}", rows, n, g, x, mean, rstd, weight, out, n, groups, spread,
                 mean is not None)
        return out

    def narrowed(xp: Any, *arrays: Any) -> tuple[str | None, list[Any]]:
        """The arrays for a kernel, halves as float32, and the word for their dtype."""
        arrays = tuple(wide(x) for x in arrays)
        return kind_of(*arrays), plain(xp, *arrays)

    def layer_norm(xp: Any, input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
        shape = moments_shape(input, normalized_shape)
        result = forward(xp, input, weight, bias, max(1, prod(shape)), 1, 1, eps, True)
        if result is None:
            return None
        kept = statistics_dtype(input, weight, bias)
        return recast(result[0], input.dtype), *[x.reshape(shape).astype(kept, copy=False) for x in result[1:]]

    def rms_norm(xp: Any, input: Any, normalized_shape: Any, weight: Any, eps: float) -> Any:
        shape = moments_shape(input, normalized_shape)
        result = forward(xp, input, weight, None, max(1, prod(shape)), 1, 1, eps, False)
        return None if result is None else (recast(result[0], input.dtype), result[2].reshape(shape))

    def columns(xp: Any, kind: str, g: Any, x: Any, mean: Any, rstd: Any, wanted: Sequence[bool]) -> list[Any]:
        """Sums over the rows: the gradients of weight and bias."""
        rows, n = rstd.size, x.size // rstd.size
        out = [xp.empty(n, dtype=x.dtype) if want else None for want in wanted]
        if any(wanted):
            run.run("norm", f"norm_columns_backward_{kind}", -(-n // 32), 512, g, x, mean, rstd, *out, rows, n,
                    mean is not None)
        return out

    def layer_norm_backward(xp: Any, grad_out: Any, input: Any, normalized_shape: tuple, mean: Any, rstd: Any,
                            weight: Any, eps: float, output_mask: Sequence[bool]) -> Any:
        kind, (g, x, mean, rstd, scale) = narrowed(xp, grad_out, input, mean, rstd, weight)
        if kind is None or not x.size:
            return None
        kept = grad_out.dtype if weight is None else weight.dtype
        nothing = xp.empty(0, dtype=kept)
        to_x = recast(backward(xp, g, x, mean, rstd, scale, 1, 1), input.dtype) if output_mask[0] else nothing
        others = columns(xp, kind, g, x, mean, rstd, output_mask[1:])
        return to_x, *[nothing if v is None else v.reshape(normalized_shape).astype(kept, copy=False) for v in others]

    def rms_norm_backward(xp: Any, grad_out: Any, input: Any, normalized_shape: tuple, rstd: Any, weight: Any,
                          eps: float, output_mask: Sequence[bool]) -> Any:
        kind, (g, x, rstd, scale) = narrowed(xp, grad_out, input, rstd, weight)
        if kind is None or not x.size:
            return None
        nothing = xp.empty(0, dtype=input.dtype)
        to_x = recast(backward(xp, g, x, None, rstd, scale, 1, 1), input.dtype) if output_mask[0] else nothing
        result = columns(xp, kind, g, x, None, rstd, (output_mask[1], False))[0]
        return to_x, nothing if result is None else recast(result.reshape(normalized_shape), input.dtype)

    def group_norm(xp: Any, input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int,
                   eps: float) -> Any:
        result = forward(xp, input, weight, bias, N * group, group, HxW, eps, True)
        if result is None:
            return None
        kept = statistics_dtype(input, weight, bias)
        return (same_format(xp, recast(result[0], input.dtype), input),
                *[x.reshape(N, group).astype(kept, copy=False) for x in result[1:]])

    def group_norm_backward(xp: Any, grad_out: Any, input: Any, mean: Any, rstd: Any, weight: Any, N: int, C: int,
                            HxW: int, group: int, eps: float, output_mask: Sequence[bool]) -> Any:
        kind, (g, x, mean, rstd, scale) = narrowed(xp, grad_out, input, mean, rstd, weight)
        if kind is None or not x.size:
            return None
        kept = grad_out.dtype if weight is None else weight.dtype
        to_x = to_weight = xp.empty(0, dtype=kept)
        if output_mask[0]:
            to_x = recast(backward(xp, g, x, mean, rstd, scale, group, HxW).reshape(input.shape), input.dtype)
        if output_mask[1]:
            sums = xp.empty((2, C), dtype=x.dtype)
            run.rows("norm", f"channel_sums_{kind}", C, N * HxW, g, x, mean, rstd, sums[0], sums[1], N, C, HxW, group,
                     C // group)
            to_weight = sums[1].astype(kept)
        return to_x, to_weight

    return {"native_layer_norm": layer_norm, "native_layer_norm_backward": layer_norm_backward, "_rms_norm": rms_norm,
            "rms_backward": rms_norm_backward, "native_group_norm": group_norm,
            "group_norm_backward": group_norm_backward}


# --- batches ---------------------------------------------------------------------------------------------------------
def _batch_norm(run: Kernels) -> dict[str, Callable[..., Any]]:
    def measures(x: Any) -> tuple[int, int, int]:
        return x.shape[0], x.shape[1], prod(x.shape[2:])

    def batch_norm(xp: Any, input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
                   eps: float) -> Any:
        kept_as = statistics_dtype(input, weight, bias, running_mean, running_var)
        if kept_as.itemsize == 2 or not input.size:     # PyTorch applies moments rounded to halves
            return None
        x, weight, bias = plain(xp, wide(input), wide(weight), wide(bias))
        kind, (n, c, places) = kind_of(x, weight, bias), measures(x)
        if kind is None or (not training and kind_of(x, running_mean, running_var) is None):
            return None
        if training:
            mean, variance = xp.empty(c, dtype=x.dtype), xp.empty(c, dtype=x.dtype)
            run.rows("norm", f"channel_moments_{kind}", c, n * places, x, mean, variance, n, c, places)
        else:
            mean, variance = plain(xp, running_mean, running_var)
        rstd = 1 / xp.sqrt(variance + x.dtype.type(eps))
        out = xp.empty(x.shape, dtype=x.dtype)
        run.each("norm", f"channel_norm_{kind}", x.size, x, mean, rstd, weight, bias, out, x.size, c, places)
        kept = [recast(s, kept_as) for s in (mean, rstd, variance)] if training else [xp.empty(0, dtype=kept_as)] * 3
        return same_format(xp, recast(out, input.dtype), input), *kept

    def batch_norm_backward(xp: Any, grad_out: Any, input: Any, mean: Any, rstd: Any, weight: Any, training: bool,
                            eps: float, output_mask: Sequence[bool]) -> Any:
        g, x, mean, rstd, scale = plain(xp, *(wide(v) for v in (grad_out, input, mean, rstd, weight)))
        kind, (n, c, places) = kind_of(g, x, mean, rstd, scale), measures(input)
        if kind is None or not x.size:
            return None
        kept = grad_out.dtype if weight is None else weight.dtype
        nothing = xp.empty(0, dtype=kept)
        sums = xp.empty((2, c), dtype=x.dtype)
        if training or output_mask[1] or output_mask[2]:
            run.rows("norm", f"channel_sums_{kind}", c, n * places, g, x, mean, rstd, sums[0], sums[1], n, c, places, 0,
                     1)
        to_x = nothing
        if output_mask[0]:
            result = xp.empty(x.shape, dtype=x.dtype)
            run.each("norm", f"channel_norm_backward_{kind}", x.size, g, x, mean, rstd, scale, sums[0], sums[1], result,
                     x.size, c, places, n * places, training)
            to_x = recast(result, input.dtype)
        return (to_x, sums[1].astype(kept) if output_mask[1] else nothing,
                sums[0].astype(kept) if output_mask[2] else nothing)

    return {"_batch_norm": batch_norm, "batch_norm_backward": batch_norm_backward}


# --- losses ----------------------------------------------------------------------------------------------------------
def _losses(run: Kernels) -> dict[str, Callable[..., Any]]:
    def cross_entropy(xp: Any, input: Any, target: Any, reduction: str, ignore_index: int) -> Any:
        kind, (rows, n) = kind_of(input), input.shape
        if kind is None or not input.size:
            return None
        _, counted = sorted_out(xp, target, None, ignore_index, n)
        input, target = plain(xp, input, target)
        loss, kept = xp.empty(rows, dtype=input.dtype), xp.empty((2, rows), dtype=input.dtype)
        run.rows("loss", f"cross_entropy_rows_{kind}", rows, n, input, target, loss, kept, n, ignore_index)
        if reduction != "none":
            loss = loss.sum()
            loss = loss if reduction == "sum" else xp.true_divide(loss, counted.sum()).astype(input.dtype)
        return loss, kept

    def cross_entropy_backward(xp: Any, grad_output: Any, input: Any, target: Any, kept: Any, reduction: str,
                               ignore_index: int) -> Any:
        kind, (rows, n) = kind_of(grad_output, input, kept), input.shape
        if kind is None or not input.size:
            return None
        scale = xp.broadcast_to(grad_output, (rows,))
        if reduction == "mean":
            scale = (scale / (target != ignore_index).sum()).astype(input.dtype)
        scale, input, target, kept = plain(xp, scale, input, target, kept)
        out = xp.empty(input.shape, dtype=input.dtype)
        run.each("loss", f"cross_entropy_rows_backward_{kind}", input.size, scale, input, target, kept, out, rows, n,
                 ignore_index)
        return out

    return {"_cross_entropy": cross_entropy, "_cross_entropy_backward": cross_entropy_backward}


# --- attention -------------------------------------------------------------------------------------------------------
def _attention(run: Kernels) -> dict[str, Callable[..., Any]]:
    def added(xp: Any, mask: Any, query: Any, key: Any) -> tuple[Any, tuple[int, ...]]:
        """The mask as numbers to add, and its strides over batch, head, query and key."""
        if mask is None:
            return None, (0, 0, 0, 0)
        if mask.dtype == bool:
            mask = xp.where(mask, query.dtype.type(0), query.dtype.type(-np.inf))
        mask = xp.ascontiguousarray(mask.astype(query.dtype, copy=False))
        seen = xp.broadcast_to(mask, (*query.shape[:3], key.shape[2]))
        return mask, tuple(0 if n == 1 else step // mask.dtype.itemsize
                           for step, n in zip(seen.strides, seen.shape, strict=True))

    def fits(*arrays: Any) -> str | None:
        kind = kind_of(*arrays)
        return kind if kind is not None and arrays[0].size and arrays[0].shape[3] <= DEPTHS[kind] else None

    def attention(xp: Any, query: Any, key: Any, value: Any, attn_mask: Any, is_causal: bool, scale: float) -> Any:
        q, k, v = plain(xp, wide(query), wide(key), wide(value))
        kind = fits(q, k, v)
        if kind is None:
            return None
        mask, steps = added(xp, attn_mask, q, k)
        (batch, heads, queries, depth), keys = q.shape, k.shape[2]
        out, logs = xp.empty(q.shape, dtype=q.dtype), xp.empty(q.shape[:3], dtype=q.dtype)
        run.run("attention", f"attention_{kind}", batch * heads * -(-queries // 8), 256, q, k, v, mask, out, logs,
                queries, keys, depth, heads, *steps, scale, is_causal)
        if out.dtype != query.dtype or not query.flags.c_contiguous:           # laid out as the query
            result = xp.empty_like(query)
            result[...] = out.astype(query.dtype, copy=False)
            out = result
        return out, logs

    def attention_backward(xp: Any, grad_output: Any, query: Any, key: Any, value: Any, attn_mask: Any, is_causal: bool,
                           scale: float, out: Any, log_sum: Any) -> Any:
        g, q, k, v, result, logs = plain(xp, *(wide(x) for x in (grad_output, query, key, value, out, log_sum)))
        kind = fits(q, k, v, g, logs)
        if kind is None:
            return None
        mask, steps = added(xp, attn_mask, q, k)
        (batch, heads, queries, depth), keys = q.shape, k.shape[2]
        dots = xp.ascontiguousarray((g * result).sum(axis=-1))
        grads = [xp.empty(x.shape, dtype=x.dtype) for x in (q, k, v)]
        rest = (queries, keys, depth, heads, *steps, scale, is_causal)
        given = (g, q, k, v, mask, logs, dots)
        run.run("attention", f"attention_query_backward_{kind}", batch * heads * -(-queries // 8), 256, *given,
                grads[0], *rest)
        run.run("attention", f"attention_key_backward_{kind}", batch * heads * -(-keys // 8), 256, *given, *grads[1:],
                *rest)
        return tuple([x.astype(query.dtype, copy=False) for x in grads])

    return {"_scaled_dot_product_flash_attention_for_cpu": attention,
            "_scaled_dot_product_flash_attention_for_cpu_backward": attention_backward}


# --- pooling ---------------------------------------------------------------------------------------------------------
def three(values: Sequence[int], other: int) -> tuple[int, ...]:
    """Numbers of three axes, of which the first have `other` where there are fewer."""
    return (*[other] * (3 - len(values)), *values)


def _pools(run: Kernels) -> dict[str, Callable[..., Any]]:
    def windows(size: Any, out: Any, kernel: Any, stride: Any, padding: Any) -> list[int]:
        return [*three(size, 1), *three(out, 1), *three(kernel, 1), *three(stride, 1), *three(padding, 0)]

    def largest(xp: Any, indices: bool, input: Any, kernel: Any, stride: Any, padding: Any, dilation: Any,
                ceil: bool) -> Any:
        kind, dims = kind_of(input), len(kernel)
        if kind is None or not input.size:
            return None
        size, x = input.shape[-dims:], xp.ascontiguousarray(input)
        sizes = out_sizes(size, kernel, stride, padding, dilation, ceil)
        shape = (*input.shape[:-dims], *sizes)
        out = xp.empty(shape, dtype=x.dtype)
        index = xp.empty(shape, dtype=np.int64) if indices else None
        run.each("pool", f"max_pool_{kind}", out.size, x, out, index, out.size,
                 *windows(size, sizes, kernel, stride, padding), *three(dilation, 1))
        return tuple(same_format(xp, v, input) for v in (out, index)) if indices else same_format(xp, out, input)

    def max_pool_backward(xp: Any, grad_output: Any, indices: Any, shape: Any, dims: int) -> Any:
        kind = kind_of(grad_output)
        if kind is None or not grad_output.size:
            return None
        g, index = plain(xp, grad_output, indices.astype(np.int64, copy=False))
        places = prod(shape[-dims:])
        if out_of_bounds(xp, index, places) is not None:
            return None
        out = xp.zeros(tuple(shape), dtype=g.dtype)
        run.each("pool", f"max_pool_backward_{kind}", g.size, g, index, out, g.size, prod(g.shape[-dims:]), places)
        return out

    def avg_pool(xp: Any, input: Any, kernel: Any, stride: Any, padding: Any, ceil: bool, include: bool,
                 divisor: int | None) -> Any:
        kind, dims = kind_of(input), len(kernel)
        if kind is None or not input.size:
            return None
        size, x = input.shape[-dims:], xp.ascontiguousarray(input)
        sizes = out_sizes(size, kernel, stride, padding, (1,) * dims, ceil)
        out = xp.empty((*input.shape[:-dims], *sizes), dtype=x.dtype)
        run.each("pool", f"avg_pool_{kind}", out.size, x, out, out.size,
                 *windows(size, sizes, kernel, stride, padding), include, divisor or 0)
        return same_format(xp, out, input)

    def avg_pool_backward(xp: Any, grad_output: Any, shape: Any, kernel: Any, stride: Any, padding: Any, ceil: bool,
                          include: bool, divisor: int | None) -> Any:
        kind, dims = kind_of(grad_output), len(kernel)
        if kind is None or not grad_output.size:
            return None
        g = xp.ascontiguousarray(grad_output)
        out = xp.empty(tuple(shape), dtype=g.dtype)
        run.each("pool", f"avg_pool_backward_{kind}", out.size, g, out, out.size,
                 *windows(shape[-dims:], g.shape[-dims:], kernel, stride, padding), include, divisor or 0)
        return same_format(xp, out, grad_output)

    return {"_max_pool": lambda xp, *args: largest(xp, False, *args),
            "_max_pool_with_indices": lambda xp, *args: largest(xp, True, *args),
            "_max_pool_backward": max_pool_backward, "_avg_pool": avg_pool, "_avg_pool_backward": avg_pool_backward}


# --- elements and rows by number -------------------------------------------------------------------------------------
def _indices(run: Kernels) -> dict[str, Callable[..., Any]]:
    def parts(x: Any, index: Any, dim: int) -> tuple[int, int, int] | None:
        """An axis of x, of the index, and the product of those behind; None if other axes differ."""
        if index.ndim != x.ndim or not x.ndim or not index.size or index.dtype.kind != "i":
            return None
        dim %= x.ndim
        if any(i != dim and a != b for i, (a, b) in enumerate(zip(x.shape, index.shape, strict=True))):
            return None
        return x.shape[dim], index.shape[dim], prod(x.shape[dim + 1:])

    def gather(xp: Any, input: Any, dim: int, index: Any, sparse_grad: bool = False) -> Any:
        found = parts(input, index, dim)
        if found is None:
            return None
        check_bounds(xp, index, dim % input.ndim, found[0])
        x, index = plain(xp, input, index.astype(np.int64, copy=False))
        out = xp.empty(index.shape, dtype=x.dtype)
        run.each("index", f"gather_u{x.dtype.itemsize}", out.size, x, index, out, out.size, *found)
        return out

    def scatter_add(xp: Any, input: Any, dim: int, index: Any, src: Any) -> Any:
        x, src, found = wide(input), wide(src), parts(input, index, dim)
        kind = kind_of(x, src)
        if kind is None or found is None or src.shape != index.shape:
            return None
        check_bounds(xp, index, dim % input.ndim, found[0])
        src, index = plain(xp, src, index.astype(np.int64, copy=False))
        out = xp.array(x, order="C")
        run.each("sums", f"scatter_add_{kind}", src.size, src, index, out, src.size, *found)
        return recast(out, input.dtype)

    def embedding(xp: Any, weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False,
                  sparse: bool = False) -> Any:
        if not weight.size or not indices.size or out_of_bounds(xp, indices, len(weight)) is not None:
            return None
        table, index = plain(xp, weight, indices.astype(np.int64, copy=False))
        out = xp.empty((*indices.shape, table.shape[1]), dtype=table.dtype)
        run.each("index", f"pick_rows_u{table.dtype.itemsize}", out.size, table, index, out, out.size, table.shape[1])
        return out

    def embedding_backward(xp: Any, grad_output: Any, indices: Any, num_weights: int, padding_idx: int,
                           scale_grad_by_freq: bool) -> Any:
        kind, width = kind_of(grad_output), grad_output.shape[-1]
        if (kind is None or not grad_output.size or scale_grad_by_freq
                or out_of_bounds(xp, indices, num_weights) is not None):
            return None
        g, index = plain(xp, grad_output, indices.astype(np.int64, copy=False))
        out = xp.zeros((num_weights, width), dtype=g.dtype)
        run.each("sums", f"add_rows_{kind}", g.size, g, index, out, g.size, width, padding_idx)
        return out

    return {"gather": gather, "scatter_add": scatter_add, "scatter_add_": scatter_add, "embedding": embedding,
            "embedding_dense_backward": embedding_backward}
