"""Operations on integers of one and two bytes that have loops of their own, and casts between all types of numbers."""

from __future__ import annotations

import numpy as np
import pytest

import claygrad

DTYPES = ["uint8", "int8", "int16", "int32", "int64"]


def drawn(dtype: str, *shape: int) -> np.ndarray:
    info = np.iinfo(dtype)
    return np.random.default_rng(7).integers(info.min, info.max, shape, dtype, endpoint=True)


@pytest.mark.parametrize("dtype", [*DTYPES, "bool", "float16", "complex64"])
@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 31, 4095, 4096, 4097, 70_001])
def test_fills_and_flips(dtype: str, size: int):
    x = (drawn("int64", size) % 251).astype(dtype)
    t = claygrad.tensor(x)
    assert np.array_equal(t.flip(0).numpy(), x[::-1])
    for value in (0, 1):
        assert np.array_equal(claygrad.full_like(t, value).numpy(), np.full_like(x, value))
    wide = claygrad.tensor(np.stack([x, x]))[:, :size // 2]
    assert np.array_equal(wide.flip(1).numpy(), wide.numpy()[:, ::-1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bounds", [(-5, 100), (None, 7), (3, None), (9, 2), (0, 0)])
def test_bounds(dtype: str, bounds: tuple[int | None, int | None]):
    low, high = bounds
    if dtype == "uint8" and low == -5:
        low = 5
    for shape in ((0,), (13,), (40, 50), (300, 300)):
        x = drawn(dtype, *shape)
        want = x if low is None else np.maximum(x, x.dtype.type(low))
        want = want if high is None else np.minimum(want, x.dtype.type(high))
        t = claygrad.tensor(x)
        assert np.array_equal(t.clamp(low, high).numpy(), want)
        given = [None if b is None else claygrad.tensor(b, dtype=t.dtype) for b in (low, high)]
        assert np.array_equal(t.clamp(*given).numpy(), want)
        if t.ndim == 2:
            assert np.array_equal(t.t().clamp(low, high).numpy(), want.T)
            assert np.array_equal(t[:, 1:-1].clamp(low, high).numpy(), want[:, 1:-1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor",
                                  "floor_divide", "remainder", "fmod", "eq", "ne", "lt", "le", "gt", "ge"])
def test_arithmetic_wraps_as_it_does_in_numpy(dtype: str, name: str):
    spelt = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
    x, y = drawn(dtype, 33, 40), drawn(dtype, 40)
    if name in ("floor_divide", "remainder", "fmod"):
        y = np.where(y == 0, 3, y).astype(dtype)
    with np.errstate(all="ignore"):
        want = getattr(np, spelt.get(name, name))(x, y)
    f = getattr(claygrad, name)
    s, t = claygrad.tensor(x), claygrad.tensor(y)
    for made in (f(s, t), f(s.t().contiguous().t(), t), f(s[:, :], t.expand(33, 40).contiguous())):
        assert made.dtype == (claygrad.bool if name in spelt else s.dtype)
        assert np.array_equal(made.numpy(), want)
    one = claygrad.tensor(3, dtype=s.dtype) if "imum" in name else 3
    with np.errstate(all="ignore"):
        assert np.array_equal(f(s, one).numpy(), getattr(np, spelt.get(name, name))(x, x.dtype.type(3)))
    if name not in spelt and hasattr(s, name + "_"):
        for view in (s.clone(), claygrad.cat([s, s], 1)[:, :40]):
            assert np.array_equal(getattr(view, name + "_")(t).numpy(), want)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["negative", "absolute", "sign", "square", "bitwise_not"])
def test_of_one_operand(dtype: str, name: str):
    x = drawn(dtype, 50, 60)
    with np.errstate(all="ignore"):
        want = getattr(np, name)(x)
    t = claygrad.tensor(x)
    assert np.array_equal(getattr(claygrad, name)(t).numpy(), want)
    assert np.array_equal(getattr(claygrad, name)(t[:, ::2]).numpy(), want[:, ::2])


@pytest.mark.parametrize("dtype", DTYPES)
def test_shifts(dtype: str):
    x, width = drawn(dtype, 300), 8 * np.dtype(dtype).itemsize
    for by in (0, 1, width - 1, width, width + 1, 100):
        left = (x.astype("uint64") << np.uint64(by)).astype(dtype) if by < width else np.zeros_like(x)
        right = x >> min(by, width - 1) if by < width or dtype != "uint8" else np.zeros_like(x)
        t, shift = claygrad.tensor(x), claygrad.tensor(by, dtype=getattr(claygrad, dtype))
        assert np.array_equal((t << shift).numpy(), left)
        assert np.array_equal((t >> shift).numpy(), right)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1,), (3,), (70_001,), (300, 2), (300, 4), (300, 5), (40, 300), (4, 30, 50)])
def test_reductions(dtype: str, shape: tuple[int, ...]):
    x = drawn(dtype, *shape)
    x.flat[::3] = 0
    t = claygrad.tensor(x)
    cut = claygrad.cat([t, t], -1)[..., :shape[-1]]
    for axis in (None, *range(len(shape)), tuple(range(0, len(shape), 2))):
        for given in (t, cut):
            with np.errstate(all="ignore"):
                for name in ("sum", "prod"):
                    if name == "prod" and isinstance(axis, tuple):
                        continue
                    made = getattr(given, name)() if axis is None else getattr(given, name)(axis)
                    assert made.dtype == claygrad.int64
                    assert np.array_equal(made.numpy(), getattr(x, name)(axis, dtype="int64"))
            dims = () if axis is None else axis
            assert np.array_equal(given.amax(dims).numpy(), x.max(axis))
            assert np.array_equal(given.amin(dims).numpy(), x.min(axis))
            assert given.amax(dims).dtype == given.dtype
            for name in ("any", "all"):
                made = getattr(given, name)() if axis is None else getattr(given, name)(axis)
                assert made.dtype == (claygrad.uint8 if dtype == "uint8" else claygrad.bool)
                assert np.array_equal(made.numpy(), getattr(x.astype(bool), name)(axis))
            assert np.array_equal(claygrad.count_nonzero(given, axis).numpy(), np.count_nonzero(x, axis))
    assert t.sum(dtype=t.dtype).dtype == t.dtype
    assert t.sum(dtype=t.dtype).item() == int(x.sum(dtype=dtype))
    windows = t.unfold(-1, min(shape[-1], 3), 1)
    assert np.array_equal(windows.sum(-1).numpy(), windows.numpy().sum(-1, dtype="int64"))


FROM = [*DTYPES, "bool", "float16", "float32", "float64", "bfloat16"]


@pytest.mark.parametrize("dtype", FROM)
@pytest.mark.parametrize("to", FROM)
def test_casts(dtype: str, to: str):
    rng = np.random.default_rng(3)
    for n in (1, 7, 8, 513, 70_001):
        wide = rng.integers(0, 127, n) if "uint8" in (dtype, to) else rng.integers(-127, 127, n)
        wide = wide + (0.5 if dtype == to == "float16" else 0)          # exact in every type
        x = claygrad.tensor(wide).to(getattr(claygrad, dtype))
        want = wide != 0 if "bool" in (dtype, to) else wide
        made = x.to(getattr(claygrad, to))
        assert made.dtype == getattr(claygrad, to)
        assert np.array_equal(made.double().numpy(), want.astype("float64"))
        assert np.array_equal(x[::2].to(getattr(claygrad, to)).double().numpy(), want[::2].astype("float64"))
    if dtype in DTYPES and to in DTYPES:
        x = drawn(dtype, 5000)
        assert np.array_equal(claygrad.tensor(x).to(getattr(claygrad, to)).numpy(), x.astype(to))


SCALED = [(lambda x, y, z, by: claygrad.addcmul(x, y, z, value=by), lambda x, y, z, by: x + by * y * z),
          (lambda x, y, z, by: claygrad.add(x, y, alpha=by), lambda x, y, z, by: x + by * y),
          (lambda x, y, z, by: claygrad.sub(x, y, alpha=by), lambda x, y, z, by: x - by * y),
          (lambda x, y, z, by: claygrad.rsub(x, y, alpha=by), lambda x, y, z, by: y - by * x)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("by", [1, 3, -2, 127, 2 ** 15, 2 ** 40 + 1, 2 ** 60])
def test_scaled_sums(dtype: str, by: int):
    given = drawn(dtype, 3, 21, 30)
    tensors = [claygrad.tensor(x) for x in given]
    for f, meant in SCALED:
        if by > np.iinfo(dtype).max:
            with pytest.raises(RuntimeError, match=r"value cannot be converted to type .* without overflow"):
                f(*tensors, by)
            continue
        with np.errstate(all="ignore"):
            want = meant(*given.astype("int64"), by).astype(dtype)
        made = f(*tensors, by)
        assert made.dtype == getattr(claygrad, dtype)
        assert np.array_equal(made.numpy(), want)
        assert np.array_equal(f(*(t[:, ::2] for t in tensors), by).numpy(), want[:, ::2])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["add", "sub"])
@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_shares_of_integers_are_whole(dtype: str, name: str, alpha: float):
    x = claygrad.tensor(drawn(dtype, 4))
    with pytest.raises(RuntimeError, match="For integral input tensors, argument alpha must not be a floating point number"):
        getattr(x, name)(x, alpha=alpha)
    assert getattr(x.float(), name)(x.float(), alpha=alpha).dtype == claygrad.float32


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5,), (3000,), (40, 3), (3, 40), (30, 300), (3, 4, 5)])
def test_extremes_and_their_places(dtype: str, shape: tuple[int, ...]):
    x = drawn(dtype, *shape)
    x.flat[1::3] = x.flat[0]                                   # some are equal: the first one counts
    for t, want in ((claygrad.tensor(x), x), (claygrad.tensor(x).permute(*reversed(range(x.ndim))), x.T)):
        for axis in range(len(shape)):
            for name in ("max", "min"):
                made = getattr(t, name)(axis)
                assert np.array_equal(made.values.numpy(), getattr(want, name)(axis))
                assert np.array_equal(made.indices.numpy(), getattr(want, "arg" + name)(axis))
                assert np.array_equal(getattr(t, "arg" + name)(axis).numpy(), getattr(want, "arg" + name)(axis))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("view", [lambda x: x[1:, 1:-2], lambda x: x[::2], lambda x: x[:, ::2], lambda x: x[1:, 1:-2].T,
                                  lambda x: x[:, :1].expand(40, 30), lambda x: x[:1].expand(40, 50), lambda x: x.unfold(1, 3, 1)])
def test_halves_with_gaps(dtype: str, view):
    given = view(claygrad.tensor((drawn("int64", 40, 50) % 61) / 4.0).to(getattr(claygrad, dtype)))
    for f in (lambda x: x.sum(), lambda x: x.sum(0), lambda x: x.sum(-1), lambda x: x.amax(0), lambda x: x.mean(-1),
              lambda x: x.max(), lambda x: x.max(0), lambda x: x.var(0), lambda x: x.softmax(-1), lambda x: x.sort(-1),
              lambda x: x.topk(2, -1), lambda x: x.cumsum(0), lambda x: x.exp(), lambda x: x.prod(-1)):
        made, want = f(given), f(given.contiguous())
        for a, b in zip(made if isinstance(made, tuple) else [made], want if isinstance(want, tuple) else [want]):
            assert a.dtype == b.dtype
            assert np.array_equal(a.double().numpy(), b.double().numpy())


def test_fills_of_halves_refuse_what_is_too_large():
    assert claygrad.full((3,), 65504.0, dtype=claygrad.float16).tolist() == [65504.0] * 3
    assert claygrad.full((2,), float("inf"), dtype=claygrad.bfloat16).tolist() == [float("inf")] * 2
    with pytest.raises(RuntimeError, match="without overflow"):
        claygrad.full((3,), 70000.0, dtype=claygrad.float16)


@pytest.mark.parametrize("n", [1, 3, 4, 5, 8, 31, 1000])
def test_running_sums_wrap_around(n: int):
    x = drawn("int64", 3, n)
    with np.errstate(all="ignore"):
        want = np.cumsum(x, axis=1)
        back = np.cumsum(x[:, ::-1], axis=1)[:, ::-1]
    assert np.array_equal(claygrad.tensor(x).cumsum(1).numpy(), want)
    assert np.array_equal(claygrad.tensor(x).flip(1).cumsum(1).flip(1).numpy(), back)
