"""Elementwise operations on views of every kind, in place and not: the same as on their copies in order."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import claygrad

VIEWS: dict[str, Callable] = {
    "cut": lambda x: x[1:, 1:-1, 2:],
    "long lines": lambda x: x.reshape(3, -1)[:, 5:-3],
    "every other row": lambda x: x[:, ::2],
    "stepped": lambda x: x[:, :, ::2],
    "stepped by three": lambda x: x[:, :, 1::3],
    "permuted": lambda x: x.permute(2, 0, 1),
    "permuted and cut": lambda x: x[:, 1:, 3:].permute(1, 2, 0),
    "a column": lambda x: x[:, 1, 3],
    "columns": lambda x: x[:, :, 3:5],
    "an axis of one": lambda x: x[1:2, :, 1:],
    "one element": lambda x: x[1:2, 2:3, 1:2],
    "four axes": lambda x: x[:, :, 1:].unflatten(0, (2, 3)).transpose(1, 2),
}

IN_PLACE: dict[str, Callable] = {
    "add a number": lambda x, y: x.add_(2),
    "add": lambda x, y: x.add_(y),
    "add a share": lambda x, y: x.add_(y, alpha=0.5),
    "add itself": lambda x, y: x.add_(x),
    "multiply": lambda x, y: x.mul_(y),
    "divide": lambda x, y: x.div_(3),
    "negate": lambda x, y: x.neg_(),
    "exponential": lambda x, y: x.exp_(),
    "clamp": lambda x, y: x.clamp_(-1, 1),
    "with a row": lambda x, y: x.sub_(y[..., :1]),
    "with a column": lambda x, y: x.sub_(y[:1]),
    "of double": lambda x, y: x.mul_(y.double()) if x.dtype == claygrad.float64 else x.mul_(y),
    "three": lambda x, y: x.addcmul_(y, y, value=2),
    "lerp": lambda x, y: x.lerp_(y, 0.25),
    "power": lambda x, y: x.pow_(2),
    "fill where": lambda x, y: x.masked_fill_(y > 0, 7),
    "relu": lambda x, y: x.relu_(),
    "sign": lambda x, y: x.sign_(),
    "floor": lambda x, y: x.floor_(),
    "maximum": lambda x, y: claygrad.maximum(x, y, out=x),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", IN_PLACE)
def test_written_in_place_and_nowhere_else(name: str, view: str, dtype: str):
    claygrad.manual_seed(1)
    for columns in (40, 400):
        base = claygrad.randn(6, 9, columns, dtype=getattr(claygrad, dtype))
        whole = base.clone()
        x = VIEWS[view](base)
        y = VIEWS[view](claygrad.randn(6, 9, columns, dtype=base.dtype))
        want = x.clone(memory_format=claygrad.contiguous_format)
        IN_PLACE[name](want, y.contiguous())
        IN_PLACE[name](x, y)
        assert claygrad.allclose(x, want, rtol=1e-6 if dtype == "float32" else 1e-14)
        VIEWS[view](whole).copy_(want)
        assert claygrad.allclose(base, whole, rtol=1e-6 if dtype == "float32" else 1e-14)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "bool", "float16", "bfloat16", "complex64"])
def test_in_other_dtypes(view: str, dtype: str):
    claygrad.manual_seed(1)
    base = claygrad.randint(0, 2 if dtype == "bool" else 9, (6, 9, 150)).to(getattr(claygrad, dtype))
    other = claygrad.randint(0, 2 if dtype == "bool" else 9, (6, 9, 150)).to(base.dtype)
    x, y = VIEWS[view](base), VIEWS[view](other)
    want = x.contiguous() * y.contiguous()
    assert claygrad.equal(x * y, want)
    x.mul_(y)
    assert claygrad.equal(x, want)


@pytest.mark.parametrize("view", VIEWS)
def test_gradients_of_a_write_to_a_view(view: str):
    claygrad.manual_seed(2)
    leaf = claygrad.randn(6, 9, 40, dtype=claygrad.float64, requires_grad=True)
    base = leaf * 1
    VIEWS[view](base).mul_(3).add_(1)
    base.square().sum().backward()
    wanted = claygrad.ones_like(leaf)
    VIEWS[view](wanted).mul_(3)
    shift = claygrad.zeros_like(leaf)
    VIEWS[view](shift).add_(1)
    assert claygrad.allclose(leaf.grad, 2 * wanted * (wanted * leaf.detach() + shift))


def test_memory_that_meets_itself_is_computed_first():
    """Windows that overlap: every element is changed once, as of the values before."""
    base = claygrad.arange(8.0)
    base.unfold(0, 3, 1).mul_(2)
    assert base.tolist() == [0, 2, 4, 6, 8, 10, 12, 14]


def test_an_operand_that_shares_memory_is_read_before():
    base = claygrad.arange(10.0).reshape(2, 5)
    base[:, 1:].copy_(base[:, 1:] + base[:, :-1])
    again = claygrad.arange(10.0).reshape(2, 5)
    again[:, 1:] += again[:, :-1]
    assert claygrad.equal(base, again)


@pytest.mark.parametrize("shape", [(700, 4), (5, 3, 7, 9), (300, 2, 64), (3, 1, 300), (1000, 1)])
def test_short_lines_that_are_stretched(shape: tuple[int, ...]):
    claygrad.manual_seed(3)
    x = claygrad.randn(*shape)
    for y in (x[..., :1], x[:1], x[:, :1], x.sum(0, keepdim=True), x.sum(-1, keepdim=True)):
        assert claygrad.equal(x - y, x - y.expand(shape).contiguous())
        assert claygrad.equal(x.transpose(0, -1) * y.transpose(0, -1), (x * y.expand(shape).contiguous()).transpose(0, -1))
        assert claygrad.equal(claygrad.where(x > 0, x, y), claygrad.where(x > 0, x, y.expand(shape).contiguous()))


@pytest.mark.parametrize("name", ["floor_divide_", "remainder_", "fmod_"])
@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "int16"])
@pytest.mark.parametrize("view", ["whole", "cut"])
def test_a_refused_divisor_leaves_everything_as_it_was(view: str, dtype: str, name: str):
    """On as many elements as threads share, the zero near the end."""
    base = (claygrad.arange(600_000) % 100 + 1).to(getattr(claygrad, dtype)).reshape(600, 1000)
    before = base.clone()
    x = base if view == "whole" else base[:, 1:]
    divisors = claygrad.full(x.shape, 3, dtype=x.dtype)
    divisors[-1, -2] = 0
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        getattr(x, name)(divisors)
    assert claygrad.equal(base, before)
    divisors[-1, -2] = 5
    want = getattr(x.clone(), name[:-1])(divisors)
    assert claygrad.equal(getattr(x, name)(divisors), want)
