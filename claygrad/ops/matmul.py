"""The product of tensors of any rank, and what is built on it."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import int64
from claygrad.ops._geometry import broadcast, product, text, view_strides
from claygrad.ops._out import EXACT, TENSORDOT
from claygrad.ops._registry import composite, op

if TYPE_CHECKING:
    from claygrad.core import Tensor

    ints = int | tuple[int, ...] | list[int]


@op(name="_unsafe_view", geometry="view", function=False, method=False, meta=lambda size: size,
    strides=lambda input, size: view_strides(input.shape, input.stride(), size),
    samples=lambda t: [t.args(t(2, 6), (3, 4))])
def reshaped(xp, input: Tensor, size: ints):
    """The elements in another shape: not a view, so that the result of a product has no base."""
    return xp.reshape(input, size)
reshaped.rule(input=lambda g, input_shape: g.reshape(input_shape))


def folds(input: Tensor, other: Tensor) -> bool:
    """Whether a batch of matrices times one matrix or vector is done as a single product of a tall matrix.

    Always when the small factor needs a gradient: expanded to a batch, it would get its gradient in full batch size.
    Otherwise only when the tall matrix is there without a copy.
    """
    tall, small = (input, other) if input.ndim >= other.ndim else (other.transpose(-2, -1), input)
    if tall.ndim < 3 or small.ndim > 2:
        return False
    if small.requires_grad:
        return True
    if input.ndim == 2:
        return False
    shape, stride = tall.shape, tall.stride()
    return not tall.numel() or all(stride[i] == stride[i + 1] * shape[i + 1] for i in range(tall.ndim - 2))


def folded(input: Tensor, other: Tensor) -> Tensor:
    transposed = other.ndim > input.ndim
    tall, small = (other.transpose(-2, -1), input.t() if input.ndim == 2 else input) if transposed else (input, other)
    rows = tall.reshape((product(tall.shape[:-1]), tall.shape[-1]))
    if small.ndim == 1:
        return reshaped(rows.mv(small), tall.shape[:-1])
    out = reshaped(rows.mm(small), (*tall.shape[:-1], small.shape[1]))
    return out.transpose(-2, -1).contiguous() if transposed else out


def batched(input: Tensor, other: Tensor) -> Tensor:
    """Both factors broadcast to one batch."""
    left = input.shape if input.ndim > 1 else (1, *input.shape)
    right = other.shape if other.ndim > 1 else (*other.shape, 1)
    if input.ndim == other.ndim == 3:
        if left[0] == right[0]:
            return reshaped(input.bmm(other), (*left[:-1], right[-1]))
        # One matrix for the whole batch: see folds.
        if left[0] == 1 and input.requires_grad:
            return matmul(input.squeeze(0), other)
        if right[0] == 1 and other.requires_grad:
            return matmul(input, other.squeeze(0))
    batch = broadcast(left[:-2], right[:-2])
    n = product(batch)
    a = input.expand((*batch, *left[-2:])).reshape((n, *left[-2:]))
    if other.ndim == 1:
        b = other.expand((*batch, right[0])).reshape((n, right[0])).unsqueeze(2)
        return reshaped(a.bmm(b).squeeze(-1), (*batch, left[-2]))
    b = other.expand((*batch, *right[-2:])).reshape((n, *right[-2:]))
    return reshaped(a.bmm(b), (*batch, *left[-2:-1][:input.ndim - 1], right[-1]))


@composite(native="matmul", out=EXACT, namespace=("torch", "linalg"),
           samples=lambda t: [t.args(t(4), t(4)), t.args(t(3, 4), t(4)), t.args(t(4), t(4, 3)),
                              t.args(t(3, 4), t(4, 2)),
                              t.args(t(2, 3, 4), t(4, 2)), t.args(t(3, 4), t(2, 4, 2)), t.args(t(2, 3, 4), t(4)),
                              t.args(t(4), t(2, 4, 3)), t.args(t(5, 1, 3, 4), t(2, 4, 2)),
                              t.args(t(1, 3, 4), t(2, 4, 2))],
           errors=lambda t: [(t.args(t(), t(2)), RuntimeError,
                              "both arguments to matmul need to be at least 1D, but they are 0D and 1D"),
                             (t.args(t(2, 3), t(2, 3)), RuntimeError,
                              "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"),
                             (t.args(t(2, 3, 4), t(2, 3, 4)), RuntimeError,
                              "Expected size for first two dimensions of batch2 tensor to be: [2, 4]")])
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product over the last two axes, batched over the others. A vector counts as one row (left) or column
    (right).

    out[..., i, j] = sum(input[..., i, k] * other[..., k, j])
    """
    n, m = input.ndim, other.ndim
    if n == 2 and m == 2:
        return input.mm(other)
    if n == 0 or m == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {n}D and {m}D")
    if n == 1 and m == 1:
        return input.dot(other)
    if n == 2 and m == 1:
        return input.mv(other)
    if n == 1 and m == 2:
        return input.unsqueeze(0).mm(other).squeeze_(0)
    return folded(input, other) if folds(input, other) else batched(input, other)


@composite(native="linear", parts=(matmul,), namespace="nn.functional", method=False,
           samples=lambda t: [t.args(t(3, 4), t(2, 4), t(2)), t.args(t(3, 4), t(2, 4)), t.args(t(4), t(2, 4), t(2)),
                              t.args(t(2, 3, 4), t(2, 4), t(2)), t.args(t(2, 3, 4), t(2, 4)), t.args(t(3, 4), t(4))],
           errors=lambda t: [(t.args(t(1, 2), t(3, 4), t(3)), RuntimeError,
                              "mat1 and mat2 shapes cannot be multiplied (1x2 and 4x3)")])
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """A linear map of the last axis: out = input @ weight.T + bias. `weight` is (out_features, in_features)."""
    n = input.ndim
    if n == 2 and bias is not None:
        return bias.addmm(input, weight.t())
    if n == 0 or weight.ndim == 0:
        raise RuntimeError(f"both arguments to linear need to be at least 1D, but they are {n}D and {weight.ndim}D")
    if bias is None:
        return matmul(input, weight.t())
    if not input.is_contiguous():
        return matmul(input, weight.t()) + bias
    *batch, features = input.shape
    return bias.addmm(input.view((product(batch), features)), weight.t()).view((*batch, weight.shape[0]))


@composite(native="inner", out=TENSORDOT,
           samples=lambda t: [t.args(t(4), t(4)), t.args(t(2, 4), t(3, 4)), t.args(t(), t(3)),
                              t.args(t(2, 3, 4), t(4))],
           errors=lambda t: [(t.args(t(3), t(2)), RuntimeError,
                              "inner() the last dimension must match on both input tensors but got shapes [3]")])
def inner(input: Tensor, other: Tensor) -> Tensor:
    """The products of all vectors along the last axes: out[..., ,,,] = sum(input[..., k] * other[,,,, k])."""
    if input.ndim == 0 or other.ndim == 0:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError("inner() the last dimension must match on both input tensors but got shapes "
                           f"{text(input.shape)} and {text(other.shape)}")
    from claygrad.ops.contraction import tensordot
    return tensordot(input, other, ([-1], [-1]))


@composite(out=True, names=("ger",), samples=lambda t: [t.args(t(3), t(4)), t.args(t(3), t(0))],
           errors=lambda t: [(t.args(t(2, 2), t(3)), RuntimeError, "outer: Expected 1-D argument self, but got 2-D"),
                             (t.args(t(3), t(2, 2)), RuntimeError, "outer: Expected 1-D argument vec2, but got 2-D")])
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The outer product of two vectors: out[i, j] = input[i] * vec2[j]."""
    for name, vec in (("self", input), ("vec2", vec2)):
        if vec.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {vec.ndim}-D")
    return input.reshape((input.shape[0], 1)) * vec2


# Parts of a matrix

def check_triangle(name: str, input: Tensor) -> None:
    if input.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")


@op(kernel="tril", out=EXACT, inplace=True, half="raw", check=lambda input: check_triangle("tril", input),
    meta=lambda input: input.shape,
    samples=lambda t: [t.args(t(3, 4)), t.args(t(3, 4), 1), t.args(t(2, 3, 3), -1), t.args(t(0, 3))],
    errors=lambda t: [(t.args(t(3)), RuntimeError, "tril: input tensor must have at least 2 dimensions")])
def tril(xp, input: Tensor, diagonal: int = 0):
    """The lower triangle of each matrix, up to the given diagonal (counted above the main one); zeros elsewhere."""
    return xp.tril(input if input.ndim == 2 else xp.ascontiguousarray(input), diagonal)
tril.rule(input=lambda g, diagonal: g.tril(diagonal))


@op(kernel="triu", out=EXACT, inplace=True, half="raw", check=lambda input: check_triangle("triu", input),
    meta=lambda input: input.shape,
    samples=lambda t: [t.args(t(3, 4)), t.args(t(3, 4), 1), t.args(t(2, 3, 3), -1), t.args(t(0, 3))],
    errors=lambda t: [(t.args(t(3)), RuntimeError, "triu: input tensor must have at least 2 dimensions")])
def triu(xp, input: Tensor, diagonal: int = 0):
    """The upper triangle of each matrix, from the given diagonal (counted above the main one) on; zeros elsewhere."""
    return xp.triu(input if input.ndim == 2 else xp.ascontiguousarray(input), diagonal)
triu.rule(input=lambda g, diagonal: g.triu(diagonal))


def check_trace(input: Tensor) -> None:
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")


@op(kernel="trace", out=False, check=check_trace,
    meta=lambda input: ((), input.dtype if input.is_floating_point() or input.is_complex() else int64),
    samples=lambda t: [t.args(t(3, 3)), t.args(t(2, 4)), t.args(t(0, 2))],
    errors=lambda t: [(t.args(t(3)), RuntimeError, "trace: expected a matrix, but got tensor with dim 1"),
                      (t.args(t(2, 2, dtype="bool")), NotImplementedError, "\"trace\" not implemented for 'Bool'")])
def trace(xp, input: Tensor):
    """The sum of the main diagonal of a matrix. Integers are summed as int64."""
    if input.dtype.kind == "b":
        raise NotImplementedError("\"trace\" not implemented for 'Bool'")
    return xp.trace(input, dtype="int64" if input.dtype.kind in "iu" else None)
trace.rule(input=lambda g, input_shape: on_diagonal(g, input_shape))


@op(function=False, method=False, meta=lambda size: size, samples=lambda t: [t.args(t(), (2, 3))])
def on_diagonal(xp, input: Tensor, size: ints):
    """A number on the main diagonal of a matrix of zeros."""
    return xp.eye(*size, dtype=input.dtype) * input
on_diagonal.rule(input=lambda g: g.trace())
