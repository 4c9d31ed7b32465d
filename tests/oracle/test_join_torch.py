"""Tensors of every small shape joined and stacked: values and the order of memory, where an axis of one leaves it open."""

from __future__ import annotations

import itertools

import numpy
import pytest

torch = pytest.importorskip("torch")
import claygrad  # noqa: E402


@pytest.mark.parametrize("name", ["cat", "stack"])
@pytest.mark.parametrize(("ndim", "form"), [*((n, "contiguous_format") for n in range(1, 6)), (4, "channels_last"), (5, "channels_last_3d")])
def test_joined_tensors_lie_as_in_torch(name: str, ndim: int, form: str):
    for shape, count in itertools.product(itertools.product((1, 2, 3) if ndim < 5 else (1, 2), repeat=ndim), (1, 3)):
        arrays = [numpy.random.default_rng(k).random(shape) for k in range(count)]
        theirs, ours = ([lib.tensor(x).contiguous(memory_format=getattr(lib, form)) for x in arrays] for lib in (torch, claygrad))
        for dim in range(ndim + (name == "stack")):
            want, got = getattr(torch, name)(theirs, dim), getattr(claygrad, name)(ours, dim)
            assert got.stride() == want.stride(), (shape, count, dim)
            assert numpy.array_equal(got.numpy(), want.numpy())
