"""The tests of spatial operations once more with PyTorch as the library, and values over many sizes against it."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy
import pytest

import claygrad
from tests.ops.test_spatial import *  # noqa: F403
from tests.support import lend

torch = pytest.importorskip("torch")


@pytest.fixture
def lib() -> Iterator[ModuleType]:
    yield from lend(torch)


def results(library: ModuleType, name: str, arrays: tuple, options: dict) -> list[numpy.ndarray]:
    """What a function of nn.functional gives, and the gradients of the sum of its squares."""
    inputs = [library.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]
    out = getattr(library.nn.functional, name)(*inputs, **options)
    if out.requires_grad:
        out.square().sum().backward()
    return [t.detach().numpy() for t in (out, *[x.grad for x in inputs if x.requires_grad])]


def agree(name: str, *arrays: numpy.ndarray, tolerance: float = 1e-9, **options: Any) -> None:
    pairs = zip(results(claygrad, name, arrays, options), results(torch, name, arrays, options), strict=True)
    for mine, other in pairs:
        assert mine.dtype == other.dtype
        numpy.testing.assert_allclose(mine, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_convolutions_of_all_kinds(dims, groups):
    draw = numpy.random.default_rng(dims * 10 + groups)
    for stride, padding, dilation, k in itertools.product((1, 2), (0, 1, 3), (1, 2), (1, 2, 3)):
        if (k - 1) * dilation + 1 > 5 + 2 * padding:
            continue
        x, w, b = (draw.standard_normal(s) for s in ((2, 4, 7, 5, 6)[: dims + 2], (8, 4 // groups, *[k] * dims), (8,)))
        said = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        agree(f"conv{dims}d", x, w, b, **said)
        extra = stride - 1
        size = [(n - 1) * stride - 2 * padding + dilation * (k - 1) + 1 + extra for n in x.shape[2:]]
        if min(size) > 0:
            agree(f"conv_transpose{dims}d", x, draw.standard_normal((4, 2, *[k] * dims)), output_padding=extra, **said)


@pytest.mark.parametrize("seed", range(4))
def test_resampling_to_any_size(seed):
    choose, draw = random.Random(seed), numpy.random.default_rng(seed)
    modes = {1: ("nearest-exact", "linear"), 2: ("nearest", "nearest-exact", "bilinear", "bicubic"), 3: ("nearest-exact", "trilinear")}
    for _ in range(60):
        dims = choose.choice((1, 2, 3))
        mode = choose.choice(modes[dims])
        options = {"mode": mode, "size": [choose.randint(2, 20) for _ in range(dims)]}
        if "linear" in mode or mode == "bicubic":
            options["align_corners"] = choose.random() < 0.5
        if mode in ("bilinear", "bicubic"):
            options["antialias"] = choose.random() < 0.5
        shape = (1, choose.choice((1, 3, 5)), *[choose.randint(1, 12) for _ in range(dims)])
        agree("interpolate", draw.standard_normal(shape), **options)
        if dims == 2:
            agree("interpolate", draw.integers(0, 256, shape).astype("uint8"), tolerance=0, **options)


@pytest.mark.parametrize("dims", [2, 3])
def test_the_same_seed_gives_the_same_fractional_windows(dims):
    x = numpy.random.default_rng(0).standard_normal((2, 3, 9, 8, 7)[: dims + 2]).astype("float32")
    for seed in range(5):
        found = []
        for library in (claygrad, torch):
            library.manual_seed(seed)
            pool = getattr(library.nn.functional, f"fractional_max_pool{dims}d")
            found.append(pool(library.tensor(x), 2, output_ratio=(0.55,) * dims, return_indices=True)[1].tolist())
        assert found[0] == found[1]


def test_places_of_maxima_among_many_equals():
    draw = numpy.random.default_rng(0)
    for kernel, stride, padding, dilation, ceil in itertools.product((2, 3, 6), (1, 2, 3), (0, 1), (1, 2), (False, True)):
        x = draw.choice([-numpy.inf, 0.0, 1.0, numpy.nan][: 3 + kernel % 2], size=(2, 2, 13, 12))
        found = [library.nn.functional.max_pool2d(library.tensor(x), kernel, stride, padding, dilation, ceil, True)
                 for library in (claygrad, torch)]
        numpy.testing.assert_array_equal(found[0][0].numpy(), found[1][0].numpy())
        assert found[0][1].tolist() == found[1][1].tolist()
