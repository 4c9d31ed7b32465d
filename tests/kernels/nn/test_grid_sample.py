"""Sampling at the points of a grid: the native loops against the reference."""

from __future__ import annotations

import numpy as np
import pytest

import claygrad
from claygrad.ops import grid as declared
from tests.support.forms import native

SHAPES = [((2, 3, 5, 7), (2, 4, 6, 2)), ((1, 9, 1, 4), (1, 1, 1, 2)), ((3, 1, 6, 1), (3, 13, 11, 2)), ((1, 2, 16, 9), (1, 8, 16, 2)),
          ((2, 2, 3, 4, 5), (2, 3, 3, 5, 3)), ((1, 10, 2, 1, 6), (1, 5, 5, 7, 3))]
HOW = [(mode, padding, align) for mode in range(3) for padding in range(3) for align in (False, True)]


def case(shape: tuple[int, ...], points: tuple[int, ...], dtype: str) -> list:
    rng = np.random.default_rng(len(shape) + shape[-1])
    grid = rng.uniform(-1.6, 1.6, points)
    grid.reshape(-1)[::7] = np.round(grid.reshape(-1)[::7])                 # on the edges too
    grid.reshape(-1)[0] = 9.0
    out = (*shape[:2], *points[1:-1])
    return [claygrad.from_numpy(x.astype(dtype)) for x in (rng.standard_normal(shape), grid, rng.standard_normal(out))]


def all_three(x, grid, g, how: tuple) -> list[np.ndarray]:
    zero = (0,) * (x.ndim - 2)
    return [native(declared.sample, x, grid, *how, zero), native(declared.spread, g, grid, *how, zero, tuple(x.shape)),
            native(declared.slope, g, x, grid, *how, zero)]


def as_declared(x, grid, g, how: tuple) -> list[np.ndarray]:
    """What the forwards compute by themselves."""
    zero, shape = (0,) * (x.ndim - 2), tuple(x.shape)
    x, grid, g = x.numpy(), grid.numpy(), g.numpy()
    with np.errstate(all="ignore"):
        return [declared.sample.forward(np, x, grid, *how, zero), declared.spread.forward(np, g, grid, *how, zero, shape),
                declared.slope.forward(np, g, x, grid, *how, zero)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "points"), SHAPES, ids=str)
def test_every_mode_is_as_declared(isa, shape, points, dtype):
    x, grid, g = case(shape, points, dtype)
    near = 2e-5 if dtype == "float32" else 1e-13
    for how in HOW:
        if how[0] == 2 and len(shape) == 5:
            continue
        got = all_three(x, grid, g, how)
        for ours, theirs in zip(got, as_declared(x, grid, g, how)):
            np.testing.assert_allclose(ours, theirs, near, near, err_msg=str(how))


@pytest.mark.parametrize("how", HOW, ids=str)
def test_what_is_not_finite_is_as_declared(isa, how):
    x, grid, g = case((1, 2, 5, 6), (1, 4, 5, 2), "float64")
    x[0, 0, 0, 0], x[0, 1, 2, 3] = float("inf"), float("nan")
    grid[0, 0, 0, 0], grid[0, 1, 1, 1], grid[0, 2, 2, 0] = float("nan"), float("inf"), -1e30
    got = declared.sample(x, grid, *how, (0, 0)).numpy()
    np.testing.assert_allclose(got, as_declared(x, grid, g, how)[0], 1e-12, 1e-12)


def test_threads_do_not_change_the_result(isa):
    x, grid, g = case((3, 20, 30, 40), (3, 60, 50, 2), "float32")
    before = claygrad.get_num_threads()
    try:
        claygrad.set_num_threads(4)
        many = all_three(x, grid, g, (0, 0, False))
        claygrad.set_num_threads(1)
        one = all_three(x, grid, g, (0, 0, False))
    finally:
        claygrad.set_num_threads(before)
    assert all(np.array_equal(a, b) for a, b in zip(many, one))


def test_strided_inputs_and_nothing():
    x, grid, _ = case((2, 3, 5, 7), (2, 4, 6, 2), "float32")
    turned = x.permute(0, 1, 3, 2).contiguous().permute(0, 1, 3, 2)
    same = declared.sample(x, grid, 0, 0, True, (0, 0))
    assert declared.sample(turned, grid.permute(1, 0, 2, 3).contiguous().permute(1, 0, 2, 3), 0, 0, True, (0, 0)).equal(same)
    assert declared.sample(x, grid[:, :0], 0, 0, True, (0, 0)).shape == (2, 3, 0, 6)
    assert declared.sample(x[:, :0], grid, 0, 0, True, (0, 0)).shape == (2, 0, 4, 6)
    assert declared.spread(same[:, :, :0], grid[:, :0], 0, 0, True, (0, 0), (2, 3, 5, 7)).equal(claygrad.zeros(2, 3, 5, 7))


@pytest.mark.parametrize("how", [(0, 0, False), (0, 1, True), (1, 2, False), (2, 1, False)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_small_images_are_taken_together(isa, how, dtype):
    near = 2e-5 if dtype == "float32" else 1e-13
    for shape, points in (((301, 3, 4, 5), (301, 3, 3, 2)), ((37, 9, 2, 3), (37, 5, 13, 2)), ((70, 2, 1, 1), (70, 1, 1, 2))):
        x, grid, g = case(shape, points, dtype)
        for ours, theirs in zip(all_three(x, grid, g, how), as_declared(x, grid, g, how)):
            np.testing.assert_allclose(ours, theirs, near, near, err_msg=str(shape))
