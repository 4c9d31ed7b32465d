"""Kernels that take numbers beside their operands, losses summed as they are computed, gates and casts."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.kernel_api import CODES, SIZES, Kernels, checked, guarded, special, values

each_float = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda t: np.dtype(t).name)
quiet = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def power(p: float):
    return lambda g, x: g * (p * np.abs(x) ** (p - 1)), p, 0


# name: (the formula, p, q)
TWO = {
    "leaky_relu_backward": (lambda g, x: np.where(x > 0, g, 0.3 * g), 0.3, 0),
    "elu_backward": (lambda g, x: np.where(x > 0, g, g * 0.7 * np.exp(np.minimum(x, 0))), 0.7, 0),
    "celu_backward": (lambda g, x: np.where(x > 0, g, g * np.exp(np.minimum(x, 0) / 2)), 2, 0),
    "softplus_backward": (lambda g, x: np.where(2 * x > 5, g, g * sigmoid(2 * x)), 2, 5),
    "inside_backward": (lambda g, x: np.where((x > -1) & (x < 2), g, 0), -1, 2),
    "outside_backward": (lambda g, x: np.where(np.abs(x) > 0.5, g, 0), 0.5, 0),
    "threshold_backward": (lambda g, x: np.where(x > 0.5, g, 0), 0.5, 0),
    "squared": (lambda x, y: (x - y) ** 2, 0, 0),
    "smooth": (lambda x, y: np.where(np.abs(x - y) < 2, (x - y) ** 2 / 4, np.abs(x - y) - 1), 2, 0),
    "huber": (lambda x, y: np.where(np.abs(x - y) <= 2, (x - y) ** 2 / 2, 2 * (np.abs(x - y) - 1)), 2, 0),
    "logits": (lambda x, y: (1 - y) * x + np.log1p(np.exp(-x)), 0, 0),
}
THREE = {
    "prelu_to_input": (lambda g, x, w: np.where(x > 0, g, g * w), 0),
    "squared_backward": (lambda g, x, y: 2 * g * (x - y), 0),
    "smooth_backward": (lambda g, x, y: g * np.clip((x - y) / 2, -1, 1), 2),
    "huber_backward": (lambda g, x, y: g * np.clip(x - y, -2, 2), 2),
    "logits_backward": (lambda g, x, y: g * (sigmoid(x) - y), 0),
}
EXPONENTS = (2, 3, 0.5, -1, 1.5, 2.7)


def run(kernels: Kernels, name: str, a: np.ndarray, b: np.ndarray, c: np.ndarray | None = None, p: float = 0,
        q: float = 0) -> np.ndarray:
    ones = (a.size != b.size) + 4 * (c is not None and c.size != b.size)
    out = guarded(b.shape, b.dtype)
    third = 0 if c is None else c.ctypes.data
    kernels.get("shaped", name, b.dtype)(a.ctypes.data, b.ctypes.data, third, out.ctypes.data, b.size, ones, p, q)
    return checked(out)


def close(out: np.ndarray, want: np.ndarray, scale: np.ndarray) -> bool:
    return bool((np.abs(out - want) <= 16 * np.finfo(out.dtype).eps * (np.abs(want) + scale)).all())


@each_float
@pytest.mark.parametrize("name", TWO)
def test_two_operands_and_numbers_give_the_formula(kernels: Kernels, isa: str, name: str, dtype: type):
    formula, p, q = TWO[name]
    for n in SIZES:
        a, b = values(dtype, n), values(dtype, n, seed=1)
        for first in (a, a[:1]) if n > 1 else (a,):
            want = formula(first.astype(np.longdouble), b.astype(np.longdouble))
            assert close(run(kernels, name, first, b, None, p, q), want, np.abs(first) * (1 + np.abs(b)) + np.abs(b)), n


@each_float
@pytest.mark.parametrize("p", EXPONENTS)
def test_the_slope_of_a_power(kernels: Kernels, isa: str, p: float, dtype: type):
    for n in SIZES:
        g, x = values(dtype, n), values(dtype, n, 0.1, 10, seed=1)
        want = g * (p * x.astype(np.longdouble) ** (np.longdouble(dtype(p - 1))))
        assert close(run(kernels, "pow_backward", g, x, None, p), want, 0 * x), n


@each_float
@pytest.mark.parametrize("name", THREE)
def test_three_operands_and_numbers_give_the_formula(kernels: Kernels, isa: str, name: str, dtype: type):
    formula, p = THREE[name]
    for n in SIZES:
        a, b, c = (values(dtype, n, seed=seed) for seed in range(3))
        for first in (a, a[:1]) if n > 1 else (a,):
            for third in (c, c[:1]) if n > 1 else (c,):
                want = formula(*(v.astype(np.longdouble) for v in (first, b, third)))
                assert close(run(kernels, name, first, b, third, p), want, np.abs(first) * (np.abs(b) + np.abs(third))), n


@quiet
@each_float
@pytest.mark.parametrize("name", [*TWO, *THREE])
def test_special_values_are_those_of_the_scalar_kernel(kernels: Kernels, isa: str, name: str, dtype: type):
    x = special(dtype)
    a, b = np.repeat(x, x.size), np.tile(x, x.size)
    p, q = TWO[name][1:] if name in TWO else (THREE[name][1], 0)
    operands = (a, b, None if name in TWO else np.full_like(a, 0.5))
    out = run(kernels, name, *operands, p, q)
    kernels.use_isa(b"base")
    twin = run(kernels, name, *operands, p, q)
    assert np.array_equal(np.isnan(out), np.isnan(twin))
    np.testing.assert_allclose(out, twin, rtol=16 * np.finfo(dtype).eps, atol=np.finfo(dtype).tiny)


@each_float
@pytest.mark.parametrize("name", ["squared", "smooth", "huber", "logits"])
def test_a_loss_is_added_up_as_a_tree(kernels: Kernels, isa: str, name: str, dtype: type):
    formula, p, q = TWO[name]
    for n in [1, 7, 1000, 200_001]:
        x, y = values(dtype, n), values(dtype, n, seed=1)
        out = np.empty(1, dtype)
        kernels.get("total", name, dtype)(x.ctypes.data, y.ctypes.data, out.ctypes.data, n, 0.5, p, q)
        terms = formula(x.astype(np.longdouble), y.astype(np.longdouble))
        assert abs(out[0] - 0.5 * terms.sum()) <= 40 * np.finfo(dtype).eps * np.abs(terms).sum(), n


@each_float
def test_the_slope_of_a_gate(kernels: Kernels, isa: str, dtype: type):
    for rows, n in [(1, 1), (3, 7), (2, 33), (300, 500)]:
        g, x = values(dtype, rows * n).reshape(rows, n), values(dtype, 2 * rows * n, seed=1).reshape(rows, 2 * n)
        out = guarded(x.shape, dtype)
        kernels.get("gate", "glu", dtype)(g.ctypes.data, x.ctypes.data, out.ctypes.data, rows, n)
        a, s = x[:, :n].astype(np.longdouble), sigmoid(x[:, n:].astype(np.longdouble))
        want = np.concatenate([g * s, g * a * s * (1 - s)], 1)
        assert close(checked(out), want, np.abs(np.concatenate([g, g * a], 1)))


def cast(kernels: Kernels, x: np.ndarray, name: str, out: np.ndarray, code: int | None = None) -> np.ndarray:
    code = CODES[x.dtype.name] if code is None else code
    kernels.get_cast(name, code)(x.ctypes.data, out.ctypes.data, x.size)
    return out


@quiet
def test_halves_round_to_even_and_come_back(kernels: Kernels, isa: str):
    every = np.arange(65536, dtype=np.uint16)
    halves = every.view(np.float16)
    wide = cast(kernels, halves, "float32", np.empty(65536, np.float32), 5)
    assert np.array_equal(wide, halves.astype(np.float32), equal_nan=True)
    number = np.isfinite(wide)
    between = np.concatenate([wide[number], np.nextafter(wide[number], np.float32(np.inf)),
                              np.nextafter(wide[number], np.float32(-np.inf)), special(np.float32),
                              (wide[number][1:] + wide[number][:-1]) / 2, values(np.float32, 1003, -70000, 70000)])
    out = cast(kernels, between, "float16", np.empty(between.size, np.float16))
    assert np.array_equal(out, between.astype(np.float16), equal_nan=True)
    signed = ~np.isnan(between)
    assert np.array_equal(np.signbit(out[signed]), np.signbit(between[signed]))


@quiet
def test_brain_floats_round_to_even(kernels: Kernels, isa: str):
    x = np.concatenate([special(np.float32), values(np.float32, 1001, -1e4, 1e4), np.float32([1 + 2**-8, 1 + 3 * 2**-8])])
    out = cast(kernels, x, "bfloat16", np.empty(x.size, np.uint16))
    back = cast(kernels, out, "float32", np.empty(x.size, np.float32), 11)
    assert np.array_equal(np.isnan(back), np.isnan(x))
    finite = np.isfinite(back) & np.isfinite(x)
    steps = np.spacing(np.abs(x[finite]).astype(np.float64).astype(np.float32)).astype(np.float64) * 2**16
    assert (np.abs(back[finite].astype(np.float64) - x[finite]) <= steps / 2).all()
    assert back[-2] == 1
    assert back[-1] == np.float32(1 + 4 * 2**-8)


@pytest.mark.parametrize(("source", "target"), [(np.float32, np.float64), (np.float64, np.float32), (np.float32, np.int64),
                                                (np.float64, np.int64), (np.float32, bool), (np.float64, bool),
                                                (np.int64, np.float32), (np.int64, np.float64), (bool, np.float32),
                                                (bool, np.int64), (np.int64, bool)])
def test_a_cast_is_numpy_s(kernels: Kernels, isa: str, source: type, target: type):
    for n in SIZES:
        x = np.round(values(np.float64, n), 1).astype(source)
        out = guarded((n,), target)
        assert np.array_equal(checked(cast(kernels, x, np.dtype(target).name, out)), x.astype(target)), n
