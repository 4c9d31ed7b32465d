"""Convolution, pooling, padding, resampling: what the samples of the declarations do not say."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.support import close, exact, lend

NAN, INF = float("nan"), float("inf")


@pytest.fixture
def lib() -> Iterator[ModuleType]:
    import claygrad

    yield from lend(claygrad)


def functional(lib: ModuleType) -> ModuleType:
    return lib.nn.functional


# Convolution


def test_convolution_is_the_sum_over_windows(lib):
    x, w = lib.arange(12.0).view(1, 1, 3, 4), lib.tensor([[[[1.0, 0.0], [0.0, -1.0]]]])
    exact(lib.conv2d(x, w), [[[[-5.0, -5.0, -5.0], [-5.0, -5.0, -5.0]]]])


@pytest.mark.parametrize("form", ["contiguous", "blocks", "expanded", "reversed"])
def test_convolution_reads_any_layout(lib, form):
    lib.manual_seed(0)
    x, w = lib.randn(3, 4, 6, 5, dtype=lib.float64), lib.randn(6, 2, 3, 2, dtype=lib.float64)
    forms = {
        "contiguous": lambda t: t,
        "blocks": lambda t: t.transpose(1, 3).contiguous().transpose(1, 3),
        "expanded": lambda t: t[:1].expand(*t.shape),
        "reversed": lambda t: t.flip(-1).contiguous()[..., ::1].flip(-1),
    }
    laid = forms[form](x)
    close(lib.conv2d(laid, forms[form](w), groups=2), lib.conv2d(laid.clone().contiguous(), forms[form](w).contiguous(), groups=2))


def test_batches_too_large_for_one_block_of_columns_are_the_same_as_one_image_at_a_time(lib):
    lib.manual_seed(0)
    x, w = lib.randn(9, 16, 40, 40, requires_grad=True), lib.randn(8, 16, 3, 3, requires_grad=True)
    lib.conv2d(x, w, padding=1).square().sum().backward()
    together, x.grad, whole = x.grad, None, w.grad
    w.grad = None
    for i in range(9):
        lib.conv2d(x[i : i + 1], w, padding=1).square().sum().backward()
    close(together, x.grad, rtol=1e-3, atol=1e-2)
    close(whole, w.grad, rtol=1e-3, atol=1e-1)


def test_the_third_derivative_of_a_convolution_of_a_convolution(lib):
    x = lib.tensor([[[1.0, 2.0]]], dtype=lib.float64, requires_grad=True)
    w = lib.tensor([[[3.0]]], dtype=lib.float64, requires_grad=True)
    y = lib.conv1d(lib.conv1d(lib.conv1d(x, w), w), w).sum()  # 3 w ** 3
    for expected in (81.0, 54.0, 18.0):
        (y,) = lib.autograd.grad(y.sum(), w, create_graph=True)
        exact(y, [[[expected]]])


def test_windows_that_output_padding_makes_room_for_take_no_gradient(lib):
    x = lib.ones(1, 1, 3, requires_grad=True)
    out = lib.conv_transpose1d(x, lib.ones(1, 1, 2), output_padding=1, dilation=2)
    assert tuple(out.shape) == (1, 1, 6)
    out.sum().backward()
    exact(x.grad, [[[2.0, 2.0, 2.0]]])


def test_channels_last_stays_channels_last(lib):
    x = lib.randn(2, 3, 6, 6).to(memory_format=lib.channels_last)
    F = functional(lib)
    results = {
        "conv2d": lib.conv2d(x, lib.randn(4, 3, 3, 3)),
        "conv_transpose2d": lib.conv_transpose2d(x, lib.randn(3, 4, 3, 3)),
        "max_pool2d": F.max_pool2d(x, 2),
        "avg_pool2d": F.avg_pool2d(x, 2),
        "adaptive_avg_pool2d": F.adaptive_avg_pool2d(x, 4),
        "interpolate": F.interpolate(x, 4, mode="bilinear"),
        "pad": F.pad(x, (1, 1)),
    }
    assert {name: out.is_contiguous(memory_format=lib.channels_last) for name, out in results.items()} == dict.fromkeys(results, True)


def test_a_convolution_of_nothing_is_nothing_and_its_weight_has_a_gradient_of_zeros(lib):
    x, w = lib.randn(0, 2, 4, 4, requires_grad=True), lib.randn(3, 2, 2, 2, requires_grad=True)
    lib.conv2d(x, w).sum().backward()
    assert tuple(x.grad.shape) == (0, 2, 4, 4)
    exact(w.grad, lib.zeros(3, 2, 2, 2))


def test_infinities_outside_a_window_do_not_reach_it(lib):
    x = lib.tensor([[[[INF, 1.0, 2.0, 3.0]]]])
    exact(lib.conv2d(x, lib.ones(1, 1, 1, 2)), [[[[INF, 3.0, 5.0]]]])
    exact(functional(lib).avg_pool2d(x, (1, 2)), [[[[INF, 2.5]]]])
    exact(functional(lib).adaptive_avg_pool2d(x, (1, 2)), [[[[INF, 2.5]]]])


# Pooling


def test_the_first_of_equals_and_the_last_nan_have_the_maximum(lib):
    F = functional(lib)
    values, places = F.max_pool1d(lib.tensor([[2.0, 2.0, 1.0, NAN, NAN, 0.0]]), 3, return_indices=True)
    exact(values, [[2.0, NAN]])
    assert places.tolist() == [[0, 4]]
    values, places = F.adaptive_max_pool1d(lib.tensor([[2.0, 2.0, 1.0, NAN, NAN, 0.0]]), 2, return_indices=True)
    exact(values, [[2.0, NAN]])
    assert places.tolist() == [[0, 4]]


def test_a_window_of_minus_infinities_has_its_first_element_that_is_not_padding(lib):
    x = lib.full((1, 1, 3, 3), -INF)
    values, places = functional(lib).max_pool2d(x, 2, 1, 1, return_indices=True)
    assert places[0, 0].tolist() == [[0, 0, 1, 2], [0, 0, 1, 2], [3, 3, 4, 5], [6, 6, 7, 8]]
    exact(values, lib.full((1, 1, 4, 4), -INF))


def test_overlapping_windows_add_their_gradients_at_the_place_they_share(lib):
    x = lib.tensor([[1.0, 5.0, 2.0, 0.0]], requires_grad=True)
    functional(lib).max_pool1d(x, 2, 1).sum().backward()
    exact(x.grad, [[0.0, 2.0, 1.0, 0.0]])


def test_places_are_the_same_with_and_without_nan_elsewhere(lib):
    lib.manual_seed(1)
    x = lib.randint(0, 4, (2, 3, 9, 8)).float()
    marred = x.clone()
    marred[0, 0, 0, 0] = NAN
    for options in ({"stride": 2, "padding": 1}, {"dilation": 2}, {"stride": 3, "ceil_mode": True}):
        plain = functional(lib).max_pool2d(x, 3, return_indices=True, **options)
        other = functional(lib).max_pool2d(marred, 3, return_indices=True, **options)
        assert plain[1][1].tolist() == other[1][1].tolist()
        exact(plain[0][1], other[0][1])


def test_padding_counts_in_means_only_if_it_is_to(lib):
    x, F = lib.ones(1, 4), functional(lib)
    exact(F.avg_pool1d(x, 2, 2, 1), [[0.5, 1.0, 0.5]])
    exact(F.avg_pool1d(x, 2, 2, 1, count_include_pad=False), [[1.0, 1.0, 1.0]])


def test_unpooling_puts_back_what_pooling_took(lib):
    lib.manual_seed(0)
    x = lib.rand(1, 2, 4, 4)
    values, places = functional(lib).max_pool2d(x, 2, return_indices=True)
    back = functional(lib).max_unpool2d(values, places, 2)
    exact(functional(lib).max_pool2d(back, 2), values)
    assert back.count_nonzero().item() == 8


def test_fractional_pooling_draws_from_the_generator(lib):
    x = lib.arange(49.0).view(1, 1, 7, 7)
    lib.manual_seed(3)
    first = functional(lib).fractional_max_pool2d(x, 2, output_size=3, return_indices=True)[1]
    lib.manual_seed(3)
    drawn = lib.rand(1, 1, 2)
    again = functional(lib).fractional_max_pool2d(x, 2, output_size=3, return_indices=True, _random_samples=drawn)[1]
    assert first.tolist() == again.tolist()


# Padding and resampling


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("reflect", [3, 2, 1, 2, 3, 2, 1]),
        ("replicate", [1, 1, 1, 2, 3, 3, 3]),
        ("circular", [2, 3, 1, 2, 3, 1, 2]),
        ("constant", [0, 0, 1, 2, 3, 0, 0]),
    ],
)
def test_what_stands_in_the_padding(lib, mode, expected):
    x = lib.tensor([[[1, 2, 3]]])
    assert functional(lib).pad(x, (2, 2), mode)[0, 0].tolist() == expected


def test_the_corners_of_padding_are_continued_along_both_axes(lib):
    x = lib.tensor([[[[1, 2], [3, 4]]]])
    assert functional(lib).pad(x, (1, 1, 1, 1), "reflect")[0, 0].tolist() == [[4, 3, 4, 3], [2, 1, 2, 1], [4, 3, 4, 3], [2, 1, 2, 1]]


def test_an_infinite_gradient_stays_where_it_came_from(lib):
    x = lib.ones(1, 1, 4, requires_grad=True)
    y = functional(lib).interpolate(x, 8, mode="linear")
    g = lib.zeros(1, 1, 8)
    g[0, 0, 0] = INF
    (grad,) = lib.autograd.grad(y, x, g)
    assert grad[0, 0, 0].item() == INF
    exact(grad[0, 0, 2:], [0.0, 0.0])


def test_bytes_are_interpolated_in_whole_numbers(lib):
    x = lib.tensor([[[[0, 100], [200, 255]]]], dtype=lib.uint8)
    out = functional(lib).interpolate(x, (3, 3), mode="bilinear", align_corners=True)
    assert out.dtype == lib.uint8
    assert out[0, 0].tolist() == [[0, 50, 100], [100, 139, 178], [200, 228, 255]]


def test_a_grid_of_the_identity_samples_the_input_itself(lib):
    lib.manual_seed(0)
    x = lib.randn(2, 3, 4, 5, dtype=lib.float64)
    theta = lib.tensor([[[1.0, 0, 0], [0, 1, 0]]], dtype=lib.float64).repeat(2, 1, 1)
    for align in (False, True):
        grid = functional(lib).affine_grid(theta, (2, 3, 4, 5), align_corners=align)
        for mode in ("bilinear", "nearest", "bicubic"):
            close(functional(lib).grid_sample(x, grid, mode=mode, align_corners=align), x)


def test_shapes_on_the_meta_device(lib):
    F = functional(lib)

    def meta(*shape: int):
        return lib.empty(*shape, device="meta")

    x = meta(2, 4, 9, 8)
    shapes = [
        F.conv2d(x, meta(6, 2, 3, 3), meta(6), 2, 1, 1, 2),
        F.conv_transpose2d(x, meta(4, 3, 3, 3), stride=2),
        F.max_pool2d(x, 3, 2, ceil_mode=True),
        F.avg_pool2d(x, 2),
        F.adaptive_avg_pool2d(x, (3, 5)),
        F.pad(x, (1, 2), "constant"),
        F.interpolate(x, scale_factor=2, mode="bilinear"),
        F.grid_sample(x, meta(2, 5, 6, 2), align_corners=True),
        F.pixel_shuffle(x, 2),
        F.unfold(x, 3),
    ]
    assert [tuple(t.shape) for t in shapes] == [
        (2, 6, 5, 4), (2, 3, 19, 17), (2, 4, 4, 4), (2, 4, 4, 4), (2, 4, 3, 5), (2, 4, 9, 11), (2, 4, 18, 16), (2, 4, 5, 6),
        (2, 1, 18, 16), (2, 36, 42),
    ]
    assert all(t.is_meta for t in shapes)
