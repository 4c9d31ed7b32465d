"""Values at the ends of what a dtype holds, where a step on the way could overflow, underflow or wrap."""

from __future__ import annotations

import math

import pytest

import claygrad


@pytest.mark.parametrize("size", [1e-40, 1e-30, 1e-20, 1.0, 1e20, 1e38])
@pytest.mark.parametrize("given", [{}, {"dim": 1}, {"dim": (0, 1), "correction": 0}])
def test_a_deviation_is_neither_0_nor_infinite_where_its_square_is(size: float, given: dict) -> None:
    x = claygrad.tensor([[1.0, -1.0, 0.5], [0.25, 0.5, -0.75]]) * size
    want = claygrad.std(x.double(), **given)
    for got in (claygrad.std(x, **given), claygrad.std_mean(x, **given)[0]):
        claygrad.testing.assert_close(got.double() / size, want / size, rtol=1e-4, atol=1e-4)
    assert claygrad.std(x * 0, **given).abs().max() == 0


@pytest.mark.parametrize("kind", ["uint8", "int8", "int16"])
def test_areas_of_small_integers_do_not_wrap(kind: str) -> None:
    x = claygrad.full((2, 4), 60, dtype=getattr(claygrad, kind))
    assert claygrad.trapezoid(x).tolist() == [180.0, 180.0]
    assert claygrad.trapezoid(x, dx=0.5, dim=0).tolist() == [30.0] * 4


@pytest.mark.parametrize("kind", ["complex64", "complex128"])
def test_the_reciprocal_of_a_complex_zero(kind: str) -> None:
    x = claygrad.zeros(9, dtype=getattr(claygrad, kind))
    for got in (x.reciprocal(), x.rsqrt(), x**-1):
        assert got.real.tolist() == [math.inf] * 9
        assert got.imag.isnan().all()


@pytest.mark.parametrize("value", [1, 2.5, True])
@pytest.mark.parametrize("kind", ["float32", "int64", "bool", "bfloat16", "complex64"])
def test_one_value_of_another_dtype_under_a_mask_has_a_gradient(kind: str, value: float) -> None:
    x = claygrad.zeros(3, dtype=getattr(claygrad, kind))
    x[x == 0] = claygrad.tensor(value)
    assert x.tolist() == claygrad.tensor([value] * 3).to(x.dtype).tolist()
    y, v = claygrad.zeros(3, dtype=claygrad.float64), claygrad.tensor([2.0], requires_grad=True)
    y[y == 0] = v
    y.sum().backward()
    assert v.grad is not None
    assert v.grad.tolist() == [3.0]
    assert v.grad.dtype == claygrad.float32
