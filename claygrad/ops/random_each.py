"""Draws with a parameter for each element: gamma, Dirichlet, Poisson and binomial, in PyTorch's streams."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import DTYPES, Tensor, wrap
from claygrad.native.random import check_generator, draw_each, draw_grad
from claygrad.ops._registry import composite, missing, op, zero
from claygrad.ops.random_fill import unknown

if TYPE_CHECKING:
    from claygrad.native.random import Generator


def _wide(kernel: str, *inputs: Tensor) -> None:
    """Refuse what is not float32 or float64."""
    for input in inputs:
        if input.dtype.name not in ("float32", "float64"):
            raise unknown(kernel, input.dtype)


def _check_draws(kernel: str, input: Tensor, generator: Generator | None) -> None:
    _wide(kernel, input)
    check_generator(generator, input.device)


def _drawn(xp, kind: str, generator: Generator | None, a, b=None):
    """New draws with the parameters a and b, arrays of one shape and dtype."""
    out = xp.empty(a.shape, "float64" if kind == "gamma_wide" else a.dtype)
    second = None if b is None else wrap(xp.array(b, order="C"))
    if not draw_each(kind, wrap(out), wrap(xp.array(a, order="C")), second, generator):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    return out


def _moved(xp, *arrays):
    """Derivatives of draws, from arrays of one shape and dtype."""
    out = xp.empty(arrays[0].shape, arrays[0].dtype)
    draw_grad(wrap(out), *(wrap(xp.array(array, order="C")) for array in arrays))
    return out


# --- gamma ------------------------------------------------------------------------------------------------------------
@op(method=False, out=False, node="StandardGammaBackward0", meta=lambda input: input.shape,
    half="raw", check=lambda input, generator: _check_draws("gamma_cpu", input, generator))
def _standard_gamma(xp, input: Tensor, generator: Generator | None = None):
    "Draws from gamma distributions of rate 1; the input holds their shapes. Differentiable at fixed quantiles."
    return _drawn(xp, "gamma", generator, input)
_standard_gamma.rule(input=lambda g, input, out: g * _standard_gamma_grad(input, out))


@op(method=False, out=False, meta=lambda input: input.shape, half="raw",
    check=lambda input, output: _wide("_standard_gamma_grad_cpu", input, output))
def _standard_gamma_grad(xp, input: Tensor, output: Tensor):
    "How draws of _standard_gamma move with their shapes: -(∂F/∂shape) / (∂F/∂x) for their distribution function F."
    return _moved(xp, *xp.broadcast_arrays(input, output))
_standard_gamma_grad.rule(input=missing, output=missing)


# --- Dirichlet --------------------------------------------------------------------------------------------------------
@op(method=False, out=False, node="NotImplemented", meta=lambda input: input.shape, half="raw",
    check=lambda input, generator: _check_draws("dirichlet", input, generator))
def _sample_dirichlet(xp, input: Tensor, generator: Generator | None = None):
    "Draws from Dirichlet distributions along the last dimension, strictly inside (0, 1)."
    gammas = _drawn(xp, "gamma_wide", generator, input)
    shares = (gammas / (gammas.sum(-1, keepdims=True) if gammas.ndim else gammas)).astype(input.dtype)
    one = input.dtype.type(1)
    return xp.clip(shares, xp.finfo(input.dtype).tiny, xp.nextafter(one, one - one))
_sample_dirichlet.rule(input=missing)


@op(method=False, out=False, meta=lambda x: x.shape, half="raw",
    check=lambda x, alpha, total: _wide("_dirichlet_grad_cpu", x, alpha, total))
def _dirichlet_grad(xp, x: Tensor, alpha: Tensor, total: Tensor):
    "How a component of a Dirichlet draw moves with its own shape, over 1 - x."
    return _moved(xp, *xp.broadcast_arrays(x, alpha, total))
_dirichlet_grad.rule(x=missing, alpha=missing, total=missing)


# --- counts -----------------------------------------------------------------------------------------------------------
def _check_poisson(input: Tensor, generator: Generator | None) -> None:
    if not input.dtype.is_floating_point:
        raise unknown("poisson_cpu", input.dtype)
    check_generator(generator, input.device)


@op(method=False, out=False, meta=lambda input: input.shape, check=_check_poisson)
def poisson(xp, input: Tensor, generator: Generator | None = None):
    "Draws from Poisson distributions whose rates are in the input."
    return _drawn(xp, "poisson", generator, input)
poisson.rule(input=zero)


@op(method=False, function=False, out=False, node="NotImplemented", meta=lambda count: count.shape)
def _binomial(xp, count: Tensor, prob: Tensor, generator: Generator | None):
    "Draws from binomial distributions, of one shape and dtype."
    return _drawn(xp, "binomial", generator, count, prob)
_binomial.rule(count=missing, prob=missing)


@composite(method=False)
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    "Numbers of successes in `count` trials of probability `prob`."
    for name, given in (("count", count), ("prob", prob)):
        if not given.dtype.is_floating_point:
            raise ValueError(f"binomial only supports floating-point dtypes for {name}, got: {given.dtype.legacy}")
    if count.dtype is not prob.dtype:
        names = {kind: kind.legacy for kind in DTYPES.values()}
        raise RuntimeError(f"Found dtype {names[prob.dtype]} but expected {names[count.dtype]}")
    _check_draws("binomial_cpu", count, generator)
    if count.shape != prob.shape:
        count, prob = count + prob.new_zeros(prob.shape), prob + count.new_zeros(count.shape)
    return _binomial(count, prob, generator)
