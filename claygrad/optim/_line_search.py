"""A line search by cubic interpolation that ends at a point with the strong Wolfe conditions."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from claygrad.core import Tensor


def cubic_minimum(x1: Any, f1: float, g1: Any, x2: Any, f2: float, g2: Any, bounds: tuple[Any,
                                                                                          Any] | None = None) -> Any:
    """Where the cubic with those values and slopes at x1 and x2 is least, within the bounds."""
    low, high = bounds if bounds is not None else (x1, x2) if x1 <= x2 else (x2, x1)
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1 ** 2 - g1 * g2
    if square < 0:
        return (low + high) / 2.0
    d2 = square.sqrt()
    if x1 <= x2:
        found = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        found = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(found, low), high)


class _Point:
    """A distance that was tried: loss, gradient and slope there."""

    __slots__ = ("grad", "loss", "slope", "t")

    def __init__(self, t: Any, loss: float, grad: Tensor, slope: Any) -> None:
        self.t, self.loss, self.grad, self.slope = t, loss, grad, slope


def strong_wolfe(evaluate: Callable[[Any], tuple[float, Tensor]], t: Any, direction: Tensor, loss: float, grad: Tensor,
                 slope: Any, c1: float = 1e-4, c2: float = 0.9, tolerance_change: float = 1e-9,
                 max_evaluations: int = 25) -> tuple[float, Tensor, Any, int]:
    """Loss, gradient and distance of a point that falls enough and is flat enough, and how often it was evaluated."""

    def look(t: Any) -> _Point:
        loss, grad = evaluate(t)
        return _Point(t, loss, grad, grad.dot(direction))

    def too_high(point: _Point, other: _Point) -> bool:
        return bool(point.loss > loss + c1 * point.t * slope) or point.loss >= other.loss

    length = direction.abs().max()
    start = last = _Point(0, loss, grad.clone(), slope)
    new = look(t)
    tried = 0
    bracket: list[_Point] | None = None
    done = False
    while tried < max_evaluations:                     # look ever further, until a minimum is enclosed
        if new.loss > loss + c1 * new.t * slope or (tried > 1 and new.loss >= last.loss):
            bracket = [last, new]
            break
        if abs(new.slope) <= -c2 * slope:
            bracket, done = [new], True
            break
        if new.slope >= 0:
            bracket = [last, new]
            break
        further = cubic_minimum(last.t, last.loss, last.slope, new.t, new.loss, new.slope,
                                bounds=(new.t + 0.01 * (new.t - last.t), new.t * 10))
        last, new = new, look(further)
        tried += 1
    if bracket is None:
        bracket = [start, new]

    low = 0 if bracket[0].loss <= bracket[-1].loss else 1
    stalled = False
    while not done and tried < max_evaluations:        # close in
        a, b = bracket
        if abs(b.t - a.t) * length < tolerance_change:
            break
        t = cubic_minimum(a.t, a.loss, a.slope, b.t, b.loss, b.slope)
        left, right = min(a.t, b.t), max(a.t, b.t)
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:          # too near an end: allowed once
            if stalled or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stalled = False
            else:
                stalled = True
        else:
            stalled = False
        new = look(t)
        tried += 1
        if too_high(new, bracket[low]):
            bracket[1 - low] = new
            low = 0 if bracket[0].loss <= bracket[1].loss else 1
        else:
            if abs(new.slope) <= -c2 * slope:
                done = True
            elif new.slope * (bracket[1 - low].t - bracket[low].t) >= 0:
                bracket[1 - low] = bracket[low]
            bracket[low] = new
    best = bracket[low if len(bracket) > 1 else 0]
    return best.loss, best.grad, best.t, tried + 1
