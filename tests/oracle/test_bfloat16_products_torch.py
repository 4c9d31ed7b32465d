"""Products of bfloat16 against PyTorch: sums in float32 that are rounded once, whichever instructions the machine has."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy
import pytest

import claygrad

torch = pytest.importorskip("torch")

SIZES = [(1, 1, 1), (1, 200, 130), (200, 1, 131), (7, 9, 300), (16, 16, 16), (17, 16, 16), (33, 65, 127), (128, 128, 128), (70, 300, 2100)]


def brain(library: ModuleType, x: numpy.ndarray) -> Any:
    return library.from_numpy(x).to(library.bfloat16)


def agree(mine: Any, other: Any) -> None:
    """But for sums between two numbers, of which a rounding of float32 says where they go."""
    assert tuple(mine.shape) == tuple(other.shape)
    assert mine.stride() == other.stride()
    assert str(mine.dtype).split(".")[-1] == str(other.dtype).split(".")[-1] == "bfloat16"
    x, y = mine.detach().double().numpy(), other.detach().double().numpy()
    numpy.testing.assert_allclose(x, y, rtol=2.0 ** -7, atol=2.0 ** -12)
    assert (x != y).sum() <= 2 + 0.02 * x.size


@pytest.mark.parametrize("size", SIZES, ids=lambda s: "x".join(map(str, s)))
def test_products_and_sums_with_them(size: tuple[int, int, int]):
    m, n, k = size
    draw = numpy.random.default_rng(m + n + k)
    arrays = [draw.uniform(-1, 1, s) for s in ((m, k), (k, n), (m, n), (n,), (k,), (3, m, k), (3, k, n), (3, m, n))]

    def results(library: ModuleType) -> list[Any]:
        a, b, c, row, v, many_a, many_b, many_c = (brain(library, x) for x in arrays)
        turned_a, turned_b = a.t().contiguous().t(), b.t().contiguous().t()
        return [a @ b, turned_a @ b, a @ turned_b, turned_a @ turned_b, a @ v, library.addmm(c, a, b), library.addmm(row, a, b),
                library.addmm(c, a, b, beta=0.5, alpha=2), library.nn.functional.linear(a, b.t(), row), library.bmm(many_a, many_b),
                library.baddbmm(many_c, many_a, many_b), library.baddbmm(many_c, many_a, many_b, beta=2, alpha=0.5), many_a @ b,
                library.addmv(c[:, 0], a, v), c.clone().addmm_(a, b, beta=0.5)]

    for mine, other in zip(results(claygrad), results(torch), strict=True):
        agree(mine, other)


@pytest.mark.parametrize("size", SIZES, ids=lambda s: "x".join(map(str, s)))
def test_gradients_of_a_layer(size: tuple[int, int, int]):
    m, n, k = size
    draw = numpy.random.default_rng(m + n + k)
    arrays = [draw.uniform(-1, 1, s) for s in ((m, k), (n, k), (n,), (m, n))]

    def results(library: ModuleType) -> list[Any]:
        x, weight, bias, g = (brain(library, x) for x in arrays)
        for t in (x, weight, bias):
            t.requires_grad_()
        out = library.nn.functional.linear(x, weight, bias)
        out.backward(g)
        return [out, x.grad, weight.grad]

    for mine, other in zip(results(claygrad), results(torch), strict=True):
        agree(mine, other)


@pytest.mark.parametrize("n", [40, 41, 130])
def test_nan_and_infinity(n: int):
    draw = numpy.random.default_rng(n)
    a, b = draw.uniform(-1, 1, (n, n)), draw.uniform(-1, 1, (n, n))
    a[3, 5], a[4, n - 1], a[6, 7], a[9, 0], b[2, 8], b[n - 1, 11] = numpy.nan, numpy.inf, 3e38, -numpy.inf, -numpy.inf, numpy.nan
    b[7] *= 100
    mine, other = (brain(library, a) @ brain(library, b) for library in (claygrad, torch))
    x, y = mine.double().numpy(), other.double().numpy()
    numpy.testing.assert_array_equal(numpy.isfinite(x), numpy.isfinite(y))
    numpy.testing.assert_array_equal(x[~numpy.isfinite(y)], y[~numpy.isfinite(y)])


@pytest.mark.parametrize("n", [1, 2, 8, 16, 17, 64])
def test_what_is_below_the_least_normal_number_is_lost_no_more_often(n: int):
    tiny = numpy.full((n, n), 2.0 ** -130)

    def results(library: ModuleType) -> list[numpy.ndarray]:
        x, one, zero = brain(library, tiny), brain(library, numpy.eye(n)), brain(library, numpy.zeros((n, n)))
        linear = library.nn.functional.linear
        return [t.double().numpy() for t in (x @ one, one @ x, library.addmm(x, zero, zero), linear(x, one, zero[0]), linear(one, zero, x[0]))]

    for mine, other in zip(results(claygrad), results(torch), strict=True):
        assert ((mine == other) | (other == 0)).all()
