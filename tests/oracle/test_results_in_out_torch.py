"""Strides of results that are written into an empty out=, for every order of axes, axes of size one included."""

from __future__ import annotations

from itertools import permutations

import pytest

torch = pytest.importorskip("torch")
import claygrad  # noqa: E402


def strides(t, name, shape, step):
    """Of the result itself, and of out=, for each permutation of the axes; of a broadcast operand only whether they are equal."""
    whole = t.ones(*shape[:-1], shape[-1] * step)[..., ::step]
    found = []
    for order in permutations(range(len(shape))):
        x = whole.permute(order)
        y = t.ones(x.shape[-1])
        f = getattr(t, name)
        for args in [(x,)] if name in ("exp", "neg", "tanh") else [(x, x), (x, y), (y, x)]:
            result = f(*args)
            out = f(*args, out=t.empty(0, dtype=result.dtype))
            found.append((order, result.stride() == out.stride(), None if any(arg is y for arg in args) else out.stride()))
    return found


@pytest.mark.parametrize("name", ["exp", "neg", "tanh", "add", "mul", "eq", "atan2", "maximum"])
@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 1, 4, 6), (2, 1, 3), (1, 3, 1, 2)])
@pytest.mark.parametrize("step", [1, 2])
def test_out_gets_the_strides_of_the_result(name, shape, step):
    assert strides(claygrad, name, shape, step) == strides(torch, name, shape, step)
