"""Resampling an axis: which elements of the old axis each element of the new one is made of, and with what weights.

Note [Taps]
Element i of the new axis is the sum over j of weight[i, j] * old[index[i, j]]. The indices of a tap j never decrease
with i: that makes the transpose, by which gradients return, a sum over runs of equal indices.
"""
from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from claygrad.ops._formats import product

if TYPE_CHECKING:
    from collections.abc import Callable

DENSE = 128          # old elements up to which the transpose is a product with a matrix
REACH = {"linear": 1.0, "cubic": 2.0, "lanczos": 3.0}


def ratio(n: int, out: int, align: bool, scale: float | None, number: Callable):
    """How far apart the new elements stand on the old axis."""
    if align:
        return number(n - 1) / number(out - 1) if out > 1 else number(0)
    return number(1.0 / scale) if scale is not None and scale > 0 else number(n) / number(out)


def nearest(xp, n: int, out: int, scale: float | None, exact: bool, flat: bool):
    """The index of the one old element that each new one repeats. `flat`: of two axes, which PyTorch keeps or doubles
    whatever the scale, if that is what it comes to."""
    number = xp.float32
    step, at = ratio(n, out, False, scale, number), xp.arange(out).astype(number)
    if exact:
        at = at + number(0.5)
    elif out == n and flat:
        return xp.arange(out)
    elif out == 2 * n and flat:
        return xp.arange(out) // 2
    return xp.minimum(xp.floor(at * step).astype("int64"), n - 1)


def taps(xp, n: int, out: int, kind: str, align: bool, antialias: bool, scale: float | None, dtype):
    """Indices and weights (out, number of taps)."""
    if antialias:
        return smoothed(xp, n, out, kind, align, scale, dtype)
    number = dtype.type
    if out == n and kind == "linear":
        return xp.arange(out)[:, None], xp.ones((out, 1), dtype)
    step, at = ratio(n, out, align, scale, number), xp.arange(out).astype(dtype)
    place = at * step if align else (at + number(0.5)) * step - number(0.5)
    if kind == "linear":
        place = xp.maximum(place, 0)
    first = xp.minimum(xp.floor(place).astype("int64"), n - 1)
    part = xp.clip(place - first.astype(dtype), 0, 1).astype(dtype)
    if kind == "linear":
        return xp.stack([first, xp.minimum(first + 1, n - 1)], 1), xp.stack([1 - part, part], 1)
    index = xp.clip(first[:, None] + xp.arange(-1, 3), 0, n - 1)
    return index, xp.stack([cubic(xp, part + 1, -0.75), cubic(xp, part, -0.75), cubic(xp, 1 - part, -0.75),
                            cubic(xp, 2 - part, -0.75)], 1).astype(dtype)


def cubic(xp, x, a: float):
    """The cubic convolution kernel."""
    x = xp.absolute(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return xp.where(x < 1, near, xp.where(x < 2, far, 0))


def kernel(xp, kind: str, x):
    if kind == "linear":
        return xp.maximum(1 - xp.absolute(x), 0)
    if kind == "cubic":
        return cubic(xp, x, -0.5)
    return xp.where((x >= -3) & (x < 3), xp.sinc(x) * xp.sinc(x / 3), 0)


def smoothed(xp, n: int, out: int, kind: str, align: bool, scale: float | None, dtype):
    """The taps of antialiasing: a kernel as wide as the step between new elements."""
    number = dtype.type
    step = ratio(n, out, align, scale, number)
    widen = max(float(step), 1.0)
    support = number(REACH[kind]) * number(widen)
    centre = (xp.arange(out).astype(dtype) + number(0.5)) * step
    low = xp.maximum((centre - support + number(0.5)).astype("int64"), 0)
    high = xp.minimum((centre + support + number(0.5)).astype("int64"), n)
    count = xp.clip(high - low, 0, ceil(support) * 2 + 1)
    j = xp.arange(int(count.max()))
    at = low[:, None] + j
    x = (at.astype(dtype) - centre[:, None] + number(0.5)) * number(1 / widen)
    weight = xp.where(j < count[:, None], kernel(xp, kind, x), 0)
    total = weight.sum(1, keepdims=True)
    weight = xp.where(total != 0, weight / xp.where(total != 0, total, 1), weight)
    return xp.minimum(at, xp.maximum(low + count - 1, 0)[:, None]), weight.astype(dtype)


def column(values, axis: int, ndim: int):
    return values.reshape(-1, *[1] * (ndim - 1 - axis))


def applied(xp, x, index, weight, axis: int):
    """The new axis."""
    out = xp.take(x, index[:, 0], axis=axis) * column(weight[:, 0], axis, x.ndim)
    for j in range(1, index.shape[1]):
        term = xp.take(x, index[:, j], axis=axis)
        term *= column(weight[:, j], axis, x.ndim)
        out += term
    return out


def transposed(xp, g, index, weight, axis: int, n: int):
    """What came from each of the n elements of the old axis, weighted and added up; weight None stands for ones."""
    if n <= DENSE and g.size and xp.isfinite(xp.sum(g)):
        return by_matrix(xp, g, index, weight, axis, n)
    out = xp.zeros((*g.shape[:axis], n, *g.shape[axis + 1:]), g.dtype)
    for j in range(index.shape[1]):
        at = index[:, j]
        runs = xp.concatenate([xp.zeros(1, at.dtype), xp.flatnonzero(at[1:] != at[:-1]) + 1])
        each = g if weight is None else g * column(weight[:, j], axis, g.ndim)
        out[(*[slice(None)] * axis, at[runs])] += xp.add.reduceat(each, runs, axis=axis)
    return out


def by_matrix(xp, g, index, weight, axis: int, n: int):
    """The same as a product with the matrix of all weights, of which most are 0: not for infinities."""
    matrix, rows = xp.zeros((index.shape[0], n), g.dtype), xp.arange(index.shape[0])
    for j in range(index.shape[1]):
        matrix[rows, index[:, j]] += 1 if weight is None else weight[:, j]
    lead, after = g.shape[:axis], g.shape[axis + 1:]
    if after:
        out = xp.matmul(matrix.T, g.reshape(product(lead), g.shape[axis], product(after)))
    else:
        out = xp.matmul(g.reshape(product(lead), g.shape[axis]), matrix)
    return out.reshape(*lead, n, *after)


# Bytes: PyTorch keeps weights in 16 bits and rounds after every axis

def in_bytes(xp, x, index, weight, axis: int):
    n = x.shape[axis]
    dense = xp.zeros((index.shape[0], n))
    for j in range(index.shape[1]):
        dense[xp.arange(index.shape[0]), index[:, j]] += weight[:, j]
    largest, precision = float(dense.max()), 0
    while precision < 22 and int(0.5 + largest * (1 << (precision + 1))) < 1 << 15:
        precision += 1
    whole = xp.trunc(dense * (1 << precision) + xp.where(dense < 0, -0.5, 0.5)).astype("int64")
    out = xp.moveaxis(xp.tensordot(x.astype("int64"), whole, axes=(axis, 1)), -1, axis)
    return xp.clip((out + (1 << (precision - 1))) >> precision, 0, 255).astype("uint8")
