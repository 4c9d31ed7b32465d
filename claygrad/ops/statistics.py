"""Statistics: quantiles, covariance and correlation, and numerical derivatives."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import Tensor as TensorType
from claygrad.core import int64
from claygrad.core.user_warnings import warn
from claygrad.ops._geometry import axes, axis
from claygrad.ops._registry import composite
from claygrad.ops._words import refuse_gradient
from claygrad.ops.complex import complex_ as complex_of
from claygrad.ops.copies_of_views import named_copy
from claygrad.ops.creation import tensor
from claygrad.ops.join import cat
from claygrad.ops.part import slice_view

if TYPE_CHECKING:
    from collections.abc import Sequence
    from numbers import Number

    from claygrad.core import Tensor

    ints = int | tuple[int, ...] | list[int]

# --- quantiles ---------------------------------------------------------------------------------------------------
INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _check_quantile(input: Tensor, q: Tensor | float, interpolation: str) -> Tensor:
    """q as a tensor, all arguments checked in PyTorch's order."""
    if not isinstance(q, TensorType):
        if not 0 <= q <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
        q = tensor(float(q), dtype=input.dtype if input.dtype.is_floating_point else None, device=input.device)
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError("quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but "
                           f"got {interpolation}")
    if input.numel() == 0:
        raise RuntimeError("quantile() input tensor must be non-empty")
    if q.ndim > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if input.dtype.name not in ("float32", "float64"):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if q.dtype != input.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    if q.device.type != "meta" and not bool(((q >= 0) & (q <= 1)).all()):
        raise RuntimeError("quantile() q values must be in the range [0, 1]")
    return q


def _quantile(input: Tensor, q: Tensor | float, dim: int | None, keepdim: bool, interpolation: str,
              skip_nan: bool) -> Tensor:
    """The ranks of q among the sorted elements, and the elements at these ranks or between them."""
    q = _check_quantile(input, q, interpolation)
    if dim is None:
        line, kept = input.flatten(), (1,) * input.ndim
    else:
        dim = axis(dim, input.ndim)
        line = input.movedim(dim, -1) if input.ndim else input.reshape(1)
        kept = (*input.shape[:dim], 1, *input.shape[dim + 1:]) if input.ndim else ()
    rest = kept if keepdim else tuple(line.shape[:-1])
    ordered = line.sort(-1)[0]
    is_nan = ordered.isnan()
    if skip_nan:
        rank = q * (is_nan.logical_not().sum(-1, keepdim=True) - 1)
        rank = rank.masked_fill(rank < 0, 0)
    else:
        last = line.shape[-1] - 1
        rank = (q * last).expand(*line.shape[:-1], max(q.numel(), 0) if q.ndim else 1)
        rank = rank.masked_fill(is_nan.any(-1, keepdim=True), last)
    rank = {"lower": rank.floor, "higher": rank.ceil, "nearest": rank.round}.get(interpolation, lambda: rank)()
    below = rank.to(int64)
    found = ordered.gather(-1, below)
    if interpolation in ("linear", "midpoint"):
        weight = rank.new_full(rank.shape, 0.5) if interpolation == "midpoint" else rank - below
        found = found.lerp(ordered.gather(-1, rank.ceil().to(int64)), weight)
    found = found.unsqueeze(0).transpose(0, -1).squeeze(-1)           # q first
    return named_copy(found.reshape((q.numel(), *rest) if q.ndim else rest), "SqueezeBackward4")


def _check_same(out: Tensor, result: Tensor) -> None:
    if out.dtype != result.dtype:
        raise RuntimeError("quantile() out tensor must be same dtype as the input tensor")


def _quantile_samples(t):
    return [t.args(t(3, 4), 0.3), t.args(t(3, 4), 0.6, 1, True), t.args(t(3, 4), 0.4, dim=0, interpolation="midpoint"),
            t.args(t(7), 0.5, interpolation="lower"), t.args(t(7), 0.45, interpolation="higher"),
            t.args(t(2, 7), 0.45, interpolation="nearest"), t.args(t(), 0.5)]


def _quantile_errors(t):
    return [(t.args(t(3), 1.5), RuntimeError, "quantile() q must be in the range [0, 1] but got 1.5"),
            (t.args(t(0), 0.5), RuntimeError, "quantile() input tensor must be non-empty"),
            (t.args(t(3, dtype="int64"), 0.5), RuntimeError,
             "quantile() input tensor must be either float or double dtype"),
            (t.args(t(3), 0.5, interpolation="cubic"), RuntimeError,
             "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got cubic")]


@composite(out=True, check_out=_check_same, samples=_quantile_samples, errors=_quantile_errors)
def quantile(input: Tensor, q: Tensor | float, dim: int | None = None, keepdim: bool = False, *,
             interpolation: str = "linear") -> Tensor:
    """The quantiles q (from 0 to 1) of all elements or along `dim`. Several q give a new first axis. NaN propagates.

    `interpolation` between neighbours: "linear", "lower", "higher", "midpoint" or "nearest".

    >>> claygrad.quantile(claygrad.tensor([1.0, 2.0, 3.0, 5.0]), 0.5)
    tensor(2.5000)
    """
    return _quantile(input, q, dim, keepdim, interpolation, False)


@composite(out=True, check_out=_check_same, samples=_quantile_samples, errors=_quantile_errors)
def nanquantile(input: Tensor, q: Tensor | float, dim: int | None = None, keepdim: bool = False, *,
                interpolation: str = "linear") -> Tensor:
    """`quantile` of the elements that are not NaN."""
    return _quantile(input, q, dim, keepdim, interpolation, True)


# --- covariance --------------------------------------------------------------------------------------------------
def _check_weights(name: str, weights: Tensor, whole: bool, n: int) -> None:
    if weights.ndim > 1:
        raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.ndim} "
                           "dimensions")
    kind = weights.dtype
    if whole and (kind.is_floating_point or kind.is_complex or kind.name == "bool"):
        raise RuntimeError(f"cov(): expected {name} to have integral dtype but got {name} with {kind.legacy} dtype")
    if not whole and not kind.is_floating_point:
        raise RuntimeError(f"cov(): expected {name} to have floating point dtype but got {name} with {kind.legacy} "
                           "dtype")
    if weights.numel() != n:
        raise RuntimeError(f"cov(): expected {name} to have the same numel as there are observations in the input but "
                           f"got {weights.numel()} != {n}")
    if n and bool((weights < 0).any()):
        raise RuntimeError(f"cov(): {name} cannot be negative")


@composite(samples=lambda t: [t.args(t(3, 5)), t.args(t(5)), t.args(t(3, 5), correction=0),
                              t.args(t(2, 4), fweights=t.index((4,), 3).add(1)),
                              t.args(t(2, 4), aweights=t(4, low=0.2, requires_grad=False),
                                     fweights=t.index((4,), 3).add(1))],
           errors=lambda t: [(t.args(t(2, 3, 4)), RuntimeError, "cov(): expected input to have two or fewer"),
                             (t.args(t(3, dtype="bool")), RuntimeError, "cov(): bool dtype is not supported for input"),
                             (t.args(t(2, 3), fweights=t(3)), RuntimeError,
                              "cov(): expected fweights to have integral dtype but got fweights with Float dtype")])
def cov(input: Tensor, *, correction: int = 1, fweights: Tensor | None = None,
        aweights: Tensor | None = None) -> Tensor:
    """The covariance of variables in rows, observed in columns.

    `fweights`: how often each observation occurred; `aweights`: how much each counts.
    """
    if input.ndim > 2:
        raise RuntimeError("cov(): expected input to have two or fewer dimensions but got an input with "
                           f"{input.ndim} dimensions")
    if input.dtype.name == "bool":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = input.reshape(1, -1) if input.ndim < 2 else input
    n, weights = x.shape[1], fweights
    if fweights is not None:
        _check_weights("fweights", fweights, True, n)
    if aweights is not None:
        _check_weights("aweights", aweights, False, n)
        weights = aweights if fweights is None else fweights * aweights
    total = tensor(n, dtype=int64, device=x.device) if weights is None else weights.sum()
    if weights is not None and not bool(total != 0):
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    mean = (x if weights is None else x * weights).sum(1) / total
    if aweights is not None and correction != 0:
        freedom = total - correction * (weights * aweights).sum() / total
    else:
        freedom = total - correction
    if bool(freedom <= 0):
        warn("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of "
             "observations.")
        freedom = freedom.new_zeros(())
    x = x - mean.unsqueeze(1)
    weighted = x if weights is None else x * weights
    rest = weighted.sum(1)                                       # what the mean lost when it was rounded
    products = x @ weighted.t().conj() - (rest / total).unsqueeze(1) * rest.conj()
    return products.true_divide(freedom).squeeze()


@composite(samples=lambda t: [t.args(t(3, 5)), t.args(t(5))],
           errors=lambda t: [(t.args(t(2, 3, 4)), RuntimeError,
                              "corrcoef(): expected input to have two or fewer dimensions but got an input with 3")])
def corrcoef(input: Tensor) -> Tensor:
    """The correlation of variables in rows, observed in columns: cov over the product of the deviations."""
    if input.ndim > 2:
        raise RuntimeError("corrcoef(): expected input to have two or fewer dimensions but got an input with "
                           f"{input.ndim} dimensions")
    c = cov(input)
    if c.ndim == 0:
        return c / c
    spread = c.diag()
    spread = (spread.real if spread.dtype.is_complex else spread).sqrt()
    c = c / spread.view(-1, 1) / spread.view(1, -1)
    return complex_of(c.real.clip(-1, 1), c.imag.clip(-1, 1)) if c.dtype.is_complex else c.clip(-1, 1)


# --- numerical derivatives ---------------------------------------------------------------------------------------
def _edges(x: Tensor, dim: int, left, right) -> tuple[Tensor, Tensor]:
    """Weighted sums of the first and of the last elements along an axis."""
    n, m = x.shape[dim], len(left)
    first = [w * slice_view(x, dim, i, i + 1) for i, w in enumerate(left)]
    last = [w * slice_view(x, dim, n - m + i, n - m + i + 1) for i, w in enumerate(right)]
    return sum(first[1:], first[0]), sum(last[1:], last[0])


def _even(x: Tensor, dim: int, step: Number, order: int) -> Tensor:
    """The derivative along an axis of samples at one distance."""
    centre = (slice_view(x, dim, 2) - slice_view(x, dim, 0, -2)) / (step * 2)
    if order == 1:
        start = (slice_view(x, dim, 1, 2) - slice_view(x, dim, 0, 1)) / step
        end = (slice_view(x, dim, -1) - slice_view(x, dim, -2, -1)) / step
    else:
        start, end = _edges(x, dim, (-1.5, 2, -0.5), (0.5, -2, 1.5))
        start, end = start / step, end / step
    return cat((start, centre, end), dim)


def _uneven(x: Tensor, dim: int, coordinates: Tensor, order: int) -> Tensor:
    """The derivative along an axis of samples at given coordinates, exact for parabolas."""
    shape = tuple(-1 if i == dim else 1 for i in range(x.ndim))
    step = coordinates.diff(1, 0)
    a, b = slice_view(step, 0, 0, -1), slice_view(step, 0, 1)
    weights = (-b / (a * (a + b)), (b - a) / (a * b), a / (b * (a + b)))
    parts = (slice_view(x, dim, 0, -2), slice_view(x, dim, 1, -1), slice_view(x, dim, 2))
    first, second, third = (w.reshape(shape) * part for w, part in zip(weights, parts))
    centre = first + second + third
    if order == 1:
        start = (slice_view(x, dim, 1, 2) - slice_view(x, dim, 0, 1)) / step[0]
        end = (slice_view(x, dim, -1) - slice_view(x, dim, -2, -1)) / step[-1]
    else:
        p, q, r, s = a[0], b[0], a[-1], b[-1]
        start, end = _edges(x, dim, (-(2 * p + q) / (p * (p + q)), (p + q) / (p * q), -p / (q * (p + q))),
                            (s / (r * (r + s)), -(s + r) / (r * s), (2 * s + r) / (s * (r + s))))
    return cat((start, centre, end), dim)


_GRADIENT = ("gradient() received an invalid combination of arguments - got ({}), but expected one of:\n"
             " * (Tensor input, *, Number spacing = None, int dim = None, int edge_order = 1)\n"
             " * (Tensor input, *, tuple of Numbers or of Tensors spacing, tuple of ints dim, int edge_order = 1)\n")


@composite(method=False, samples=lambda t: [t.args(t(4, 5)), t.args(t(5), spacing=2.0), t.args(t(4, 5), dim=1),
                                            t.args(t(4, 5), spacing=[0.5, 2.0], edge_order=2),
                                            t.args(t(4, 5), spacing=(t(4).cumsum(0), t(5).cumsum(0)), edge_order=2),
                                            t.args(t(4, 5), spacing=(t(5).cumsum(0),), dim=(1,))],
           errors=lambda t: [(t.args(t(4), edge_order=3), RuntimeError,
                              "torch.gradient only supports edge_order=1 and edge_order=2."),
                             (t.args(t(1)), RuntimeError,
                              "torch.gradient expected each dimension size to be at least edge_order+1"),
                             (t.args(t(3), spacing="a"), TypeError,
                              "gradient() received an invalid combination of arguments")])
def gradient(input: Tensor, *, spacing: object = 1, dim: ints | None = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """The derivative along each axis by differences of neighbours, from both sides inside.

    `spacing`: one distance for all, one per axis, or the coordinates of the samples along each as vectors. At the ends
    `edge_order` 1 takes two samples and 2 takes three.
    """
    refuse_gradient("gradient", "spacing", spacing)
    if spacing is None or (isinstance(spacing, TensorType) and spacing.ndim == 0):
        spacing = 1 if spacing is None else spacing.item()
    dims = list(range(input.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    if isinstance(spacing, (int, float, complex)):
        _check_gradient(input, None, dim, dims, edge_order)
        return tuple(_even(input, axis(d, input.ndim), spacing, edge_order) for d in dims)
    if not isinstance(spacing, (tuple, list)):
        raise TypeError(_GRADIENT.format(f"Tensor, spacing={type(spacing).__name__}"))
    _check_gradient(input, spacing, dim, dims, edge_order)
    out = []
    for d, coordinates in zip(dims, spacing):
        of_axis = _uneven if isinstance(coordinates, TensorType) else _even
        out.append(of_axis(input, axis(d, input.ndim), coordinates, edge_order))
    return tuple(out)


def _check_gradient(input: Tensor, spacing: Sequence | None, dim: ints | None, dims: list[int], order: int) -> None:
    if input.dtype.name == "uint8":
        raise RuntimeError("torch.gradient does not support uint8 input.")
    if spacing is not None and dim is None and len(spacing) != input.ndim:
        raise RuntimeError("torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to "
                           f"'self.dim() = {input.ndim}', since dim argument was not given, but got a list of length "
                           f"{len(spacing)}")
    if spacing is not None and dim is not None and len(spacing) != len(dims):
        raise RuntimeError("torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim "
                           "arguments to have the same length, but got a spacing argument of length "
                           f"{len(spacing)} and a dim argument of length {len(dims)}.")
    if order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    for coordinates in spacing or ():
        if isinstance(coordinates, TensorType) and coordinates.device != input.device:
            raise RuntimeError("torch.gradient expected each tensor to be on the same device, but got devices "
                               f"{input.device} and {coordinates.device}!")
        if isinstance(coordinates, TensorType) and coordinates.ndim != 1:
            raise RuntimeError("torch.gradient expected each element of spacing to have one dimension, but got an "
                               f"element with {coordinates.ndim} dimensions!")
    for d in axes(dims, input.ndim):
        if input.shape[d] < order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
