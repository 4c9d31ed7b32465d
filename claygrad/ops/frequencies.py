"""The frequencies that a Fourier transform speaks of, and their order."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import default_dtype, empty
from claygrad.ops._formats import strided
from claygrad.ops._geometry import axis
from claygrad.ops._registry import composite
from claygrad.ops._words import NAMES, refuse_gradient
from claygrad.ops.creation import check_layout, checked_device, refuse_pinning
from claygrad.ops.fill import finished, out_dtype
from claygrad.ops.ranges import arange, ranged

if TYPE_CHECKING:
    from claygrad.core import Tensor, device, dtype
    from claygrad.ops._formats import layout

    Device = device | str | None
    ints = int | tuple[int, ...] | list[int]


def _kind(name: str, dtype: dtype | None, out: Tensor | None) -> dtype:
    kind = out_dtype(name, out, dtype) or default_dtype()
    if not (kind.is_floating_point or kind.is_complex):
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    if kind.is_complex:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{NAMES[kind.name]}'")
    return kind


def _scale(n: int, d: float) -> float:
    return 1 / (n * d) if n * d else float("inf")


@composite(namespace="fft", method=False, samples=lambda t: [t.args(5), t.args(4, 0.25), t.args(1), t.args(0)],
           errors=lambda t: [(t.args(-2), RuntimeError, "Trying to create tensor with negative dimension -2: [-2]")])
def fftfreq(n: int, d: float = 1.0, *, out: Tensor | None = None, dtype: dtype | None = None,
            layout: layout | None = strided, device: Device = None, pin_memory: bool = False,
            requires_grad: bool = False) -> Tensor:
    """The frequencies of the numbers that `fft` gives for n samples at distance d: those from 0 up, then those below.

    >>> claygrad.fft.fftfreq(5)
    tensor([ 0.0000,  0.2000,  0.4000, -0.4000, -0.2000])
    """
    kind = _kind("fftfreq", dtype, out)
    refuse_gradient("fft_fftfreq", "d", d, "float")
    refuse_pinning("fftfreq", pin_memory)
    check_layout("fftfreq", layout)
    where = checked_device("fftfreq", device) if out is None else out.device
    result, half = empty((n,), kind, where), (n + 1) // 2
    if n:
        result.narrow(0, 0, half).copy_(arange(half, device=where))
        result.narrow(0, half, n - half).copy_(arange(-(n // 2), 0, device=where))
        result.mul_(_scale(n, d))
    return finished("fftfreq", result, out, requires_grad)


@composite(namespace="fft", method=False, samples=lambda t: [t.args(5), t.args(4, 0.25), t.args(1), t.args(0)])
def rfftfreq(n: int, d: float = 1.0, *, out: Tensor | None = None, dtype: dtype | None = None,
             layout: layout | None = strided, device: Device = None, pin_memory: bool = False,
             requires_grad: bool = False) -> Tensor:
    """The frequencies of the numbers that `rfft` gives for n samples at distance d."""
    kind = _kind("rfftfreq", dtype, out)
    refuse_gradient("fft_rfftfreq", "n", n, "int")
    refuse_gradient("fft_rfftfreq", "d", d, "float")
    where = device if out is None else out.device
    result = arange(n // 2 + 1, dtype=kind, layout=layout, device=where, pin_memory=pin_memory).mul_(_scale(n, d))
    return ranged("rfftfreq", result, out, requires_grad)


def _rolled(input: Tensor, dim: ints | None, extra: int) -> Tensor:
    dims = list(range(input.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    return input.roll([(input.shape[axis(d, input.ndim)] + extra) // 2 for d in dims], dims)


@composite(namespace="fft", method=False, samples=lambda t: [t.args(t(4, 5)), t.args(t(4, 5), 1), t.args(t(5), (0,))],
           errors=lambda t: [(t.args(t()), RuntimeError, "`shifts` required")])
def fftshift(input: Tensor, dim: ints | None = None) -> Tensor:
    """The frequencies in order: 0 moves to the middle of each axis (of all, or of `dim`)."""
    return _rolled(input, dim, 0)


@composite(namespace="fft", method=False, samples=lambda t: [t.args(t(4, 5)), t.args(t(4, 5), 1), t.args(t(5), (0,))])
def ifftshift(input: Tensor, dim: ints | None = None) -> Tensor:
    """The inverse of `fftshift`."""
    return _rolled(input, dim, 1)
