"""A transposed tensor without gaps is one run of memory: what is computed along it is what a contiguous one gives."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import claygrad

Tensor = claygrad.Tensor

TURNED: dict[str, Callable[[Tensor], Tensor]] = {
    "transposed": lambda x: x.transpose(0, 1),
    "reversed": lambda x: x.permute(2, 1, 0),
    "behind others": lambda x: x[1:].permute(1, 2, 0),
}
POINTWISE: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "of one": lambda x, y: x.square(),
    "of one, costly": lambda x, y: x.tanh(),
    "with a number": lambda x, y: x * 2.5,
    "from a number": lambda x, y: 1 - x,
    "of two": lambda x, y: x * y,
    "of one twice": lambda x, y: x - x,
    "with one element for all": lambda x, y: x + y[0, 0, 0].expand(x.shape),
    "of one element for all": lambda x, y: y[0, 0, 0].expand(x.shape) / x,
    "that compares": lambda x, y: x > y,
    "that compares with a number": lambda x, y: x <= 0,
    "of a gradient": lambda x, y: claygrad.autograd.grad(x.requires_grad_() ** 3, x, y)[0],
    "of one gradient for all": lambda x, y: claygrad.autograd.grad((x.requires_grad_() ** 2).sum(), x)[0],
}
REDUCED = ("sum", "mean", "prod", "amax", "amin", "norm")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", POINTWISE)
@pytest.mark.parametrize("turn", TURNED)
def test_results_lie_as_their_operands_do(turn: str, name: str, dtype: str):
    claygrad.manual_seed(0)
    kind = getattr(claygrad, dtype)
    x, y = (TURNED[turn](claygrad.randn(5, 4, 35, dtype=kind)) for _ in range(2))
    assert not x.is_contiguous()
    got = POINTWISE[name](x.detach(), y)
    want = POINTWISE[name](x.contiguous(), y.contiguous())
    assert got.stride() == x.stride()
    assert want.is_contiguous()
    assert claygrad.equal(got, want)


@pytest.mark.parametrize("name", REDUCED)
@pytest.mark.parametrize("turn", TURNED)
def test_all_elements_are_reduced(turn: str, name: str):
    claygrad.manual_seed(0)
    x = TURNED[turn](claygrad.rand(5, 4, 35, dtype=claygrad.float64) + 0.5)
    got, want = getattr(x, name)(), getattr(x.contiguous(), name)()
    assert claygrad.allclose(got, want, rtol=1e-12)
    kept = getattr(x, name)(dim=(0, 1, 2), keepdim=True) if name in ("sum", "mean", "amax") else want.view(1, 1, 1)
    assert kept.shape == (1, 1, 1)
    assert claygrad.allclose(kept.view(()), want, rtol=1e-12)


def test_gaps_and_other_orders_are_seen():
    x = claygrad.arange(24.0).view(4, 6)
    assert (x.t()[:, ::2] * 2).tolist() == [[2 * v for v in row] for row in x.t()[:, ::2].tolist()]
    square = claygrad.arange(9.0).view(3, 3)
    assert (square + square.t()).tolist() == [[0, 4, 8], [4, 8, 12], [8, 12, 16]]
    assert (square.t() - square).tolist() == [[0, 2, 4], [-2, 0, 2], [-4, -2, 0]]
    assert x.t()[:, ::2].sum().item() == x[::2].sum().item()
    assert x.t().sum(1).tolist() == x.sum(0).tolist()


def test_a_result_shares_nothing_with_its_operand():
    x = claygrad.ones(3, 4).t()
    y = x + 0
    y[0, 0] = 5
    assert x[0, 0].item() == 1
