"""The native loops of normalisations, losses, scans and choices against the array forms that say what they do."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import claygrad
from claygrad.native import array_rows as native
from claygrad.ops._registry import REGISTRY

DTYPES = ["float32", "float64"]
FUNCTIONS = ["norm", "layer_norm", "variance", "cross_entropy", "cross_entropy_backward", "running_sum", "where", "rows_at",
             "add_rows"]

pytestmark = pytest.mark.usefixtures("isa")


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[list[Any], list[Any]]]:
    """The results of a forward by its kernel, which must have run, and by arrays."""
    def run(name: str, *args: Any, **options: Any) -> tuple[list[Any], list[Any]]:
        ran = []

        def spy(function: Callable[..., Any]) -> Callable[..., Any]:
            def call(*a: Any, **k: Any) -> Any:
                made = function(*a, **k)
                ran.append(made is not None and made is not False)
                return made
            return call
        forward = REGISTRY[name].fn
        with monkeypatch.context() as patch, np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            for function in FUNCTIONS:
                patch.setattr(native, function, spy(getattr(native, function)))
            fast = forward(np, *args, **options)
            assert ran.count(True) == len(ran) > 0, f"{name}: no kernel ran"
            for function in FUNCTIONS:
                patch.setattr(native, function, lambda *a, **k: None)
            plain = forward(np, *args, **options)
        return tuple(list(x) if isinstance(x, tuple) else [x] for x in (fast, plain))
    return run


def draw(dtype: str, *shape: int, seed: int = 0, shift: float = 0.5) -> Any:
    return (np.random.default_rng(seed).standard_normal(shape) + shift).astype(dtype)


def close(results: tuple[list[Any], list[Any]], dtype: str, factor: float = 1.0) -> None:
    """Equal up to rounding, against the largest number of each result."""
    eps = np.finfo(dtype).eps * 40 * factor
    for k, (got, want) in enumerate(zip(*results, strict=True)):
        assert (got.shape, got.dtype) == (want.shape, want.dtype), f"result {k}"
        size = np.max(np.abs(want[np.isfinite(want)]), initial=1.0) if want.dtype.kind == "f" else 1
        np.testing.assert_allclose(got, want, rtol=eps, atol=eps * size, err_msg=f"result {k}")


# --- normalisation -----------------------------------------------------------------------------------------------
ROWS = [(1, 2), (3, 5), (2, 16), (33, 17), (65, 7), (5, 2100), (40, 513)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", ROWS, ids=str)
@pytest.mark.parametrize("scaled", [True, False])
def test_layer_and_rms_norm(shape: tuple[int, int], dtype: str, scaled: bool, both: Any):
    x, g, n = draw(dtype, *shape), draw(dtype, *shape, seed=1), shape[1:]
    weight, bias = (draw(dtype, *n, seed=2), draw(dtype, *n, seed=3)) if scaled else (None, None)
    results = both("native_layer_norm", x, n, weight, bias, 1e-5)
    close(results, dtype, 4)
    _, mean, rstd = results[1]
    for needs in ((True, scaled, scaled), (False, scaled, True), (True, False, False)):
        close(both("native_layer_norm_backward", g, x, n, mean, rstd, weight, 1e-5, needs), dtype, 100)
    results = both("scaled_by_root", x, n, weight, 1e-5)
    close(results, dtype, 4)
    close(both("rms_backward", g, x, n, results[1][1], weight, 1e-5, (True, scaled)), dtype, 100)


IMAGES = [(2, 6, 1), (33, 6, 1), (40, 600, 1), (4, 6, 3), (3, 12, 49), (20, 6, 16), (2, 6, 1030)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", IMAGES, ids=str)
@pytest.mark.parametrize("scaled", [True, False])
def test_batch_and_group_norm(shape: tuple[int, int, int], dtype: str, scaled: bool, both: Any):
    examples, channels, places = shape
    x, g = draw(dtype, *shape), draw(dtype, *shape, seed=1)
    weight, bias = (draw(dtype, channels, seed=2), draw(dtype, channels, seed=3)) if scaled else (None, None)
    given = draw(dtype, channels, seed=4), draw(dtype, channels, seed=5) ** 2 + dtype_one(dtype)
    results = both("per_channel", x, weight, bias, None, None, True, 1e-5)
    close(results, dtype, 40)
    close(([both("per_channel", x, weight, bias, *given, False, 1e-5)[0][0]],
           [both("per_channel", x, weight, bias, *given, False, 1e-5)[1][0]]), dtype, 4)
    mean, rstd = results[1][1:3]
    for training in (True, False):
        for needs in ((True, scaled, scaled), (False, True, True), (True, False, False)):
            close(both("batch_norm_backward", g, x, mean, rstd, weight, training, 1e-5, needs), dtype, 400)
    sizes = examples, channels, places, 3
    results = both("native_group_norm", x, weight, bias, *sizes, 1e-5)
    close(results, dtype, 400)
    close(both("group_norm_backward", g, x, *results[1][1:], weight, *sizes, 1e-5, (True, scaled)), dtype, 4000)


def dtype_one(dtype: str) -> Any:
    return np.ones((), dtype)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_norms_of_values_at_the_edges(value: float, both: Any):
    x = draw("float32", 6, 20)
    x[2, 3] = value
    for name, args in (("native_layer_norm", (x, (20,), None, None, 1e-5)), ("scaled_by_root", (x, (20,), None, 1e-5)),
                       ("per_channel", (x, None, None, None, None, True, 1e-5))):
        for got, want in zip(*both(name, *args), strict=True):
            np.testing.assert_array_equal(np.isnan(got), np.isnan(want), name)


# --- variance ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "dim"), [((7,), None), ((3, 5), (1,)), ((3, 5), (0,)), ((40, 600), (0,)), ((2, 33, 17), (1,)),
                                            ((5, 3000), (1,)), ((300001,), None), ((2, 3, 4), (1, 2)), ((1,), None)])
def test_variance_and_mean(shape: tuple[int, ...], dim: tuple[int, ...] | None, dtype: str, both: Any):
    x = draw(dtype, *shape, shift=3)
    for correction in (0, 1, 0.5, 9):
        close(both("variance_and_mean", x, dim, True, correction), dtype, 4)


# --- cross entropy -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (32, 10), (3, 16), (7, 17), (5, 2100)], ids=str)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy(shape: tuple[int, int], dtype: str, reduction: str, both: Any):
    x = draw(dtype, *shape) * 30
    target = np.random.default_rng(1).integers(0, shape[1], shape[0])
    for ignored in (-100, int(target[0])):
        results = both("rows_loss", x, target, reduction, ignored)
        close(results, dtype)
        g = np.asarray(draw(dtype, *results[1][0].shape))
        close(both("rows_backward", g, x, target, results[1][1], reduction, ignored), dtype, 4)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30, -1e30])
def test_cross_entropy_at_the_edges(value: float, both: Any):
    x = draw("float32", 4, 20)
    x[1, 3] = x[2, 5] = value
    x[3] = value
    target = np.array([0, 3, 6, -1])
    fast, plain = both("rows_loss", x, target, "none", -1)
    np.testing.assert_allclose(fast[0], plain[0], rtol=1e-6)
    assert fast[0][3] == 0
    fast, plain = both("rows_backward", np.ones(4, "float32"), x, target, plain[1], "none", -1)
    np.testing.assert_allclose(fast[0], plain[0], atol=1e-6)
    assert not fast[0][3].any()


def test_a_class_that_there_is_not_is_refused():
    for wrong in (4, -1):
        with pytest.raises(IndexError, match=rf"Target {wrong} is out of bounds"):
            native.cross_entropy(np.ones((2, 4)), np.array([0, wrong]), "mean", -100)


# --- running sums ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [*DTYPES, "int64"])
@pytest.mark.parametrize(("shape", "axis"), [((1,), 0), ((7,), 0), ((3, 8), 1), ((9, 17), 1), ((5, 4), 0), ((2, 9, 700), 1),
                                             ((3, 5000), 1), ((0, 3), 0), ((3, 0), 0)])
def test_running_sums(shape: tuple[int, ...], axis: int, dtype: str, both: Any):
    x = (draw("float64", *shape) * 100).astype(dtype)
    for name in ("cumsum", "cumsum_from_end"):
        results = both(name, x, axis, **({"dtype": None} if name == "cumsum" else {}))
        if dtype == "int64":
            np.testing.assert_array_equal(*[r[0] for r in results])
        else:
            close(results, dtype)


def test_running_sums_at_the_edges():
    x = np.zeros((2, 20), "float32")
    x[0, 9], x[1, 4], x[1, 12] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        want, back = np.cumsum(x.astype(float), 1), np.cumsum(x.astype(float)[:, ::-1], 1)[:, ::-1]
    np.testing.assert_array_equal(native.running_sum(x, 1), want)
    np.testing.assert_array_equal(native.running_sum(x, 1, True), back)


# --- choices -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [*DTYPES, "int64", "int32", "int16", "uint8", "bool", "complex64"])
@pytest.mark.parametrize("n", [1, 7, 16, 33, 1000])
def test_where(n: int, dtype: str):
    x, y = ((draw("float64", n, seed=k) * 9).astype("int8").astype(dtype) for k in (0, 1))
    mask = draw("float64", n, seed=2) > 0.5
    for a in (x, x[0:1].reshape(())):
        for b in (y, y[0:1].reshape(())):
            got = native.where(mask, a, b)
            assert got.dtype == x.dtype
            np.testing.assert_array_equal(got, np.where(mask, a, b))


def test_where_takes_only_its_own_cases():
    x, mask = np.ones((3, 4)), np.ones((3, 4), bool)
    assert native.where(mask, x, x.astype("float32")) is None
    assert native.where(mask[0], x, x) is None
    assert native.where(mask.T, x.T, x.T) is None
    assert native.where(mask.view("uint8"), x, x) is None
    assert native.where(mask, x.astype(object), x.astype(object)) is None


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("count", "width"), [(1, 1), (5, 3), (4, 17), (50, 128)])
def test_rows_taken_and_added(count: int, width: int, dtype: str, both: Any):
    table, index = draw(dtype, count, width), np.random.default_rng(3).integers(0, count, (6, 7))
    fast, plain = both("embedding", table, index)
    np.testing.assert_array_equal(fast[0], plain[0])
    g = draw(dtype, 6, 7, width)
    close(both("embedding_dense_backward", g, index, count, 0, False), dtype)
    assert native.add_rows(g.reshape(-1, width), np.full(42, count), count) is None
    assert native.rows_at(table, np.array([0, -1])) == 1


# --- threads -----------------------------------------------------------------------------------------------------
def test_results_do_not_depend_on_the_number_of_threads(kernels: Any):
    x, g = draw("float32", 700, 900), draw("float32", 700, 900, seed=1)
    target, numbers = np.arange(700) % 900, np.random.default_rng(2).integers(0, 300, 700)
    n = (900,)

    def run(name: str, *args: Any) -> list[Any]:
        made = REGISTRY[name].fn(np, *args)
        return list(made) if isinstance(made, tuple) else [made]

    def everything() -> list[Any]:
        layer = run("native_layer_norm", x, n, None, None, 1e-5)
        loss = run("rows_loss", x, target, "mean", -100)
        return [*layer, *loss, *run("native_layer_norm_backward", g, x, n, *layer[1:], x[0], 1e-5, (True, True, True)),
                *run("rows_backward", loss[0], x, target, loss[1], "mean", -100), *native.variance(x, 1, x.size, 1, 1),
                *native.variance(x, 1, 700, 900, 1), native.running_sum(x, 0), native.running_sum(x, 1),
                native.add_rows(x, numbers, 300), *[part.numpy() for part in claygrad.from_numpy(x).sort()],
                *run("per_channel", x.reshape(70, 10, 900), None, None, None, None, True, 1e-5)]
    before, made = kernels.max_threads(), []
    for threads in (1, 2, 3):
        kernels.set_max_threads(threads)
        made.append(everything())
    kernels.set_max_threads(before)
    for other in made[1:]:
        for k, (one, more) in enumerate(zip(made[0], other, strict=True)):
            assert one.tobytes() == more.tobytes(), f"result {k}"


@pytest.mark.parametrize("dim", [0, 1])
def test_a_softmax_keeps_the_smallest_numbers(dim: int):
    x = claygrad.zeros(40, 40)
    x[7, 5] = -95.0
    found = claygrad.softmax(x, dim)[7, 5].item()
    assert found == pytest.approx(float(np.exp(-95.0)) / 39, rel=0.05)      # subnormal: a digit or two are left
