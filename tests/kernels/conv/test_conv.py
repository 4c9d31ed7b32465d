"""The native convolutions against the reference, at shapes drawn at random, on every instruction set."""

from __future__ import annotations

import numpy
import pytest

import claygrad
from claygrad.ops import _conv
from tests.support.forms import native


def draw(rng: numpy.random.Generator, depthwise: bool) -> tuple:
    """Shapes and settings of a convolution of one to three axes, odd ones too."""
    dims = int(rng.integers(1, 4))
    groups = int(rng.integers(2, 6)) if depthwise else int(rng.choice([1, 1, 2, 3]))
    inputs = 1 if depthwise else int(rng.integers(1, 20))
    outputs = int(rng.choice([1, 2] if depthwise else [1, 2, 5, 16, 17, 33]))
    kernel, stride, padding = (tuple(map(int, rng.integers(low, high, dims))) for low, high in ((1, 5), (1, 4), (0, 4)))
    dilation = tuple(map(int, rng.integers(1, 3, dims)))
    size = tuple(d * (k - 1) + 1 + int(rng.integers(0, 18 if dims < 3 else 6)) for k, d in zip(kernel, dilation))
    x = rng.standard_normal((int(rng.integers(1, 11)), inputs * groups, *size))
    return x, rng.standard_normal((outputs * groups, inputs, *kernel)), stride, padding, dilation, groups


def forward(x, w, stride, padding, dilation, groups, bias=None):
    return native("convolution", x, w, bias, stride, padding, dilation, False, (0,) * len(stride), groups)


def input_grad(g, w, size, stride, padding, dilation, groups):
    spare = [n - ((o - 1) * s - 2 * p + d * (k - 1) + 1) for n, o, k, s, p, d in
             zip(size, g.shape[2:], w.shape[2:], stride, padding, dilation)]
    return native("_conv_input", g, w, stride, padding, dilation, tuple(spare), groups)


def weight_grad(g, x, kernel, stride, padding, dilation, groups):
    return native("_conv_weight", g, x, tuple(kernel), stride, padding, dilation, groups)


def by_reference(x, w, g, *settings):
    return (_conv.conv_forward(numpy, x, w, *settings), _conv.conv_input_grad(numpy, g, w, x.shape[2:], *settings),
            _conv.conv_weight_grad(numpy, g, x, w.shape[2:], *settings))


def both(x, w, *settings):
    """Forward and both gradients, natively and by reference. Kernels of one element are left to matrix products."""
    shape = (x.shape[0], w.shape[0], *_conv.out_sizes(x.shape[2:], w.shape[2:], *settings[:3]))
    g = numpy.cos(numpy.arange(numpy.prod(shape), dtype=x.dtype)).reshape(shape)
    made = by_native(x, w, g, *settings)
    return made, by_reference(x, w, g, *settings)


def by_native(x, w, g, *settings):
    return forward(x, w, *settings), input_grad(g, w, x.shape[2:], *settings), weight_grad(g, x, w.shape[2:], *settings)


@pytest.mark.parametrize("depthwise", [False, True], ids=["", "depthwise"])
@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float64], ids=["float32", "float64"])
def test_as_the_reference(isa, dtype, depthwise):
    rng = numpy.random.default_rng(5)
    loose = 2e-4 if dtype is numpy.float32 else 1e-10
    for _ in range(40):
        x, w, *settings = draw(rng, depthwise)
        x, w = x.astype(dtype), w.astype(dtype)
        for name, a, b in zip(("forward", "input", "weight"), *both(x, w, *settings)):
            numpy.testing.assert_allclose(a, b, rtol=loose, atol=loose * max(1, abs(b).max()), err_msg=f"{name} {x.shape} {w.shape} {settings}")


def test_nan_stays_where_it_is_seen(isa):
    x, w = numpy.zeros((1, 1, 6, 6), numpy.float32), numpy.ones((1, 1, 3, 3), numpy.float32)
    x[0, 0, 0, 0] = numpy.nan
    out = forward(x, w, (1, 1), (1, 1), (1, 1), 1)
    assert numpy.isnan(out[0, 0, :2, :2]).all()
    assert not numpy.isnan(out[0, 0, 2:]).any()


@pytest.mark.parametrize("kernel", [(3, 3), (5, 4)], ids=["3x3", "5x4"])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_depthwise_lines_around_the_width_of_a_vector(isa, kernel, stride):
    rng = numpy.random.default_rng(7)
    for width in (4, 8, 15, 16, 17, 31, 33, 50):
        x = rng.standard_normal((3, 4, 9, width)).astype(numpy.float32)
        w = rng.standard_normal((8, 1, *kernel)).astype(numpy.float32)
        settings = (stride, stride), (2, 1), (1, 1), 4
        for a, b in zip(*both(x, w, *settings)):
            numpy.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4 * max(1, abs(b).max()))


def test_depthwise_infinity_is_seen_by_its_own_windows_alone(isa):
    x, w = numpy.ones((1, 2, 5, 20), numpy.float32), numpy.ones((2, 1, 3, 3), numpy.float32)
    x[0, 0, 3, 0] = numpy.inf                # behind the end of the line before it
    out = forward(x, w, (1, 1), (0, 0), (1, 1), 2)
    assert numpy.isinf(out[0, 0, 1:, 0]).all()
    assert numpy.isfinite(out[0, 0, :, 1:]).all()
    to_w = weight_grad(numpy.ones_like(out), x, (3, 3), (1, 1), (0, 0), (1, 1), 2)
    assert numpy.isinf(to_w[0, 0, 1:, 0]).all()
    assert numpy.isfinite(to_w[0, 0, :, 1:]).all()
    assert numpy.isfinite(to_w[1]).all()


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_bias_is_added(isa, groups):
    rng = numpy.random.default_rng(3)
    x, w = rng.standard_normal((2, 4, 5, 7)), rng.standard_normal((20, 4 // groups, 3, 3))
    bias, settings = rng.standard_normal(20), ((1, 1), (1, 1), (1, 1), groups)
    plain = forward(x, w, *settings)
    numpy.testing.assert_allclose(forward(x, w, *settings, bias), plain + bias[:, None, None], rtol=1e-12)


# Input, weight and settings that reach one way each of cutting the work to pieces
PIECES = {
    "long lines": ((1, 40, 4001), (20, 40, 5), (1,), (2,), (1,), 1),
    "long lines in phases": ((2, 12, 5003), (40, 12, 7), (3,), (1,), (2,), 1),
    "large kernels": ((5, 130, 6, 7), (140, 130, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "large kernels in phases": ((5, 70, 9, 11), (150, 70, 5, 4), (2, 2), (2, 1), (1, 1), 1),
    "large kernels of groups": ((3, 64, 7, 7), (192, 32, 5, 5), (1, 1), (2, 2), (1, 1), 2),
    "patches": ((2, 3, 33, 50), (34, 3, 16, 16), (16, 16), (0, 0), (1, 1), 1),
    "gaps between windows": ((2, 5, 20, 21), (18, 5, 2, 3), (5, 4), (1, 0), (1, 1), 1),
    "dilation and stride": ((2, 4, 30, 31), (17, 4, 3, 4), (4, 6), (3, 2), (2, 4), 1),
    "few outputs": ((2, 40, 61, 67), (3, 40, 3, 3), (1, 1), (1, 2), (1, 1), 1),
    "few outputs of groups": ((3, 20, 50, 51), (16, 5, 5, 4), (2, 3), (2, 1), (1, 2), 4),
    "few outputs of long lines": ((2, 70, 9001), (2, 70, 10), (5,), (3,), (1,), 1),
    "few inputs of long lines": ((2, 1, 30011), (70, 1, 10), (5,), (0,), (2,), 1),
    "few outputs, windows beyond the input": ((2, 3, 4, 5), (5, 3, 3, 3), (3, 2), (6, 7), (1, 2), 1),
    "tiles, odd": ((2, 19, 21, 23), (35, 19, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "tiles without padding": ((3, 16, 20, 18), (40, 16, 3, 3), (1, 1), (0, 0), (1, 1), 1),
    "tiles with more padding": ((2, 33, 13, 12), (33, 33, 3, 3), (1, 1), (3, 2), (1, 1), 1),
    "tiles of many images": ((40, 24, 5, 6), (32, 24, 3, 3), (1, 1), (1, 0), (1, 1), 1),
    "tiles of long lines": ((1, 16, 7, 601), (48, 16, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "lines too long for tiles": ((1, 16, 3, 1100), (32, 16, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "tiles of many channels": ((8, 200, 13, 11), (220, 200, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "layers": ((2, 6, 7, 9, 10), (18, 6, 3, 2, 3), (2, 1, 3), (2, 1, 0), (1, 2, 1), 1),
    "layers of large kernels": ((2, 40, 5, 6, 7), (48, 40, 3, 4, 3), (2, 1, 1), (1, 1, 1), (1, 1, 1), 1),
}


@pytest.mark.parametrize("name", PIECES)
def test_in_pieces_as_the_reference(isa, name):
    rng = numpy.random.default_rng(11)
    x_shape, w_shape, *settings = PIECES[name]
    for dtype, loose in ((numpy.float32, 2e-4), (numpy.float64, 1e-10)):
        x, w = rng.standard_normal(x_shape).astype(dtype), rng.standard_normal(w_shape).astype(dtype)
        for a, b in zip(*both(x, w, *settings)):
            numpy.testing.assert_allclose(a, b, rtol=loose, atol=loose * max(1, abs(b).max()))


def test_infinity_goes_back_through_a_stride_to_its_own_window_alone(isa):
    g, w = numpy.ones((1, 1, 3, 3), numpy.float32), numpy.ones((1, 1, 2, 2), numpy.float32)
    g[0, 0, 1, 1] = numpy.inf
    back = input_grad(g, w, (7, 7), (2, 2), (0, 0), (1, 1), 1)
    assert numpy.isinf(back[0, 0, 2:4, 2:4]).all()
    assert numpy.isinf(back).sum() == 4
    assert not numpy.isnan(back).any()
    assert (back[0, 0, 6] == 0).all()


TILES = (1, 1), (1, 1), (1, 1), 1            # 3 x 3 kernels of many channels, in tiles of 2 x 2: see Note [Winograd]


def numbers(*shape: int) -> numpy.ndarray:
    return numpy.random.default_rng(17).standard_normal(shape).astype(numpy.float32)


@pytest.mark.parametrize("value", [numpy.inf, -numpy.inf, numpy.nan, 3e38, 1e7])
def test_a_number_is_seen_by_its_own_windows_alone(isa, value):
    x, w = numbers(2, 32, 20, 20), numbers(48, 32, 3, 3)
    g = numbers(2, 48, 20, 20)
    out, back, _ = _all_of(x, w, g)
    seen, spread = x.copy(), g.copy()
    seen[1, 3, 8, 11] = spread[1, 3, 8, 11] = value
    inside = numpy.zeros((20, 20), bool)
    inside[7:10, 10:13] = True
    with numpy.errstate(all="ignore"):
        new_out, new_back, to_w = _all_of(seen, w, g)[:1] + _all_of(x, w, spread)[1:]
    for before, after in ((out, new_out), (back, new_back)):
        numpy.testing.assert_allclose(after[:, :, ~inside], before[:, :, ~inside], rtol=0, atol=2e-4)
        assert not numpy.isclose(after[1][:, inside], before[1][:, inside]).all(axis=1).any()
    other = numpy.arange(48) != 3
    assert numpy.isfinite(to_w[other]).all()


def _all_of(x, w, g):
    return (forward(x, w, *TILES), input_grad(g, w, x.shape[2:], *TILES),
            weight_grad(g, x, w.shape[2:], *TILES))


def test_infinity_stays_infinite(isa):
    x, w = numbers(2, 32, 20, 20), abs(numbers(48, 32, 3, 3))
    x[1, 3, 8, 11] = numpy.inf
    with numpy.errstate(all="ignore"):
        out, back, to_w = _all_of(x, w, abs(numbers(2, 48, 20, 20)))
    assert numpy.isposinf(out[1, :, 7:10, 10:13]).all()
    assert numpy.isinf(out).sum() == 48 * 9
    assert numpy.isposinf(to_w[:, 3]).all()
    assert not numpy.isnan(out).any()
    assert numpy.isfinite(back).all()


def test_a_large_number_shows_in_its_own_kernels_alone(isa):
    x, w, g = numbers(2, 32, 20, 20), numbers(48, 32, 3, 3), numbers(2, 48, 20, 20)
    x[1, 3, 8, 11], g[1, :, 7:10, 10:13] = 0, 0           # what meets it is 0, but for one element
    g[1, :, 8, 11] = 1
    before = _all_of(x, w, g)[2]
    x[1, 3, 8, 11] = 1e7
    change = _all_of(x, w, g)[2] - before
    wanted = numpy.zeros_like(change)
    wanted[:, 3, 1, 1] = 1e7
    numpy.testing.assert_allclose(change[:, 3], wanted[:, 3], rtol=1e-6, atol=10)
    # An outlier makes all of them be computed without tiles: that rounds otherwise, but none gets a share of it, which would be 1.
    others = numpy.arange(32) != 3
    assert numpy.abs(change[:, others]).max() <= 4 * numpy.finfo(numpy.float32).eps * numpy.abs(before[:, others]).max()


def test_tiles_do_not_depend_on_the_threads(isa):
    x, w, g = numbers(3, 40, 15, 17), numbers(40, 40, 3, 3), numbers(3, 40, 15, 17)
    before, made = claygrad.get_num_threads(), []
    for threads in (1, 2, 3):
        claygrad.set_num_threads(threads)
        made.append(_all_of(x, w, g))
    claygrad.set_num_threads(before)
    for one, two, three in zip(*made):
        assert numpy.array_equal(one, two)
        assert numpy.array_equal(one, three)


def test_a_bias_is_added_to_tiles(isa):
    x, w, bias = numbers(2, 32, 20, 20), numbers(48, 32, 3, 3), numbers(48)
    numpy.testing.assert_allclose(forward(x, w, *TILES, bias),
                                  forward(x, w, *TILES) + bias[:, None, None], rtol=1e-5, atol=1e-5)
