"""Functions of whole arrays: new arrays, shapes, reductions, searching, sorting, sets, linear algebra, Fourier transforms."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from claygrad import array_api as xp
from tests.array_api.support import (
    ALL,
    COMPLEX,
    FLOATING,
    LIMITED,
    NUMERIC,
    ORDERED,
    REAL,
    WHOLE,
    arrays,
    ask,
    draws,
    equal,
    pairs,
    reference,
    same,
    shapes,
    strict,
)


def _axis(ndim: int, several: bool = True) -> st.SearchStrategy[Any]:
    if not ndim:
        return st.none()
    one = st.integers(-ndim, ndim - 1)
    return st.none() | (one | draws.valid_tuple_axes(ndim) if several else one)


def _kind(name: str | None) -> Any:
    return None if name is None else getattr(xp, name)


# --- new arrays -------------------------------------------------------------------------------------------------
@given(data=st.data())
@LIMITED
def test_creation(data: Any) -> None:
    shape, kind = data.draw(shapes() | st.integers(0, 4)), _kind(data.draw(st.none() | st.sampled_from(ALL)))
    for name in ("zeros", "ones"):
        got = getattr(xp, name)(shape, dtype=kind)
        assert got.dtype == (kind or xp.float32)
        equal(got, getattr(strict, name)(shape, dtype=reference(got.dtype)), name)
    assert xp.empty(shape, dtype=kind).shape == ((shape,) if isinstance(shape, int) else shape)
    x = data.draw(arrays(ALL))
    for name in ("zeros_like", "ones_like"):
        same(name, x, dtype=kind)
    value = data.draw(arrays([x.dtype.name], st.just(()))).item()
    same("full_like", x, value)
    same("full", shape, value, dtype=x.dtype)
    value = data.draw(arrays(["bool", "int64", "float32", "complex64"], st.just(()))).item()
    assert xp.full(shape, value).dtype == {bool: xp.bool, int: xp.int64, float: xp.float32, complex: xp.complex64}[type(value)]
    assert xp.empty_like(x, dtype=kind).shape == x.shape


@given(data=st.data())
@LIMITED
def test_asarray(data: Any) -> None:
    x = data.draw(arrays(ALL))
    equal(xp.asarray(x.tolist(), dtype=x.dtype), strict.reshape(reference(x), x.shape) if x.size else strict.asarray(
        x.tolist(), dtype=reference(x.dtype)), "asarray of lists")
    if x.ndim and x.shape[0]:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            equal(xp.asarray(xp.unstack(x)), reference(x), "asarray of a tuple of arrays")
            equal(xp.asarray(list(xp.unstack(x)), dtype=x.dtype), reference(x), "asarray of a list of arrays")
    for copy in (None, True, False):
        equal(xp.asarray(x, copy=copy), reference(x), "asarray of an array")
        assert not x.size or (xp.asarray(x, copy=copy).data_ptr() == x.data_ptr()) is (copy is not True)
        equal(xp.asarray(x.numpy(), copy=copy), reference(x), "asarray of NumPy's")
    with pytest.raises(ValueError):
        xp.asarray([1, 2], copy=False)
    same("asarray", x, dtype=x.dtype, copy=True)


def test_asarray_of_layouts_that_no_tensor_has() -> None:
    record = numpy.zeros(3, dtype=[("a", "i1"), ("b", "<f8")])
    whole = numpy.arange(12.0).reshape(3, 4)
    for array in (whole[::-1], whole[:, ::-1], whole[::-2, ::2], whole.astype(">f8"), numpy.arange(5, dtype=">i2"), record["b"]):
        want = strict.asarray(array.astype(array.dtype.newbyteorder("=")))
        equal(xp.asarray(array), want, "a copy is made where it is needed")
        equal(xp.asarray(array, copy=True), want, "a copy is asked for")
        with pytest.raises(ValueError):
            xp.asarray(array, copy=False)
    shared = xp.asarray(whole.T)
    shared[0, 1] = -1.0
    assert whole[1, 0] == -1.0, "where none is needed, the memory is shared"


@given(st.integers(-20, 20), st.none() | st.integers(-20, 20), st.integers(-6, 6).filter(bool), st.sampled_from([1, 4]),
       st.sampled_from([None, "int8", "int64", "float32", "float64"]))
@LIMITED
def test_arange(start: int, stop: int | None, step: int, over: int, kind: str | None) -> None:
    first, last, by = (start, stop, step) if over == 1 else (start / over, None if stop is None else stop / over, step / over)
    got, want = ask("arange", first, last, by, dtype=_kind(kind) or (xp.int64 if over == 1 else xp.float32))
    if over == 4 and kind in ("int8", "int64"):
        return                                             # a fraction of a step between integers is nowhere defined
    equal(got, want, f"arange({first}, {last}, {by}, {kind})")
    assert xp.arange(first, last, by).dtype == (xp.int64 if over == 1 else xp.float32)


@given(data=st.data())
@LIMITED
def test_eye_linspace_and_triangles(data: Any) -> None:
    kind = _kind(data.draw(st.sampled_from(NUMERIC)))
    same("eye", data.draw(st.integers(0, 5)), data.draw(st.none() | st.integers(0, 5)), k=data.draw(st.integers(-7, 7)), dtype=kind)
    real = _kind(data.draw(st.sampled_from(FLOATING)))
    first, last = data.draw(st.integers(-8, 8)) / 4, data.draw(st.integers(-8, 8)) / 4
    endpoint, number = data.draw(st.booleans()), data.draw(st.integers(0, 7))
    same("linspace", first, last, number, dtype=real, endpoint=endpoint, near=1e-6)
    if number and endpoint and number > 1:
        assert float(xp.linspace(first, last, number)[-1]) == last
    x = data.draw(arrays(ALL, shapes(least=2)))
    for name in ("tril", "triu"):
        same(name, x, k=data.draw(st.integers(-6, 6)))
    lines = [data.draw(arrays([kind.name], st.integers(1, 3).map(lambda n: (n,)))) for _ in range(data.draw(st.integers(1, 4)))]
    for indexing in ("xy", "ij"):
        same("meshgrid", *lines, indexing=indexing)


# --- shapes and pieces ------------------------------------------------------------------------------------------
@given(data=st.data())
@LIMITED
def test_shapes(data: Any) -> None:
    x = data.draw(arrays(ALL))
    n = x.ndim
    axis = data.draw(st.integers(-2 * n - 2, 2 * n + 1))
    same("expand_dims", x, axis=axis)
    if not -n - 1 <= axis <= n:
        with pytest.raises(IndexError):
            xp.expand_dims(x, axis=axis)
    same("squeeze", x, axis=data.draw(_axis(n).filter(lambda one: one is not None) if n else st.just(())))
    same("flip", x, axis=data.draw(_axis(n)))
    same("permute_dims", x, data.draw(st.permutations(range(n)).map(tuple)))
    if n:
        same("permute_dims", x, tuple(one - n for one in data.draw(st.permutations(range(n)))))
        source, target = data.draw(st.integers(-n, n - 1)), data.draw(st.integers(-n, n - 1))
        same("moveaxis", x, source, target)
        some = data.draw(draws.valid_tuple_axes(n))
        same("moveaxis", x, some, tuple(data.draw(st.permutations(range(n)))[:len(some)]))
        same("roll", x, data.draw(st.integers(-9, 9)), axis=data.draw(_axis(n, several=False)))
        shifts = tuple(data.draw(st.integers(-9, 9)) for _ in some)
        if shifts:
            same("roll", x, shifts, axis=some)
        same("unstack", x, axis=source)
    else:
        same("roll", x, data.draw(st.integers(-9, 9)))
    size = x.size
    for shape in ((size,), (-1,), (1, size), (size, 1, 1)):
        if size or -1 not in shape:
            same("reshape", x, shape, copy=data.draw(st.none() | st.just(True)))
    if size == 1:
        same("reshape", x, ())
    same("tile", x, data.draw(st.lists(st.integers(0, 3), max_size=4).map(tuple)))
    same("broadcast_to", x, (*data.draw(shapes(most=1)), *x.shape))


@given(data=st.data())
@LIMITED
def test_joining_and_repeating(data: Any) -> None:
    x, y = data.draw(pairs(ALL))
    same("broadcast_arrays", x, y)
    assert xp.broadcast_shapes(x.shape, y.shape) == numpy.broadcast_shapes(x.shape, y.shape)
    assert xp.result_type(x, y).name == str(strict.result_type(reference(x), reference(y))._np_dtype)
    same("concat", [x, y], axis=None)
    z = xp.broadcast_to(y, xp.broadcast_shapes(x.shape, y.shape))
    w = xp.broadcast_to(x, z.shape)
    same("stack", (z, w, z), axis=data.draw(st.integers(-z.ndim - 1, z.ndim)))
    if z.ndim:
        axis = data.draw(st.integers(-z.ndim, z.ndim - 1))
        same("concat", (z, w), axis=axis)
        side = z.shape[axis]
        same("repeat", z, data.draw(st.integers(0, 3)), axis=axis)
        counts = data.draw(draws.arrays(dtype=xp.int64, shape=(side,), elements=st.integers(0, 3)))
        same("repeat", z, counts, axis=axis)
        if side:
            for kind in ("int32", "uint8", "int64"):
                places = data.draw(draws.arrays(dtype=_kind(kind), shape=(3,), elements=st.integers(0 if kind[0] == "u" else -side, side - 1)))
                same("take", z, places, axis=axis)
            places = data.draw(draws.arrays(dtype=xp.int64, shape=z.shape, elements=st.integers(-side, side - 1)))
            same("take_along_axis", z, places, axis=axis)
    same("repeat", z, 2)


# --- reductions -------------------------------------------------------------------------------------------------
@given(data=st.data())
@LIMITED
def test_reductions(data: Any) -> None:
    x = data.draw(arrays(NUMERIC, tame=True))
    axis, keepdims = data.draw(_axis(x.ndim)), data.draw(st.booleans())
    near = 1e-5 if x.dtype.name in FLOATING else 0
    wider = data.draw(st.none() | st.sampled_from([kind for kind in NUMERIC if x.dtype.name[0] == kind[0]]))
    for name in ("sum", "prod"):
        same(name, x, axis=axis, keepdims=keepdims, dtype=_kind(wider), near=near)
    if x.dtype.name in FLOATING:
        same("mean", x, axis=axis, keepdims=keepdims, near=near)
    if x.dtype.name in REAL:
        for correction in (0, 1, 0.5):
            for name in ("var", "std"):
                got, want = ask(name, x, axis=axis, keepdims=keepdims, correction=correction)
                if bool(xp.all(xp.isfinite(got))):
                    equal(got, want, f"{name} of {x!r}", 1e-4)
                else:
                    assert (got.shape, got.dtype.name) == (want.shape, str(want._array.dtype))
    if x.ndim:
        one = data.draw(st.integers(-x.ndim, x.ndim - 1))
        first = data.draw(st.booleans())
        for name in ("cumulative_sum", "cumulative_prod"):
            same(name, x, axis=one, dtype=_kind(wider), include_initial=first, near=near)
        same("diff", x, axis=one, n=data.draw(st.integers(1, 2)), near=near)
        same("diff", x, axis=one, prepend=x, append=x, near=near)


@given(data=st.data())
@LIMITED
def test_extremes_and_truth(data: Any) -> None:
    x = data.draw(arrays(ORDERED, shapes(side=1)))
    axis, keepdims = data.draw(_axis(x.ndim)), data.draw(st.booleans())
    for name in ("max", "min"):
        same(name, x, axis=axis, keepdims=keepdims)
    one = data.draw(_axis(x.ndim, several=False))
    for name in ("argmax", "argmin"):
        same(name, x, axis=one, keepdims=keepdims)
    y = data.draw(arrays(ALL))
    axis = data.draw(_axis(y.ndim))
    for name in ("all", "any", "count_nonzero"):
        if not (name == "count_nonzero" and axis == ()):
            same(name, y, axis=axis, keepdims=keepdims)
    for kind in ("all", "any"):
        assert bool(getattr(xp, kind)(xp.zeros((0,)))) is (kind == "all")


# --- searching, sorting, sets -----------------------------------------------------------------------------------
@given(data=st.data())
@LIMITED
def test_searching_and_sorting(data: Any) -> None:
    x = data.draw(arrays(ALL))
    same("nonzero", x)
    a, b = data.draw(pairs(ALL))
    condition = data.draw(arrays(["bool"], st.just(xp.broadcast_shapes(a.shape, b.shape)) | st.just(())))
    same("where", condition, a, b)
    number = data.draw(arrays([a.dtype.name], st.just(()))).item()
    equal(xp.where(condition, a, number), strict.where(reference(condition), reference(a), reference(xp.full((), number, dtype=a.dtype))), "where")
    line = data.draw(arrays(ORDERED, shapes(least=1)))
    axis, down = data.draw(st.integers(-line.ndim, line.ndim - 1)), data.draw(st.booleans())
    if not (line.dtype.name in REAL and bool(xp.any(xp.isnan(line)))):
        same("sort", line, axis=axis, descending=down)
        same("argsort", line, axis=axis, descending=down)
        flat = xp.reshape(line, (-1,))
        for side in ("left", "right"):
            same("searchsorted", xp.sort(flat), line, side=side)
            same("searchsorted", flat, line, side=side, sorter=xp.argsort(flat))
    else:
        assert xp.sort(line, axis=axis).shape == line.shape


@given(x=arrays(ALL))
@LIMITED
def test_sets(x: Any) -> None:
    got = xp.unique_all(x)
    want = strict.unique_all(reference(x))
    assert got._fields == ("values", "indices", "inverse_indices", "counts")
    assert got.inverse_indices.shape == x.shape
    assert {one.dtype.name for one in got[1:]} == {"int64"}
    values = xp.reshape(x, (-1,))[got.indices]
    for a, b in ((values, got.values), (got.values[xp.reshape(got.inverse_indices, (-1,))], xp.reshape(x, (-1,)))):
        assert bool(xp.all((a == b) | ((a != a) & (b != b))))
    assert sorted(got.counts.tolist()) == sorted(int(one) for one in want.counts)
    assert got.values.shape == want.values.shape
    for name in ("unique_counts", "unique_inverse", "unique_values"):
        part = getattr(xp, name)(x)
        assert (part if name == "unique_values" else part.values).shape == want.values.shape
    assert xp.unique_counts(x)._fields == ("values", "counts")
    assert xp.unique_inverse(x)._fields == ("values", "inverse_indices")


# --- linear algebra and Fourier transforms ----------------------------------------------------------------------
def _matrices(names: list[str], square: bool = False) -> st.SearchStrategy[Any]:
    sides = st.tuples(shapes(most=1), st.integers(0, 4), st.integers(0, 4))
    return arrays(names, sides.map(lambda s: (*s[0], s[1], s[1] if square else s[2])), tame=True)


@given(data=st.data())
@LIMITED
def test_products(data: Any) -> None:
    x, y = data.draw(pairs(NUMERIC, tame=True))
    same("matmul", x, y, near=1e-5)
    _, want = ask("matmul", x, y)
    if isinstance(want, Exception):
        with pytest.raises((RuntimeError, ValueError, TypeError, IndexError)):
            x @ y
    else:
        equal(x @ y, want, f"{x!r} @ {y!r}", 1e-5)
    if x.ndim and y.ndim:
        for axis in range(-min(x.ndim, y.ndim), 0):
            if x.shape[axis] == y.shape[axis]:
                same("vecdot", x, y, axis=axis, near=1e-5)
    m = data.draw(_matrices([x.dtype.name]))
    same("matrix_transpose", m)
    same("tensordot", m, xp.permute_dims(m, tuple(range(m.ndim))[::-1]), axes=1, near=1e-5)
    same("tensordot", m, m, axes=(tuple(range(m.ndim)), tuple(range(m.ndim))), near=1e-5)
    same("tensordot", m, m, axes=0, near=1e-5)
    v = xp.reshape(x, (-1,))
    same("linalg.outer", v, xp.reshape(y, (-1,)), near=1e-5)
    for offset in (0, 1, -2, 9):
        same("linalg.diagonal", m, offset=offset)
        same("linalg.trace", m, offset=offset, near=1e-5)
    a, b = (data.draw(arrays([one.dtype.name], st.sampled_from([(3,), (2, 3), (1, 3)]), tame=True)) for one in (x, y))
    same("linalg.cross", a, b, near=1e-5)


@given(data=st.data())
@LIMITED
def test_linear_algebra(data: Any) -> None:
    x = data.draw(_matrices(FLOATING, square=True))
    kind, n = x.dtype, x.shape[-1]
    near = 1e-3 if kind.name in ("float32", "complex64") else 1e-8
    definite = x @ xp.conj(xp.matrix_transpose(x)) + xp.eye(n, dtype=kind) * 3.0
    for name in ("det", "inv", "eigvalsh"):
        same(f"linalg.{name}", definite, near=near)
    for upper in (False, True):
        same("linalg.cholesky", definite, upper=upper, near=near)
    same("linalg.slogdet", definite, near=near)
    for power in (0, 1, 3, -1):
        same("linalg.matrix_power", definite, power, near=near)
    for right in (x, x[..., :1], x[..., 0, :] if n and x.ndim == 2 else x):
        same("linalg.solve", definite, right, near=near)
    values, vectors = xp.linalg.eigh(definite)
    assert xp.linalg.eigh(definite)._fields == ("eigenvalues", "eigenvectors")
    _close(definite @ vectors, vectors * values[..., None, :], near)
    y = data.draw(_matrices(FLOATING))
    near = 1e-3 if y.dtype.name in ("float32", "complex64") else 1e-8
    for mode in ("reduced", "complete"):
        got, want = ask("linalg.qr", y, mode=mode)
        assert [one.shape for one in got] == [one.shape for one in want]
        _close(got.Q @ got.R, y, near)
    for full in (True, False):
        got, want = ask("linalg.svd", y, full_matrices=full)
        assert [(one.shape, one.dtype.name) for one in (got.U, got.S, got.Vh)] == [(one.shape, str(one._array.dtype)) for one in want]
        k = got.S.shape[-1]
        _close((got.U[..., :k] * xp.astype(got.S, y.dtype)[..., None, :]) @ got.Vh[..., :k, :], y, near)
    same("linalg.svdvals", y, near=near)
    if y.size:
        same("linalg.matrix_rank", y)
    same("linalg.pinv", y, near=0.1)
    for order in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf):
        for keepdims in (False, True):
            if order != -2 or (y.size and float(xp.min(xp.linalg.svdvals(y))) > 1e-2):         # zero, but for rounding
                same("linalg.matrix_norm", y, ord=order, keepdims=keepdims, near=near)
    for order in (0, 1, -1, 2, 3.5, math.inf, -math.inf):
        for axis in (None, 0, -1, (0, -1), (0, 1)):
            if bool(xp.all(y != 0)) or order not in (-1,):
                same("linalg.vector_norm", y, ord=order, axis=axis, keepdims=data.draw(st.booleans()), near=near)


def _close(got: Any, want: Any, near: float) -> None:
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    numpy.testing.assert_allclose(got.numpy(), want.numpy(), atol=near * max(1.0, float(xp.max(abs(want))) if want.size else 0.0))


@given(data=st.data())
@LIMITED
def test_values_that_are_not_finite_raise_nothing(data: Any) -> None:
    kind = data.draw(st.sampled_from(REAL))
    x = data.draw(draws.arrays(dtype=_kind(kind), shape=(3, 3), elements=st.sampled_from([1.0, -2.0, math.inf, -math.inf, math.nan])))
    for call in (xp.linalg.det, xp.linalg.slogdet, lambda m: xp.linalg.matrix_power(m, 3), xp.linalg.vector_norm, xp.linalg.trace):
        call(x)


@given(data=st.data())
@LIMITED
def test_fourier_transforms(data: Any) -> None:
    x = data.draw(arrays(FLOATING, shapes(least=1, side=1), tame=True))
    axis, norm = data.draw(st.integers(-x.ndim, x.ndim - 1)), data.draw(st.sampled_from(["backward", "ortho", "forward"]))
    n = data.draw(st.none() | st.integers(2, 6))
    line: dict[str, Any] = {"n": n, "axis": axis, "norm": norm, "near": 1e-5}
    real = x.dtype.name in REAL
    whole = xp.astype(x, xp.complex64 if x.dtype.name == "float32" else xp.complex128) if real else x
    for name in ("fft", "ifft"):
        same(f"fft.{name}", whole, **line)
    if real:
        for name in ("rfft", "ihfft"):
            same(f"fft.{name}", x, **line)
    if n is not None:
        for name in ("irfft", "hfft"):
            same(f"fft.{name}", whole, **line)
    axes = data.draw(draws.valid_tuple_axes(x.ndim, min_size=1))
    sizes = tuple(data.draw(st.integers(2, 5)) for _ in axes)
    many: dict[str, Any] = {"axes": axes, "s": sizes, "norm": norm, "near": 1e-5}
    for name in ("fftn", "ifftn", "irfftn"):
        same(f"fft.{name}", whole, **many)
    if real:
        same("fft.rfftn", x, **many)
    same("fft.fftn", whole, near=1e-5)
    for name in ("fftshift", "ifftshift"):
        same(f"fft.{name}", x, axes=data.draw(st.none() | st.just(axes) | st.just(axis)))
    number, distance = data.draw(st.integers(1, 9)), data.draw(st.sampled_from([1.0, 0.5, 2.0]))
    for name in ("fftfreq", "rfftfreq"):
        same(f"fft.{name}", number, d=distance, dtype=xp.float64)
        assert getattr(xp.fft, name)(number).dtype == xp.float32


def test_names_and_constants() -> None:
    missing = [name for name in strict.__all__ if not name.startswith(("_", "Array", "Device", "set_", "get_", "reset_", "Default"))
               and not hasattr(xp, name)]
    assert not missing
    assert (xp.e, xp.pi, xp.inf, xp.newaxis) == (math.e, math.pi, math.inf, None)
    assert math.isnan(xp.nan)
    for module in ("linalg", "fft"):
        assert not [name for name in getattr(strict, module).__all__ if not hasattr(getattr(xp, module), name)]
    assert {kind for kind in WHOLE + REAL + COMPLEX if hasattr(xp, kind)} == set(NUMERIC)
