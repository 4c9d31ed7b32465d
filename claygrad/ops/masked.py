"""Reductions and normalisations that leave elements out: where `mask` is False, an element counts as not there.

A mask is broadcast to the input. Elements left out are replaced by what changes nothing: 0 in a sum, 1 in a product,
-inf in a maximum. A slice of which nothing is left gives that.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import DTYPES, prefix
from claygrad.ops._numbers import _BITS
from claygrad.ops._registry import composite
from claygrad.ops.moments import vector_norm

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor, dtype

    ints = int | tuple[int, ...] | list[int]

_INF = float("inf")
_SMALL = ("uint8", "bool", "int8", "int16", "int32")
masked = {"namespace": "masked", "method": False}


def _axes(dim: ints | None, ndim: int) -> tuple[int, ...]:
    if dim is None or dim == ():
        return tuple(range(ndim))
    ndim = max(ndim, 1)
    found = []
    for d in (dim,) if isinstance(dim, int) else dim:
        if d in found:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        if not -ndim <= d < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {d})")
        found.append(d % ndim)
    return tuple(sorted(found))


def _extreme(kind: dtype, high: bool, what: str) -> Number:
    """The largest or the smallest number of a dtype."""
    if kind.is_floating_point:
        return _INF if high else -_INF
    if kind.is_complex:
        raise TypeError(f"{prefix()}.iinfo() requires an integer input type. Use {prefix()}.finfo to handle "
                        f"'{prefix()}.iinfo'")
    if kind.name not in _BITS:
        raise NotImplementedError(f"identity of {what} on {kind} input")
    top = 1 << _BITS[kind.name]
    return top - 1 if high else 0 if kind.name == "uint8" else -top


def _given(input: Tensor, mask: Tensor) -> Tensor:
    """The mask in the shape of the input."""
    if mask.shape != input.shape:
        if mask.ndim > input.ndim:
            raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the "
                             "input)")
        mask = mask.broadcast_to(input.shape)
    return mask.to(DTYPES["bool"])


def _filled(input: Tensor, mask: Tensor | None, value: Number) -> Tensor:
    """The input with `value` where the mask leaves out."""
    if mask is None:
        return input
    return input.where(_given(input, mask), input.new_full((), value))


def _wide(input: Tensor, dtype: dtype | None) -> dtype:
    return dtype or (DTYPES["int64"] if input.dtype.name in _SMALL else input.dtype)


def _samples(*args, **kwargs):
    def samples(t):
        return [t.args(t(3, 4), *args, **kwargs),        # masks that leave two elements of every row, or three columns
                t.args(t(3, 4), *args, mask=t(3, 4, requires_grad=False).argsort(1).lt(2), **kwargs),
                t.args(t(3, 4), *args, mask=t(4, requires_grad=False).argsort(0).lt(3), **kwargs)]
    return samples


# --- reductions --------------------------------------------------------------------------------------------------
@composite(name="sum", **masked, samples=_samples(1))
def masked_sum(input: Tensor, dim: ints | None = None, *, keepdim: bool | None = False, dtype: dtype | None = None,
               mask: Tensor | None = None) -> Tensor:
    "The sum of the elements that the mask keeps."
    dims = _axes(dim, input.ndim)
    return _filled(input, mask, 0).sum(dims, bool(keepdim), dtype=_wide(input, dtype))


@composite(name="prod", **masked, samples=_samples((0, 1)))
def masked_prod(input: Tensor, dim: ints | None = None, *, keepdim: bool | None = False, dtype: dtype | None = None,
                mask: Tensor | None = None) -> Tensor:
    "The product of the elements that the mask keeps."
    dims = _axes(dim, input.ndim)
    out = _filled(input, mask, 1).to(_wide(input, dtype))
    for d in reversed(dims):
        out = out.prod(d, bool(keepdim))
    return out


@composite(name="amax", **masked, samples=_samples(1))
def masked_amax(input: Tensor, dim: ints | None = None, *, keepdim: bool | None = False, dtype: dtype | None = None,
                mask: Tensor | None = None) -> Tensor:
    "The largest of the elements that the mask keeps."
    x = input if mask is None else _filled(input, mask, _extreme(input.dtype, False, "amax"))
    return x.amax(_axes(dim, input.ndim), bool(keepdim)).to(dtype or input.dtype)


@composite(name="amin", **masked, samples=_samples(1))
def masked_amin(input: Tensor, dim: ints | None = None, *, keepdim: bool | None = False, dtype: dtype | None = None,
                mask: Tensor | None = None) -> Tensor:
    "The smallest of the elements that the mask keeps."
    x = input if mask is None else _filled(input, mask, _extreme(input.dtype, True, "amin"))
    return x.amin(_axes(dim, input.ndim), bool(keepdim)).to(dtype or input.dtype)


@composite(name="argmax", **masked, samples=_samples(1))
def masked_argmax(input: Tensor, dim: int | None = None, *, keepdim: bool | None = False, dtype: dtype | None = None,
                  mask: Tensor | None = None) -> Tensor:
    "Where the largest of the elements stands that the mask keeps, in the dtype of the input."
    x = input if mask is None else _filled(input, mask, _extreme(input.dtype, False, "argmax"))
    return x.argmax(dim, bool(keepdim)).to(dtype or input.dtype)


@composite(name="argmin", **masked, samples=_samples(1))
def masked_argmin(input: Tensor, dim: int | None = None, *, keepdim: bool | None = False, dtype: dtype | None = None,
                  mask: Tensor | None = None) -> Tensor:
    "Where the smallest of the elements stands that the mask keeps, in the dtype of the input."
    x = input if mask is None else _filled(input, mask, _extreme(input.dtype, True, "argmin"))
    return x.argmin(dim, bool(keepdim)).to(dtype or input.dtype)


def _count(input: Tensor, dim: ints | None, keepdim: bool, mask: Tensor | None) -> Tensor:
    if mask is None:
        return masked_sum(input.new_ones(input.shape, dtype=DTYPES["int64"]), dim, keepdim=keepdim)
    return mask.sum(dim, keepdim=keepdim)


@composite(name="mean", **masked, samples=_samples(1))
def masked_mean(input: Tensor, dim: ints | None = None, *, keepdim: bool | None = False, dtype: dtype | None = None,
                mask: Tensor | None = None) -> Tensor:
    "The mean of the elements that the mask keeps; NaN where there are none."
    kind = dtype or input.dtype
    if not (kind.is_floating_point or kind.is_complex):
        source = "Input" if dtype is None else "Optional"
        raise ValueError(f"mean(): Could not infer output dtype. {source} dtype must be either a floating point or "
                         f"complex dtype. Got: {kind}")
    mask = None if mask is None else _given(input, mask)
    return masked_sum(input, dim, keepdim=keepdim, dtype=kind, mask=mask) / _count(input, dim, bool(keepdim), mask)


@composite(name="median", **masked, samples=_samples(1))
def masked_median(input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: dtype | None = None,
                  mask: Tensor | None = None) -> Tensor:
    "The (lower) median of the elements that the mask keeps; NaN where there are none."
    dim = _axes(dim, input.ndim)[0]
    floating = input.dtype.is_floating_point
    x = input if floating else input.to(DTYPES["float32"])
    out = _filled(x, mask, float("nan")).nanmedian(dim, keepdim)[0]
    if floating:
        return out
    if bool(out.isnan().any()):
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return out.to(dtype or input.dtype)


@composite(name="logsumexp", **masked, samples=_samples(1))
def masked_logsumexp(input: Tensor, dim: ints | None = None, *, keepdim: bool = False, dtype: dtype | None = None,
                     mask: Tensor | None = None) -> Tensor:
    "The logarithm of the sum of e ** x over the elements that the mask keeps."
    dims = _axes(dim, input.ndim)
    if mask is None:
        x = input
    else:
        x = _filled(input, mask, -_INF if input.dtype.is_complex else _extreme(input.dtype, False, "logsumexp"))
    return x.logsumexp(dims, keepdim=keepdim).to(dtype or input.dtype)


@composite(name="logaddexp", **masked, samples=lambda t: [
    t.args(t(3, 4), t(3, 4)),
    t.args(t(3, 4, requires_grad=False), t(3, 4, requires_grad=False), input_mask=t(3, 4, dtype="bool")),
    t.args(t(3, 4, requires_grad=False), t(3, 4, requires_grad=False), other_mask=t(4, dtype="bool"))])
def masked_logaddexp(input: Tensor, other: Tensor, *, dtype: dtype | None = None, input_mask: Tensor | None = None,
                     other_mask: Tensor | None = None) -> Tensor:
    "The logarithm of e ** input + e ** other; what a mask leaves out adds nothing."
    parts = [x if mask is None else _filled(x, mask, _extreme(x.dtype, False, "logaddexp"))
             for x, mask in ((input, input_mask), (other, other_mask))]
    return parts[0].logaddexp(parts[1]).to(dtype or input.dtype)


@composite(name="norm", **masked, samples=_samples(2, 1))
def masked_norm(input: Tensor, ord: Number | None = 2.0, dim: ints | None = None, *, keepdim: bool | None = False,
                dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    "The norm of order `ord` of the elements that the mask keeps."
    if mask is not None and ord == -_INF and not input.dtype.is_floating_point:
        raise AssertionError(f"input must be floating point, got {input.dtype}")
    x = _filled(input, mask, _INF if ord == -_INF else 0)
    return vector_norm(x, 2 if ord is None else ord, _axes(dim, input.ndim), bool(keepdim), dtype=dtype or input.dtype)


def _variance(input: Tensor, dim: ints | None, unbiased: bool | None, correction: Number | None, keepdim: bool | None,
              dtype: dtype | None, mask: Tensor | None, root: bool) -> Tensor:
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if correction is None:
        correction = 1.0 if unbiased is None else float(unbiased)
    fractional = input.dtype.is_floating_point or input.dtype.is_complex
    kind = dtype or (input.dtype if fractional else DTYPES["float32"])
    compute = kind if kind.is_floating_point or kind.is_complex else DTYPES["float32"]
    mask = None if mask is None else _given(input, mask)
    count = _count(input, dim, True, mask)
    x = input - masked_sum(input, dim, keepdim=True, dtype=kind, mask=mask) / count
    total = masked_sum(x * x.conj(), dim, keepdim=keepdim, dtype=compute, mask=mask)
    count = count if keepdim else count.reshape(total.shape)
    if correction != 0:
        count = count.to(compute.to_real()) - correction
        count = count.maximum(count.new_zeros(()))
    out = (total / count).to(kind)
    return out.sqrt() if root else out


@composite(name="var", **masked, samples=_samples(1, False))
def masked_var(input: Tensor, dim: ints | None = None, unbiased: bool | None = None, *,
               correction: Number | None = None, keepdim: bool | None = False, dtype: dtype | None = None,
               mask: Tensor | None = None) -> Tensor:
    "The variance of the elements that the mask keeps."
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask, False)


@composite(name="std", **masked, samples=_samples(1, False))
def masked_std(input: Tensor, dim: ints | None = None, unbiased: bool | None = None, *,
               correction: Number | None = None, keepdim: bool | None = False, dtype: dtype | None = None,
               mask: Tensor | None = None) -> Tensor:
    "The standard deviation of the elements that the mask keeps."
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask, True)


# --- the same shape as the input ---------------------------------------------------------------------------------
@composite(name="cumsum", **masked, samples=_samples(1))
def masked_cumsum(input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    "The running sum of the elements that the mask keeps."
    kind = dtype or input.dtype
    return _filled(input, mask, 0).cumsum(_axes(dim, input.ndim)[0], dtype=kind).to(kind)


@composite(name="cumprod", **masked, samples=_samples(1))
def masked_cumprod(input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    "The running product of the elements that the mask keeps."
    kind = dtype or input.dtype
    return _filled(input, mask, 1).cumprod(_axes(dim, input.ndim)[0], dtype=kind).to(kind)


@composite(name="softmax", **masked, samples=_samples(1))
def masked_softmax(input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    "softmax of the elements that the mask keeps; 0 elsewhere."
    x = input if mask is None else _filled(input, mask, _extreme(input.dtype, False, "amax"))
    return x.softmax(_axes(dim, input.ndim)[0], dtype=dtype or input.dtype)


@composite(name="log_softmax", **masked, samples=lambda t: [
    t.args(t(3, 4), 1), t.args(t(3, 4, requires_grad=False), 1, mask=t(3, 4, dtype="bool"))])
def masked_log_softmax(input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    "The logarithm of softmax of the elements that the mask keeps; -inf elsewhere."
    x = input if mask is None else _filled(input, mask, _extreme(input.dtype, False, "amax"))
    return x.log_softmax(_axes(dim, input.ndim)[0], dtype=dtype or input.dtype)


@composite(name="softmin", **masked, samples=_samples(1))
def masked_softmin(input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    "softmax of -input, of the elements that the mask keeps; 0 elsewhere."
    x = input if mask is None else _filled(input, mask, _extreme(input.dtype, True, "amin"))
    return (-x).softmax(_axes(dim, input.ndim)[0], dtype=dtype or input.dtype)


@composite(name="normalize", **masked, samples=_samples(2.0, 1))
def masked_normalize(input: Tensor, ord: Number, dim: int, *, eps: float = 1e-12, dtype: dtype | None = None,
                     mask: Tensor | None = None) -> Tensor:
    "The elements over their norm of order `ord`, counting only those that the mask keeps; 0 elsewhere."
    size = masked_norm(input, ord, dim, keepdim=True, dtype=dtype or input.dtype, mask=mask)
    return _filled(input, mask, 0) / size.maximum(size.new_full((), eps))
