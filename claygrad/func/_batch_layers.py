"""Rules for batches of layers: the batch becomes part of the examples that a layer takes, or of its channels."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad.autograd._batched import wrap
from claygrad.core import Tensor
from claygrad.func._batch_rules import aligned, each, full, ops, rank, rule, tensors, where_is, with_values

if TYPE_CHECKING:
    from claygrad.autograd._batched import Call


def _joined(value: Tensor) -> Tensor:
    """The batch as part of the first axis of an example."""
    return value.reshape(value.shape[0] * value.shape[1], *value.shape[2:])


def _apart(result: Any, size: int) -> Any:
    if isinstance(result, Tensor):
        return result.reshape(size, result.shape[0] // size if size else 0, *result.shape[1:])
    return type(result)([_apart(x, size) for x in result])


def _to_channels(value: Tensor) -> Tensor:
    """(batch, examples, channels, …) as (examples, batch · channels, …)."""
    return _joined(value.movedim(1, -1)).movedim(-1, 0) if value.ndim > 2 else value


def _from_channels(value: Tensor, size: int) -> Tensor:
    made: Tensor = value.reshape(value.shape[0], size, value.shape[1] // size, *value.shape[2:]).movedim(1, 0)
    return made


# --- convolutions ----------------------------------------------------------------------------------------------

@rule("convolution")
def _convolution(call: Call) -> Any:
    x, weight, bias = call.values[:3]
    rest = call.values[3:]
    transposed, groups = rest[3], rest[5]
    size = call.size
    if size == 0 or rank(call, 0) != rank(call, 1):
        return each(call)
    if not call.flags[1]:
        inner = None if call.flags[2] else bias
        out = _apart(call.run([_joined(full(call, 0)), weight, inner, *rest]), size)
    else:
        many = [*rest[:5], groups * size]
        joined = _joined(weight)
        if not call.flags[0] and groups == 1 and not transposed:
            out = _from_channels(call.run([x, joined, None, *rest]), size)
        else:
            out = _from_channels(call.run([_to_channels(full(call, 0)), joined, None, *many]), size)
        inner = None
    if bias is not None and inner is None:
        given = bias if call.flags[2] else bias.unsqueeze(0)
        out = out + given.reshape(given.shape[0], 1, given.shape[1], *[1] * (out.ndim - 3))
    return out


@rule("_conv_input")
def _conv_input(call: Call) -> Any:
    rest = call.values[2:]
    if call.size == 0 or rank(call, 0) != rank(call, 1):
        return each(call)
    if not call.flags[1]:
        return _apart(call.run([_joined(full(call, 0)), call.values[1], *rest]), call.size)
    made = call.run([_to_channels(full(call, 0)), _joined(call.values[1]), *rest[:-1], rest[-1] * call.size])
    return _from_channels(made, call.size)


@rule("_conv_weight")
def _conv_weight(call: Call) -> Any:
    rest = call.values[2:]
    if call.size == 0 or rank(call, 0) != rank(call, 1):
        return each(call)
    made = call.run([_to_channels(full(call, 0)), _to_channels(full(call, 1)), *rest[:-1], rest[-1] * call.size])
    return _apart(made, call.size)


# --- what works on every example of its own --------------------------------------------------------------------

@rule("_avg_pool", "_max_pool", "_max_pool_with_indices", "_adaptive_avg_pool", "_adaptive_max_pool", "_upsample",
      "im2col", "col2im", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "native_channel_shuffle", "_pad_enum",
      "_grid_sampler")
def _per_example(call: Call) -> Any:
    at = tensors(call)
    if call.size == 0 or any(rank(call, i) < 3 for i in at) or (call.name == "_pad_enum" and (
            len(call.values[1]) // 2 >= rank(call, 0))):
        return each(call)
    if call.name in ("im2col", "col2im") and rank(call, 0) != (4 if call.name == "im2col" else 3):
        return each(call)
    values = list(call.values)
    for i in at:
        values[i] = _joined(full(call, i))
    return _apart(call.run(values), call.size)


# --- normalisation ---------------------------------------------------------------------------------------------

def _scaled(call: Call, out: Tensor, at: int, shape: tuple[int, ...]) -> Tensor:
    """A normalised batch times its weight plus its bias, either of which may be of a batch."""
    level = call.level

    def scaled(weight: Tensor | None, bias: Tensor | None) -> Tensor:
        made = wrap(out, level)
        made = made if weight is None else made * weight.reshape(shape)
        return made if bias is None else made + bias.reshape(shape)

    return call.by_examples(scaled, at, at + 1)


@rule("native_layer_norm")
def _layer_norm(call: Call) -> Any:
    if not (call.flags[2] or call.flags[3]):
        return call.run(call.values)
    if not all(x is None or x.dtype == call.values[0].dtype for x in call.values[2:4]):
        return each(call)
    out, mean, rstd = call.run([full(call, 0), call.values[1], None, None, *call.values[4:]])
    return _scaled(call, out, 2, tuple(call.values[1])), mean, rstd


@rule("_rms_norm")
def _rms_norm(call: Call) -> Any:
    at = where_is(call, "weight")
    if not call.flags[at]:
        return call.run(call.values)
    return each(call)


@rule("native_group_norm")
def _group_norm(call: Call) -> Any:
    count = call.values[where_is(call, "N")]
    values = with_values(call, N=count * call.size)
    values[0] = _joined(full(call, 0))
    if call.size == 0 or not all(x is None or x.dtype == values[0].dtype for x in values[1:3]):
        return each(call)
    apart = bool(call.flags[1] or call.flags[2])
    if apart:
        values[1] = values[2] = None
    out, mean, rstd = (_apart(x, call.size) for x in call.run(values))
    if apart:
        out = _scaled(call, out, 1, (-1, *[1] * (out.ndim - 3)))
    return out, mean, rstd


@rule("_batch_norm")
def _batch_norm(call: Call) -> Any:
    if call.size == 0 or rank(call, 0) < 2:
        return each(call)
    if any(x is not None and x.dtype != call.values[0].dtype for x in call.values[1:5]):
        return each(call)
    values: list[Any] = [_to_channels(full(call, 0)) if rank(call, 0) > 1 else full(call, 0)]
    values += [None, None]
    values += [None if call.values[i] is None else full(call, i).reshape(-1) for i in (3, 4)]
    out, *kept = call.run([*values, *call.values[5:]])
    out = _scaled(call, _from_channels(out, call.size), 1, (-1, *[1] * (rank(call, 0) - 2)))
    return (out, *(x.reshape(call.size, -1) if x.numel() else x.reshape(call.size, 0) for x in kept))


# --- losses ----------------------------------------------------------------------------------------------------

@rule("_mse_loss", "_smooth_l1_loss", "_huber_loss", "_soft_margin_loss", "_binary_cross_entropy",
      "_binary_cross_entropy_with_logits")
def _elementwise_loss(call: Call) -> Any:
    at = where_is(call, "reduction")
    reduction = call.values[at]
    given = tensors(call)
    n = max(rank(call, i) for i in given)
    if any(rank(call, i) != n for i in given) or n == 0:
        return each(call)
    values = list(call.values)
    for i in given:
        values[i] = full(call, i)
    if len({tuple(values[i].shape) for i in given}) > 1:
        return each(call)
    values[at] = type(reduction)(0) if isinstance(reduction, int) else "none"
    out = call.run(values)
    if reduction in (0, "none"):
        return out
    out = out.flatten(1)
    return out.mean(1) if reduction in (1, "mean") else out.sum(1)


@rule("_cross_entropy", "_nll_loss")
def _class_loss(call: Call) -> Any:
    at = where_is(call, "reduction")
    reduction, ignored = call.values[at], call.values[where_is(call, "ignore_index")]
    weight = call.values[2] if call.name == "_nll_loss" else None
    if call.size == 0 or (call.name == "_nll_loss" and call.flags[2]) or call.values[1].dtype.is_floating_point \
            or rank(call, 0) not in (1, 2) or rank(call, 1) != rank(call, 0) - 1:
        return each(call)
    scores, target = full(call, 0), full(call, 1)
    if rank(call, 0) == 1:
        scores, target = scores.unsqueeze(1), target.unsqueeze(1)
    values = list(call.values)
    values[0], values[1] = _joined(scores), _joined(target)
    values[at] = type(reduction)(0) if isinstance(reduction, int) else "none"
    result = call.run(values)
    if isinstance(result, (tuple, list)):
        losses = _apart(result[0], call.size)              # the others are for the derivative of this very call
        others = [x.new_empty((call.size, 0)) if isinstance(x, Tensor) else x for x in result[1:]]
    else:
        losses, others = _apart(result, call.size), []
    if rank(call, 0) == 1 and reduction in (0, "none"):
        losses = losses.squeeze(1)
    if reduction in (2, "sum"):
        losses = losses.sum(1)
    elif reduction in (1, "mean"):
        counted = target != ignored
        share = counted.to(losses.dtype) if weight is None else \
            weight[target.clamp(0, len(weight) - 1)] * counted.to(losses.dtype)
        losses = losses.sum(1) / share.sum(1)
    return type(result)([losses, *others]) if isinstance(result, (tuple, list)) else losses


# --- embeddings, attention -------------------------------------------------------------------------------------

def _shifted(call: Call, i: int, count: int) -> Tensor:
    """Indices into the rows of all examples together."""
    index = full(call, i)
    start = ops["arange"](call.size, device=index.device, dtype=index.dtype).reshape(call.size, *[1] * (index.ndim - 1))
    made: Tensor = index + start * count
    return made


@rule("embedding")
def _embedding(call: Call) -> Any:
    weight = call.values[0]
    if not call.flags[0]:
        return call.run(call.values)
    padding = call.values[2]
    if call.size == 0 or call.values[3] or call.values[4] or (padding is not None and padding >= 0):
        return each(call)
    return call.run([_joined(weight), _shifted(call, 1, weight.shape[1]), *call.values[2:]])


@rule("embedding_dense_backward")
def _embedding_backward(call: Call) -> Any:
    _, _, count, padding, scaled = call.values
    if call.size == 0 or scaled or (padding is not None and padding >= 0):
        return each(call)
    made = call.run([full(call, 0), _shifted(call, 1, count), count * call.size, padding, scaled])
    return _apart(made, call.size)


@rule("_scaled_dot_product_flash_attention_for_cpu")
def _attention(call: Call) -> Any:
    mask = call.values[3]
    if call.size == 0 or any(rank(call, i) != 4 for i in range(3)):
        return each(call)
    values = list(call.values)
    for i in range(3):
        values[i] = _joined(full(call, i))
    if mask is not None:
        if call.flags[3]:
            if rank(call, 3) != 4 or call.values[3].shape[1] not in (1, call.values[0].shape[1]):
                return each(call)
            count = full(call, 0).shape[1]
            values[3] = _joined(mask.expand(call.size, count, *mask.shape[2:]))
        elif mask.ndim == 4 and mask.shape[0] != 1:
            values[3] = _joined(full(call, 3))
    result = call.run(values)
    return _apart(result, call.size)


@rule("_cosine_similarity")
def _cosine(call: Call) -> Any:
    n = max(rank(call, 0), rank(call, 1))
    dim = call.values[2]
    if n == 0 or rank(call, 0) != rank(call, 1):
        return each(call)
    call.values[2] = dim % n + 1
    return aligned(call)

