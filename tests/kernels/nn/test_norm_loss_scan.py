"""The native loops of normalisations, losses, scans and choices against the references."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import claygrad
from claygrad.ops._registry import REGISTRY
from tests.support.forms import called, native, reference

DTYPES = ["float32", "float64"]

pytestmark = pytest.mark.usefixtures("isa")


def both(name: str, *args: Any, run: Any = native, **options: Any) -> tuple[list[Any], list[Any]]:
    """The results of the native form, which must have run, and of the reference."""
    operation = REGISTRY[name].op
    with warnings.catch_warnings(action="ignore"):
        made = run(operation, *args, **options), reference(operation, *args, **options)
    return tuple([np.asarray(y) for y in x] if isinstance(x, tuple) else [np.asarray(x)] for x in made)


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
def test_layer_and_rms_norm(shape: tuple[int, int], dtype: str, scaled: bool):
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
def test_batch_and_group_norm(shape: tuple[int, int, int], dtype: str, scaled: bool):
    examples, channels, places = shape
    x, g = draw(dtype, *shape), draw(dtype, *shape, seed=1)
    weight, bias = (draw(dtype, channels, seed=2), draw(dtype, channels, seed=3)) if scaled else (None, None)
    given = draw(dtype, channels, seed=4), draw(dtype, channels, seed=5) ** 2 + dtype_one(dtype)
    results = both("per_channel", x, weight, bias, None, None, True, 1e-5)
    close(results, dtype, 40)
    close(tuple(made[:1] for made in both("per_channel", x, weight, bias, *given, False, 1e-5)), dtype, 4)
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
def test_norms_of_values_at_the_edges(value: float):
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
def test_variance_and_mean(shape: tuple[int, ...], dim: tuple[int, ...] | None, dtype: str):
    x = draw(dtype, *shape, shift=3)
    for correction in (0, 1, 0.5, 9):
        close(both("variance_and_mean", x, dim, True, correction, run=called if correction == 9 or x.size == 1 else native), dtype, 4)


# --- cross entropy -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (32, 10), (3, 16), (7, 17), (5, 2100)], ids=str)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy(shape: tuple[int, int], dtype: str, reduction: str):
    x = draw(dtype, *shape) * 30
    target = np.random.default_rng(1).integers(0, shape[1], shape[0])
    for ignored in (-100, int(target[0])):
        results = both("rows_loss", x, target, reduction, ignored)
        close(results, dtype)
        g = np.asarray(draw(dtype, *results[1][0].shape))
        close(both("rows_backward", g, x, target, results[1][1], reduction, ignored), dtype, 4)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30, -1e30])
def test_cross_entropy_at_the_edges(value: float):
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
            called(REGISTRY["rows_loss"].op, np.ones((2, 4)), np.array([0, wrong]), "mean", -100)


# --- running sums ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [*DTYPES, "int64"])
@pytest.mark.parametrize(("shape", "axis"), [((1,), 0), ((7,), 0), ((3, 8), 1), ((9, 17), 1), ((5, 4), 0), ((2, 9, 700), 1),
                                             ((3, 5000), 1), ((0, 3), 0), ((3, 0), 0)])
def test_running_sums(shape: tuple[int, ...], axis: int, dtype: str):
    x = (draw("float64", *shape) * 100).astype(dtype)
    for name in ("cumsum", "cumsum_from_end"):
        results = both(name, x, axis, run=native if x.size else called, **({"dtype": None} if name == "cumsum" else {}))
        if dtype == "int64":
            np.testing.assert_array_equal(*[r[0] for r in results])
        else:
            close(results, dtype)


def test_running_sums_at_the_edges():
    x = np.zeros((2, 20), "float32")
    x[0, 9], x[1, 4], x[1, 12] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        want, back = np.cumsum(x.astype(float), 1), np.cumsum(x.astype(float)[:, ::-1], 1)[:, ::-1]
    np.testing.assert_array_equal(native(claygrad.cumsum, x, 1), want)
    np.testing.assert_array_equal(native(REGISTRY["cumsum_from_end"].op, x, 1), back)


# --- choices -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [*DTYPES, "int64", "int32", "int16", "uint8", "bool", "complex64"])
@pytest.mark.parametrize("n", [1, 7, 16, 33, 1000])
def test_where(n: int, dtype: str):
    x, y = ((draw("float64", n, seed=k) * 9).astype("int8").astype(dtype) for k in (0, 1))
    mask = draw("float64", n, seed=2) > 0.5
    for a in (x, x[0:1].reshape(())):
        for b in (y, y[0:1].reshape(())):
            got = called(claygrad.where, mask, a, b)
            assert got.dtype == x.dtype
            np.testing.assert_array_equal(got, np.where(mask, a, b))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("count", "width"), [(1, 1), (5, 3), (4, 17), (50, 128)])
def test_rows_taken_and_added(count: int, width: int, dtype: str):
    table, index = draw(dtype, count, width), np.random.default_rng(3).integers(0, count, (6, 7))
    fast, plain = both("embedding", table, index)
    np.testing.assert_array_equal(fast[0], plain[0])
    g = draw(dtype, 6, 7, width)
    close(both("embedding_dense_backward", g, index, count, 0, False), dtype)
    with pytest.raises(IndexError, match="index out of range in self"):
        called(claygrad.embedding, table, np.array([0, -1]))


# --- threads -----------------------------------------------------------------------------------------------------
def test_results_do_not_depend_on_the_number_of_threads(kernels: Any):
    x, g = draw("float32", 700, 900), draw("float32", 700, 900, seed=1)
    target, numbers = np.arange(700) % 900, np.random.default_rng(2).integers(0, 300, 700)
    n = (900,)

    def run(name: str, *args: Any) -> list[Any]:
        made = native(REGISTRY[name].op, *args)
        return list(made) if isinstance(made, tuple) else [made]

    def everything() -> list[Any]:
        layer = run("native_layer_norm", x, n, None, None, 1e-5)
        loss = run("rows_loss", x, target, "mean", -100)
        return [*layer, *loss, *run("native_layer_norm_backward", g, x, n, *layer[1:], x[0], 1e-5, (True, True, True)),
                *run("rows_backward", loss[0], x, target, loss[1], "mean", -100), *run("variance_and_mean", x, None, True, 1),
                *run("variance_and_mean", x, (0,), True, 1), native(claygrad.cumsum, x, 0), native(claygrad.cumsum, x, 1),
                *run("embedding_dense_backward", x, numbers, 300, -1, False), *[part.numpy() for part in claygrad.from_numpy(x).sort()],
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
