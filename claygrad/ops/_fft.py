"""The three transforms that every Fourier transform is made of, with their derivatives, and their common checks.

A transform is linear, so its gradient is its transpose: the transform in the other direction, with the same scale. What
a real signal or a Hermitian spectrum leaves out is put back before.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import complex64 as small_complex
from claygrad.core import default_dtype, float32, float64, promote_types
from claygrad.core.python_api import get_num_threads
from claygrad.ops._geometry import axis, sizes
from claygrad.ops._registry import op
from claygrad.ops._scipy import transforms
from claygrad.ops._words import NAMES
from claygrad.ops.part import slice_backward

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claygrad.core import Tensor

    ints = int | tuple[int, ...] | list[int]

_REAL = (float32, float64)
# How a sum over n elements is scaled: not at all, by 1 / sqrt(n), by 1 / n.
PLAIN, ROOT, MEAN = range(3)
_FORWARD = {None: PLAIN, "backward": PLAIN, "ortho": ROOT, "forward": MEAN}
_BACKWARD = {None: MEAN, "backward": MEAN, "ortho": ROOT, "forward": PLAIN}
# The array module's words for these scales, by direction
_WORDS = {True: ("backward", "ortho", "forward"), False: ("forward", "ortho", "backward")}


def scale_of(norm: str | None, forward: bool) -> int:
    found = (_FORWARD if forward else _BACKWARD).get(norm)
    if found is None:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return found


MANY = 1 << 16              # elements that are worth more than one thread


def transformed(xp, name: str, x, *args, **options):
    """A transform of the array module; a large batch is shared out over the threads."""
    module = transforms(xp)
    if module.__name__ == "scipy.fft" and x.size >= MANY:
        options["workers"] = get_num_threads()
    return getattr(module, name)(x, *args, **options)


def _spectrum(input: Tensor, dim: ints, onesided: bool) -> tuple:
    shape = list(input.shape)
    if onesided and dim:
        shape[dim[-1]] = shape[dim[-1]] // 2 + 1
    return tuple(shape), input.dtype.to_complex()


@op(kernel="fft_c2c", function=False, method=False, node="FftC2CBackward0", meta=lambda input: input.shape,
    samples=lambda t: [t.args(t(3, 4, dtype="complex128"), (1,), PLAIN, True),
                       t.args(t(2, 3, dtype="complex128"), (0, 1), ROOT, False)])
def fft_c2c(xp, input: Tensor, dim: ints, scale: int, forward: bool):
    "The transform of complex numbers, along several axes."
    if not dim or not input.size:
        return input.copy()
    if len(dim) == 1:
        out = transformed(xp, "fft" if forward else "ifft", input, axis=dim[0], norm=_WORDS[forward][scale])
    else:
        out = transformed(xp, "fftn" if forward else "ifftn", input, axes=dim, norm=_WORDS[forward][scale])
    return out.astype(input.dtype, copy=False)
fft_c2c.rule(input=lambda g, dim, scale, forward: fft_c2c(g, dim, scale, not forward))


@op(kernel="fft_r2c", function=False, method=False, node="FftR2CBackward0", meta=_spectrum,
    samples=lambda t: [t.args(t(3, 4), (1,), PLAIN, True), t.args(t(3, 5), (0, 1), ROOT, True),
                       t.args(t(3, 5), (1,), MEAN, False)])
def fft_r2c(xp, input: Tensor, dim: ints, scale: int, onesided: bool):
    "The forward transform of real numbers; the last axis keeps the first half of its spectrum if `onesided`."
    kind = xp.result_type(input.dtype, xp.complex64)
    if not input.size:
        return xp.zeros(_spectrum_shape(input.shape, dim, onesided), kind)
    if not onesided:
        out = (transformed(xp, "fft", input, axis=dim[0], norm=_WORDS[True][scale]) if len(dim) == 1 else
               transformed(xp, "fftn", input, axes=dim, norm=_WORDS[True][scale]))
    elif len(dim) == 1:
        out = transformed(xp, "rfft", input, axis=dim[0], norm=_WORDS[True][scale])
    else:
        out = transformed(xp, "rfftn", input, axes=dim, norm=_WORDS[True][scale])
    return out.astype(kind, copy=False)


def _spectrum_shape(shape: tuple[int, ...], dim: Sequence[int], onesided: bool) -> tuple[int, ...]:
    out = list(shape)
    if onesided:
        out[dim[-1]] = out[dim[-1]] // 2 + 1
    return tuple(out)


def _to_signal(g: Tensor, input_shape: tuple[int, ...], dim: ints, scale: int, onesided: bool) -> Tensor:
    if onesided:                                    # what was left out had no gradient
        g = padded(g, dim[-1], input_shape[dim[-1]])
    return fft_c2c(g, dim, scale, False).real


fft_r2c.rule(input=_to_signal)


@op(kernel="fft_c2r", function=False, method=False, node="FftC2RBackward0",
    meta=lambda input, dim, last: (_signal_shape(input.shape, dim, last), input.dtype.to_real()),
    samples=lambda t: [t.args(t(3, 3, dtype="complex128"), (1,), MEAN, 4),
                       t.args(t(3, 3, dtype="complex128"), (0, 1), PLAIN, 5)])
def fft_c2r(xp, input: Tensor, dim: ints, scale: int, last: int):
    "The backward transform of half a spectrum to `last` real numbers along the last axis."
    kind = input.real.dtype
    if not input.size:
        return xp.zeros(_signal_shape(input.shape, dim, last), kind)
    word = _WORDS[False][scale]
    if len(dim) == 1:
        out = transformed(xp, "irfft", input, last, axis=dim[0], norm=word)
    else:
        rest = transformed(xp, "ifftn", input, axes=dim[:-1], norm=word)
        out = transformed(xp, "irfft", rest, last, axis=dim[-1], norm=word)
    return out.astype(kind, copy=False)


def _signal_shape(shape: tuple[int, ...], dim: Sequence[int], last: int) -> tuple[int, ...]:
    return tuple(last if i == dim[-1] else n for i, n in enumerate(shape))


def _to_spectrum(g: Tensor, dim: ints, scale: int, last: int) -> Tensor:
    half = fft_r2c(g, dim, scale, True)
    # Every coefficient but the first (and, of an even signal, the last) stands for two of the whole spectrum.
    twins = last - half.shape[dim[-1]]
    if twins > 0:
        weight = half.new_ones((half.shape[dim[-1]],), dtype=g.dtype)
        weight.narrow(0, 1, twins).fill_(2)
        half = half * weight.reshape((-1,) + (1,) * (half.ndim - dim[-1] - 1))
    return half


fft_c2r.rule(input=_to_spectrum)


# --- arguments ---------------------------------------------------------------------------------------------------
def padded(x: Tensor, dim: int, n: int) -> Tensor:
    """`x` cut or filled up with zeros at the end of an axis."""
    have = x.shape[dim]
    if have == n:
        return x
    if have > n:
        return x.narrow(dim, 0, n)
    return slice_backward(x, (*x.shape[:dim], n, *x.shape[dim + 1:]), dim, 0, have, 1)


def resized(x: Tensor, dim: Sequence[int], length: Sequence[int]) -> Tensor:
    shape = x.shape
    for i, n in zip(dim, length):
        if shape[i] != n:
            x = padded(x, i, n)
    return x


def promoted(input: Tensor, complex_: bool = False) -> Tensor:
    """A tensor that transforms take: integers become floating, and on demand all become complex."""
    kind = input.dtype
    if kind.is_complex or (kind in _REAL and not complex_):
        return input
    if not kind.is_floating_point:
        kind = default_dtype()
    if kind not in _REAL:
        raise RuntimeError(f"Unsupported dtype {NAMES[kind.name]}")
    if complex_:
        kind = promote_types(kind, small_complex)
    return input if kind == input.dtype else input.to(kind)


def need_points(n: int) -> int:
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return n


def whole(input: Tensor, dim: ints | None) -> tuple[int, ...]:
    """Axes from the front, of a transform that takes all there is along them."""
    shape = input.shape
    ndim = len(shape)
    dims = (tuple(range(ndim)) if dim is None else (ndim - 2, ndim - 1) if dim == (-2, -1) and ndim > 1 else
            tuple(_distinct(dim, ndim)))
    for d in dims:
        if not shape[d]:
            need_points(0)
    return dims


def canonical(input: Tensor, s: ints | None, dim: ints | None) -> tuple[list[int], list[int]]:
    """Axes from the front and the lengths along them; -1 stands for the length there is."""
    shape = input.shape
    if s is None:
        dims = list(whole(input, dim))
        return dims, [shape[d] for d in dims]
    ndim = len(shape)
    dims = list(range(ndim)) if dim is None else _distinct(dim, ndim)
    lengths = list(sizes(s))
    if dim is not None:
        if len(dims) != len(lengths):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    else:
        if len(lengths) > ndim:
            raise RuntimeError(f"Got shape with {len(lengths)} values but input tensor only has {ndim} dimensions.")
        dims = dims[ndim - len(lengths):]
    return dims, [need_points(shape[d] if n == -1 else n) for d, n in zip(dims, lengths)]


def _distinct(dim: ints, ndim: int) -> list[int]:
    dims = [d + ndim if -ndim <= d < 0 else d if 0 <= d < ndim else axis(d, ndim, scalar=False)
            for d in (dim if type(dim) is tuple and type(dim[0] if dim else 0) is int else sizes(dim))]
    if len(set(dims)) != len(dims):
        raise RuntimeError("FFT dims must be unique")
    return dims
