"""A complex gradient of a real input: rules may return it, the programs of users may not."""

from __future__ import annotations

import pytest

import claygrad as torch
from claygrad.utils.checkpoint import checkpoint

REFUSED = r"Expected isFloatingType\(grad.scalar_type\(\)\)"


class Turned(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1j

    @staticmethod
    def backward(ctx, g):
        return g * -1j


@pytest.mark.parametrize("inner", [False, True])
def test_a_custom_function_must_return_a_real_one(inner):
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=REFUSED):
        Turned.apply(x * 1 if inner else x).sum().abs().backward()


def test_the_rules_of_operations_need_not():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    y[:1].mul_(x[1:])
    ((y * (1 + 2j)).sum() * (3 - 1j)).real.backward()
    assert x.grad.dtype == torch.float32
    assert x.grad.tolist() == [10.0, 10.0]


def test_an_inner_tensor_that_became_complex():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    before = (y * 1j).sum().imag
    y.data = torch.tensor([1j, 2.0])
    before.backward(retain_graph=True)                           # recorded while it was real
    assert x.grad.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match=REFUSED):
        (y * 2j).sum().imag.backward()


@pytest.mark.parametrize("write", ["v.trunc_()", "y.mul_(2)", "y.data.mul_(2)", "y.detach().mul_(2)", "v.detach().mul_(2)", "None"])
def test_a_checkpointed_view_from_no_grad_whose_base_is_written(write):
    x = torch.tensor([1.5, 2.5], requires_grad=True)
    y = x * 1
    with torch.no_grad():
        v = y[:1]
    assert v.requires_grad
    assert v.is_leaf
    z = checkpoint(lambda p, q: (p * 2).exp().sin() * q, v, y[1:], use_reentrant=False)
    with torch.no_grad():
        eval(write)
    expected = (torch.tensor(1.5) * 2).exp().sin()
    z.sum().backward()
    assert torch.allclose(x.grad, torch.tensor([0.0, float(expected)]))
