"""Pads of every mode and sign against PyTorch: what they make, and what they say where they refuse."""

from __future__ import annotations

import itertools
import math
import random

import numpy
import pytest

torch = pytest.importorskip("torch")
import claygrad  # noqa: E402


def attempt(lib, x, pad: list[int], mode: str):
    try:
        return lib.nn.functional.pad(x, pad, mode)
    except Exception as error:
        return error


def left_open(shape: list[int], pad: list[int]) -> bool:
    """Whether a circle is cut shorter than its pad: PyTorch then reads what it has not written."""
    return any(n + min(before, 0) + min(after, 0) < max(before, after, 0)
               for n, before, after in zip(shape[::-1], pad[::2], pad[1::2]))


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("mode", ["constant", "circular", "replicate", "reflect"])
def test_pads_of_either_sign(mode: str, axes: int):
    draw = random.Random(axes)
    for _ in range(400):
        shape = [draw.randint(1, 3) for _ in range(draw.choice([1, 2]))] + [draw.randint(1, 6) for _ in range(axes)]
        pad = [draw.randint(-3, 4) for _ in range(2 * axes)]
        if mode == "circular" and left_open(shape, pad):
            continue
        x = numpy.arange(1.0, 1 + numpy.prod(shape), dtype="float32").reshape(shape)
        want, made = attempt(torch, torch.tensor(x), pad, mode), attempt(claygrad, claygrad.tensor(x), pad, mode)
        if isinstance(want, Exception):
            assert type(made) is type(want), (shape, pad)
            assert str(made).splitlines()[0] == str(want).splitlines()[0], (shape, pad)
        else:
            assert not isinstance(made, Exception), (shape, pad)
            assert numpy.array_equal(made.numpy(), want.numpy()), (shape, pad)


def test_a_circle_of_nothing_is_refused():
    with pytest.raises(RuntimeError, match="wrapping around more than once"):
        claygrad.nn.functional.pad(claygrad.ones(2, 1), [-1, 1], "circular")


@pytest.mark.parametrize("shape", [(4, 6), (3, 4, 6), (3, 4, 5, 6)])
def test_results_lie_as_torch_lays_them(shape):
    for axes in itertools.permutations(range(len(shape))):
        for pad in ([1, 2], [0, -1], [0, 1, 1, 0], [-1, 0, 0, -1], [-1, 2], []):
            want, got = (lib.nn.functional.pad(lib.arange(math.prod(shape)).float().reshape(shape).permute(axes), pad)
                         for lib in (torch, claygrad))
            assert got.stride() == want.stride(), (axes, pad)
            assert (got.numpy() == want.numpy()).all(), (axes, pad)
