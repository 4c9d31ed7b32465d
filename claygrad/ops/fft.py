"""Discrete Fourier transforms: out[k] = sum over j of input[j] * e ** (-2 pi i j k / n), in one axis and in several.

Everywhere: `n` (or `s`) cuts or zero-fills the input to that length first; `norm` says which direction is divided by
the number of points: "backward" (the default), "forward", or both by its root ("ortho"). float32 stays single.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.ops._fft import (
    canonical,
    fft_c2c,
    fft_c2r,
    fft_r2c,
    need_points,
    padded,
    promoted,
    resized,
    scale_of,
    whole,
)
from claygrad.ops._geometry import axis
from claygrad.ops._registry import composite
from claygrad.ops._words import NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from claygrad.core import Tensor

    ints = int | tuple[int, ...] | list[int]


def transform(name: str, real_out: bool = False, several: bool = False, two: bool = False,
              native: str | None = None) -> Callable:
    """The options that all transforms share."""
    words = "floating point" if real_out else "complex"
    said = name.replace("fft2", "fftn")

    def check_out(out: Tensor, result: Tensor) -> None:
        if not (out.dtype.is_floating_point if real_out else out.dtype.is_complex):
            raise RuntimeError(f"{said} expects a {words} output tensor, but got {NAMES[out.dtype.name]}")

    def samples(t):
        if not several:
            return [t.args(t(3, 4)), t.args(t(3, 5), 4, 0, "ortho"), t.args(t(2, 4), 6, norm="forward"),
                    t.args(t(2, 5), 3, -1, "backward")]
        if two:
            return [t.args(t(3, 4)), t.args(t(2, 3, 5), (4, 3), (0, 2), "ortho"), t.args(t(3, 4), norm="forward")]
        return [t.args(t(3, 4)), t.args(t(2, 3, 5), (4, -1), (2, 0), "ortho"), t.args(t(3, 4), dim=(1,)),
                t.args(t(2, 3, 4), s=(3, 6), norm="forward")]

    def errors(t):
        length = (0, 3) if several else 0
        found = [(t.args(t(3, 4), length), RuntimeError, "Invalid number of data points (0) specified"),
                 (t.args(t(3, 4), norm="unit"), RuntimeError, 'Invalid normalization mode: "unit"'),
                 (t.args(t(3, 4), dim=(5,) if several else 5, **({"s": (3,)} if two else {})), IndexError,
                  "Dimension out of range (expected to be in range of [-2, 1], but got 5)")]
        return [*found, (t.args(t(3, 4), dim=(0, 0)), RuntimeError, "FFT dims must be unique")] if several else found

    return composite(native=native, namespace="fft", method=False, out=True, check_out=check_out, samples=samples,
                     errors=errors)


# --- along one axis ----------------------------------------------------------------------------------------------
def _from_real(name: str, input: Tensor, n: int | None, dim: int, norm: str | None, forward: bool,
               onesided: bool) -> Tensor:
    if input.dtype.is_complex:
        raise RuntimeError(f"{name} expects a real input tensor, but got {NAMES[input.dtype.name]}")
    input = promoted(input)
    dim = axis(dim, input.ndim, scalar=False)
    need_points(input.shape[dim] if n is None else n)
    if n is not None:
        input = padded(input, dim, n)
    out = fft_r2c(input, (dim,), scale_of(norm, forward), onesided)
    return out if forward else out.conj()       # of real numbers, the other direction is the mirror image


def _of_complex(name: str, input: Tensor, n: int | None, dim: int, norm: str | None, forward: bool) -> Tensor:
    if not input.dtype.is_complex:
        return _from_real(name, input, n, dim, norm, forward, False)
    dim = axis(dim, input.ndim, scalar=False)
    need_points(input.shape[dim] if n is None else n)
    if n is not None:
        input = padded(input, dim, n)
    return fft_c2c(input, (dim,), scale_of(norm, forward), forward)


def _to_real(input: Tensor, n: int | None, dim: int, norm: str | None, forward: bool) -> Tensor:
    input = promoted(input, complex_=True)
    dim = axis(dim, input.ndim, scalar=False)
    last = need_points(2 * (input.shape[dim] - 1) if n is None else n)
    if n is not None:
        input = padded(input, dim, n // 2 + 1)
    return fft_c2r(input.conj() if forward else input, (dim,), scale_of(norm, forward), last)


@transform("fft")
def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The discrete Fourier transform along an axis.

    >>> claygrad.fft.fft(claygrad.tensor([1.0, 0.0, 0.0, 0.0])).abs()
    tensor([1., 1., 1., 1.])
    """
    return _of_complex("fft", input, n, dim, norm, True)


@transform("ifft")
def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `fft`."""
    return _of_complex("ifft", input, n, dim, norm, False)


@transform("rfft")
def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The first half, n // 2 + 1 numbers, of the transform of a real signal; the rest is its mirror image.

    >>> claygrad.fft.rfft(claygrad.tensor([1.0, 2.0, 3.0, 4.0])).real
    tensor([10., -2., -2.])
    """
    return _from_real("rfft", input, n, dim, norm, True, True)


@transform("irfft", real_out=True)
def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The real signal of which `input` is half the spectrum; n is 2 * (input length - 1) unless given."""
    return _to_real(input, n, dim, norm, False)


@transform("hfft", real_out=True)
def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The real spectrum of a signal of which `input` is the first half and whose second half mirrors it."""
    return _to_real(input, n, dim, norm, True)


@transform("ihfft")
def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `hfft`: half the signal of a real spectrum."""
    return _from_real("ihfft", input, n, dim, norm, False, True)


# --- along several -----------------------------------------------------------------------------------------------
def _of_complex_n(input: Tensor, s: ints | None, dim: ints | None, norm: str | None, forward: bool) -> Tensor:
    if s is None:
        dims, x = whole(input, dim), promoted(input, complex_=True)
        return fft_c2c(x, dims, scale_of(norm, forward), forward)
    axes, lengths = canonical(input, s, dim)
    x = resized(promoted(input, complex_=True), axes, lengths)
    return fft_c2c(x, tuple(axes), scale_of(norm, forward), forward)


def _need_axis(name: str, dims: Sequence[int]) -> None:
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")


def _half_spectrum(name: str, input: Tensor, s: ints | None, dim: ints | None) -> tuple[Tensor, tuple[int, ...], int]:
    """The complex input cut to size, its axes, and the length of the real signal along the last of them."""
    dims, lengths = canonical(input, s, dim)
    _need_axis(name, dims)
    asked = None if s is None else s if isinstance(s, int) else s[-1]
    last = need_points(2 * (input.shape[dims[-1]] - 1) if asked in (None, -1) else lengths[-1])
    x = promoted(input, complex_=True)
    return resized(x, dims, [*lengths[:-1], last // 2 + 1]), tuple(dims), last


def _to_real_n(input: Tensor, s: ints | None, dim: ints | None, norm: str | None) -> Tensor:
    x, dims, last = _half_spectrum("irfftn", input, s, dim)
    return fft_c2r(x, dims, scale_of(norm, False), last)


def _to_hermitian_n(input: Tensor, s: ints | None, dim: ints | None, norm: str | None) -> Tensor:
    x, dims, last = _half_spectrum("hfftn", input, s, dim)
    scale = scale_of(norm, True)
    if len(dims) > 1:
        x = fft_c2c(x, dims[:-1], scale, True)
    return fft_c2r(x.conj(), dims[-1:], scale, last)


def _from_real_n(input: Tensor, s: ints | None, dim: ints | None, norm: str | None) -> Tensor:
    if input.dtype.is_complex:
        raise RuntimeError(f"rfftn expects a real-valued input tensor, but got {NAMES[input.dtype.name]}")
    if s is None:
        dims = whole(input, dim)
        _need_axis("rfftn", dims)
        return fft_r2c(promoted(input), dims, scale_of(norm, True), True)
    axes, lengths = canonical(input, s, dim)
    _need_axis("rfftn", axes)
    return fft_r2c(resized(promoted(input), axes, lengths), tuple(axes), scale_of(norm, True), True)


def _from_hermitian_n(input: Tensor, s: ints | None, dim: ints | None, norm: str | None) -> Tensor:
    dims, lengths = canonical(input, s, dim)
    _need_axis("ihfftn", dims)
    x, scale = promoted(input), scale_of(norm, False)
    if x.dtype.is_complex:
        raise RuntimeError(f"Only supports floating-point dtypes, but found: {NAMES[x.dtype.name]}")
    x = fft_r2c(resized(x, dims, lengths), tuple(dims[-1:]), scale, True).conj()
    return fft_c2c(x, tuple(dims[:-1]), scale, False) if len(dims) > 1 else x


@transform("fftn", several=True, native="fourier")
def fftn(input: Tensor, s: ints | None = None, dim: ints | None = None, norm: str | None = None) -> Tensor:
    """`fft` along several axes (all, or the last len(s))."""
    return _of_complex_n(input, s, dim, norm, True)


@transform("ifftn", several=True, native="fourier")
def ifftn(input: Tensor, s: ints | None = None, dim: ints | None = None, norm: str | None = None) -> Tensor:
    """The inverse of `fftn`."""
    return _of_complex_n(input, s, dim, norm, False)


@transform("rfftn", several=True, native="fourier")
def rfftn(input: Tensor, s: ints | None = None, dim: ints | None = None, norm: str | None = None) -> Tensor:
    """`rfft` along the last of several axes, `fft` along the others."""
    return _from_real_n(input, s, dim, norm)


@transform("irfftn", real_out=True, several=True)
def irfftn(input: Tensor, s: ints | None = None, dim: ints | None = None, norm: str | None = None) -> Tensor:
    """The inverse of `rfftn`."""
    return _to_real_n(input, s, dim, norm)


@transform("hfftn", real_out=True, several=True)
def hfftn(input: Tensor, s: ints | None = None, dim: ints | None = None, norm: str | None = None) -> Tensor:
    """`hfft` along the last of several axes, `fft` along the others."""
    return _to_hermitian_n(input, s, dim, norm)


@transform("ihfftn", several=True)
def ihfftn(input: Tensor, s: ints | None = None, dim: ints | None = None, norm: str | None = None) -> Tensor:
    """The inverse of `hfftn`."""
    return _from_hermitian_n(input, s, dim, norm)


@transform("fft2", several=True, two=True, native="fourier")
def fft2(input: Tensor, s: ints | None = None, dim: ints = (-2, -1), norm: str | None = None) -> Tensor:
    """`fftn` of two axes, the last ones unless said."""
    return _of_complex_n(input, s, dim, norm, True)


@transform("ifft2", several=True, two=True, native="fourier")
def ifft2(input: Tensor, s: ints | None = None, dim: ints = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of `fft2`."""
    return _of_complex_n(input, s, dim, norm, False)


@transform("rfft2", several=True, two=True, native="fourier")
def rfft2(input: Tensor, s: ints | None = None, dim: ints = (-2, -1), norm: str | None = None) -> Tensor:
    """`rfftn` of two axes, the last ones unless said."""
    return _from_real_n(input, s, dim, norm)


@transform("irfft2", real_out=True, several=True, two=True)
def irfft2(input: Tensor, s: ints | None = None, dim: ints = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of `rfft2`."""
    return _to_real_n(input, s, dim, norm)


@transform("hfft2", real_out=True, several=True, two=True)
def hfft2(input: Tensor, s: ints | None = None, dim: ints = (-2, -1), norm: str | None = None) -> Tensor:
    """`hfftn` of two axes, the last ones unless said."""
    return _to_hermitian_n(input, s, dim, norm)


@transform("ihfft2", several=True, two=True)
def ihfft2(input: Tensor, s: ints | None = None, dim: ints = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of `hfft2`."""
    return _from_hermitian_n(input, s, dim, norm)
