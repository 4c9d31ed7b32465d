"""Refusals in torch's words of what random fills, windows and indices cannot do."""

from __future__ import annotations

import pytest

from tests.support import raises

FLOAT8 = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"]
FILLS = {"uniform_": ((), "check_uniform_bounds"), "exponential_": ((), "exponential_cpu"), "cauchy_": ((), "cauchy_cpu"),
         "log_normal_": ((), "log_normal_cpu"), "geometric_": ((0.5,), "geometric_cpu")}


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("kind", FLOAT8)
def test_nothing_draws_floats_of_one_byte(lib, fill, kind):
    t = lib.empty(3, dtype=getattr(lib, kind))
    args, kernel = FILLS[fill]
    with raises(lib, NotImplementedError, f"\"{kernel}\" not implemented for '{kind.capitalize()}'"):
        getattr(t, fill)(*args)


@pytest.mark.parametrize("kind", FLOAT8[:4])
def test_tests_get_them_all_the_same(lib, kind):
    made = lib.testing.make_tensor(20, dtype=getattr(lib, kind), device="cpu", low=-2, high=2)
    assert made.dtype == getattr(lib, kind)
    assert made.float().abs().max() <= 2
    assert made.float().unique().numel() > 3


def test_windows_that_cannot_be_put_back(lib):
    g = lib.ones(2, 3)
    back = lib.ops.aten.unfold_backward
    with raises(lib, ValueError, "step is 0 but must be > 0"):
        back(g, [6], 0, 3, 0)
    with raises(lib, RuntimeError, "size is -1 but must be >= 0"):
        back(g, [6], 0, -1, 1)
    with raises(lib, IndexError, "Dimension out of range (expected to be in range of [-1, 0], but got 3)"):
        back(g, [6], 3, 3, 1)
    assert back(g, [6], -1, 3, 2).tolist() == [1, 1, 2, 1, 1, 0]


def test_an_index_of_nothing(lib):
    with raises(lib, IndexError, "at least one index must be provided"):
        lib.ops.aten.index.Tensor(lib.ones(2), [])
