"""Orthogonal polynomials of degree n at x, as PyTorch's special namespace has them: without derivatives."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.ops import _polynomials as forms
from claygrad.ops._registry import constant, pointwise
from claygrad.ops._words import need

if TYPE_CHECKING:
    from collections.abc import Callable
    from numbers import Number

    from claygrad.core import Tensor

polynomial = {"namespace": "special", "method": False, "inplace": False, "promote": "float", "overloads": True,
              "differentiable": (),
              "samples": lambda t: [t.args(t(3, 4), t.index((3, 4), 12)), t.args(t(5), 9),
                                    t.args(0.5, t.index((6,), 12)), t.args(t(4, low=0, high=1), 3)]}


MAX_STEPS = 1 << 24           # of a recurrence for one element


def check_degree(input, n) -> None:
    """A recurrence takes a step for every degree: what would take hours is refused."""
    highest = (float(n.max()) if n.numel() and n.device.type == "cpu" else 0) if hasattr(n, "numel") else n
    if MAX_STEPS < highest < 2.0 ** 63:
        raise RuntimeError(f"the degree of the polynomial is too high: {int(highest)}, at most {MAX_STEPS} steps are "
                           "taken for an element")


def _at(xp, name: str, x, n, form: Callable):
    need(x, "f", f"{name}_cpu")
    with xp.errstate(all="ignore"):
        return form(xp, *(array.copy() for array in xp.broadcast_arrays(x, n))).astype(x.dtype, copy=False)


@pointwise(kernel="chebyshev_t", **polynomial)
def chebyshev_polynomial_t(xp, input: Tensor | Number, n: Tensor | Number):
    "Chebyshev's polynomial of the first kind: T0 = 1, T1 = x, Tn = 2x T(n-1) - T(n-2)."
    return _at(xp, "chebyshev_polynomial_t", input, n, forms.chebyshev("t"))
chebyshev_polynomial_t.rule(input=constant, n=constant)


@pointwise(kernel="chebyshev_u", **polynomial)
def chebyshev_polynomial_u(xp, input: Tensor | Number, n: Tensor | Number):
    "Chebyshev's polynomial of the second kind: U0 = 1, U1 = 2x, Un = 2x U(n-1) - U(n-2)."
    return _at(xp, "chebyshev_polynomial_u", input, n, forms.chebyshev("u"))
chebyshev_polynomial_u.rule(input=constant, n=constant)


@pointwise(kernel="chebyshev_v", **polynomial)
def chebyshev_polynomial_v(xp, input: Tensor | Number, n: Tensor | Number):
    "Chebyshev's polynomial of the third kind: V0 = 1, V1 = 2x - 1, Vn = 2x V(n-1) - V(n-2)."
    return _at(xp, "chebyshev_polynomial_v", input, n, forms.chebyshev("v"))
chebyshev_polynomial_v.rule(input=constant, n=constant)


@pointwise(kernel="chebyshev_w", **polynomial)
def chebyshev_polynomial_w(xp, input: Tensor | Number, n: Tensor | Number):
    "Chebyshev's polynomial of the fourth kind: W0 = 1, W1 = 2x + 1, Wn = 2x W(n-1) - W(n-2)."
    return _at(xp, "chebyshev_polynomial_w", input, n, forms.chebyshev("w"))
chebyshev_polynomial_w.rule(input=constant, n=constant)


@pointwise(kernel="shifted_chebyshev_t", **polynomial)
def shifted_chebyshev_polynomial_t(xp, input: Tensor | Number, n: Tensor | Number):
    "Chebyshev's polynomial of the first kind at 2x - 1."
    return _at(xp, "shifted_chebyshev_polynomial_t", input, n, forms.shifted_chebyshev("t"))
shifted_chebyshev_polynomial_t.rule(input=constant, n=constant)


@pointwise(kernel="shifted_chebyshev_u", **polynomial)
def shifted_chebyshev_polynomial_u(xp, input: Tensor | Number, n: Tensor | Number):
    "Chebyshev's polynomial of the second kind at 2x - 1."
    return _at(xp, "shifted_chebyshev_polynomial_u", input, n, forms.shifted_chebyshev("u"))
shifted_chebyshev_polynomial_u.rule(input=constant, n=constant)


@pointwise(kernel="shifted_chebyshev_v", **polynomial)
def shifted_chebyshev_polynomial_v(xp, input: Tensor | Number, n: Tensor | Number):
    "Chebyshev's polynomial of the third kind at 2x - 1."
    return _at(xp, "shifted_chebyshev_polynomial_v", input, n, forms.shifted_chebyshev("v"))
shifted_chebyshev_polynomial_v.rule(input=constant, n=constant)


@pointwise(kernel="shifted_chebyshev_w", **polynomial)
def shifted_chebyshev_polynomial_w(xp, input: Tensor | Number, n: Tensor | Number):
    "Chebyshev's polynomial of the fourth kind at 2x - 1."
    return _at(xp, "shifted_chebyshev_polynomial_w", input, n, forms.shifted_chebyshev("w"))
shifted_chebyshev_polynomial_w.rule(input=constant, n=constant)


@pointwise(kernel="hermite_h", **polynomial)
def hermite_polynomial_h(xp, input: Tensor | Number, n: Tensor | Number):
    "Hermite's polynomial, the physicists': H0 = 1, H1 = 2x, Hn = 2x H(n-1) - 2(n-1) H(n-2)."
    return _at(xp, "hermite_polynomial_h", input, n, forms.hermite_h)
hermite_polynomial_h.rule(input=constant, n=constant)


@pointwise(kernel="hermite_he", **polynomial)
def hermite_polynomial_he(xp, input: Tensor | Number, n: Tensor | Number):
    "Hermite's polynomial, the probabilists': He0 = 1, He1 = x, Hen = x He(n-1) - (n-1) He(n-2)."
    return _at(xp, "hermite_polynomial_he", input, n, forms.hermite_he)
hermite_polynomial_he.rule(input=constant, n=constant)


@pointwise(kernel="laguerre", check=check_degree, **polynomial)
def laguerre_polynomial_l(xp, input: Tensor | Number, n: Tensor | Number):
    "Laguerre's polynomial: L0 = 1, L1 = 1 - x, n Ln = (2n - 1 - x) L(n-1) - (n-1) L(n-2)."
    return _at(xp, "laguerre_polynomial_l", input, n, forms.laguerre_l)
laguerre_polynomial_l.rule(input=constant, n=constant)


@pointwise(kernel="legendre", check=check_degree, **polynomial)
def legendre_polynomial_p(xp, input: Tensor | Number, n: Tensor | Number):
    "Legendre's polynomial: P0 = 1, P1 = x, n Pn = (2n - 1) x P(n-1) - (n-1) P(n-2)."
    return _at(xp, "legendre_polynomial_p", input, n, forms.legendre_p)
legendre_polynomial_p.rule(input=constant, n=constant)
