"""Fourier transforms: the extension `fft` of the array API standard."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad import fft as _functions
from claygrad.array_api._common import axes_of, named

if TYPE_CHECKING:
    from claygrad.core import Tensor, device, dtype

_fft: Any = _functions
__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]


def _of_line(name: str) -> None:
    function = getattr(_fft, name)

    def call(x, /, *, n=None, axis=-1, norm="backward"):
        return function(x, n, axis, norm).resolve_conj()
    globals()[name] = named(call, name, f"The transform {name} along an axis.")
    __all__.append(name)


def _of_lines(name: str) -> None:
    function = getattr(_fft, name)

    def call(x, /, *, s=None, axes=None, norm="backward"):
        return function(x, None if s is None else tuple(s), None if axes is None else tuple(axes), norm).resolve_conj()
    globals()[name] = named(call, name, f"The transform {name} along several axes.")
    __all__.append(name)


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    _of_line(_name)
for _name in ("fftn", "ifftn", "rfftn", "irfftn"):
    _of_lines(_name)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: dtype | None = None, device: device | None = None) -> Tensor:
    """The frequencies of a transform of n elements."""
    return _fft.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: dtype | None = None, device: device | None = None) -> Tensor:
    """The frequencies of a transform of n real elements."""
    return _fft.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x: Tensor, /, *, axes: int | tuple[int, ...] | None = None) -> Tensor:
    """The frequency zero in the middle."""
    return _fft.fftshift(x, axes_of(axes, x.ndim))


def ifftshift(x: Tensor, /, *, axes: int | tuple[int, ...] | None = None) -> Tensor:
    """The frequency zero first."""
    return _fft.ifftshift(x, axes_of(axes, x.ndim))
