"""Products of bfloat16 by the instructions for them, against those by way of float32, which are what they should be."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy
import pytest

import claygrad
from tests.kernels.kernel_api import Kernels

# Rows, columns, length of the sums: one of each, odd ones, around vectors and panels, deeper than a panel, shared by threads
SIZES = [(1, 1, 1), (1, 1, 5000), (5, 7, 3), (17, 33, 1), (70, 90, 1), (1, 300, 200), (1, 300, 201), (300, 1, 200), (300, 1, 201),
         (3, 40, 129), (15, 60, 64), (15, 60, 33), (9, 31, 130), (16, 16, 16), (16, 16, 17), (33, 65, 127), (64, 64, 64),
         (13, 15, 2050), (40, 530, 2049), (260, 70, 1024), (131, 135, 513), (67, 515, 301), (1030, 33, 301), (9, 2050, 130),
         (600, 40, 1030)]
NAMES = [f"{m}x{n}x{k}" for m, n, k in SIZES]


@pytest.fixture
def by_instruction(kernels: Kernels) -> Iterator[Callable[[bool], None]]:
    """A switch between the instructions and float32."""
    before = kernels.isa()
    if not kernels.use_isa(b"avx512_bf16"):
        pytest.skip("this machine has no instructions for bfloat16")
    yield lambda on: kernels.use_isa(b"avx512_bf16" if on else b"avx512")
    kernels.use_isa(before)


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = claygrad.get_num_threads()
    claygrad.set_num_threads(request.param)
    yield request.param
    claygrad.set_num_threads(before)


def brains(rng: numpy.random.Generator, *shape: int) -> claygrad.Tensor:
    return claygrad.from_numpy(rng.uniform(-1, 1, shape)).to(claygrad.bfloat16)


def layouts(x: claygrad.Tensor) -> list[claygrad.Tensor]:
    """The matrices in rows, in columns, as a part of larger ones (whose rows begin at odd numbers), and every other column."""
    wide = claygrad.full((*x.shape[:-1], x.shape[-1] + 4), claygrad.nan, dtype=x.dtype)
    wide[..., 1:-3] = x
    apart = claygrad.full((*x.shape[:-1], 2 * x.shape[-1]), claygrad.nan, dtype=x.dtype)
    apart[..., ::2] = x
    odd = claygrad.full((*x.shape[:-2], x.shape[-1], x.shape[-2] + 3), claygrad.nan, dtype=x.dtype)
    odd[..., 1:-2] = x.mT
    return [x, x.mT.contiguous().mT, wide[..., 1:-3], apart[..., ::2], odd[..., 1:-2].mT]


def close(made: claygrad.Tensor, want: numpy.ndarray, k: int) -> None:
    """Rounded once: half a place of bfloat16 from the sum, and what is lost in float32."""
    assert made.dtype is claygrad.bfloat16
    bound = numpy.abs(want) * 2.0 ** -8 * 1.001 + 4 * (k + 4) * 2.0 ** -24
    assert (numpy.abs(made.double().numpy() - want) <= bound).all()


def alike(made: claygrad.Tensor, want: claygrad.Tensor) -> None:
    """The same but for sums that lie between two numbers, and few of them: a rounding of float32 decides where they go."""
    assert (made.shape, made.stride(), made.dtype) == (want.shape, want.stride(), want.dtype)
    x, y = made.double().numpy(), want.double().numpy()
    finite = numpy.isfinite(y)
    numpy.testing.assert_array_equal(x[~finite], y[~finite])
    numpy.testing.assert_allclose(x[finite], y[finite], rtol=2.0 ** -7, atol=2.0 ** -12)
    assert (x[finite] != y[finite]).sum() <= 2 + 0.02 * x.size


@pytest.mark.parametrize("size", SIZES, ids=NAMES)
def test_products_in_all_layouts(by_instruction, threads: int, size: tuple[int, int, int]):
    m, n, k = size
    rng = numpy.random.default_rng(m + n + k)
    a, b, row, full = brains(rng, m, k), brains(rng, k, n), brains(rng, n), brains(rng, m, n)
    want = a.double().numpy() @ b.double().numpy()
    for x in layouts(a):
        for y in layouts(b):
            by_instruction(True)
            made = claygrad.mm(x, y)
            close(made, want, k)
            by_instruction(False)
            alike(made, claygrad.mm(x, y))
        by_instruction(True)
        for start in (row, full, full[:1]):
            close(claygrad.addmm(start, x, b), want + start.double().numpy(), k)


@pytest.mark.parametrize("size", SIZES, ids=NAMES)
def test_no_sum_depends_on_the_threads(by_instruction, threads: int, size: tuple[int, int, int]):
    m, n, k = size
    rng = numpy.random.default_rng(k)
    a, b = brains(rng, m, k), brains(rng, k, n)
    for x in layouts(a):
        for y in layouts(b):
            made = claygrad.mm(x, y)
            claygrad.set_num_threads(1)
            assert claygrad.equal(made, claygrad.mm(x, y))
            claygrad.set_num_threads(threads)


@pytest.mark.parametrize("size", [(2, 3, 5, 7), (40, 33, 65, 17), (3, 64, 64, 64), (2, 300, 130, 129), (5, 16, 16, 16), (4, 3, 2, 0), (0, 3, 2, 5)],
                         ids=lambda s: "x".join(map(str, s)))
def test_batches(by_instruction, threads: int, size: tuple[int, int, int, int]):
    count, m, n, k = size
    rng = numpy.random.default_rng(count)
    a, b, c, one = brains(rng, count, m, k), brains(rng, count, k, n), brains(rng, count, m, n), brains(rng, k, n)
    calls = [lambda x, y: claygrad.bmm(x, y), lambda x, y: x @ y, lambda x, y: claygrad.baddbmm(c, x, y),
             lambda x, y: claygrad.baddbmm(c, x, y, beta=0.5, alpha=2), lambda x, y: x @ one,
             lambda x, y: claygrad.einsum("bij,bjk->bki", x, y), lambda x, y: claygrad.tensordot(x, one, 1)]
    if count:
        calls.append(lambda x, y: claygrad.addbmm(c[0], x, y, beta=2, alpha=0.5))
    for x in layouts(a) if a.numel() else [a]:
        for y in layouts(b) if b.numel() else [b]:
            for call in calls:
                by_instruction(True)
                made = call(x, y)
                by_instruction(False)
                alike(made, call(x, y))


def test_sums_with_products_are_rounded_once(by_instruction):
    rng = numpy.random.default_rng(0)
    a, b, c, v = brains(rng, 60, 70), brains(rng, 70, 50), brains(rng, 60, 50), brains(rng, 70)
    calls = [lambda: claygrad.addmm(c, a, b, beta=0.3, alpha=0.7), lambda: claygrad.addmm(c[:, :1], a, b), lambda: a @ v,
             lambda: claygrad.addmm(c.t().contiguous().t(), a, b), lambda: claygrad.addmm(c, a, b, beta=0), lambda: b.t() @ v,
             lambda: claygrad.addmv(c[:, 0], a, v), lambda: claygrad.addmv(c[:, 0], a, v, beta=2, alpha=0.5),
             lambda: c.clone().addmm_(a, b), lambda: c.clone().addmm_(a, b, beta=2, alpha=3), lambda: claygrad.addr(c, a[:, 0], b[0]),
             lambda: claygrad.nn.functional.linear(a, b.t(), c[0]), lambda: claygrad.nn.functional.linear(a, b.t().contiguous(), c[0]),
             lambda: claygrad.dot(v, v), lambda: claygrad.mm(a, b, out=claygrad.empty(60, 50, dtype=claygrad.bfloat16))]
    for call in calls:
        by_instruction(True)
        made = call()
        by_instruction(False)
        alike(made, call())
    by_instruction(True)
    want = 0.7 * (a.double().numpy() @ b.double().numpy()) + 0.3 * c.double().numpy()
    close(claygrad.addmm(c, a, b, beta=0.3, alpha=0.7), want, 70)


@pytest.mark.parametrize("size", [(60, 50, 40), (7, 130, 129), (130, 1, 67)], ids=lambda s: "x".join(map(str, s)))
def test_gradients(by_instruction, size: tuple[int, int, int]):
    m, n, k = size

    def grads() -> list[claygrad.Tensor]:
        rng = numpy.random.default_rng(m)
        x, weight, bias, g = brains(rng, m, k), brains(rng, n, k), brains(rng, n), brains(rng, m, n)
        for t in (x, weight, bias):
            t.requires_grad_()
        claygrad.nn.functional.linear(x, weight, bias).backward(g)
        first = [x.grad, weight.grad, bias.grad]
        x.grad = weight.grad = None
        (x @ weight.t()).backward(g)
        return [*first, x.grad, weight.grad]

    by_instruction(True)
    made = grads()
    by_instruction(False)
    for one, want in zip(made, grads(), strict=True):
        alike(one, want)


@pytest.mark.parametrize("k", [66, 67])
def test_nan_and_infinity_stay_in_their_rows_and_columns(by_instruction, threads: int, k: int):
    a, b = claygrad.ones(300, k, dtype=claygrad.bfloat16), claygrad.ones(k, 310, dtype=claygrad.bfloat16)
    a[17, 3], a[299, k - 1], b[5, 309], b[0, 64] = claygrad.nan, claygrad.inf, -claygrad.inf, claygrad.nan
    a[20, 0], b[k - 1, 7] = claygrad.inf, 0                     # next to the end of the row before; times zero it would be NaN
    with numpy.errstate(invalid="ignore"):
        want = claygrad.from_numpy(a.double().numpy() @ b.double().numpy()).to(claygrad.bfloat16)
    for x in layouts(a):
        for y in layouts(b):
            assert claygrad.equal(claygrad.mm(x, y).nan_to_num(5, 6, 7), want.nan_to_num(5, 6, 7))
            few = claygrad.mm(x[297:], y)
            assert claygrad.equal(few.nan_to_num(5, 6, 7), want[297:].nan_to_num(5, 6, 7))


def test_large_sums_are_infinite_and_halves_go_to_the_even_one(by_instruction):
    one = claygrad.ones(40, 40, dtype=claygrad.bfloat16)
    assert (claygrad.mm(one * 3e38, one) == claygrad.inf).all()
    for number, want in ((256 + 1, 256), (256 + 3, 260), (256 + 2, 258)):     # beyond 256 bfloat16 has every other number
        a = claygrad.zeros(40, 40, dtype=claygrad.bfloat16)
        a[:, 0], a[:, 1] = 256, number - 256
        assert (claygrad.mm(a, one) == want).all()


@pytest.mark.parametrize("n", [1, 4, 16])
def test_small_products_keep_numbers_below_the_least_normal_one(by_instruction, n: int):
    tiny, one = claygrad.full((n, n), 2.0 ** -130, dtype=claygrad.bfloat16), claygrad.eye(n, dtype=claygrad.bfloat16)
    assert claygrad.equal(tiny @ one, tiny)
    assert claygrad.equal(claygrad.addmm(tiny, one, one * 0), tiny)


def test_products_of_nothing(by_instruction):
    a, b, row = (claygrad.ones(s, dtype=claygrad.bfloat16) for s in ((30, 0), (0, 40), (40,)))
    assert claygrad.equal(a @ b, claygrad.zeros(30, 40, dtype=claygrad.bfloat16))
    assert claygrad.equal(claygrad.addmm(row, a, b), claygrad.ones(30, 40, dtype=claygrad.bfloat16))
    assert (b @ claygrad.ones(40, 3, dtype=claygrad.bfloat16)).shape == (0, 3)
    assert claygrad.addmm(row, a, b, beta=2, alpha=3).eq(2).all()
