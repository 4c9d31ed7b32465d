"""Operands by lines, flips, rolls, joins, triangles, casts and gates at sizes where the native loops take over."""

from __future__ import annotations

from collections.abc import Callable

import numpy
import pytest

import claygrad
from claygrad.core.dispatch import reference_only

ROOM = numpy.random.RandomState(0).randn(3, 70, 90)


def tensor(array: numpy.ndarray) -> claygrad.Tensor:
    return claygrad.tensor(array)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("first", "second"), [((50, 1), (1, 60)), ((60,), (50, 1)), ((5, 1, 40), (7, 40)),
                                               ((5, 6, 1), (5, 1, 40)), ((3, 4, 5, 20), (1, 4, 1, 1)),
                                               ((2, 1, 3, 1), (1, 4, 1, 30)), ((50, 1), (50, 8)), ((1, 1), (1, 17))])
def test_operands_stretched_along_several_axes(first: tuple, second: tuple, dtype: str):
    draw = numpy.random.RandomState(1)
    a, b = draw.randn(*first).astype(dtype), draw.randn(*second).astype(dtype)
    for f in (lambda x, y: x - y, lambda x, y: y / x, lambda x, y: x > y):
        out = f(tensor(a), tensor(b))
        assert out.is_contiguous()
        assert numpy.array_equal(out.numpy(), f(a, b))


@pytest.mark.parametrize("part", [lambda t: t * t[:, :1], lambda t: t[:, :40] + t[:, 50:], lambda t: t[::2] - t[1::2],
                                  lambda t: t[:, 1:] * t[:1, 1:], lambda t: t[:, ::2] + t[:, :45]])
def test_operands_with_gaps_between_their_lines(part):
    x = ROOM[0].astype("float32")
    assert numpy.array_equal(part(tensor(x)).numpy(), part(x))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "uint8", "complex128"])
def test_flips_and_rolls_are_numpy_s(dtype: str):
    x = (ROOM * 50).astype(dtype)
    for dims in ((0,), (1,), (2,), (0, 2), (0, 1, 2)):
        assert numpy.array_equal(tensor(x).flip(dims).numpy(), numpy.flip(x, dims))
        assert numpy.array_equal(tensor(x).transpose(0, 2).flip(dims).numpy(), numpy.flip(x.transpose(2, 1, 0), dims))
    for shift in (0, 1, -3, 69, 1000):
        for dim in (0, 1, 2):
            assert numpy.array_equal(tensor(x).roll(shift, dim).numpy(), numpy.roll(x, shift, dim))
        assert numpy.array_equal(tensor(x).roll(shift).numpy(), numpy.roll(x, shift))
        assert numpy.array_equal(tensor(x).transpose(0, 1).roll(shift).numpy(), numpy.roll(x.transpose(1, 0, 2), shift))


@pytest.mark.parametrize("dtype", ["float32", "int8", "complex128"])
def test_triangles_are_numpy_s(dtype: str):
    x = (ROOM * 50).astype(dtype)
    for diagonal in (0, 1, -1, 30, -69, 89, -200, 200, 2**40, -2**40):
        k = max(min(diagonal, 500), -500)
        assert numpy.array_equal(tensor(x).tril(diagonal).numpy(), numpy.tril(x, k))
        assert numpy.array_equal(tensor(x).triu(diagonal).numpy(), numpy.triu(x, k))


def test_large_tensors_join_along_every_axis():
    x = ROOM.repeat(4, 0).astype("float32")
    other = numpy.ascontiguousarray(x.transpose(2, 1, 0)).transpose(2, 1, 0)
    for dim in (0, 1, 2, -1):
        out = claygrad.cat([tensor(x), tensor(other), tensor(x)], dim)
        assert numpy.array_equal(out.numpy(), numpy.concatenate([x, x, x], dim))
        assert numpy.array_equal(claygrad.stack([tensor(x), tensor(other)], dim).numpy(), numpy.stack([x, x], dim))
    with pytest.raises(RuntimeError, match="Sizes of tensors must match except in dimension 0"):
        claygrad.cat([tensor(x), tensor(x[:, :69])], 0)


@pytest.mark.parametrize("layout", [lambda t: t.transpose(0, -1), lambda t: t[..., ::2], lambda t: t[..., 3:],
                                    lambda t: t[:1].expand(7, *t.shape[1:]), lambda t: t[..., :1].expand(*t.shape[:-1], 9)])
@pytest.mark.parametrize("shape", [(600,), (20, 30), (4, 5, 30)])
def test_tensors_of_any_layout_join_along_every_axis(layout: Callable, shape: tuple):
    part = layout(tensor(ROOM.reshape(-1)[:600].reshape(shape)))
    ndim = part.dim()
    parts = [part, part * 2, part]
    for dim in range(-ndim, ndim):
        out = claygrad.cat(parts, dim)
        assert out.is_contiguous()
        assert numpy.array_equal(out.numpy(), numpy.concatenate([p.numpy() for p in parts], dim))
    for dim in range(-ndim - 1, ndim + 1):
        out = claygrad.stack(parts, dim)
        assert out.is_contiguous()
        assert numpy.array_equal(out.numpy(), numpy.stack([p.numpy() for p in parts], dim))


def test_tensors_expanded_beyond_all_memory_are_not_joined():
    for size in (2**40, 2**61, 2**62):
        x = claygrad.ones(1).expand(size)
        for join in (claygrad.cat, claygrad.stack):
            with pytest.raises((RuntimeError, ValueError, MemoryError)):
                join([x, x, x])


@pytest.mark.parametrize("shape", [(70_001,), (3, 1, 5), (2, 3), ()])
def test_a_cast_and_back_keeps_what_fits(shape: tuple):
    x = claygrad.tensor(numpy.random.RandomState(2).randint(-100, 100, shape).astype("float32"))
    for dtype in (claygrad.float64, claygrad.int64, claygrad.int32, claygrad.float16, claygrad.bfloat16):
        there = x.to(dtype)
        assert there.dtype == dtype
        assert there.stride() == x.stride()
        assert claygrad.equal(there.to(claygrad.float32), x)
    assert claygrad.equal(x.bool(), x != 0)


@pytest.mark.parametrize(("shape", "dim"), [((6, 1000), 1), ((6, 1000), 0), ((4, 6, 33), 1), ((2,), 0)])
def test_a_gate_and_its_gradient(shape: tuple, dim: int):
    x = claygrad.tensor(numpy.random.RandomState(3).randn(*shape), requires_grad=True)
    a, b = x.chunk(2, dim)
    want = a * b.sigmoid()
    out = claygrad.nn.functional.glu(x, dim)
    g = claygrad.tensor(numpy.random.RandomState(4).randn(*out.shape))
    (found,), (told,) = claygrad.autograd.grad(out, x, g), claygrad.autograd.grad(want, x, g)
    assert claygrad.allclose(out, want)
    assert claygrad.allclose(found, told)


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "complex128"])
def test_blocks_along_a_diagonal(dtype: str):
    parts = [(ROOM[0, :rows, :columns] * 50).astype(dtype) for rows, columns in ((2, 3), (0, 4), (1, 1), (70, 90), (4, 0))]
    wanted = numpy.zeros((77, 98), dtype)
    row = column = 0
    for part in parts:
        wanted[row:row + part.shape[0], column:column + part.shape[1]] = part
        row, column = row + part.shape[0], column + part.shape[1]
    assert numpy.array_equal(claygrad.block_diag(*map(tensor, parts)).numpy(), wanted)
    assert numpy.array_equal(claygrad.block_diag(*(tensor(part.T.copy()).mT for part in parts)).numpy(), wanted)
    assert numpy.array_equal(claygrad.block_diag(tensor(parts[0][0]), tensor(parts[2][0, 0])).numpy(),
                             numpy.block([[parts[0][:1], numpy.zeros((1, 1), dtype)], [numpy.zeros((1, 3), dtype), parts[2]]]))


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5, 7, 9, 17])
def test_short_rows_are_padded_and_turned(columns: int, dtype: str):
    kind = getattr(claygrad, dtype)
    x = claygrad.arange(700 * columns).remainder(251).to(kind).reshape(700, columns)
    array = x.numpy()
    for before, after in ((1, 1), (0, 3), (2, -1), (-1, 2)):
        if columns + min(before, 0) + min(after, 0) > 0:
            inner = array[:, max(-before, 0):columns + min(after, 0)]
            want = numpy.pad(inner, ((0, 0), (max(before, 0), max(after, 0))), constant_values=7)
            assert (claygrad.nn.functional.pad(x, (before, after), value=7).numpy() == want).all()
    turned = x.t().contiguous()
    assert (turned.numpy() == array.T).all()
    assert (turned.t().contiguous().numpy() == array).all()
    for diagonal in (-701, -650, -3, -1, 0, 1, columns, 800):
        assert (x.tril(diagonal).numpy() == numpy.tril(array, diagonal)).all()
        assert (x.triu(diagonal).numpy() == numpy.triu(array, diagonal)).all()
        assert (turned.tril(diagonal).numpy() == numpy.tril(array.T, diagonal)).all()
        assert (x.expand(2, -1, -1).contiguous().triu(diagonal)[1].numpy() == numpy.triu(array, diagonal)).all()


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "complex64"])
@pytest.mark.parametrize("few", [2, 3, 4, 8, 16])
def test_a_few_neighbours_move_together(few: int, dtype: str):
    x = claygrad.arange(30 * 41 * few).remainder(127).to(getattr(claygrad, dtype)).reshape(30, 41, few)
    array = x.numpy()
    for axes in ((0,), (1,), (0, 1), (0, 2)):
        assert (x.flip(axes).numpy() == numpy.flip(array, axes)).all()
    assert (x.transpose(0, 1).contiguous().numpy() == array.swapaxes(0, 1)).all()
    assert (x.roll((3, -5), (0, 1)).numpy() == numpy.roll(array, (3, -5), (0, 1))).all()
    off = claygrad.empty(30 * 41 * few + 1, dtype=x.dtype)[1:].view(41, 30, few)       # at no multiple of what is moved
    off.copy_(x.transpose(0, 1))
    assert (off.numpy() == array.swapaxes(0, 1)).all()
    off[::2] = x.transpose(0, 1)[::2].flip(1)
    assert (off.numpy()[::2] == array.swapaxes(0, 1)[::2, ::-1]).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("cells", [1, 2, 3, 64, 256, 257])
def test_sums_into_few_cells(cells: int, dtype: str):
    draw = numpy.random.RandomState(2)
    for count in (16 * cells - 1, 16 * cells, 16 * cells + 3, 50 * cells + 2):
        index, source, start = draw.randint(0, cells, count), draw.randn(count).astype(dtype), draw.randn(cells).astype(dtype)
        wanted = start.astype("float64")
        numpy.add.at(wanted, index, source.astype("float64"))
        x, at, values = tensor(start), tensor(index), tensor(source)
        for found in (x.scatter_add(0, at, values), x.index_add(0, at, values), x.index_put((at,), values, accumulate=True),
                      tensor(numpy.stack([start, start])).index_add(1, at, tensor(numpy.stack([source, source])))[1]):
            numpy.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12 if dtype == "float64" else 2e-5, atol=1e-5)
    x = tensor(numpy.full(cells, -0.0, dtype))
    at = claygrad.zeros(16 * cells, dtype=claygrad.int64)
    assert x.scatter_add(0, at, claygrad.full((16 * cells,), -0.0, dtype=x.dtype)).signbit().all()
    assert not x.scatter_add(0, at, claygrad.zeros(16 * cells, dtype=x.dtype))[0].signbit()
    assert x.scatter_add(0, at, claygrad.full((16 * cells,), float("nan"), dtype=x.dtype)).isnan().sum() == 1


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("cells", [1, 2, 10, 300])
def test_sums_of_integers_into_cells_wrap(cells: int, dtype: str):
    draw = numpy.random.RandomState(3)
    info = numpy.iinfo(dtype)
    index, start = draw.randint(0, cells, 1000), draw.randint(0, 100, cells).astype(dtype)
    source = draw.randint(info.min, info.max, 1000, dtype=dtype)
    wanted = start.copy()
    numpy.add.at(wanted, index, source)
    x, at, values = tensor(start), tensor(index), tensor(source)
    for found in (x.scatter_add(0, at, values), x.index_add(0, at, values), x.clone().scatter_add_(0, at, values),
                  claygrad.stack([x, x]).index_add(1, at, claygrad.stack([values, values]))[1],
                  claygrad.stack([x, x]).scatter_add(1, claygrad.stack([at, at]), claygrad.stack([values, values]))[0],
                  claygrad.stack([x, x], 1).scatter_add(0, claygrad.stack([at, at], 1), claygrad.stack([values, values], 1))[:, 1],
                  x.repeat_interleave(2)[::2].scatter_add(0, at, values), x.index_add(0, at, values, alpha=-1).mul(-1).add(x + x)):
        assert found.dtype == x.dtype
        assert numpy.array_equal(found.numpy(), wanted)


@pytest.mark.parametrize("dtype", ["float32", "int64", "int16"])
@pytest.mark.parametrize("wrong", [0, 63, 64, 65, 999])
@pytest.mark.parametrize("index", [-1, 10, 2**62])
def test_nothing_is_written_where_an_index_is_out_of_range(index: int, wrong: int, dtype: str):
    x, values = claygrad.arange(10).to(getattr(claygrad, dtype)), claygrad.ones(1000, dtype=getattr(claygrad, dtype))
    at = claygrad.arange(1000) % 10
    at[wrong] = index
    for call in (x.scatter_add_, x.index_add_, x.index_copy_, x.scatter_):
        with pytest.raises((IndexError, RuntimeError)):
            call(0, at, values)
        assert x.tolist() == list(range(10))
    for read in (lambda: x.gather(0, at), lambda: x.index_select(0, at)):
        with pytest.raises((IndexError, RuntimeError)):
            read()


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "complex32"])
@pytest.mark.parametrize("value", [1, -2.5, True, 1 + 2j, complex("nan"), complex(0.1, float("inf")), 70000, 1e40, 10**400])
def test_complex_tensors_are_filled_as_by_the_reference(value: complex, dtype: str):
    kind = getattr(claygrad, dtype)
    calls = [lambda: claygrad.empty(3, 5, dtype=kind).fill_(value), lambda: claygrad.full((3, 5), value, dtype=kind),
             lambda: claygrad.full((2000,), value, dtype=kind), lambda: claygrad.full_like(claygrad.ones(2, 2), value, dtype=kind),
             lambda: claygrad.ones(3, dtype=kind).masked_fill(claygrad.tensor([True, False, True]), value),
             lambda: claygrad.ones(3, dtype=kind).index_fill(0, claygrad.tensor([1]), value),
             lambda: claygrad.ones(3, dtype=kind).scatter(0, claygrad.tensor([1]), value),
             lambda: claygrad.ones(6, dtype=kind)[::2].fill_(value),
             lambda: claygrad.where(claygrad.tensor([True, False, True]), claygrad.ones(3, dtype=kind), value),
             lambda: claygrad.nn.functional.pad(claygrad.ones(3, dtype=kind), (1, 2), value=value)]
    for call in calls:
        native = _outcome(call)
        with reference_only():
            assert _outcome(call) == native


def _outcome(call: Callable[[], claygrad.Tensor]) -> object:
    try:
        found = call()
    except (RuntimeError, OverflowError, TypeError) as error:
        return type(error), str(error)
    return found.dtype, found.shape, found.stride(), str(found.tolist())


def test_a_complex_number_makes_a_complex_tensor():
    assert claygrad.full((2,), 1j).dtype == claygrad.complex64
    try:
        claygrad.set_default_dtype(claygrad.float64)
        assert claygrad.full((2,), 1j).dtype == claygrad.complex128
    finally:
        claygrad.set_default_dtype(claygrad.float32)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex64"])
def test_an_int_that_no_float_holds(dtype: str):
    with pytest.raises(OverflowError, match=r"^int too big to convert"):
        claygrad.zeros(3, dtype=getattr(claygrad, dtype)).fill_(10**400)
