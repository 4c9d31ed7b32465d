"""Operands whose axes lie in different orders, or have gaps: by native forms as by references, strides included."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

import claygrad
from claygrad import Tensor
from claygrad.core.dispatch import reference_only

SHAPE = (3, 4, 5)
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "row-major": lambda x: x, "turned": lambda x: x.permute(2, 1, 0).contiguous().permute(2, 1, 0),
    "rotated": lambda x: x.permute(1, 2, 0).contiguous().permute(2, 0, 1), "gaps": lambda x: x.repeat_interleave(2, 2)[..., ::2],
    "a row": lambda x: x[:1, :1], "a plane": lambda x: x[0].t().contiguous().t(), "stretched": lambda x: x[:, :1].expand(SHAPE),
    "one element": lambda x: x[1, 1, 1],
}
CALLS: dict[str, Callable[..., Tensor]] = {
    "add": claygrad.add, "sub with alpha": lambda x, y: claygrad.sub(x, y, alpha=0.3), "add with alpha": lambda x, y: claygrad.add(x, y, alpha=-2),
    "div": claygrad.div, "maximum": claygrad.maximum, "atan2": claygrad.atan2, "gt": claygrad.gt, "where": lambda x, y: claygrad.where(x > 0, x, y),
    "lerp": lambda x, y: claygrad.lerp(x, y, 0.3), "clamp": lambda x, y: claygrad.clamp(x, min=y), "pow": lambda x, y: claygrad.pow(x.abs(), y),
}


def drawn(seed: int, dtype: claygrad.dtype) -> Tensor:
    return claygrad.randn(SHAPE, generator=claygrad.Generator().manual_seed(seed)).to(dtype)


@pytest.mark.parametrize(("first", "second"), list(itertools.product(LAYOUTS, LAYOUTS)))
@pytest.mark.parametrize("name", CALLS)
def test_as_on_the_general_path(name: str, first: str, second: str):
    kinds = ((claygrad.float32, claygrad.float32), (claygrad.float32, claygrad.float64), (claygrad.float64, claygrad.int64))
    for one, other in kinds[:1] if name == "lerp" else kinds:             # which takes one dtype alone
        x, y = LAYOUTS[first](drawn(1, one)), LAYOUTS[second](drawn(2, other))
        made = CALLS[name](x, y)
        with reference_only():
            wanted = CALLS[name](x, y)
        assert made.dtype == wanted.dtype
        assert made.shape == wanted.shape
        assert made.stride() == wanted.stride()
        assert claygrad.allclose(made.double(), wanted.double(), rtol=1e-6, atol=1e-7, equal_nan=True)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", [claygrad.float64, claygrad.float16, claygrad.int64, claygrad.bool, claygrad.complex64], ids=str)
def test_casts_keep_the_order(layout: str, kind: claygrad.dtype):
    x = LAYOUTS[layout](drawn(1, claygrad.float32) * 3)
    made, row_major = x.to(kind), x.to(kind, memory_format=claygrad.contiguous_format)
    wanted = claygrad.empty_like(x, dtype=kind)
    assert made.stride() == wanted.stride()
    assert row_major.stride() == claygrad.empty(x.shape).stride()
    for got in (made, row_major):
        assert got.tolist() == x.contiguous().to(kind).tolist()
