"""Histograms of one and of several variables."""
from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from claygrad.core import Tensor as TensorType
from claygrad.ops._geometry import text
from claygrad.ops._registry import composite, missing, op
from claygrad.ops._words import NAMES
from claygrad.ops.ranges import linspace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claygrad.core import Tensor


def _bounds(input: Tensor, given: Sequence[float] | None) -> list[tuple[float, float]]:
    """The range of each column: what was given, or what the data has; one point is widened to 1."""
    columns = input.shape[1]
    if given is not None:
        if len(given) != 2 * columns:
            raise RuntimeError(f"torch.histogramdd: for a {columns}-dimensional histogram range should have "
                               f"{2 * columns} elements, but got {len(given)}")
        found = [(given[2 * i], given[2 * i + 1]) for i in range(columns)]
    elif input.shape[0]:
        found = list(zip(input.amin(0).tolist(), input.amax(0).tolist()))
    else:
        found = [(0.0, 1.0)] * columns
    out = []
    for i, (low, high) in enumerate(found):
        if not (abs(low) < float("inf") and abs(high) < float("inf")):
            raise RuntimeError(f"torch.histogramdd: dimension {i}'s range [{low:g}, {high:g}] is not finite")
        if low > high:
            raise RuntimeError(f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for "
                               f"dimension {i}")
        out.append((low - 0.5, high + 0.5) if low == high else (low, high))
    return out


def _edges_from(input: Tensor, counts: Sequence[int], given: Sequence[float] | None) -> list[Tensor]:
    for i, count in enumerate(counts):
        if count <= 0:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {count} for dimension {i}")
    return [linspace(low, high, count + 1, dtype=input.dtype, device=input.device)
            for (low, high), count in zip(_bounds(input, given), counts)]


def _check_edges(input: Tensor, edges: Sequence[Tensor]) -> None:
    if len(edges) != input.shape[1]:
        raise RuntimeError(f"torch.histogramdd: expected {input.shape[1]} sequences of bin edges for a "
                           f"{input.shape[1]}-dimensional histogram but got {len(edges)}")
    for i, edge in enumerate(edges):
        if edge.dtype != input.dtype:
            raise RuntimeError("torch.histogramdd: input tensor and bins tensors should have the same dtype, but got "
                               f"input with dtype {input.dtype.c_name} and bins for dimension {i} with dtype "
                               f"{edge.dtype.c_name}")
        if edge.ndim != 1:
            raise RuntimeError(f"torch.histogramdd: bins tensor should have one dimension, but got {edge.ndim} "
                               f"dimensions in the bins tensor for dimension {i}")
        if edge.numel() == 0:
            raise RuntimeError("torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in "
                               f"the bins tensor for dimension {i}")


def _check_weight(input: Tensor, weight: Tensor | None) -> None:
    if weight is None:
        return
    if weight.dtype != input.dtype:
        raise RuntimeError("torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should "
                           f"have the same dtype, but got input({input.dtype.c_name}), and "
                           f"weight({weight.dtype.c_name})")
    if tuple(weight.shape) != tuple(input.shape[:-1]):
        raise RuntimeError("torch.histogramdd: if weight tensor is provided it should have the same shape as the input "
                           "tensor excluding its innermost dimension, but got input with shape "
                           f"{text(input.shape)} and weight with shape {text(weight.shape)}")


@op(name="histogram", kernel="histogram", function=False, method=False, meta="data",
    node="torch::autograd::NotImplemented",
    samples=lambda t: [t.args(t(9, 2, requires_grad=False), [t(4, requires_grad=False).sort()[0],
                                                             t(3, requires_grad=False).sort()[0]])])
def counted(xp, input: Tensor, edges: list[Tensor], weight: Tensor | None = None, even: bool = False):
    """How many rows (or how much of their weight) fall into each box; the last edge belongs to the last box.

    `even`: the edges are at one distance, so that a division tells the box, or the one beside it.
    """
    place, inside, shape = xp.zeros(input.shape[0], "int64"), xp.ones(input.shape[0], bool), []
    for column, line in zip(input.T, edges):
        boxes = len(line) - 1
        inside &= (column >= line[0]) & (column <= line[-1])
        place = place * boxes + (_near if even else _sought)(xp, xp.clip(column, line[0], line[-1]), line)
        shape.append(boxes)
    weights = None if weight is None else weight.reshape(-1)[inside].astype("float64")
    return xp.bincount(place[inside], weights, prod(shape)).reshape(shape).astype(input.dtype)


def _sought(xp, column, line):
    return xp.clip(xp.searchsorted(line, column, "right") - 1, 0, len(line) - 2)


def _near(xp, column, line):
    last = len(line) - 2
    guess = xp.nan_to_num((column - line[0]) * ((last + 1) / (line[-1] - line[0]))).astype("int64")
    guess = xp.clip(guess, 0, last)
    guess -= column < line[guess]
    return xp.clip(guess + (column >= line[guess + 1]), 0, last)


counted.rule(input=missing, edges=missing, weight=missing)


def _histogram(input: Tensor, edges: Sequence[Tensor], weight: Tensor | None, density: bool, even: bool) -> Tensor:
    for i, edge in enumerate(edges):
        if edge.numel() < 2:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {edge.numel() - 1} for dimension {i}")
    if not edges:
        return input.new_zeros(())
    hist = counted(input, list(edges), weight, even)
    if density:
        hist = hist / hist.sum()
        for i, edge in enumerate(edges):
            hist = hist / edge.diff().reshape((-1,) + (1,) * (len(edges) - i - 1))
    return hist


def _need_real(input: Tensor) -> None:
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{NAMES[input.dtype.name]}'")


_SAME = "torch.histogram: input tensor and {} tensor should have the same dtype, but got input {{0.c_name}} and {}"
_OUT = (_SAME.format("hist", "hist {1.c_name}"), _SAME.format("bin_edges", "bin_edges {1.c_name} for dimension 0"))


_FORMS = ("{}() received an invalid combination of arguments - got (Tensor, {}), but expected one of:\n"
          " * (Tensor input, Tensor bins, *, Tensor weight = None, bool density = False, tuple of Tensors out = None)\n"
          " * (Tensor input, int bins, *, tuple of floats range = None, Tensor weight = None, bool density = False, "
          "tuple of Tensors out = None)\n")


@composite(out=_OUT, returns=("hist", "bin_edges"),
           samples=lambda t: [t.args(t(20, requires_grad=False), 5),
                              t.args(t(4, 5, requires_grad=False), t(4, requires_grad=False).sort()[0]),
                              t.args(t(9, requires_grad=False), 4, range=(0.0, 1.5),
                                     weight=t(9, low=0.1, requires_grad=False), density=True)],
           errors=lambda t: [(t.args(t(3), 0), RuntimeError,
                              "torch.histogram(): bins must be > 0, but got 0 for dimension 0"),
                             (t.args(t(3), 4, range=(1.0, 0.0)), RuntimeError,
                              "torch.histogramdd: min should not exceed max, but got min 1 max 0 for dimension 0"),
                             (t.args(t(3), "a"), TypeError,
                              "histogram() received an invalid combination of arguments")])
def histogram(input: Tensor, bins: object, *, range: Sequence[float] | None = None, weight: Tensor | None = None,
              density: bool = False) -> tuple[Tensor, Tensor]:
    """How many elements fall between neighbouring edges, and the edges.

    `bins`: their number, between the ends of `range` or of the data; or the edges themselves. `weight`: what each
    element counts. `density`: divided so that the area is 1.
    """
    column = input.reshape(-1, 1)
    if isinstance(bins, TensorType):
        if range is not None:
            raise TypeError(_FORMS.format("histogram", "Tensor, range=tuple"))
        _check_edges(column, [bins])
        edges = bins.clone()
    elif isinstance(bins, int) and not isinstance(bins, bool):
        if range is None:
            _need_real(input)
        edges = _edges_from(column, [bins], range)[0]
    else:
        raise TypeError(_FORMS.format("histogram", type(bins).__name__))
    _need_real(input)
    _check_weight(column, weight if weight is None or tuple(weight.shape) != tuple(input.shape) else weight.reshape(-1))
    weight = None if weight is None else weight.reshape(-1)
    return _histogram(column, [edges], weight, density, not isinstance(bins, TensorType)), edges


@composite(method=False, returns=("hist", "bin_edges"),
           samples=lambda t: [t.args(t(9, 2, requires_grad=False), [3, 2]),
                              t.args(t(9, 2, requires_grad=False), 3, density=True),
                              t.args(t(9, 2, requires_grad=False), [t(4, requires_grad=False).sort()[0],
                                                                    t(3, requires_grad=False).sort()[0]])],
           errors=lambda t: [(t.args(t(4), [2]), RuntimeError,
                              "torch.histogramdd: input tensor should have at least 2 dimensions"),
                             (t.args(t(4, 3), [2, 2]), RuntimeError,
                              "histogramdd: The size of bins must be equal to the innermost dimension of the input.")])
def histogramdd(input: Tensor, bins: object, range: Sequence[float] | None = None, weight: Tensor | None = None,
                density: bool = False) -> tuple[Tensor, tuple[Tensor, ...]]:
    """`histogram` of points whose coordinates lie along the last axis.

    `bins`: one number for all axes, one for each, or the edges of each as vectors; `range`: low and high of each axis
    in turn.
    """
    if input.ndim == 0 and isinstance(bins, int):
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    given = [bins] * input.shape[-1] if isinstance(bins, int) else list(bins)
    by_edges = bool(given) and isinstance(given[0], TensorType)
    if input.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    if not by_edges and len(given) != input.shape[-1]:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    _need_real(input)
    rows = input.reshape(-1, input.shape[-1]) if input.numel() else input.reshape(0, input.shape[-1])
    if by_edges:
        _check_edges(rows, given)
        edges = [edge.clone() for edge in given]
    else:
        edges = _edges_from(rows, given, range)
    _check_weight(input, weight)
    return _histogram(rows, edges, weight, density, not by_edges), tuple(edges)
