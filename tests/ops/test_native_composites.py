"""Native short paths of indexing, creation and shapes against the declarations, which are their specification."""

from __future__ import annotations

import itertools

import numpy
import pytest

import claygrad
from claygrad.core import op_named
from claygrad.ops.part import unfold

DRAW = numpy.random.RandomState(3)
DTYPES = ["float32", "float64", "int64", "int32", "uint8", "bool", "complex64", "float16"]
SPECIAL = [float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 1e-42]


def room(*shape: int, dtype: str = "float32") -> numpy.ndarray:
    """Numbers of all kinds: the special ones too, where there are such."""
    numbers = DRAW.randint(-3 if dtype not in ("uint8", "bool") else 0, 4, size=shape).astype(dtype)
    if dtype.startswith("float"):
        numbers = numbers + numpy.where(DRAW.rand(*shape) < 0.2, DRAW.choice(SPECIAL, size=shape), 0).astype(dtype)
    return numpy.asarray(numbers, dtype)


def numbers(high: int, *shape: int) -> numpy.ndarray:
    return DRAW.randint(0, high, size=shape)


def layouts(array: numpy.ndarray) -> list[claygrad.Tensor]:
    """The same numbers in row-major order, with the axes turned, and with gaps between them."""
    plain = claygrad.tensor(array)
    if not array.ndim:
        return [plain]
    turned = claygrad.tensor(numpy.ascontiguousarray(array.T)).permute(tuple(range(array.ndim))[::-1])
    gaps = claygrad.empty(*[2 * n for n in array.shape], dtype=plain.dtype)[tuple([slice(None, None, 2)] * array.ndim)]
    gaps.copy_(plain)
    return [plain, turned, gaps]


def same(found: claygrad.Tensor, expected: numpy.ndarray, loose: float = 0.0) -> bool:
    array = found.numpy() if found.dtype.name != "bfloat16" else found.float().numpy()
    if array.dtype != expected.dtype or array.shape != expected.shape:
        return False
    if loose:
        return bool(numpy.allclose(array, expected, rtol=loose, atol=loose, equal_nan=True))
    signs = array.dtype.kind != "f" or numpy.array_equal(numpy.signbit(array)[array == 0], numpy.signbit(expected)[array == 0])
    return bool(numpy.array_equal(array, expected, equal_nan=array.dtype.kind in "fc") and signs)


def as_declared(name: str, *args: object, **kwargs: object) -> numpy.ndarray:
    """What the forward of the declaration makes of arrays."""
    def plain(value: object) -> object:
        if isinstance(value, (tuple, list)) and any(isinstance(x, claygrad.Tensor) for x in value):
            return [plain(x) for x in value]
        return value.numpy() if isinstance(value, claygrad.Tensor) else value

    with numpy.errstate(all="ignore"):
        forward = op_named(name).forward
        return numpy.asarray(forward(numpy, *map(plain, args), **{k: plain(v) for k, v in kwargs.items()}))


def check(name: str, *args: object, loose: float = 0.0, **kwargs: object) -> None:
    assert same(op_named(name)(*args, **kwargs), as_declared(name, *args, **kwargs), loose), (name, args, kwargs)


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_in_other_places(dtype):
    for shape in ((3, 4), (5,), (2, 3, 4), (1, 4), (4, 1), (), (0, 3)):
        for x in layouts(room(*shape, dtype=dtype)):
            dims = range(-x.ndim, x.ndim)
            for k in range(x.ndim + 1):
                for chosen in itertools.combinations(range(x.ndim), k):
                    check("flip", x, chosen)
                    if chosen:
                        check("roll", x, tuple(DRAW.randint(-7, 7, size=k).tolist()), chosen)
            check("roll", x, 3)
            check("repeat", x, (2,) * x.ndim) if x.ndim else None
            check("repeat", x, (3, *range(1, x.ndim + 1)))
            for dim in dims:
                check("repeat", x, tuple([0 if d == dim else 2 for d in range(-x.ndim, 0)]))
            if x.ndim >= 2:
                for k, pair in itertools.product((-1, 0, 1, 2, 3), ((0, 1), (1, 0), (-1, 0))):
                    check("rot90", x, k, pair)
                for diagonal in (-9, -1, 0, 2):
                    check("tril", x, diagonal)
                    check("triu", x, diagonal)
            if x.ndim and x.numel():
                for offset in (-2, 0, 1):
                    check("diag_embed", x, offset, -2, -1)
                    check("diag_embed", x, offset, 0, x.ndim)
                check("constant_pad_nd", x, (1, 2), 1)
                check("constant_pad_nd", x, (0, 2) * x.ndim, 0)
                check("constant_pad_nd", x, (1, 1 - x.shape[-1]), 1)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_axes_continued_by_their_own_elements(dtype):
    x = claygrad.tensor(room(2, 3, 4, 5, dtype=dtype))
    for mode, pads in itertools.product(("replicate", "reflect", "circular"),
                                        ((1, 2), (2, 0, 1, 1), (1, 1, 0, 2, 1, 0), (-1, 2), (-2, -1, 1, 1), (3, -4))):
        check("_pad_enum", x, pads, mode)
    check("_pad_enum", x, (-5, 7), "replicate")
    check("_pad_enum", claygrad.empty(0, 3, 3), (1, 2), "circular")


@pytest.mark.parametrize("dtype", DTYPES)
def test_channels_dealt_out(dtype):
    for x in layouts(room(2, 12, 4, 6, dtype=dtype)):
        for r in (1, 2):
            check("pixel_shuffle", x, r)
            check("pixel_unshuffle", x, r)
        for groups in (1, 3, 12):
            check("channel_shuffle", x, groups)


@pytest.mark.parametrize("dtype", DTYPES)
def test_parts_replaced(dtype):
    for x in layouts(room(3, 4, 5, dtype=dtype)):
        for dim in (0, 1, -1):
            part = list(x.shape)
            del part[dim]
            check("select_scatter", x, claygrad.tensor(room(*part, dtype=dtype)), dim, -1)
            check("select_backward", claygrad.tensor(room(*part, dtype=dtype)), tuple(x.shape), dim % 3, 1)
        check("slice_scatter", x, claygrad.tensor(room(3, 2, 5, dtype=dtype)), 1, -3, None, 2)
        check("slice_backward", claygrad.tensor(room(3, 2, 5, dtype=dtype)), (3, 4, 5), 1, 1, 4, 2)
        check("diagonal_scatter", x, claygrad.tensor(room(4, 3, dtype=dtype)), 1, 0, 2)
        check("diagonal_backward", claygrad.tensor(room(4, 2, dtype=dtype)), (3, 4, 5), -1, 0, 2)


@pytest.mark.parametrize("dtype", DTYPES)
def test_places_along_an_axis(dtype):
    for shape, dim in (((4, 5), 0), ((4, 5), 1), ((6,), 0), ((2, 3, 4), -2)):
        n = shape[dim]
        for x in layouts(room(*shape, dtype=dtype)):
            for smaller in (False, True):
                index_shape = [k - (smaller and k > 1) for k in shape]
                index_shape[dim] = 3
                for index in layouts(numbers(n, *index_shape)):
                    check("gather", x, dim, index)
                    src = claygrad.tensor(room(*[k + 1 for k in index_shape], dtype=dtype))
                    check("scatter", x, dim, index, src)
                    check("scatter", x, dim, index, value=1)
                    if dtype != "bool":
                        check("scatter_add", x, dim, index, src, loose=1e-2 if dtype == "float16" else 1e-6)
            wide = list(shape)
            wide[dim] = 3
            for index in (claygrad.tensor(numbers(n, 3)), claygrad.tensor(numbers(n, 6))[::2]):
                for source in layouts(room(*wide, dtype=dtype)):
                    check("index_select", x, dim, index)
                    check("index_copy", x, dim, index, source)
                    check("index_fill", x, dim, index, 1)
                    for alpha in (1, 2, -1) if dtype != "bool" else (1,):
                        check("index_add", x, dim, index, source, alpha=alpha, loose=1e-2 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32"])
@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_reductions_into_places(reduce, include, dtype):
    for x in layouts(room(4, 5, dtype=dtype)):
        index, src = claygrad.tensor(numbers(4, 6, 4)), claygrad.tensor(room(6, 5, dtype=dtype))
        check("scatter_reduce", x, 0, index, src, reduce, include_self=include, loose=1e-6)
        if reduce != "sum":
            check("index_reduce", x, 0, claygrad.tensor(numbers(4, 6)), src, reduce, include_self=include, loose=1e-6)
    one = claygrad.tensor(room(dtype=dtype))
    check("scatter_reduce", one, 0, claygrad.tensor(0), one, reduce, include_self=include, loose=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_tensors_without_axes_count_as_vectors_of_one(dtype):
    x, source, index = claygrad.tensor(room(dtype=dtype)), claygrad.tensor(room(dtype=dtype)), claygrad.tensor([0])
    for at in (index, claygrad.tensor(0)):
        check("gather", x, 0, at)
        check("scatter", x, 0, at, source)
        check("index_select", x, 0, at)
        check("index_copy", x, 0, at, source)
        check("index_fill", x, -1, at, 1)
        check("take", x, at)
        if dtype not in ("bool", "float16"):
            check("index_add", x, 0, at, source)
    with pytest.raises(RuntimeError, match="source tensor shape must match"):
        claygrad.zeros(1).index_add(0, index, claygrad.tensor(1.0))


@pytest.mark.parametrize("dtype", DTYPES)
def test_masks(dtype):
    for shape, other in (((3, 4), (3, 4)), ((3, 4), (4,)), ((4,), (3, 1)), ((), ()), ((300, 70), (300, 70))):
        for x, mask in itertools.product(layouts(room(*shape, dtype=dtype)), layouts(numpy.asarray(DRAW.rand(*other) < 0.4))):
            check("masked_select", x, mask)
            check("masked_scatter", x, mask, claygrad.tensor(room(300, 70, dtype=dtype)))
            check("masked_fill", x, mask, 1)
            check("masked_fill", x, mask, claygrad.tensor(room(dtype=dtype)))
            y = claygrad.tensor(room(*shape, dtype=dtype))
            assert same(claygrad.where(mask, x, y), numpy.where(mask.numpy(), x.numpy(), y.numpy()))
            if dtype != "bool":
                assert same(claygrad.where(mask, x, 1), numpy.where(mask.numpy(), x.numpy(), numpy.ones((), dtype)))
                assert same(claygrad.where(mask, 1, x), numpy.where(mask.numpy(), numpy.ones((), dtype), x.numpy()))
    for x in layouts(room(3, 4, 2, dtype=dtype)):
        assert same(claygrad.nonzero(x), numpy.argwhere(x.numpy()))
        for size in (0, 2, 40):
            check("nonzero_static", x, size=size, fill_value=-7)
    assert claygrad.zeros(2, 3).nonzero().shape == (0, 2)
    assert claygrad.tensor(2.0).nonzero().shape == (1, 0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_several_index_tensors(dtype):
    x = room(4, 5, 6, dtype=dtype)
    i, j, k = numbers(4, 3, 1) - 2, numbers(5, 2) - 5, numbers(6, 3, 2)
    rows, both = DRAW.rand(4) < 0.6, DRAW.rand(4, 5) < 0.5
    rows[0] = both[0, 0] = True
    spots = numpy.arange(x.size).reshape(x.shape)
    keys = [(i,), (i, j), (i, j, k), (slice(None), j), (slice(None), slice(None), k), (i, slice(None), k),
            (slice(None), j, k), (rows,), (both,), (slice(None), numbers(5, 3)), (rows, 2), (x.real == x.real,)]
    for key in keys:
        named = tuple(claygrad.tensor(part) if isinstance(part, numpy.ndarray) else part for part in key)
        for tensor in layouts(x):
            expected = x[key]
            assert same(tensor[named], expected)
            for values in (room(*expected.shape, dtype=dtype), room(dtype=dtype), room(*expected.shape[-1:], dtype=dtype)):
                written, array = tensor.clone(), x.copy()
                written[named], array[key] = claygrad.tensor(values), values
                if values.ndim == 0 or expected.size == numpy.unique(spots[key]).size:
                    assert same(written, array)        # else the order of places that repeat is free
        if dtype in ("float32", "float64", "int64") and 2 not in [type(part) is int and part for part in key]:
            values, array = room(*x[key].shape, dtype=dtype), x.copy()
            with numpy.errstate(invalid="ignore"):
                numpy.add.at(array, key, values)
            indices = [claygrad.tensor(part) if isinstance(part, numpy.ndarray) else None for part in key]
            assert same(claygrad.tensor(x).index_put(indices, claygrad.tensor(values), accumulate=True), array, 1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_flat_places(dtype):
    for x in layouts(room(3, 4, dtype=dtype)):
        index = claygrad.tensor(numbers(24, 2, 3) - 12)
        check("take", x, index)
        once = claygrad.tensor(DRAW.permutation(12)[:6] - 3)
        check("put", x, once, claygrad.tensor(room(6, dtype=dtype)))
        if dtype not in ("bool", "float16"):
            check("put", x, index, claygrad.tensor(room(2, 3, dtype=dtype)), True, loose=1e-6)


def test_numbers_out_of_range_are_refused_as_ever():
    x, far = claygrad.ones(3, 4), claygrad.tensor([0, 9])
    for call in (lambda: x.index_select(0, far), lambda: x[far], lambda: x[:, far], lambda: x.take(far + 5),
                 lambda: x.index_fill(0, far, 1.0), lambda: x.index_copy(0, far, claygrad.ones(2, 4)),
                 lambda: x.index_put((far,), claygrad.ones(2, 4)), lambda: x.put(far + 5, claygrad.ones(2)),
                 lambda: x.gather(0, far.view(1, 2)), lambda: x.scatter(0, far.view(1, 2), 1.0),
                 lambda: x.select(0, 3), lambda: x.narrow(0, 2, 2), lambda: x.diagonal(0, 0, 2)):
        with pytest.raises((IndexError, RuntimeError)):
            call()
    with pytest.raises(RuntimeError):                  # nothing was written before it was refused
        x.scatter_(0, claygrad.tensor([[0, 1], [7, 0]]), 5.0)
    assert bool((x == 1).all())


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32"])
def test_numbers_for_elements(dtype):
    edges = claygrad.tensor(numpy.sort(room(7, dtype="int64")).astype(dtype))
    values = claygrad.tensor(numbers(6, 3, 5).astype(dtype) - 3)
    for right in (False, True):
        check("searchsorted", edges, values, right=right)
        check("bucketize", values, edges, right=right)
    check("searchsorted", edges, values[:0])
    check("trace", values, loose=1e-6)
    for others in (edges, edges[:2], edges[:0]):
        for invert in (False, True):
            found = claygrad.isin(values, others, invert=invert)
            assert same(found, numpy.isin(values.numpy(), others.numpy(), invert=invert))
    assert claygrad.equal(values, values.clone())
    assert not claygrad.equal(values, values + 1)
    if dtype.startswith("float"):
        assert not claygrad.equal(claygrad.tensor([float("nan")]), claygrad.tensor([float("nan")]))
        assert claygrad.equal(claygrad.tensor([0.0]), claygrad.tensor([-0.0]))
        for dim in (0, 1, -1):
            shape = [4, 4, 4]
            shape[dim] = 3
            a, b = (claygrad.tensor(DRAW.randn(*shape).astype(dtype)) for _ in range(2))
            check("linalg_cross", a, b, dim=dim)
        x = claygrad.tensor(DRAW.randn(200).astype(dtype))
        check("histc", x, 7, -1, 2)
    check("one_hot", claygrad.tensor(numbers(4, 2, 3)), 5)


@pytest.mark.parametrize("dtype", [None, "float32", "float64", "int64"])
def test_ranges_are_as_declared(dtype):
    kind = {} if dtype is None else {"dtype": getattr(claygrad, dtype)}
    for args in ((5,), (0,), (2, 9), (9, 2, -3), (-4, 40, 3), (0.5, 20), (1, 2.5, 0.1), (0, 1, 1 / 3), (3, -8, -0.7),
                 (0, 1000, 0.37), (1e8, 1e8 + 50), (2, 2), (-1.5, 31, 2)):
        if dtype == "int64" and 0 < abs(args[-1]) < 1:
            continue                                   # a step that is cut to 0 is refused
        found, expected = claygrad.arange(*args, **kind), claygrad.arange.__wrapped__(*args, **kind)
        assert same(found, expected.numpy()), args
    for make in (claygrad.linspace, claygrad.logspace):
        for args in itertools.product((0, -2.5, 3), (1, 0.1, -7), (0, 1, 2, 5, 64, 101)):
            assert same(make(*args, **kind), make.__wrapped__(*args, **kind).numpy()), args
    assert same(claygrad.logspace(-1, 2, 9, 2.0), claygrad.logspace.__wrapped__(-1, 2, 9, 2.0).numpy())
    for n in (70_001, 250_000):                        # shared by threads
        for make, args in ((claygrad.arange, (0, n, 1.7)), (claygrad.arange, (-3, n)), (claygrad.linspace, (-1, 3, n)),
                           (claygrad.logspace, (-1, 1, n // 8))):
            assert same(make(*args, **kind), make.__wrapped__(*args, **kind).numpy()), (make, args)


@pytest.mark.parametrize("dtype", [None, "int64", "int32"])
@pytest.mark.parametrize("make", [claygrad.tril_indices, claygrad.triu_indices])
def test_places_of_triangles_are_as_declared(make, dtype):
    kind = {} if dtype is None else {"dtype": getattr(claygrad, dtype)}
    for rows, columns, offset in itertools.product((0, 1, 3, 7), (0, 1, 4, 5), (-9, -2, 0, 1, 3, 9)):
        assert same(make(rows, columns, offset, **kind), make.__wrapped__(rows, columns, offset, **kind).numpy())
        assert same(make(rows, columns, offset=offset, **kind), make.__wrapped__(rows, columns, offset, **kind).numpy())


def test_factories_are_as_declared():
    x = claygrad.tensor(room(3, 4))
    for make, args in ((claygrad.zeros, (2, 3)), (claygrad.zeros, ((2, 0),)), (claygrad.ones, ([4],)), (claygrad.ones, ()),
                       (claygrad.full, ((2, 3), 1.5)), (claygrad.full, ((), True)), (claygrad.full, ([3], -7)),
                       (claygrad.full, ((2,), -0.0)), (claygrad.eye, (3,)), (claygrad.eye, (2, 5)), (claygrad.eye, (4, 0)),
                       (claygrad.scalar_tensor, (3,)), (claygrad.scalar_tensor, (2.5,))):
        for kind in (None, claygrad.float64, claygrad.int64, claygrad.bool, claygrad.complex64, claygrad.float16):
            options = {} if kind is None else {"dtype": kind}
            if args:
                assert same(make(*args, **options), make.__wrapped__(*args, **options).numpy()), (make, args, kind)
    for like in (x, x.t(), x[:, ::2], claygrad.empty(0, 3), claygrad.tensor(1.0), claygrad.ones(2, 1, 3).transpose(0, 2)):
        for name, more in (("zeros_like", ()), ("ones_like", ()), ("full_like", (-0.0,)), ("full_like", (3,))):
            for kind in ({}, {"dtype": claygrad.int64}, {"dtype": claygrad.float64}):
                found, expected = getattr(claygrad, name)(like, *more, **kind), op_named(name).forward(like, *more, **kind)
                assert same(found, expected.numpy())
                assert found.stride() == expected.stride()
        assert claygrad.empty_like(like).stride() == op_named("empty_like").forward(like).stride()
        assert like.new_zeros(2, 3).tolist() == [[0.0] * 3] * 2
        assert same(like.new_full((2,), 7), numpy.full(2, 7, "float32"))
        assert like.new_ones((3,), dtype=claygrad.int64).dtype is claygrad.int64
    for n in (1, 1023, 1024, 1025, 70_001, 300_001):
        for kind in (claygrad.float32, claygrad.float64, claygrad.int16):
            assert same(claygrad.full((n,), 3, dtype=kind), numpy.full(n, 3, kind.name))
    assert claygrad.empty_permuted((2, 3, 4), (1, 2, 0)).stride() == (1, 8, 2)
    a, b, c = claygrad.broadcast_tensors(x, x[0], x[:, :1])
    assert a is x
    assert (b.stride(), c.stride()) == ((0, 1), (4, 0))
    made = claygrad.zeros(3, requires_grad=True)
    assert made.requires_grad
    assert made.is_leaf
    with pytest.raises(RuntimeError, match="Only Tensors of floating point"):
        claygrad.zeros(3, dtype=claygrad.int64, requires_grad=True)
    with pytest.raises(RuntimeError, match="non-negative"):
        claygrad.zeros(-1)


def geometry(tensor: claygrad.Tensor) -> tuple:
    return tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), tensor.data_ptr()


def test_views_have_the_geometry_of_their_declarations():
    for x in layouts(room(4, 6, 3)):
        calls = [("select", 1, -2), ("diagonal", 0, 0, 1), ("diagonal", -3, 2, 1), ("diagonal", 9, 0, 1), ("slice", 1, 1, 5, 2),
                 ("slice", 0, -3, None, 1), ("slice", 2, 2, 1, 1), ("as_strided", (2, 2), (3, 1), 4),
                 ("squeeze", (0, 1)), ("as_strided", (), (), None)]
        for name, *args in calls:
            found = op_named(name)(x, *args)
            expected = op_named(name).forward(x, *args)
            assert geometry(found)[:3] == (tuple(expected[0]), tuple(expected[1]), expected[2]), (name, args)
        for name, *args in (("split_evenly", 4, 1), ("split_with_sizes", (1, 0, 5), 1), ("unbind", -1)):
            for found, expected in zip(op_named(name)(x, *args), op_named(name).forward(x, *args), strict=True):
                assert geometry(found)[:3] == (tuple(expected[0]), tuple(expected[1]), expected[2]), (name, args)
        for name, *args in (("chunk", 4, 1), ("chunk", 9, -1), ("split", 4, 1), ("narrow", 1, -3, 2), ("movedim", 0, 2),
                            ("movedim", (0, 1), (-1, 0)), ("swapaxes", 0, 2), ("tensor_split", 4, 1), ("hsplit", 3),
                            ("tensor_split", (1, -2, 9), 1), ("vsplit", (1, 3)), ("dsplit", 3), ("reshape", (8, 9)),
                            ("tensor_split", claygrad.tensor([1, 3]), 1), ("flatten", 0, -1), ("flatten", 1, 2),
                            ("flatten", 1, 1), ("reshape", (-1,)), ("unsafe_chunk", 2, 1), ("unsafe_split", 2, 1)):
            found, expected = op_named(name)(x, *args), op_named(name).forward(x, *args)
            pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
            for a, b in pairs:
                assert geometry(a)[:2] == geometry(b)[:2]
                assert same(a, b.numpy())
        assert geometry(x.unfold(1, 3, 2))[:3] == unfold.forward(x, 1, 3, 2)
    x = claygrad.ones(4, 6)
    assert geometry(x.unflatten(1, (2, -1)))[:2] == ((4, 2, 3), (6, 3, 1))
    assert geometry(claygrad.view_as_complex(claygrad.ones(3, 2)))[:2] == ((3,), (1,))
    assert x.contiguous() is x


def test_what_is_written_in_place_is_what_is_declared():
    index, mask = claygrad.tensor([2, 0]), claygrad.tensor(DRAW.rand(3, 4) < 0.5)
    for name, args in (("index_add", (0, index, claygrad.ones(2, 4))), ("index_copy", (0, index, claygrad.ones(2, 4))),
                       ("index_fill", (1, index, 7.0)), ("scatter", (0, claygrad.tensor([[0, 2]]), 3.0)),
                       ("masked_fill", (mask, 2.0)), ("masked_scatter", (mask, claygrad.ones(12))),
                       ("put", (index, claygrad.ones(2))), ("scatter_reduce", (0, claygrad.tensor([[1, 1]]), claygrad.ones(1, 2), "prod")),
                       ("index_put", ((index,), claygrad.ones(4))), ("tril", ()), ("fill", (4.0,))):
        x = claygrad.tensor(room(3, 4))
        expected = getattr(claygrad, name)(x, *args)
        version = x._version
        assert getattr(x, name + "_")(*args) is x
        assert same(x, expected.numpy()), name
        assert x._version == version + 1
    x = claygrad.zeros(3, 4)
    with pytest.raises(RuntimeError, match="unsupported operation"):
        x.index_copy_(0, index, x[:2])


def test_to_reads_its_arguments_as_the_declaration_does():
    from claygrad.ops.cast import moved, parse_to

    cpu, wide, other = claygrad.device("cpu"), claygrad.float64, claygrad.tensor([1, 2])
    calls: list[tuple[tuple, dict]] = [
        ((cpu,), {"non_blocking": True}), ((cpu, wide, True), {}), (("cpu", None, False, True), {}), ((wide, True, True), {}),
        ((claygrad.float32,), {"copy": True}), ((other,), {}), ((other, True, True), {}), ((), {"device": cpu, "dtype": wide, "non_blocking": True}),
        ((), {"memory_format": claygrad.channels_last}), ((), {"memory_format": claygrad.preserve_format}),
        ((wide,), {"memory_format": claygrad.channels_last}), ((), {"memory_format": claygrad.contiguous_format}),
        ((), {"memory_format": claygrad.channels_last, "copy": True}), ((None,), {}), ((None, None), {"copy": True}), ((), {"copy": True})]
    plain = claygrad.tensor(room(2, 3, 4, 5))
    for x in (plain, plain.permute(0, 2, 3, 1), plain[:, 1:], plain[:1], plain[:, :1].expand(2, 3, 4, 5), plain[..., 0], plain[0, 0, 0, 0], plain[:0]):
        for args, named in calls:
            if named.get("memory_format") is claygrad.channels_last and x.ndim != 4:
                continue
            where, wanted, copy, form = parse_to(args, named)
            made, said = x.to(*args, **named), moved(x, wanted or x.dtype, where or x.device, copy, form)
            assert (made is x) == (said is x), (args, named)
            assert (made.dtype, made.shape, made.stride()) == (said.dtype, said.shape, said.stride()), (args, named)
            assert made.dtype == claygrad.int64 or claygrad.equal(made.nan_to_num(), said.nan_to_num())
    for args, named in (((wide,), {"device": cpu}), ((cpu,), {"device": cpu}), ((cpu, wide, 1), {}), ((cpu,), {"other": 1}),
                        ((cpu, wide, True, True, None), {}), ((other,), {"dtype": wide}), (("nowhere",), {}), ((cpu, 3), {})):
        with pytest.raises((TypeError, RuntimeError)):
            plain.to(*args, **named)


def test_a_clone_with_its_channels_last():
    plain = claygrad.tensor(room(2, 3, 4, 5))
    for x in (plain, plain.permute(0, 2, 3, 1), plain[:, 1:], plain[:1, :1], plain[:0]):
        made = x.clone(memory_format=claygrad.channels_last)
        assert made.stride() == (made.shape[1] * made.shape[2] * made.shape[3], 1, made.shape[1] * made.shape[3], made.shape[1])
        assert claygrad.equal(made.nan_to_num(), x.nan_to_num())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_histc_between_the_ends_of_the_elements(dtype: str):
    for array in (DRAW.rand(1000), DRAW.rand(30, 7).T, numpy.full(5, 2.5), DRAW.rand(1)):
        x = claygrad.tensor(array.astype(dtype))
        low, high = (x.min().item(), x.max().item()) if len(set(array.reshape(-1))) > 1 else (x.min().item() - 1, x.min().item() + 1)
        for bins in (1, 7, 100):
            assert claygrad.equal(claygrad.histc(x, bins), claygrad.histc(x, bins, low, high))
    with pytest.raises(RuntimeError, match="is not finite"):
        claygrad.histc(claygrad.tensor([1.0, float("nan")]).to(getattr(claygrad, dtype)), 3)
