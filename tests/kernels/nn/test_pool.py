"""The native pooling loops against the reference, at shapes drawn at random, on every instruction set."""

from __future__ import annotations

import numpy
import pytest

import claygrad
from claygrad.ops import _pool, pool, pool_adaptive, pool_max


def draw(rng, dtype):
    """An input of one to three pooled axes and settings that are allowed, odd ones too."""
    while True:
        dims = int(rng.integers(1, 4))
        kernel, stride = (tuple(map(int, rng.integers(1, high, dims))) for high in (5, 4))
        dilation = tuple(map(int, rng.integers(1, 3, dims)))
        padding = tuple(int(rng.integers(0, k // 2 + 1)) for k in kernel)
        size = tuple(d * (k - 1) + 1 + int(rng.integers(0, (40, 40, 12)[dims - 1])) for k, d in zip(kernel, dilation))
        ceil = bool(rng.integers(0, 2))
        out = _pool.out_sizes(size, kernel, stride, padding, dilation, ceil)
        if min(out) > 0:
            break
    x = rng.integers(-4, 5, (2, 3, *size)).astype(dtype)                # many ties
    x[x == -3] = -0.0
    spoiled = rng.random(x.shape)
    if rng.random() < 0.5:
        x[spoiled < 0.05], x[spoiled > 0.9] = numpy.nan, -numpy.inf
    return claygrad.from_numpy(x), kernel, stride, padding, dilation, ceil


def called(operation, *args):
    return operation(*args)


def declared(operation, *args):
    """What the reference gives."""
    made = operation.forward(numpy, *[x.numpy() if isinstance(x, claygrad.Tensor) else x for x in args])
    return tuple(map(claygrad.tensor, made)) if isinstance(made, tuple) else claygrad.tensor(made)


def largest(x, kernel, stride, padding, dilation, ceil, call=called):
    values, places = call(pool_max.maxima_at, x, kernel, stride, padding, dilation, ceil)
    g = claygrad.arange(values.numel(), dtype=x.dtype).reshape(values.shape)
    back = call(pool_max.maxima_back, g, places, tuple(x.shape), len(kernel))
    return values, places, call(pool_max.maxima, x, kernel, stride, padding, dilation, ceil), back


def means(x, kernel, stride, padding, ceil, counted, divisor, call=called):
    values = call(pool.average, x, kernel, stride, padding, ceil, counted, divisor)
    g = claygrad.arange(values.numel(), dtype=x.dtype).reshape(values.shape).cos()
    return values, call(pool.average_back, g, tuple(x.shape), kernel, stride, padding, ceil, counted, divisor)


@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float64], ids=["float32", "float64"])
def test_maxima(isa, dtype):
    rng = numpy.random.default_rng(1)
    for _ in range(60):
        case = draw(rng, dtype)
        found = largest(*case)
        for a, b in zip(found, largest(*case, call=declared)):
            numpy.testing.assert_array_equal(a.numpy(), b.numpy(), err_msg=f"{case[0].shape} {case[1:]}")
        there = case[0].flatten(2).gather(2, found[1].flatten(2)).numpy()
        for made in (found[0], found[2]):                               # -0.0 as it stands there
            numpy.testing.assert_array_equal(numpy.signbit(made.numpy().reshape(there.shape)), numpy.signbit(there))


@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float64], ids=["float32", "float64"])
def test_maxima_of_four(isa, dtype):
    rng = numpy.random.default_rng(2)
    for height, width in ((2, 2), (4, 6), (5, 15), (6, 16), (7, 17), (4, 30), (2, 32), (4, 34), (2, 66), (3, 71)):
        x = rng.integers(-2, 3, (2, 3, height, width)).astype(dtype)
        spoiled = rng.random(x.shape)
        x[spoiled < 0.1], x[spoiled > 0.8], x[(spoiled > 0.4) & (spoiled < 0.5)] = numpy.nan, -numpy.inf, -0.0
        case = claygrad.from_numpy(x), (2, 2), (2, 2), (0, 0), (1, 1), False
        found = largest(*case)
        for a, b in zip(found, largest(*case, call=declared)):
            numpy.testing.assert_array_equal(a.numpy(), b.numpy(), err_msg=f"{height} {width}")
        there = case[0].flatten(2).gather(2, found[1].flatten(2)).numpy()
        numpy.testing.assert_array_equal(numpy.signbit(found[0].numpy().reshape(there.shape)), numpy.signbit(there))


def test_gradients_go_to_their_places_wherever_they_are(isa):
    g = claygrad.arange(1, 13, dtype=claygrad.float32).reshape(1, 2, 2, 3)
    places = claygrad.tensor([[[0, 3, 11], [12, 23, 0]], [[7, 9, 11], [18, 21, 23]]])[None]       # of planes of 4 by 6
    with pytest.raises(IndexError):
        pool_max.maxima_back(g, places + (1 << 32), (1, 2, 4, 6), 2)
    back = pool_max.maxima_back(g, places, (1, 2, 4, 6), 2).numpy().reshape(2, 24)
    wanted = numpy.zeros((2, 24), numpy.float32)
    for plane in range(2):
        numpy.add.at(wanted[plane], places[0, plane].numpy().ravel(), g[0, plane].numpy().ravel())
    numpy.testing.assert_array_equal(back, wanted)


@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float64], ids=["float32", "float64"])
def test_means(isa, dtype):
    rng = numpy.random.default_rng(2)
    for trial in range(60):
        x, kernel, stride, padding, _, ceil = draw(rng, dtype)
        if min(_pool.out_sizes(x.shape[2:], kernel, stride, padding, (1,) * len(kernel), ceil)) < 1:
            continue
        case = x, kernel, stride, padding, ceil, bool(trial % 2), (None, 3, -2)[trial % 3]
        for a, b in zip(means(*case), means(*case, call=declared)):
            numpy.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-5, err_msg=f"{x.shape} {case[1:]}")


def test_a_place_outside_is_not_written_to():
    with pytest.raises(IndexError):
        pool_max.maxima_back(claygrad.ones(1, 2), claygrad.tensor([[0, 9]]), (1, 4), 1)


@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float64], ids=["float32", "float64"])
@pytest.mark.parametrize(("size", "out"), [((150,), (4,)), ((150,), (70,)), ((20, 21), (7, 5)), ((9, 8, 40), (4, 3, 1)),
                                           ((9, 8, 7), (4, 3, 3))])
def test_shares_of_many_planes(isa, dtype, size, out):
    rng = numpy.random.default_rng(3)
    x = claygrad.from_numpy(rng.integers(-4, 5, (40, 5, *size)).astype(dtype))
    for a, b in zip(*(call(pool_adaptive.shared_maxima, x, out) for call in (called, declared))):
        numpy.testing.assert_array_equal(a.numpy(), b.numpy())
    x, g = (claygrad.from_numpy(rng.standard_normal((40, 5, *n)).astype(dtype)) for n in (size, out))
    places = claygrad.from_numpy(rng.integers(0, int(numpy.prod(size)), (40, 5, *out)))
    for case in ((pool_adaptive.shared_means, x, out), (pool_adaptive.shared_means_back, g, tuple(x.shape), len(size)),
                 (pool_max.unpool, g, places, size)):
        numpy.testing.assert_allclose(called(*case).numpy(), declared(*case).numpy(), rtol=1e-5, atol=1e-5)


def test_places_outside_are_refused():
    places = claygrad.tensor([[[0, 1 << 40]]])
    with pytest.raises(RuntimeError, match="Found an invalid max index: 1099511627776"):
        pool_max.unpool(claygrad.ones(1, 1, 2), places, (4,))
