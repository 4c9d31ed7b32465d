"""Tables of vectors looked up by number: embedding, and one_hot, which is the table without one."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import UPCALLS
from claygrad.ops._indices import out_of_bounds
from claygrad.ops._registry import composite, constant, op
from claygrad.ops._words import tensor_type

if TYPE_CHECKING:
    from claygrad.core import Tensor

inner = {"function": False, "method": False, "out": False}


def check_index_dtype(indices: Tensor, place: int, who: str) -> None:
    if indices.dtype.name not in ("int32", "int64"):
        raise RuntimeError(f"Expected tensor for argument #{place} 'indices' to have one of the following scalar "
                           f"types: Long, Int; but got {tensor_type(indices.dtype)} instead (while checking "
                           f"arguments for {who})")


def sparse_rows(values: Tensor, indices: Tensor, rows: int, padding_idx: int, by_freq: bool) -> Tensor:
    """The gradient of a table as a sparse tensor: an entry for each time that a row was looked up."""
    if by_freq:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
    at, values = indices.reshape(-1).long(), values.reshape(-1, values.shape[-1])
    if padding_idx >= 0:
        kept = at != padding_idx
        at, values = at[kept], values[kept]
    return UPCALLS["sparse_module"]().sparse_coo_tensor(at.unsqueeze(0), values, (rows, values.shape[-1]))


ROUNDS = 16


def sums_by_row(xp, values, numbers, count: int):
    """For each of `count` rows the sum of the values whose number it is.

    Whole rows are added where no row comes twice: all first occurrences, then all second ones, and so on; what comes
    more often than that is added element by element.
    """
    out = xp.zeros((count, values.shape[1]), dtype=values.dtype)
    if values.size > 4096:
        order = xp.argsort(numbers, kind="stable")
        ordered = numbers[order]
        starts = xp.concatenate([[0], xp.flatnonzero(ordered[1:] != ordered[:-1]) + 1])
        lengths = xp.diff(xp.append(starts, len(order)))
        if lengths.max() <= 4 * ROUNDS or lengths.mean() < ROUNDS:
            for turn in range(min(int(lengths.max()), ROUNDS)):
                now = order[starts[lengths > turn] + turn]
                out[numbers[now]] += values[now]
            turn = xp.arange(len(order)) - xp.repeat(starts, lengths)
            rest = order[turn >= ROUNDS]
            numbers, values = numbers[rest], values[rest]
    if values.size:
        width = values.shape[1]
        xp.add.at(out.reshape(-1), (numbers[:, None] * width + xp.arange(width)).reshape(-1), values.reshape(-1))
    return out


def check_embedding(weight, indices) -> None:
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    check_index_dtype(indices, 1, "embedding")


def table(t) -> list:
    return [t.args(t(4, 3), t.index((5,), 4)), t.args(t(4, 3), t.index((2, 2), 4)), t.args(t(4, 3), t.index((), 4))]


@op(kernel="embedding", half="raw", method=False, out=False, check=check_embedding,
    meta=lambda weight, indices: ((*indices.shape, weight.shape[1]), weight.dtype),
    samples=table, errors=lambda t: [(t.args(t(4), t.index((2,), 4)), RuntimeError, "'weight' must be 2-D"),
                                     (t.args(t(4, 2), t.index((2,), 1).add(4)), IndexError,
                                      "index out of range in self")])
def embedding(xp, weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False,
              sparse: bool = False):
    "The rows of weight that the indices name; row `padding_idx` gets no gradient."
    if out_of_bounds(xp, indices, len(weight)) is not None:
        if not len(weight) and indices.ndim < 2:
            raise RuntimeError("index_select(): self indexing axis dim should be positive")
        raise IndexError("index out of range in self")
    return xp.take(weight, indices, axis=0)


def embedding_grad(g, weight_shape, indices, padding_idx, scale_grad_by_freq, sparse):
    if sparse:
        return sparse_rows(g, indices, weight_shape[0], padding_idx, scale_grad_by_freq)
    return embedding_dense_backward(g, indices, weight_shape[0], padding_idx, scale_grad_by_freq)


embedding.rule(weight=embedding_grad, indices=constant)


@op(kernel="embedding_backward", node="EmbeddingDenseBackwardBackward0", **inner,
    meta=lambda grad_output, num_weights: (num_weights, grad_output.shape[-1]),
    samples=lambda t: [t.args(t(5, 3), t.index((5,), 4), 4, -1, False),
                       t.args(t(2, 2, 3), t.index((2, 2), 4), 4, 1, False)])
def embedding_dense_backward(xp, grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int,
                             scale_grad_by_freq: bool):
    "For each row of the table the sum of the gradients of its copies, over their number if asked."
    numbers = indices.reshape(-1)
    values = grad_output.reshape(len(numbers), grad_output.shape[-1])
    if scale_grad_by_freq and len(numbers):
        values = values / xp.bincount(numbers, minlength=num_weights)[numbers, None].astype(values.dtype)
    out = sums_by_row(xp, values, numbers, num_weights)
    if 0 <= padding_idx < num_weights:
        out[padding_idx] = 0
    return out


def embedding_second(g, indices, padding_idx):
    out = embedding(g, indices)
    return out if padding_idx < 0 else out.masked_fill((indices == padding_idx).unsqueeze(-1), 0)


embedding_dense_backward.rule(grad_output=embedding_second, indices=constant)


# Bounded rows

@composite(method=False, samples=lambda t: [t.args(t(4, 3, requires_grad=False), t.index((3,), 4), 0.5, 2.0),
                                            t.args(t(4, 3, requires_grad=False), t.index((3,), 4), 0.5, 1.0)],
           errors=lambda t: [(t.args(t(4, requires_grad=False), t.index((3,), 4), 0.5, 2.0), RuntimeError,
                              "Expected 2-dimensional tensor, but got 1-dimensional tensor for argument #1 'self' ")])
def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    "Shortens, in place, the named rows that are longer than max_norm to that length."
    if input.ndim != 2:
        raise RuntimeError(f"Expected 2-dimensional tensor, but got {input.ndim}-dimensional tensor for argument #1 "
                           "'self' (while checking arguments for embedding_renorm_)")
    check_index_dtype(indices, 2, "embedding_renorm_")
    if not indices.numel():
        return input
    for worst in (int(indices.min()), int(indices.max())):
        if not 0 <= worst < input.shape[0]:
            raise IndexError(f"select(): index {worst} out of range for tensor of size {list(input.shape)} "
                             "at dimension 0")
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise RuntimeError("norm(): input dtype should be either floating point or complex. Got "
                           f"{input.dtype.legacy} instead.")
    named = indices.reshape(-1).unique().long()
    rows = input.detach()[named]
    length = rows.norm(norm_type, 1, keepdim=True)
    input.index_put_((named,), rows.where(~(length > max_norm), rows * (max_norm / (length + 1e-7))))
    return input


@composite(name="embedding", namespace="nn.functional", method=False,
           samples=lambda t: [t.args(t.index((5,), 4), t(4, 3)), t.args(t.index((2, 2), 4), t(4, 3))],
           errors=lambda t: [(t.args(t.index((2,), 4), t(4, 3), padding_idx=5), AssertionError,
                              "Padding_idx must be within num_embeddings"),
                             (t.args(t(2, dtype="float32"), t(4, 3)), RuntimeError,
                              "Expected tensor for argument #1 'indices' to have one of the following scalar types: ")])
def functional_embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
                         norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    """Looks up rows of a table: every index in `input` is replaced by that row of `weight`.

    Row `padding_idx` gets no gradient; rows longer than `max_norm` are first shortened to it, in place; gradients are
    divided by how often a row is named if `scale_grad_by_freq`.
    """
    if padding_idx is None:
        padding_idx = -1
    elif not -weight.shape[0] <= padding_idx <= max(weight.shape[0] - 1, 0):
        raise AssertionError("Padding_idx must be within num_embeddings")
    elif padding_idx < 0:
        padding_idx += weight.shape[0]
    if max_norm is not None:
        input = input.contiguous()
        embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    return embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def check_classes(input: Tensor, num_classes: int) -> None:
    if input.dtype.name != "int64":
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not input.numel():
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return
    if input.device.type == "meta":
        return
    if int(input.min()) < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes != -1 and int(input.max()) >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")


def one_hot_shape(input: Tensor, num_classes: int) -> tuple[int, ...]:
    if num_classes < 0 and input.device.type != "meta":
        num_classes = int(input.max()) + 1
    if num_classes < 0:
        raise NotImplementedError("one_hot: without num_classes the shape depends on the data, which a meta tensor "
                                  "does not have")
    return (*input.shape, num_classes)


@op(kernel="one_hot", namespace="nn.functional", method=False, out=False, meta=one_hot_shape, check=check_classes,
    samples=lambda t: [t.args(t.index((3,), 4)), t.args(t.index((2, 2), 3), 5)],
    errors=lambda t: [(t.args(t.index((2,), 1).add(3), 2), RuntimeError, "Class values must be smaller "),
                      (t.args(t(2, dtype="float32")), RuntimeError,
                       "one_hot is only applicable to index tensor of type LongTensor.")])
def one_hot(xp, input: Tensor, num_classes: int = -1):
    """One-hot encoding: a new last axis of size num_classes with a 1 at the class of each element and 0 elsewhere.

    By default num_classes is one more than the largest class.
    """
    count = int(input.max()) + 1 if num_classes == -1 else num_classes
    out = xp.zeros((input.size, count), dtype=xp.int64)
    out[xp.arange(input.size), input.reshape(-1)] = 1
    return out.reshape(*input.shape, count)
