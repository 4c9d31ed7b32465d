"""Reductions of halves against those of the same numbers as floats, rounded."""

from __future__ import annotations

import numpy
import pytest

import claygrad

SHAPES = [(1, 1), (1, 7), (3, 5), (17, 33), (5, 4096), (4097, 3), (1, 9001), (130, 600), (700, 17), (64, 1030)]
ROUNDING = {claygrad.float16: 1e-3, claygrad.bfloat16: 8e-3}

each_half = pytest.mark.parametrize("dtype", ROUNDING, ids=str)


def numbers(shape: tuple[int, ...], dtype: claygrad.dtype, seed: int = 0) -> claygrad.Tensor:
    return claygrad.tensor(numpy.random.default_rng(seed).standard_normal(shape).astype("float32")).to(dtype)


def layouts(x: claygrad.Tensor):
    yield x
    yield x.t()
    yield x[1:, 1:]
    yield x.expand(2, *x.shape)
    yield x[:, ::2]


@each_half
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["sum", "mean", "amax", "amin"])
def test_as_the_same_numbers_in_single_precision(isa: str, name: str, shape: tuple[int, ...], dtype: claygrad.dtype):
    for x in layouts(numbers(shape, dtype)):
        if x.numel() == 0:
            continue
        for dim in (tuple(range(x.ndim)), 0, -1, (0, x.ndim - 1)):
            made, wide = (getattr(v, name)(dim) for v in (x, x.float()))
            assert made.dtype is dtype
            assert made.shape == wide.shape
            if name in ("amax", "amin"):
                assert claygrad.equal(made, wide.to(dtype))
            else:
                most = float(x.float().abs().sum(dim).max()) if name == "sum" else 1.0
                assert claygrad.allclose(made.float(), wide, rtol=ROUNDING[dtype], atol=1e-6 * most), (x.shape, x.stride(), dim)


@each_half
def test_products(isa: str, dtype: claygrad.dtype):
    x = (numbers((40, 9), dtype) * 0.2 + 1).to(dtype)
    for dim in (0, 1):
        assert claygrad.allclose(x.prod(dim).float(), x.float().prod(dim), rtol=ROUNDING[dtype])


@each_half
def test_what_is_no_number_and_zeros(isa: str, dtype: claygrad.dtype):
    x = numbers((20, 300), dtype)
    x[3, 7], x[5, 8], x[5, 9], x[6, 1] = float("nan"), float("inf"), float("-inf"), float("inf")
    for name in ("sum", "mean", "amax", "amin"):
        for dim in (0, 1):
            made, wide = getattr(x, name)(dim), getattr(x.float(), name)(dim)
            assert claygrad.equal(made.isnan(), wide.isnan()), name
            assert claygrad.equal(made.isinf(), wide.isinf()), name
    small = claygrad.full((1000,), 2.0 ** -24 if dtype is claygrad.float16 else 2.0 ** -130, dtype=dtype)        # subnormal
    assert small.sum() == (small.float().sum()).to(dtype)
    assert float(claygrad.full((5000,), 60.0, dtype=dtype).mean()) == 60         # the sum is beyond what float16 holds


@each_half
def test_the_sum_does_not_depend_on_the_threads(isa: str, dtype: claygrad.dtype):
    x, before = numbers((400, 1001), dtype), claygrad.get_num_threads()
    made = []
    for threads in (1, 2, 3):
        claygrad.set_num_threads(threads)
        made.append([x.sum(), x.sum(0), x.sum(1)])
    claygrad.set_num_threads(before)
    for others in made[1:]:
        assert all(claygrad.equal(a, b) for a, b in zip(made[0], others))
