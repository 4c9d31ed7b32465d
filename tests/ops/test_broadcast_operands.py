"""Stretched tensors, as the gradient of a sum is: an operation gives for them what it gives for a copy in row-major order."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import claygrad
from claygrad import Tensor
from claygrad.nn import functional

CALLS: dict[str, Callable[[Tensor], Tensor]] = {
    "softmax": lambda x: x.softmax(-1), "log_softmax": lambda x: x.log_softmax(0), "glu": functional.glu, "tril": lambda x: x.tril(),
    "flip": lambda x: x.flip(0), "roll": lambda x: x.roll(1, 1), "repeat": lambda x: x.repeat(2, 3), "gelu": functional.gelu,
    "pad": lambda x: functional.pad(x[None], (1, 2, 2, 1), "reflect"), "layer_norm": lambda x: functional.layer_norm(x, x.shape[1:]),
    "sort": lambda x: x.sort(-1).values, "cumsum": lambda x: x.cumsum(1), "sum": lambda x: x.sum((0, 1)), "mean": lambda x: x.mean(1),
    "amax": lambda x: x.amax(0), "logcumsumexp": lambda x: x.logcumsumexp(1), "median": lambda x: x.median(1).values,
    "prod": lambda x: x.prod(1), "matmul": lambda x: x @ x.t(), "norm": lambda x: x.norm(dim=1), "masked_fill": lambda x: x.masked_fill(x > 0, 2),
    "max_pool": lambda x: functional.max_pool2d(x[None], 2), "interpolate": lambda x: functional.interpolate(x[None, None], scale_factor=2),
}
SHAPES = {"one element": (), "a row": (1, 12), "a column": (10, 1)}


def stretched(shape: tuple[int, ...], dtype: claygrad.dtype) -> Tensor:
    draw = claygrad.Generator().manual_seed(3)
    return claygrad.randn(shape, generator=draw).to(dtype).expand(10, 12)


@pytest.mark.parametrize("dtype", [claygrad.float32, claygrad.float64, claygrad.bfloat16], ids=str)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("name", CALLS)
def test_as_of_a_copy(name: str, shape: tuple[int, ...], dtype: claygrad.dtype):
    x = stretched(shape, dtype)
    made, wanted = CALLS[name](x), CALLS[name](x.contiguous())
    assert made.dtype == wanted.dtype
    assert made.stride() == wanted.stride()
    assert claygrad.allclose(made.double(), wanted.double(), rtol=1e-2 if dtype == claygrad.bfloat16 else 1e-5, atol=1e-6)


@pytest.mark.parametrize("name", CALLS)
def test_the_gradient_of_a_sum(name: str):
    x = claygrad.randn(10, 12, generator=claygrad.Generator().manual_seed(1), requires_grad=True)
    CALLS[name](x).sum().backward()
    of_sum, x.grad = x.grad, None
    out = CALLS[name](x)
    out.backward(claygrad.ones_like(out))
    assert claygrad.allclose(of_sum, x.grad, rtol=1e-5, atol=1e-6)


def test_what_is_stretched_stays_as_it_is():
    x = claygrad.ones(()).expand(10, 12)
    x.softmax(1)
    x.sum(0)
    assert x.stride() == (0, 0)
    assert x.untyped_storage().nbytes() == 4


def test_a_stretched_tensor_of_any_size_takes_no_memory():
    x = claygrad.ones(1, 1).expand(1 << 20, 1 << 20)
    before = claygrad.memory.peak()
    assert x[:5].tril().sum() == 15
    assert claygrad.memory.peak() - before < 1 << 28


def test_beside_a_transposed_operand_the_order_of_the_result_stays():
    x, y = claygrad.ones(()).expand(4, 5), claygrad.randn(5, 4).t()
    assert claygrad.atan2(x, y).stride() == y.stride()
    assert functional.gelu(y).stride() == y.stride()


@pytest.mark.parametrize("name", CALLS)
def test_turned_as_well(name: str):
    x = claygrad.randn(10, 1, generator=claygrad.Generator().manual_seed(2)).expand(10, 12).t()
    assert claygrad.allclose(CALLS[name](x), CALLS[name](x.contiguous()), rtol=1e-5, atol=1e-6)
