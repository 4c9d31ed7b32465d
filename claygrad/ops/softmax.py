"""Softmax, log_softmax and the like: scores to probabilities along an axis."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import empty
from claygrad.core.user_warnings import warn
from claygrad.ops._geometry import axis as axis_of
from claygrad.ops._reducing import no_complex_gradient, total
from claygrad.ops._registry import composite, op
from claygrad.ops._words import need

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor, dtype

hidden = {"function": False, "method": False}


def check_scores(name: str, input: Tensor, dim: int) -> None:
    axis_of(dim, input.ndim)
    if not input.numel():
        no_complex_gradient(name, input)


def scores(name: str, input, dim: int) -> int:
    """The axis; refuses what has no logarithm."""
    axis = axis_of(dim, input.ndim)
    if input.size:
        need(input, "fV", f"{name}_lastdim_kernel_impl" if axis >= input.ndim - 1 else f"{name}_kernel_impl")
    return axis


def below_top(xp, input, axis: int):
    """The scores minus the highest of their row: exp of them cannot overflow."""
    return input - xp.amax(input, axis=axis, keepdims=True)


# The operations. A 0-dim tensor is a row of one element.

@op(kernel="softmax", name="_softmax", node="SoftmaxBackward0", **hidden,
    check=lambda input, dim: check_scores("_softmax", input, dim), meta=lambda input: input.shape,
    samples=lambda t: [t.args(t(3, 4), 1), t.args(t(3, 4), 0), t.args(t(), 0)])
def normalise(xp, input: Tensor, dim: int):
    axis = scores("softmax", input, dim)
    if not input.ndim:
        return xp.exp(input - input)
    if not input.size:
        return input.copy()
    e = xp.exp(below_top(xp, xp.ascontiguousarray(input), axis))
    return e / total(xp, e, (axis,), True)
normalise.rule(input=lambda g, out, dim: softmax_backward(g, out, dim))


@op(kernel="log_softmax", name="_log_softmax", node="LogSoftmaxBackward0", **hidden,
    check=lambda input, dim: check_scores("_log_softmax", input, dim), meta=lambda input: input.shape,
    samples=lambda t: [t.args(t(3, 4), 1), t.args(t(3, 4), 0), t.args(t(), 0)])
def log_normalise(xp, input: Tensor, dim: int):
    axis = scores("log_softmax", input, dim)
    if not input.ndim:
        return input - input
    if not input.size:
        return input.copy()
    z = below_top(xp, xp.ascontiguousarray(input), axis)
    return z - xp.log(total(xp, xp.exp(z), (axis,), True))
log_normalise.rule(input=lambda g, out, dim: log_softmax_backward(g, out, dim))


@op(kernel="softmax_backward", name="_softmax_backward_data", node="SoftmaxBackwardDataBackward0",
    meta=lambda output: output.shape, **hidden,
    samples=lambda t: [t.args(t(3, 4), t(3, 4), 1), t.args(t(3, 4), t(3, 4), 0)])
def softmax_backward(xp, grad_output: Tensor, output: Tensor, dim: int):
    """out = output * (grad_output - sum(grad_output * output))"""
    weighted = grad_output * output
    if not output.ndim:
        return weighted - output * weighted
    return weighted - output * total(xp, weighted, (axis_of(dim, output.ndim),), True)


@softmax_backward.rules
def softmax_second(g: Tensor, grad_output: Tensor, output: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    inner = (grad_output * output).sum(dim, keepdim=True)
    return (softmax_backward(g, output, dim),
            g * (grad_output - inner) - grad_output * (g * output).sum(dim, keepdim=True))


@op(kernel="log_softmax_backward", name="_log_softmax_backward_data", node="LogSoftmaxBackwardDataBackward0",
    meta=lambda output: output.shape, **hidden, samples=lambda t: [t.args(t(3, 4), t(3, 4), 1),
                                                                   t.args(t(3, 4), t(3, 4), 0)])
def log_softmax_backward(xp, grad_output: Tensor, output: Tensor, dim: int):
    """out = grad_output - exp(output) * sum(grad_output)"""
    if not output.ndim:
        return grad_output - xp.exp(output) * grad_output
    return grad_output - xp.exp(output) * total(xp, grad_output, (axis_of(dim, output.ndim),), True)


@log_softmax_backward.rules
def log_softmax_second(g: Tensor, grad_output: Tensor, output: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    p = output.exp()
    weighted = g * p
    return g - weighted.sum(dim, keepdim=True), -weighted * grad_output.sum(dim, keepdim=True)


# The public forms

def softmax_samples(t):
    return [t.args(t(3, 4), 1), t.args(t(3, 4), 0), t.args(t(2, 3, 4), -2), t.args(t(), 0), t.args(t(0, 3), 1)]


@composite(native="softmax", namespace=("torch", "special"), samples=softmax_samples,
           errors=lambda t: [(t.args(t(3, dtype="int64"), 0), NotImplementedError,
                              "\"softmax_lastdim_kernel_impl\" not implemented for 'Long'"),
                             (t.args(t(2, 3), 2), IndexError,
                              "Dimension out of range (expected to be in range of [-2, 1], but got 2)")])
def softmax(input: Tensor, dim: int, dtype: dtype | None = None) -> Tensor:
    """Softmax along an axis: out = exp(input) / sum(exp(input)). The results are positive and sum to 1."""
    return normalise(input if dtype is None else input.to(dtype), dim)


@composite(native="log_softmax", namespace=("torch", "special"), samples=softmax_samples,
           errors=lambda t: [(t.args(t(3, dtype="int64"), 0), NotImplementedError,
                              "\"log_softmax_lastdim_kernel_impl\" not implemented for 'Long'")])
def log_softmax(input: Tensor, dim: int, dtype: dtype | None = None) -> Tensor:
    """The logarithm of softmax along an axis: out = input - log(sum(exp(input))). More accurate than
    log(softmax(input))."""
    return log_normalise(input if dtype is None else input.to(dtype), dim)


def implied(name: str, ndim: int) -> int:
    """The axis nn.functional takes when none is given."""
    warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an "
         "argument.")
    return 0 if ndim in (0, 1, 3) else 1


@composite(name="softmax", namespace="nn.functional", method=False, samples=softmax_samples)
def functional_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3,
                       dtype: dtype | None = None) -> Tensor:
    """Softmax along an axis: out = exp(input) / sum(exp(input)). The results are positive and sum to 1."""
    if dim is None:
        dim = implied("softmax", input.ndim)
    return normalise(input if dtype is None else input.to(dtype), dim)


@composite(name="log_softmax", namespace="nn.functional", method=False, samples=softmax_samples)
def functional_log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3,
                           dtype: dtype | None = None) -> Tensor:
    """The logarithm of softmax along an axis: out = input - log(sum(exp(input))). More accurate than
    log(softmax(input))."""
    if dim is None:
        dim = implied("log_softmax", input.ndim)
    return log_normalise(input if dtype is None else input.to(dtype), dim)


@composite(namespace="nn.functional", method=False, samples=softmax_samples)
def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None) -> Tensor:
    """The softmax of the negated scores: out = exp(-input) / sum(exp(-input))."""
    if dim is None:
        dim = implied("softmin", input.ndim)
    return normalise((-input) if dtype is None else (-input).to(dtype), dim)


@composite(namespace="nn.functional", method=False)
def gumbel_softmax(logits: Tensor, tau: Tensor | Number = 1, hard: bool = False, eps: float = 1e-10,
                   dim: int = -1) -> Tensor:
    """The softmax of scores to which Gumbel noise was added, over the temperature tau: a random choice, softened.

    `hard` gives the choice itself, a one among zeros, with the gradient of the softened one.
    """
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.")
    noise = -empty(logits.shape, logits.dtype, logits.device).exponential_().log()
    soft = normalise((logits + noise) / tau, dim)
    if not hard:
        return soft
    choice = soft.max(dim, keepdim=True)[1]
    return soft.new_zeros(soft.shape).scatter_(dim, choice, 1.0) - soft.detach() + soft
