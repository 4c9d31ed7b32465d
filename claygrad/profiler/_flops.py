"""Operations with numbers in a call: a product and a sum count two. PyTorch's formulas."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from claygrad.core.graph.observe import Call


def product_flops(a: Any, b: Any) -> int:
    """(..., m, k) by (..., k, n)"""
    batch = math.prod(a[:-2])
    return 2 * batch * a[-2] * a[-1] * b[-1]


def conv_flops(x: Any, w: Any, out: Any, transposed: bool = False) -> int:
    """Every element of the output (of the input, if transposed) meets the filters of its group once."""
    size = x if transposed else out
    return 2 * size[0] * math.prod(w) * math.prod(size[2:])


def attention_flops(q: Any, k: Any, v: Any) -> int:
    """q by k, and the scores by v."""
    batch = math.prod(q[:-2])
    scores = 2 * batch * q[-2] * q[-1] * k[-2]
    return scores + 2 * batch * q[-2] * k[-2] * v[-1]


def attention_backward_flops(q: Any, k: Any, v: Any) -> int:
    """The scores anew, and two products for each of the two of the forward."""
    batch = 2 * math.prod(q[:-2]) * q[-2] * k[-2]
    return batch * (3 * q[-1] + 2 * v[-1])


def _shape(call: Call, i: int) -> Any:
    return tuple(call.args[i].shape)


def _conv(call: Call) -> int:
    x, w = call.args[0], call.args[1]
    out = tuple(call.result.shape)
    shape = tuple(x.shape)
    if len(shape) < w.dim():  # one example without a batch
        shape, out = (1, *shape), (1, *out)
    return conv_flops(
        shape,
        tuple(w.shape),
        out,
        "transpose" in call.name or getattr(call.what, "name", "").startswith("conv_transpose"),
    )


FORMULAS: dict[str, Callable[[Call], int]] = {
    "mm": lambda call: product_flops(_shape(call, 0), _shape(call, 1)),
    "addmm": lambda call: product_flops(_shape(call, 1), _shape(call, 2)),
    "bmm": lambda call: product_flops(_shape(call, 0), _shape(call, 1)),
    "baddbmm": lambda call: product_flops(_shape(call, 1), _shape(call, 2)),
    "mul": lambda call: call.result.numel(),
    "add": lambda call: call.result.numel(),
    **{f"{name}{n}d": _conv for name in ("conv", "conv_transpose") for n in (1, 2, 3)},
}


def flops_of(call: Call) -> int:
    """Of a forward operation; 0 where no formula is known."""
    formula = FORMULAS.get(call.name) if call.kind == "forward" else None
    return 0 if formula is None or not hasattr(call.result, "numel") else formula(call)
