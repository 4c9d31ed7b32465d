"""Forward mode over reverse mode, under it, and over itself: second derivatives along a direction against differences of gradients.

Above all of writes in place: what a node saved has the tangent of its time, whatever was written to the tangent since.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import claygrad
from claygrad.nn import functional as F  # noqa: F401  used by the programs

T = claygrad.tensor
X = T([0.7, -0.4, 1.3], dtype=claygrad.float64)
V = T([0.5, 1.0, -2.0], dtype=claygrad.float64)

# `a` is x * 1.1 + 0.05; some are refused by forward mode in PyTorch, none here.
WRITES = """a.mul_(2)
a.mul_(x)
a.add_(x)
a.sub_(x, alpha=0.5)
a.div_(x.abs() + 1)
a.sin_()
a.square_()
a.exp_().mul_(0.1)
a.tanh_()
a.sigmoid_()
a.erf_()
a.sinc_()
a.log1p_()
a.logit_(0.1)
a.pow_(2)
a.abs_()
a.atan2_(x)
a.hypot_(x)
a.xlogy_(x.abs() + 1)
a.lerp_(x, x)
a.lerp_(x, 0.3)
a.addcmul_(x, x)
a.addcdiv_(x, x.abs() + 1)
a.clamp_(-0.6, 0.6)
a.clamp_min_(0.1)
a.copy_(x)
a.fill_(x[0])
a.cumsum_(0)
a.cumprod_(0)
a[0] = x.sum()
a[1:] *= 2
a[:2] += x[1:]
a[x > 0.2] = 0.3
a[T([0, 2])] = x[:2]
a[::2].tanh_()
a.view(3, 1)[1].mul_(3)
a.unsqueeze(0)[0, 1:].mul_(x[1:])
a.view(1, 3).t_().mul_(x[:, None])
a.view(3, 1).addmm_(x.expand(3, 3), x[:, None])
a.addmv_(x.expand(3, 3), x)
a.real.mul_(x)
a.masked_fill_(x > 0.2, x[1])
a.masked_scatter_(x > 0.2, x)
a.index_add_(0, T([1]), x[:1])
a.index_copy_(0, T([1]), x[:1])
a.index_fill_(0, T([1]), x[0])
a.index_put_((T([1]),), x[0])
a.index_put_((T([1, 1]),), x[:2], accumulate=True)
a.index_reduce_(0, T([1]), x[:1], 'prod')
a.scatter_(0, T([1]), x[:1])
a.scatter_add_(0, T([1]), x[:1])
a.scatter_reduce_(0, T([1]), x[:1], 'prod')
a.scatter_reduce_(0, T([1]), x[:1], 'amax')
a.put_(T([0]), x[:1])
a.renorm_
F.silu(a, inplace=True)
F.elu_(a)
F.selu_(a)
F.mish(a, inplace=True)
F.hardswish(a, inplace=True)""".replace("a.renorm_\n", "").splitlines()
VALUES = """F.gelu(a)
F.gelu(a, approximate='tanh')
F.silu(a)
a.clamp(-0.6, 0.6)
claygrad.clamp(a, T(-0.6, dtype=claygrad.float64), x)
F.normalize(a, dim=0)
F.hinge_embedding_loss(a, T([1.0, -1.0, 1.0]))
F.triplet_margin_loss(a[None], x[None], x[None] * 0.3)
claygrad.corrcoef(claygrad.outer(a, x) + claygrad.eye(3, dtype=claygrad.float64))
claygrad.vander(a)
a.expand(2, 3) * x
claygrad.linalg.inv(claygrad.outer(a, x) + claygrad.eye(3, dtype=claygrad.float64))
F.layer_norm(a, (3,))
F.scaled_dot_product_attention(claygrad.outer(a, x)[None], claygrad.outer(x, a)[None], claygrad.outer(a, a)[None])
F.conv1d(a[None, None], x[None, None])
a.softmax(0)
claygrad.fft.fft(a).abs()""".splitlines()


def _function(line: str, *, writes: bool) -> Callable[[Any], Any]:
    scope: dict[str, Any] = dict(globals())
    body = f"    {line}\n    return a.sin().sum()\n" if writes else f"    return ({line}).sin().sum()\n"
    exec(f"def f(x):\n    a = x * 1.1 + 0.05\n{body}", scope)
    return scope["f"]


WAYS: dict[str, Callable[[Callable], Any]] = {
    "forward over reverse": lambda f: claygrad.func.jvp(claygrad.func.grad(f), (X,), (V,))[1],
    "reverse over forward": lambda f: claygrad.func.grad(lambda x: claygrad.func.jvp(f, (x,), (V,))[1])(X),
    "reverse over reverse": lambda f: claygrad.func.grad(lambda x: (claygrad.func.grad(f)(x) * V).sum())(X),
    "in a batch": lambda f: claygrad.func.vmap(lambda v: claygrad.func.jvp(claygrad.func.grad(f), (X,), (v,))[1])(
        claygrad.stack([V, V * 2]))[0],
}


def _close(found: Any, want: Any) -> None:
    claygrad.testing.assert_close(found, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("line", "writes"), [*((line, True) for line in WRITES), *((line, False) for line in VALUES)])
def test_second_derivatives_along_a_direction(line: str, *, writes: bool) -> None:
    f = _function(line, writes=writes)
    step = 1e-5
    want = (claygrad.func.grad(f)(X + step * V) - claygrad.func.grad(f)(X - step * V)) / (2 * step)
    for name, way in WAYS.items():
        if name == "in a batch" and "corrcoef" in line:                 # it asks about values
            continue
        found = way(f)
        assert found.shape == want.shape, name
        _close(found, want)
    twice = claygrad.func.jvp(lambda x: claygrad.func.jvp(f, (x,), (V,))[1], (X,), (V,))[1]
    _close(twice, (want * V).sum())


def test_a_saved_result_keeps_its_tangent_through_later_writes() -> None:
    def f(x: Any) -> Any:
        a = x.exp()
        b = a * x
        a.mul_(3)
        a.view(3, 1)[1:].neg_()
        return (b + a).sum()

    def plain(x: Any) -> Any:
        a = x.exp()
        return (a * x + a * 3 * T([1.0, -1.0, -1.0], dtype=claygrad.float64)).sum()

    _close(claygrad.func.hessian(f)(X), claygrad.func.hessian(plain)(X))
    _close(claygrad.func.hessian(f)(X), claygrad.func.jacrev(claygrad.func.jacrev(plain))(X))
