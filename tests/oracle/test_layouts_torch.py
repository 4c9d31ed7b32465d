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
