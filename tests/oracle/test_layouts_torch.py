"""Operations on cut, turned and stretched tensors, as benchmarks/layouts.py times them: what they make is what PyTorch makes."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy
import pytest

torch = pytest.importorskip("torch")
import claygrad  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import layouts  # noqa: E402


def parts(name: str, x: object) -> list:
    if name in ("topk", "sort rows"):                          # which of equal elements it names is open
        return [x[0]]
    return list(x) if isinstance(x, tuple) else [x]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "int16", "float16", "bfloat16"])
@pytest.mark.parametrize("layout", layouts.LAYOUTS)
def test_every_operation_in_every_layout(layout: str, dtype: str):
    kind, side = getattr(torch, dtype), 24
    close = {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 1e-4)
    whole = torch.arange(3 * side * side).remainder(97).sub(40).div(40) if kind.is_floating_point else torch.arange(3 * side * side) % 97
    for name, call in (layouts.WHOLE | (layouts.FLOATS if kind.is_floating_point else {})).items():
        def new(lib, *shape):
            count = int(numpy.prod(shape))
            return lib.tensor(whole[:count].numpy()).to(getattr(lib, dtype)).reshape(shape)

        theirs, mine = (layouts.LAYOUTS[layout](lambda *shape, lib=lib: new(lib, *shape), side) for lib in (torch, claygrad))
        for want, got in zip(parts(name, call(torch, theirs)), parts(name, call(claygrad, mine)), strict=True):
            assert str(got.dtype).split(".")[-1] == str(want.dtype).split(".")[-1], name
            assert got.stride() == want.stride(), name
            assert numpy.allclose(got.double().numpy(), want.double().numpy(), rtol=close, atol=close / 10, equal_nan=True), name
        assert numpy.array_equal(mine.double().numpy(), theirs.double().numpy()), name            # what it writes in place, and nothing else


def laid_out(lib, array: numpy.ndarray, how: int):
    """The same elements: plain, reversed, every other one, cut, stretched from the first column, first and last axis exchanged."""
    if how == 1:
        return lib.tensor(numpy.ascontiguousarray(array.T)).permute(*reversed(range(array.ndim)))
    if how == 2:
        return lib.tensor(numpy.repeat(array, 2, axis=-1))[..., ::2]
    if how == 3:
        return lib.tensor(numpy.concatenate([array, array]))[:array.shape[0]]
    if how == 4:
        return lib.tensor(array[..., :1].copy()).expand(array.shape)
    if how == 5 and array.ndim > 1:
        return lib.tensor(numpy.ascontiguousarray(numpy.swapaxes(array, 0, -1))).transpose(0, -1)
    return lib.tensor(array)


@pytest.mark.parametrize("seed", range(40))
def test_where_of_operands_that_lie_differently(seed: int):
    draw = numpy.random.default_rng(seed)
    for _ in range(20):
        shape = tuple(draw.integers(2, 5, draw.integers(1, 5)))
        shapes = [tuple(n if draw.random() < 0.8 else 1 for n in shape)[draw.integers(0, len(shape)) if draw.random() < 0.2 else 0:]
                  for _ in range(3)]
        arrays = draw.random(shapes[0]) < 0.5, draw.random(shapes[1], "f4"), draw.random(shapes[2], "f4")
        ways, number = draw.integers(0, 6, 3), draw.integers(0, 4)
        theirs, mine = ([laid_out(lib, a, how) for a, how in zip(arrays, ways, strict=True)] for lib in (torch, claygrad))
        for given in (theirs, mine):
            if number in (1, 2):
                given[number] = 2.5
        want, got = torch.where(*theirs), claygrad.where(*mine)
        assert numpy.array_equal(got.numpy(), want.numpy())
        assert 1 in want.shape or got.stride() == want.stride(), (shapes, ways, number)


@pytest.mark.parametrize("dim", range(4))
def test_images_with_their_channels_last_are_joined_and_rolled(dim: int):
    def made(lib, *shape):
        count = int(numpy.prod(shape))
        return lib.arange(count).float().reshape(shape).contiguous(memory_format=lib.channels_last)

    sizes = [(2, 3, 4, 5), (2, 3, 4, 5), tuple(n + 2 * (i == dim) for i, n in enumerate((2, 3, 4, 5)))]
    want, got = (lib.cat([made(lib, *size) for size in sizes], dim) for lib in (torch, claygrad))
    assert got.stride() == want.stride()
    assert numpy.array_equal(got.numpy(), want.numpy())
    for shifts, dims in ((1, dim), (-2, dim), ((1, 2), (dim, (dim + 1) % 4))):
        want, got = (made(lib, 2, 3, 4, 5).roll(shifts, dims) for lib in (torch, claygrad))
        assert got.stride() == want.stride()
        assert numpy.array_equal(got.numpy(), want.numpy())


@pytest.mark.parametrize("seed", range(40))
def test_entries_along_one_axis_of_axes_in_any_order(seed: int):
    draw = numpy.random.default_rng(seed)
    for _ in range(20):
        shape = tuple(draw.integers(2, 6, draw.integers(2, 5)))
        order = [int(axis) for axis in draw.permutation(len(shape))]
        array, axis, stretched = draw.random(shape, "f4"), int(draw.choice([0, len(shape) - 1])), draw.random() < 0.2
        index = draw.integers(-shape[axis], shape[axis], 5)
        results = []
        for lib in (torch, claygrad):
            x = lib.tensor(numpy.ascontiguousarray(array.transpose(order))).permute(*[int(i) for i in numpy.argsort(order)])
            x = x[:, :1].expand(shape) if stretched else x
            results.append(x[(slice(None),) * axis + (lib.tensor(index),)])
        want, got = results
        assert numpy.array_equal(got.numpy(), want.numpy())
        assert got.stride() == want.stride(), (shape, order, axis, stretched)
