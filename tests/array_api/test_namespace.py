"""The array API standard: every name with its arguments, the table of promotion, and results as NumPy, which follows it, has them."""

from __future__ import annotations

import inspect
import itertools
import operator
from typing import Any

import numpy
import pytest

import claygrad
from claygrad import array_api as xp
from claygrad.core import DTYPES

NAMES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64", "complex128"]
ONE = """abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan log log10
    log1p log2 logical_not negative positive real reciprocal round sign signbit sin sinh sqrt square tan tanh trunc""".split()
TWO = """add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal floor_divide greater
    greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor maximum minimum multiply nextafter not_equal pow
    remainder subtract""".split()
# The arguments of the standard: before "/" by place alone, after "*" by name alone.
SIGNATURES = {
    **dict.fromkeys(ONE, "x, /"), **dict.fromkeys(TWO, "x1, x2, /"), "clip": "x, /, min, max",
    "arange": "start, /, stop, step, *, dtype, device", "asarray": "obj, /, *, dtype, device, copy",
    **dict.fromkeys(("empty", "ones", "zeros"), "shape, *, dtype, device"), "full": "shape, fill_value, *, dtype, device",
    **dict.fromkeys(("empty_like", "ones_like", "zeros_like"), "x, /, *, dtype, device"),
    "full_like": "x, /, fill_value, *, dtype, device", "eye": "n_rows, n_cols, /, *, k, dtype, device",
    "from_dlpack": "x, /, *, device, copy", "linspace": "start, stop, /, num, *, dtype, device, endpoint",
    "meshgrid": "*arrays, indexing", "tril": "x, /, *, k", "triu": "x, /, *, k",
    "astype": "x, dtype, /, *, copy, device", "can_cast": "from_, to, /", "finfo": "type, /", "iinfo": "type, /",
    "isdtype": "dtype, kind", "result_type": "*arrays_and_dtypes", "take": "x, indices, /, *, axis",
    "take_along_axis": "x, indices, /, *, axis", "matmul": "x1, x2, /", "matrix_transpose": "x, /",
    "tensordot": "x1, x2, /, *, axes", "vecdot": "x1, x2, /, *, axis", "broadcast_arrays": "*arrays",
    "broadcast_to": "x, /, shape", "concat": "arrays, /, *, axis", "expand_dims": "x, /, axis", "flip": "x, /, *, axis",
    "moveaxis": "x, source, destination, /", "permute_dims": "x, /, axes", "repeat": "x, repeats, /, *, axis",
    "reshape": "x, /, shape, *, copy", "roll": "x, /, shift, *, axis", "squeeze": "x, /, axis", "stack": "arrays, /, *, axis",
    "tile": "x, repetitions, /", "unstack": "x, /, *, axis", "searchsorted": "x1, x2, /, *, side, sorter",
    "where": "condition, x1, x2, /", "nonzero": "x, /", "count_nonzero": "x, /, *, axis, keepdims",
    **dict.fromkeys(("argmax", "argmin", "max", "min", "mean", "all", "any"), "x, /, *, axis, keepdims"),
    **dict.fromkeys(("unique_all", "unique_counts", "unique_inverse", "unique_values"), "x, /"),
    **dict.fromkeys(("sort", "argsort"), "x, /, *, axis, descending, stable"),
    **dict.fromkeys(("sum", "prod"), "x, /, *, axis, dtype, keepdims"), **dict.fromkeys(("std", "var"), "x, /, *, axis, correction, keepdims"),
    **dict.fromkeys(("cumulative_sum", "cumulative_prod"), "x, /, *, axis, dtype, include_initial"),
    "diff": "x, /, *, axis, n, prepend, append", "__array_namespace_info__": "",
    "linalg.cholesky": "x, /, *, upper", "linalg.cross": "x1, x2, /, *, axis", "linalg.diagonal": "x, /, *, offset",
    **dict.fromkeys((f"linalg.{name}" for name in ("det", "eigh", "eigvalsh", "inv", "slogdet", "svdvals", "matrix_transpose")), "x, /"),
    "linalg.matrix_norm": "x, /, *, keepdims, ord", "linalg.matrix_power": "x, n, /", "linalg.matrix_rank": "x, /, *, rtol",
    "linalg.outer": "x1, x2, /", "linalg.pinv": "x, /, *, rtol", "linalg.qr": "x, /, *, mode", "linalg.solve": "x1, x2, /",
    "linalg.svd": "x, /, *, full_matrices", "linalg.trace": "x, /, *, offset, dtype",
    "linalg.vector_norm": "x, /, *, axis, keepdims, ord", "linalg.matmul": "x1, x2, /", "linalg.vecdot": "x1, x2, /, *, axis",
    "linalg.tensordot": "x1, x2, /, *, axes",
    **dict.fromkeys((f"fft.{name}" for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")), "x, /, *, n, axis, norm"),
    **dict.fromkeys((f"fft.{name}" for name in ("fftn", "ifftn", "rfftn", "irfftn")), "x, /, *, s, axes, norm"),
    **dict.fromkeys(("fft.fftfreq", "fft.rfftfreq"), "n, /, *, d, dtype, device"),
    **dict.fromkeys(("fft.fftshift", "fft.ifftshift"), "x, /, *, axes"),
}


def _said(function: Any) -> str:
    kinds, parts = [p.kind for p in inspect.signature(function).parameters.values()], []
    for n, one in enumerate(inspect.signature(function).parameters.values()):
        if one.kind is one.KEYWORD_ONLY and one.VAR_POSITIONAL not in kinds and kinds.index(one.kind) == n:
            parts.append("*")
        parts.append("*" * (one.kind is one.VAR_POSITIONAL) + one.name)
        if one.kind is one.POSITIONAL_ONLY and one.kind not in kinds[n + 1:]:
            parts.append("/")
    return ", ".join(parts)


@pytest.mark.parametrize("name", SIGNATURES)
def test_arguments(name: str) -> None:
    assert _said(operator.attrgetter(name)(xp)) == SIGNATURES[name]
    assert operator.attrgetter(name)(xp).__doc__


def _given(name: str, shape: tuple[int, ...], seed: int = 0) -> numpy.ndarray:
    return numpy.asarray(_drawn(name, shape, seed))


def _drawn(name: str, shape: tuple[int, ...], seed: int) -> Any:
    source = numpy.random.default_rng(seed)
    if name == "bool":
        return source.integers(0, 2, shape).astype(bool)
    if name.startswith("complex"):
        return (source.integers(-4, 5, shape) / 2 + 1j * source.integers(-4, 5, shape) / 2 + 0.25).astype(name)
    if name.startswith("float"):
        return (source.integers(-6, 7, shape) / 4 + 0.125).astype(name)
    return source.integers(0 if name[0] == "u" else -6, 7, shape).astype(name)


def _same(name: str, mine: Any, *args: Any, **named: Any) -> None:
    """claygrad's answer against NumPy's; where NumPy has none, nothing is asked."""
    with numpy.errstate(all="ignore"):
        try:
            want = operator.attrgetter(name)(numpy)(*args, **named)
        except (TypeError, ValueError, numpy.exceptions.AxisError):
            return
    ours = [_tensor(value) for value in args]
    got = operator.attrgetter(name)(xp)(*ours, **named) if mine is None else mine(*ours)
    _equal(got, want, (name, args, named))


def _tensor(value: Any) -> Any:
    if isinstance(value, numpy.ndarray):
        return claygrad.from_numpy(value.copy())
    return [_tensor(one) for one in value] if isinstance(value, list) else value


def _equal(got: Any, want: Any, said: Any) -> None:
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want), said
        for x, y in zip(got, want):
            _equal(x, y, said)
        return
    want = numpy.asarray(want)
    assert (got.dtype.name, tuple(got.shape)) == (want.dtype.name, want.shape), said
    if want.dtype.kind in "fc":
        numpy.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-6, err_msg=str(said))
    else:
        assert (got.numpy() == want).all(), said


# The standard asks for numbers of a kind; NumPy takes others, and counts integers of 8 and 16 bits into narrow floats.
FLOATS_ALONE = set("""acos acosh asin asinh atan atanh cos cosh exp expm1 log log10 log1p log2 reciprocal sin sinh sqrt tan tanh
    signbit divide atan2 copysign hypot logaddexp nextafter""".split())


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_array(name: str) -> None:
    for kind, shape in itertools.product(NAMES, [(), (3,), (2, 0), (2, 3)]):
        if (name in FLOATS_ALONE and kind[0] not in "fc") or (kind == "bool" and name not in ("logical_not", "bitwise_invert")):
            continue
        if (name in ("real", "conj", "imag") and kind[0] != "c") or (kind[0] == "c" and name in ("ceil", "floor", "trunc", "round")):
            continue
        _same(name, None, _given(kind, shape))


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_arrays(name: str) -> None:
    for a, b in itertools.product(NAMES, NAMES):
        kinds = {DTYPES[kind].numpy.kind.replace("u", "i") for kind in (a, b)}
        if (name in FLOATS_ALONE and not kinds <= {"f", "c"}) or (len(kinds) > 1 and kinds != {"f", "c"}):
            continue
        if numpy.promote_types(a, b).kind == "f" and not kinds <= {"f"}:
            continue
        if ("c" in kinds and name in ("maximum", "minimum", "greater", "greater_equal", "less", "less_equal")) or (
                kinds == {"b"} and (not name.startswith(("logical", "bitwise", "equal", "not_equal")) or "shift" in name)):
            continue
        for first, second in (((3,), ()), ((), (2, 3)), ((2, 3), (3,))):
            x, y = _given(a, first), _given(b, second, 1)
            if name in ("floor_divide", "remainder"):
                y = numpy.where(y == 0, numpy.ones_like(y), y)
            if name in ("pow", "bitwise_left_shift", "bitwise_right_shift"):
                x, y = (numpy.asarray(numpy.abs(one).astype(one.dtype)) if one.dtype.kind != "b" else one for one in (x, y))
            _same(name, None, x, y)


def test_promotion_table() -> None:
    for a, b in itertools.product(NAMES, NAMES):
        kinds = [DTYPES[kind].numpy.kind.replace("u", "i") for kind in (a, b)]
        if kinds[0] == kinds[1] and numpy.promote_types(a, b).kind.replace("u", "i") == kinds[0]:
            want = DTYPES[str(numpy.promote_types(a, b))]
            x, y = (claygrad.ones((2,), dtype=DTYPES[kind]) for kind in (a, b))
            assert xp.result_type(DTYPES[a], DTYPES[b]) is xp.result_type(x, y[0]) is want
            assert (x == y).all()
            assert xp.can_cast(DTYPES[a], DTYPES[b]) == (want is DTYPES[b])
    assert xp.result_type(xp.uint8, 3) is xp.uint8
    assert xp.result_type(xp.float32, 1j) is xp.complex64
    with pytest.raises(TypeError):
        xp.result_type(xp.uint64, xp.int8)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "var", "std", "all", "any", "count_nonzero", "argmax", "argmin"])
def test_reductions(name: str) -> None:
    for kind, axis, keep in itertools.product(NAMES, (None, 0, -1, (0, 1), ()), (False, True)):
        if (name in ("mean", "var", "std") and kind[0] != "f") or (kind == "bool" and name in ("sum", "prod", "max", "min", "argmax", "argmin")):
            continue
        if (kind[0] == "c" and name in ("max", "min", "argmax", "argmin")) or (name.startswith("arg") and isinstance(axis, tuple)):
            continue
        _same(name, None, _given(kind, (2, 3)), axis=axis, keepdims=keep)


def test_a_sample_of_behaviours() -> None:
    x, v = _given("float64", (2, 3)), _given("int16", (4,))
    for name, args, named in (
            ("sort", (v,), {}), ("cumulative_sum", (v,), {"include_initial": True}), ("cumulative_prod", (x,), {"axis": 0}),
            ("diff", (x,), {"axis": 0}), ("diff", (v,), {"n": 2}), ("flip", (x,), {"axis": 1}), ("roll", (x, 1), {"axis": 0}),
            ("repeat", (x, 2), {"axis": 1}), ("tile", (x, (2, 1)), {}), ("take", (v, numpy.array([0, -1])), {}),
            ("take_along_axis", (x, numpy.array([[0], [2]])), {}), ("unstack", (x,), {"axis": 1}), ("squeeze", (x[:1], 0), {}),
            ("concat", ([x, x],), {"axis": None}), ("stack", ([v, v],), {"axis": 1}), ("meshgrid", (v, v[:2]), {}),
            ("permute_dims", (x, (1, 0)), {}), ("moveaxis", (x, 0, 1), {}), ("searchsorted", (numpy.arange(4), numpy.array([1, 9])), {}),
            ("unique_all", (v,), {}), ("unique_inverse", (_given("int8", (2, 3)),), {}), ("unique_counts", (v,), {}),
            ("linalg.trace", (v.reshape(2, 2),), {}), ("linalg.vector_norm", (x,), {"axis": 1}), ("linalg.outer", (v, v), {}),
            ("linalg.det", (x @ x.T + numpy.eye(2),), {}), ("linalg.solve", (x @ x.T + numpy.eye(2), x), {}), ("fft.rfft", (x,), {}),
            ("fft.ifft", (x + 0j,), {"axis": 0}), ("vecdot", (x, x[0]), {}), ("tensordot", (x, x), {"axes": ((0, 1), (0, 1))})):
        _same(name, None, *args, **named)
    assert xp.eye(2, 3, k=1).tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    assert xp.clip(xp.asarray([1, 200], dtype=xp.uint8), -5, 300).tolist() == [1, 200]
    with pytest.raises(ValueError):
        xp.squeeze(xp.zeros((2, 3)), 0)
    with pytest.raises(TypeError):
        xp.astype(xp.zeros(2, dtype=xp.complex64), xp.float32)


def test_gradients_pass_through() -> None:
    x = claygrad.tensor([0.3, 0.7], requires_grad=True)
    xp.sum(xp.multiply(xp.exp(x), x)).backward()
    assert claygrad.allclose(x.grad, (1 + x.detach()) * x.detach().exp())


def test_what_the_library_says_of_itself() -> None:
    x = claygrad.ones(2)
    assert x.__array_namespace__() is x.__array_namespace__(api_version="2024.12") is xp
    with pytest.raises(ValueError, match="Unrecognized array API version"):
        x.__array_namespace__(api_version="1999.01")
    info = xp.__array_namespace_info__()
    assert set(info.dtypes()) == set(info.dtypes(kind=("bool", "numeric"))) == set(NAMES)
    assert list(info.dtypes(kind="real floating")) == ["float32", "float64"]
    assert info.default_dtypes()["integral"] is xp.int64
    assert info.default_device() == x.device
    assert x.device in info.devices()
    assert x.to_device("cpu") is x
    with pytest.raises(ValueError):
        x.to_device("cpu", stream=1)


def test_dlpack_keeps_what_is_read_only() -> None:
    given = numpy.arange(3.0)
    assert claygrad.from_dlpack(given).data_ptr() == given.ctypes.data
    given.flags.writeable = False
    claygrad.from_dlpack(given)[0] = 5
    assert given[0] == 0
    with pytest.raises(BufferError, match="read-only"):
        claygrad.from_dlpack(given, copy=False)
    x = claygrad.arange(3, dtype=claygrad.uint32)
    assert numpy.from_dlpack(x).dtype == numpy.uint32
    assert numpy.shares_memory(numpy.from_dlpack(x), x.numpy())
    assert not numpy.shares_memory(numpy.from_dlpack(x, copy=True), x.numpy())
