"""Bessel functions and Airy's, as PyTorch's special namespace has them: without derivatives. SciPy computes them."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.ops import _special
from claygrad.ops._registry import constant, pointwise
from claygrad.ops._scipy import need as need_scipy
from claygrad.ops._words import need

if TYPE_CHECKING:
    from collections.abc import Callable

    from claygrad.core import Tensor

function = {"namespace": "special", "method": False, "inplace": False, "promote": "float", "differentiable": (),
            "samples": lambda t: [t.args(t(3, 4)), t.args(t(5, low=0.1, high=4.9)), t.args(t())]}


def _of(xp, name: str, x, compute: Callable):
    """A function of SciPy's, in double precision."""
    need(x, "f", f"{name}_cpu")
    return xp.asarray(compute(need_scipy("special", f"torch.special.{name}", x), x.astype("float64"))).astype(x.dtype)


def _airy(xp, special, x):
    """Ai. SciPy gives up far from 0: there it is 0, or the first term of the wave."""
    far = xp.maximum(-x, 1.0)
    root = xp.sqrt(far)
    wave = xp.sin(2 * far * root / 3 + xp.pi / 4) / (xp.sqrt(xp.pi) * xp.sqrt(root))
    near = special.airy(xp.clip(x, -1e6, 200.0))[0]
    return xp.where(xp.isinf(x), xp.nan, xp.where(x < -1e6, wave, xp.where(x > 103.892, 0, near)))


@pointwise(kernel="airy", **function)
def airy_ai(xp, x: Tensor):
    "Airy's function Ai, the solution of f'' = x f that vanishes at infinity."
    return _of(xp, "airy_ai", x, lambda special, x: _airy(xp, special, x))
airy_ai.rule(x=constant)


@pointwise(kernel="j0", **function)
def bessel_j0(xp, input: Tensor):
    "The Bessel function of the first kind, order 0."
    return _of(xp, "bessel_j0", input, lambda special, x: special.j0(x))
bessel_j0.rule(input=constant)


@pointwise(kernel="j1", **function)
def bessel_j1(xp, input: Tensor):
    "The Bessel function of the first kind, order 1."
    return _of(xp, "bessel_j1", input, lambda special, x: special.j1(x))
bessel_j1.rule(input=constant)


@pointwise(kernel="y0", **function)
def bessel_y0(xp, input: Tensor):
    "The Bessel function of the second kind, order 0: -inf at 0, NaN below."
    return _of(xp, "bessel_y0", input, lambda special, x: special.y0(x))
bessel_y0.rule(input=constant)


@pointwise(kernel="y1", **function)
def bessel_y1(xp, input: Tensor):
    "The Bessel function of the second kind, order 1: -inf at 0, NaN below."
    return _of(xp, "bessel_y1", input, lambda special, x: special.y1(x))
bessel_y1.rule(input=constant)


@pointwise(kernel="i0", **function)
def modified_bessel_i0(xp, input: Tensor):
    "The modified Bessel function of the first kind, order 0."
    need(input, "f", "modified_bessel_i0_cpu")
    return _special.i0(xp, input)
modified_bessel_i0.rule(input=constant)


@pointwise(kernel="i1", **function)
def modified_bessel_i1(xp, input: Tensor):
    "The modified Bessel function of the first kind, order 1."
    need(input, "f", "modified_bessel_i1_cpu")
    return _special.i1(xp, input)
modified_bessel_i1.rule(input=constant)


@pointwise(kernel="k0", **function)
def modified_bessel_k0(xp, input: Tensor):
    "The modified Bessel function of the second kind, order 0: inf at 0, NaN below."
    return _of(xp, "modified_bessel_k0", input, lambda special, x: special.k0(x))
modified_bessel_k0.rule(input=constant)


@pointwise(kernel="k1", **function)
def modified_bessel_k1(xp, input: Tensor):
    "The modified Bessel function of the second kind, order 1: inf at 0, NaN below."
    return _of(xp, "modified_bessel_k1", input, lambda special, x: special.k1(x))
modified_bessel_k1.rule(input=constant)


@pointwise(kernel="k0e", **function)
def scaled_modified_bessel_k0(xp, x: Tensor):
    "The scaled form of modified_bessel_k0: out = e ** x * modified_bessel_k0(x)."
    return _of(xp, "scaled_modified_bessel_k0", x, lambda special, x: special.k0e(x))
scaled_modified_bessel_k0.rule(x=constant)


@pointwise(kernel="k1e", **function)
def scaled_modified_bessel_k1(xp, x: Tensor):
    "The scaled form of modified_bessel_k1: out = e ** x * modified_bessel_k1(x)."
    return _of(xp, "scaled_modified_bessel_k1", x, lambda special, x: special.k1e(x))
scaled_modified_bessel_k1.rule(x=constant)


@pointwise(kernel="spherical_j0", **function)
def spherical_bessel_j0(xp, x: Tensor):
    "The spherical Bessel function of the first kind, order 0: out = sin(x) / x, 1 at 0 and 0 at infinity."
    need(x, "f", "spherical_bessel_j0_cpu")
    wide = x.astype("float64")
    with xp.errstate(all="ignore"):
        return xp.where(xp.isinf(x), 0, xp.where(wide == 0, 1, xp.sin(wide) / wide)).astype(x.dtype)
spherical_bessel_j0.rule(x=constant)
