"""Smooth rectifiers whose gradients come from their results: as good as from their inputs, and as safe."""

from __future__ import annotations

import numpy
import pytest

import claygrad
from claygrad import Tensor
from claygrad.nn import functional

RECTIFIERS = {"gelu": functional.gelu, "silu": functional.silu,
              "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh")}
MANY = 5000                                                   # fewer take the other way
each_rectifier = pytest.mark.parametrize("name", RECTIFIERS)


def inputs(dtype: claygrad.dtype, n: int = MANY) -> Tensor:
    x = numpy.random.default_rng(0).normal(0, 4, n)
    x[:12] = [0.0, -0.0, 1e-40, -1e-40, 1e-310, 90.0, -90.0, 104.0, -104.0, 1000.0, -1000.0, -0.7518]
    return claygrad.tensor(x).to(dtype).requires_grad_()


def slopes(name: str, x: Tensor) -> numpy.ndarray:
    """By the rule for doubles of few elements, from the input alone."""
    found = []
    for part in x.detach().double().split(500):
        part.requires_grad_()
        RECTIFIERS[name](part).sum().backward()
        found.append(part.grad.numpy())
    return numpy.concatenate(found)


@each_rectifier
@pytest.mark.parametrize("dtype", [claygrad.float32, claygrad.float64, claygrad.float16, claygrad.bfloat16], ids=str)
def test_gradients_of_many_are_those_of_few(name: str, dtype: claygrad.dtype):
    x = inputs(dtype)
    RECTIFIERS[name](x).sum().backward()
    rounding = claygrad.finfo(dtype).eps
    scale = 1 + x.detach().double().clamp(-9, 9).square().numpy()           # 1 - t² loses what x² then magnifies
    assert (numpy.abs(x.grad.double().numpy() - slopes(name, x)) <= 4 * rounding * scale).all()


@each_rectifier
def test_a_result_written_to_later_leaves_the_gradient_alone(name: str):
    x = inputs(claygrad.float32)
    RECTIFIERS[name](x).sum().backward()
    expected, x.grad = x.grad, None
    y = RECTIFIERS[name](x)
    y.mul_(3).add_(1)
    y.sum().backward()
    assert claygrad.allclose(x.grad, 3 * expected)
    x.grad = None
    y = RECTIFIERS[name](x)
    y.data.zero_()
    y.numpy(force=True)[:] = 7
    y.sum().backward()
    assert claygrad.allclose(x.grad, expected)


@each_rectifier
def test_second_gradients_of_many(name: str):
    x = inputs(claygrad.float64, 1100)
    first, = claygrad.autograd.grad(RECTIFIERS[name](x).sum(), x, create_graph=True)
    second, = claygrad.autograd.grad(first.sum(), x)
    few = x.detach()[:200].requires_grad_()
    first, = claygrad.autograd.grad(RECTIFIERS[name](few).sum(), few, create_graph=True)
    expected, = claygrad.autograd.grad(first.sum(), few)
    assert claygrad.equal(second[:200], expected)


def test_writing_into_the_input():
    x = inputs(claygrad.float32)
    functional.silu(x.clone(), inplace=True).sum().backward()
    expected = slopes("silu", x)
    assert numpy.allclose(x.grad.numpy(), expected, rtol=1e-5, atol=1e-6)
