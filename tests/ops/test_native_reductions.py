"""Reductions, choices along an axis and running results as the core computes them, against their declarations over NumPy."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy
import pytest

import claygrad
from claygrad.ops._registry import REGISTRY as SAID

DTYPES = ["float32", "float64", "int64"]
SHAPES = [(), (1,), (7,), (70,), (3000,), (5, 1), (1, 5), (4, 33), (33, 4), (2, 3, 4), (3, 1, 5), (2, 600), (70, 66), (5, 5, 5),
          (2100, 3), (3, 2100)]
pytestmark = pytest.mark.filterwarnings("ignore")


def spec(key: str, array, *args):
    """What the declaration makes of an array."""
    with numpy.errstate(all="ignore"):
        return SAID[key].fn(numpy, array, *args)


def drawn(dtype: str, shape: tuple) -> Iterator[numpy.ndarray]:
    """Few different numbers, so that some are equal; then with zeros of both signs, infinities, and NaN here and there."""
    rng = numpy.random.default_rng(len(shape) * 100 + math.prod(shape))
    x = numpy.asarray(rng.integers(-9, 9, shape)).astype(dtype)
    yield x
    yield numpy.asarray(rng.standard_normal(shape) * 100).astype(dtype)
    if dtype != "int64":
        y = numpy.where(rng.random(shape) < 0.3, rng.choice([0.0, -0.0, numpy.inf, -numpy.inf], shape), x).astype(dtype)
        yield y
        yield numpy.where(rng.random(shape) < 0.15, numpy.nan, y).astype(dtype)


def layouts(array: numpy.ndarray) -> Iterator[claygrad.Tensor]:
    """The same numbers in rows, in columns, and with gaps between them."""
    x = claygrad.tensor(array)
    yield x
    if x.ndim > 1:
        yield x.mT.contiguous().mT
    if x.ndim > 2:
        yield x.permute(2, 0, 1).contiguous().permute(1, 2, 0)
    if x.ndim:
        wide = claygrad.zeros((*x.shape[:-1], 2 * x.shape[-1]), dtype=x.dtype)
        wide[..., ::2] = x
        yield wide[..., ::2]


def axes_of(shape: tuple) -> list[int]:
    return [*range(-1, len(shape))] if shape else [0, -1]


def same(found, wanted, close: float = 0.0) -> None:
    wanted = numpy.asarray(wanted)
    assert tuple(found.shape) == wanted.shape
    assert str(found.dtype).rpartition(".")[2] == wanted.dtype.name
    assert found.is_contiguous()
    if close:
        numpy.testing.assert_allclose(found.numpy(), wanted, rtol=close, atol=close)
    else:
        assert numpy.array_equal(found.numpy(), wanted, equal_nan=wanted.dtype.kind == "f")


def cases(dtype: str) -> Iterator[tuple[numpy.ndarray, claygrad.Tensor]]:
    for shape in SHAPES:
        for array in drawn(dtype, shape):
            for x in layouts(array):
                yield array, x


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_along_an_axis(name, dtype):
    for array, x in cases(dtype):
        for dim in axes_of(array.shape):
            for keepdim in (False, True):
                values, places = spec(f"{name}_along", array, dim, keepdim)
                found = getattr(x, name)(dim, keepdim)
                same(found.indices, places)
                same(found.values, values)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_of_extremes(name, dtype):
    for array, x in cases(dtype):
        same(getattr(x, name)(), spec(name, array, None, False))
        for dim in axes_of(array.shape):
            axes = (dim % array.ndim,) if array.ndim else ()
            same(getattr(x, name)(dim), spec(name, array, axes, False))
            same(getattr(x, name)(dim, True), spec(name, array, axes, True))


@pytest.mark.parametrize("name", ["max", "min"])
def test_the_extreme_of_many_is_found_by_parts(name):
    for at in (0, 300_000, 399_999):
        x = claygrad.zeros(400_000)
        x[at] = 1 if name == "max" else -1
        x[-1] = x[at].item()
        assert getattr(x, "arg" + name)().item() == at
        x[at] = math.nan
        assert getattr(x, "arg" + name)().item() == at


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_medians(name, dtype):
    for array, x in cases(dtype):
        same(getattr(x, name)(), spec(f"{name}_of_all", array))
        for dim in axes_of(array.shape):
            values, places = spec(f"{name}_along", array, dim, False)
            found = getattr(x, name)(dim)
            same(found.values, values)
            same(found.indices, places)


@pytest.mark.parametrize("dtype", DTYPES)
def test_ranks_and_modes(dtype):
    for array, x in cases(dtype):
        for dim in axes_of(array.shape):
            n = array.shape[dim] if array.ndim else 1
            for k in {1, (n + 1) // 2, n}:
                for found, wanted in zip(x.kthvalue(k, dim, True), spec("kthvalue", array, k, dim, True), strict=True):
                    same(found, wanted)
            for found, wanted in zip(x.mode(dim), spec("mode", array, dim, False), strict=True):
                same(found, wanted)


def test_a_rank_among_many_equal_keys():
    """Digits that many share are told apart by the next ones, and in the end by their places."""
    rng = numpy.random.default_rng(3)
    for array in (numpy.ones(5000, "float32"), numpy.repeat(numpy.float32([1, 1.0000001, -1]), 3000),
                  rng.standard_normal(100_000).astype("float64"), rng.integers(0, 3, 50_000)):
        order = numpy.argsort(array, kind="stable")
        x = claygrad.tensor(array)
        for k in (1, 2, 1000, 2500, len(array) - 1, len(array)):
            value, place = x.kthvalue(k)
            assert place.item() == order[k - 1]
            assert value.item() == array[order[k - 1]]
        assert x.median().item() == array[order[(len(array) - 1) // 2]]


@pytest.mark.parametrize("dtype", DTYPES)
def test_orders(dtype):
    for array, x in cases(dtype):
        if not array.ndim:
            continue
        for dim in axes_of(array.shape):
            n = array.shape[dim]
            for large in (False, True):
                order = (n - 1 - numpy.flip(numpy.argsort(numpy.flip(array, dim), dim, kind="stable"), dim) if large
                         else numpy.argsort(array, dim, kind="stable"))
                values, places = x.sort(dim, large)
                assert numpy.array_equal(places.numpy(), order)
                assert numpy.array_equal(values.numpy(), numpy.take_along_axis(array, order, dim), equal_nan=dtype != "int64")
                assert numpy.array_equal(x.argsort(dim, large).numpy(), order)
                for k in {0, 1, n // 2, n}:
                    few = numpy.take(order, range(k), dim)
                    values, places = x.topk(k, dim, large)
                    same(places, few)
                    same(values, numpy.take_along_axis(array, few, dim))


REDUCED = {"any": ("any", 0), "all": ("all", 0), "count_nonzero": ("count_nonzero", 0), "amax": ("amax", 0), "amin": ("amin", 0),
           "nansum": ("nansum", 1e-4), "sum": ("sum", 1e-4)}


@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
@pytest.mark.parametrize("name", REDUCED)
def test_reductions_over_any_axes(name, dtype):
    key, close = REDUCED[name]
    for shape in SHAPES:
        arrays = list(drawn("int64" if dtype == "bool" else dtype, shape))
        for array in ([a > 3 for a in arrays] + [numpy.zeros(shape, bool)] if dtype == "bool" else [*arrays, numpy.zeros_like(arrays[0])]):
            with numpy.errstate(all="ignore"):
                array = numpy.asarray(array)
            axes = [None, *({(i,) for i in range(array.ndim)}), *({(0, array.ndim - 1)} if array.ndim > 1 else ()),
                    *({(2, 1)} if array.ndim > 2 else ())]
            for x in layouts(array):
                for dim in axes:
                    keeps = (False,) if name == "count_nonzero" else (False, True)
                    for keep in keeps:
                        wanted = spec(key, array.astype("int64") if dtype == "bool" and name in ("sum", "nansum") else array, dim,
                                      *(() if name == "count_nonzero" else (keep,)))
                        same(getattr(x, name)(dim, *(() if name == "count_nonzero" else (keep,))), wanted, close if dtype[0] == "f" else 0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_both_extremes(dtype):
    for array, x in cases(dtype):
        for dim in (None, *range(array.ndim)):
            low, high = spec("aminmax", array) if dim is None else SAID["aminmax"].fn(numpy, array, dim=(dim,), keepdim=True)
            found = x.aminmax() if dim is None else x.aminmax(dim=dim, keepdim=True)
            same(found.min, low)
            same(found.max, high)


@pytest.mark.parametrize("dtype", DTYPES[:2])
def test_norms(dtype):
    close = 1e-5 if dtype == "float32" else 1e-12
    for array, x in cases(dtype):
        for p in (0, 1, 2, 3, 0.5, -1, math.inf, -math.inf):
            for dim in (None, *((i,) for i in range(array.ndim))):
                same(claygrad.linalg.vector_norm(x, p, dim), spec("vector_norm", array, p, dim), close)
                if dim is not None:
                    same(x.norm(p, dim[0], True), spec("vector_norm", array, p, dim, True), close)


@pytest.mark.parametrize("dtype", DTYPES[:2])
@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean"])
def test_moments(name, dtype):
    key = {"var": "variance", "std": "deviation", "var_mean": "variance_and_mean", "std_mean": "deviation_and_mean"}[name]
    close = 1e-5 if dtype == "float32" else 1e-12
    for array, x in cases(dtype):
        if not numpy.isfinite(array).all():
            continue
        for dim in (None, *((i,) for i in range(array.ndim)), *([(0, 2)] if array.ndim > 2 else [])):
            for correction in (0, 1, 1.5):
                found = getattr(claygrad, name)(x, dim, correction=correction, keepdim=True)
                wanted = spec(key, array, dim, True, correction)
                for a, b in zip(found, wanted, strict=True) if name.endswith("mean") else [(found, wanted)]:
                    same(a, b, close)
    x = claygrad.tensor([1e30, -1e30, 3e30])
    assert x.std().isfinite()
    assert x.var().isinf()


@pytest.mark.parametrize("dtype", DTYPES[:2])
def test_sums_of_exponentials(dtype):
    for array, x in cases(dtype):
        for dim in (*((i,) for i in range(array.ndim)), *([(0, 2)] if array.ndim > 2 else [])):
            top = numpy.max(array, axis=dim, keepdims=True)
            with numpy.errstate(all="ignore"):
                wanted = numpy.log(numpy.exp(array - numpy.where(numpy.isfinite(top), top, 0)).sum(dim, keepdims=True))
                wanted = wanted + numpy.where(numpy.isfinite(top), top, 0)
            same(x.logsumexp(dim, True), wanted.astype(dtype), 1e-5 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
def test_running_results(dtype):
    for array, x in cases(dtype):
        if array.size > 500 and dtype != "int64":
            continue
        for dim in axes_of(array.shape):
            same(x.cumsum(dim), spec("cumsum", array, dim), 1e-5 if dtype == "float32" else 1e-12)
            with numpy.errstate(all="ignore"):
                wanted = spec("cumprod", array, dim)
            same(x.cumprod(dim), wanted, 1e-5 if dtype == "float32" else 1e-12)
            for name in ("cummax", "cummin"):
                for found, wanted in zip(getattr(x, name)(dim), spec(name, array, dim), strict=True):
                    same(found, wanted)


@pytest.mark.parametrize("name", ["max", "min", "median", "nanmedian", "mode", "kthvalue", "cummax"])
def test_gradients_go_to_the_places(name):
    for shape in ((), (5,), (3, 4), (2, 3, 4)):
        for dim in axes_of(shape):
            x = claygrad.randn(shape, dtype=claygrad.float64, requires_grad=True)
            args = (1, dim) if name == "kthvalue" else (dim,)
            values, places = getattr(x, name)(*args)
            g = claygrad.randn(values.shape, dtype=claygrad.float64, requires_grad=True)
            slope, = claygrad.autograd.grad(values, x, g, create_graph=True)
            if not shape:
                assert slope.item() == g.item()
                continue
            kept = name == "cummax"
            wanted = claygrad.zeros_like(x).scatter_add(dim, places if kept else places.unsqueeze(dim), g if kept else g.unsqueeze(dim))
            assert slope.equal(wanted)
            again, = claygrad.autograd.grad(slope, g, x.detach())
            picked = x.detach().gather(dim, places if kept else places.unsqueeze(dim))
            assert again.equal(picked if kept else picked.squeeze(dim))


@pytest.mark.parametrize("dtype", DTYPES)
def test_distinct_values(dtype):
    for array, x in cases(dtype):
        values, inverse, counts = claygrad.unique(x, return_inverse=True, return_counts=True)
        wanted = numpy.unique(array, return_inverse=True, return_counts=True, equal_nan=False)
        assert numpy.array_equal(values.numpy(), wanted[0], equal_nan=dtype != "int64")
        assert numpy.array_equal(counts.numpy(), wanted[2])
        known = array == array
        assert numpy.array_equal(inverse.numpy()[known], wanted[1].reshape(array.shape)[known])
        assert values.equal(claygrad.unique(x)) or numpy.isnan(array).any()
        found = claygrad.unique_consecutive(x, return_inverse=True, return_counts=True)
        for a, b in zip(found, spec("unique_neighbours", array, True, True, None), strict=True):
            assert tuple(a.shape) == b.shape
            assert numpy.array_equal(a.numpy(), b, equal_nan=b.dtype.kind == "f")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_running_sums_of_exponentials(dtype):
    far = numpy.array([[1e30, -1e30, 3, -700, 700], [numpy.inf, 1, -numpy.inf, numpy.inf, 2], [-numpy.inf, -numpy.inf, -1e3, 5, -0.0],
                       [1, numpy.nan, 2, numpy.inf, -numpy.inf]], dtype)
    for array, x in [*cases(dtype), (far, claygrad.tensor(far))]:
        for dim in axes_of(array.shape):
            if array.ndim and array.size < 500:
                with numpy.errstate(all="ignore"):
                    wanted = numpy.logaddexp.accumulate(array, axis=dim, dtype="float64").astype(dtype)
                same(x.logcumsumexp(dim), wanted, 1e-4 if dtype == "float32" else 1e-13)


def test_norms_of_matrices():
    for shape in ((3, 4), (2, 3, 4), (4, 1, 3)):
        x = claygrad.randn(shape, dtype=claygrad.float64)
        for dim in ((-2, -1), (0, 1), (1, 0)):
            for keep in (False, True):
                wanted = numpy.sqrt((x.numpy() ** 2).sum(tuple(d % x.ndim for d in dim), keepdims=keep))
                same(claygrad.linalg.matrix_norm(x, "fro", dim, keep), wanted, 1e-12)
    with pytest.raises(IndexError):
        claygrad.linalg.matrix_norm(x, "fro", (0, 5))
    with pytest.raises(RuntimeError):
        claygrad.linalg.matrix_norm(x, "fro", (0, -3))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("threads", [1, 2])
def test_sums_of_complex_numbers(dtype, threads):
    draw, before = numpy.random.default_rng(3), claygrad.get_num_threads()
    near = 1e-5 if dtype == "complex64" else 1e-13
    claygrad.set_num_threads(threads)
    try:
        for shape in ((), (1,), (7,), (64,), (1001,), (130_003,), (3, 5), (1, 129), (129, 1), (37, 700), (2, 3, 65), (2, 70_000), (600, 300)):
            array = numpy.asarray(draw.standard_normal(shape) + 1j * draw.standard_normal(shape), dtype)
            size = max(array.size, 1) ** 0.5
            for x, y in ((claygrad.tensor(array), array), (claygrad.tensor(array).mT, array.mT) if len(shape) > 1 else (None, None)):
                for dim in (None, *range(-len(shape), len(shape))) if x is not None else ():
                    for keep in (False, True) if dim is not None else (False,):
                        at = {} if dim is None else {"dim": dim, "keepdim": keep}
                        of = {} if dim is None else {"axis": dim, "keepdims": keep}
                        numpy.testing.assert_allclose(x.sum(**at).numpy(), y.astype("complex128").sum(**of), near, near * size)
                        numpy.testing.assert_allclose(x.mean(**at).numpy(), y.astype("complex128").mean(**of), near, near)
        odd = numpy.array([[complex(numpy.inf, 1), 2, complex(0, -numpy.inf)], [1, complex(numpy.nan, 2), 3j], [1e-40, -0.0, 1]], dtype)
        for dim in (0, 1):
            assert numpy.array_equal(claygrad.tensor(odd).sum(dim).numpy(), odd.sum(dim), equal_nan=True)
        assert claygrad.zeros(0, 3, dtype=getattr(claygrad, dtype)).sum(0).tolist() == [0, 0, 0]
    finally:
        claygrad.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int64", "bool"])
def test_the_dtype_that_there_is_changes_nothing(dtype):
    x, kind = claygrad.tensor(numpy.random.default_rng(8).integers(-3, 4, (5, 70)).astype(dtype)), getattr(claygrad, dtype)
    calls = [lambda x, **k: x.sum(1, **k), lambda x, **k: x.sum(**k)]
    if kind.is_floating_point:
        calls += [lambda x, **k: x.mean(0, **k), lambda x, **k: x.softmax(1, **k), lambda x, **k: x.log_softmax(0, **k),
                  lambda x, **k: claygrad.linalg.vector_norm(x, 2, 1, **k), lambda x, **k: x.nansum(1, **k)]
    for call in calls:
        found = call(x, dtype=kind)
        assert found.dtype is kind
        assert claygrad.equal(found, call(x).to(kind))


@pytest.mark.parametrize("name", ["sum", "amax", "mean"])
def test_what_is_too_large_to_be_copied_is_reduced_in_parts(name):
    x = claygrad.arange(3 * 2048 * 2048).remainder(1009).float().reshape(3, 2048, 2048)
    for cut, axes in ((x[:, :, ::2].unfold(-1, 2, 1), (-1,)), (x.transpose(0, 2)[::2], (1,)), (x[:, ::2, ::2].transpose(1, 2), (0, 2))):
        assert cut.numel() > 1 << 20
        expected = getattr(cut.numpy(), name.replace("amax", "max"))(axis=axes, **({} if name == "amax" else {"dtype": "float64"}))
        for keep in (False, True):
            found = getattr(cut, name)(axes, keepdim=keep)
            assert tuple(found.shape) == tuple(expected.shape if not keep else numpy.expand_dims(expected, axes).shape)
            assert numpy.allclose(found.numpy().reshape(expected.shape), expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "uint8"])
@pytest.mark.parametrize("columns", [2, 3, 5, 16, 32])
def test_extremes_of_narrow_columns(columns, dtype):
    for seed, (outer, n, values) in enumerate([(1, 1024, 3), (1, 1031, 250), (2, 5003, 250), (9, 3000, 3), (1, 200_000, 250)]):
        draw = numpy.random.default_rng(seed)
        x = draw.integers(0, values, (outer, n, columns)).astype(dtype)
        if dtype.startswith("f") and seed % 2:
            x[draw.random(x.shape) < 1e-3] = numpy.nan
        for name, place in (("max", numpy.argmax), ("min", numpy.argmin)):
            found, at = getattr(claygrad.tensor(x), name)(1)
            expected = place(x, axis=1)
            assert numpy.array_equal(at.numpy(), expected)
            best = numpy.take_along_axis(x, expected[:, None], 1)[:, 0]
            assert numpy.array_equal(found.numpy(), best, equal_nan=dtype.startswith("f"))


@pytest.mark.parametrize("shape", [(300, 40), (2048, 3), (7, 129), (5, 3000), (1, 300_000)])
@pytest.mark.parametrize("axis", [0, 1])
def test_squares_of_single_precision_are_added_in_double(shape, axis):
    x = (numpy.random.default_rng(5).standard_t(1.5, shape) + 3).astype(numpy.float32)
    if x.shape[axis] == 1:
        return
    want = x.astype(numpy.float64).var(axis, ddof=1)
    found = claygrad.tensor(x).var(axis).numpy()
    assert (abs(found - want) <= 0.51 * numpy.spacing(want.astype(numpy.float32))).all()
    root = claygrad.tensor(x).std(axis).numpy()
    assert (abs(root - numpy.sqrt(want)) <= numpy.spacing(root)).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("more", [0, 1, 2047, 2048, 40_000, 262_147])
def test_rows_beyond_the_caches_are_summed_to_the_end(dtype, more):
    n = (12 << 20) // numpy.dtype(dtype).itemsize + more
    array = numpy.zeros(n, dtype)
    array[::1021] = 1.5
    array[-1] = 3                                              # sums of these are exact, in any order
    x = claygrad.from_numpy(array)
    assert x.sum().item() == array.astype("float64").sum()
    assert x.reshape(1, -1).sum(1).item() == array.astype("float64").sum()
    factors = numpy.ones(n, dtype)
    factors[[0, n // 4, n // 2, n - 2, n - 1]] = [2, 0.5, 4, 8, 0.25]
    assert claygrad.from_numpy(factors).prod().item() == 8
    factors[n - 1] = numpy.nan
    assert math.isnan(claygrad.from_numpy(factors).prod().item())
