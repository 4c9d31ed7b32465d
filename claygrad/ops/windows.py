"""Window functions: `torch.signal.windows` and the older `torch.*_window`."""
from __future__ import annotations

from math import pi, sqrt
from typing import TYPE_CHECKING

from claygrad.core import DTYPES, default_dtype
from claygrad.core.dispatch.wrong_arguments import type_name
from claygrad.ops._formats import strided
from claygrad.ops._registry import composite
from claygrad.ops._words import NAMES, refuse_gradient
from claygrad.ops.creation import checked_dtype, leaf, tensor
from claygrad.ops.fill import empty, ones
from claygrad.ops.ranges import arange, linspace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claygrad.core import Tensor, device, dtype
    from claygrad.ops._formats import layout

    Device = device | str | None


# --- torch.signal.windows: symmetric unless said ------------------------------------------------------------------
window = {"namespace": "signal.windows", "method": False, "raw": True,
          "samples": lambda t: [t.args(7), t.args(6, sym=False), t.args(1), t.args(0)]}


def _options(name: str, M: int, dtype: dtype | None, layout: layout | None) -> dtype:
    dtype = default_dtype() if dtype is None else dtype
    refuse_gradient(name, "M", M, "int")
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if getattr(dtype, "name", None) not in ("float32", "float64"):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    return dtype


def _trivial(M: int, dtype: dtype, device: Device, requires_grad: bool) -> Tensor:
    """The windows of no point and of one."""
    return (ones if M else empty)((M,), dtype=dtype, device=device, requires_grad=requires_grad)


@composite(**window, errors=lambda t: [
    (t.args(5, tau=-1), ValueError, "Tau must be positive, got: -1 instead."),
    (t.args(5, center=2.0), ValueError, "Center must be None for symmetric windows"),
    (t.args(-1), ValueError, "exponential requires non-negative window length, got M=-1")])
def exponential(M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: dtype | None = None,
                layout: layout | None = strided, device: Device = None, requires_grad: bool = False) -> Tensor:
    """out[n] = e ** (-|n - center| / tau)."""
    dtype = _options("exponential", M, dtype, layout)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if M == 0:
        return _trivial(M, dtype, device, requires_grad)
    if center is None:
        center = (M if not sym and M > 1 else M - 1) / 2.0
    k = linspace(-center / tau, (-center + (M - 1)) / tau, M, dtype=dtype, device=device, requires_grad=requires_grad)
    return (-k.abs()).exp()


@composite(**window)
def cosine(M: int, *, sym: bool = True, dtype: dtype | None = None, layout: layout | None = strided,
           device: Device = None, requires_grad: bool = False) -> Tensor:
    """out[n] = sin(pi * (n + 1/2) / M)."""
    dtype = _options("cosine", M, dtype, layout)
    if M == 0:
        return _trivial(M, dtype, device, requires_grad)
    step = pi / (M + 1 if not sym and M > 1 else M)
    return linspace(0.5 * step, (0.5 + (M - 1)) * step, M, dtype=dtype, device=device,
                    requires_grad=requires_grad).sin()


@composite(**window, errors=lambda t: [(t.args(4, std=-1), ValueError,
                                        "Standard deviation must be positive, got: -1 instead.")])
def gaussian(M: int, *, std: float = 1.0, sym: bool = True, dtype: dtype | None = None, layout: layout | None = strided,
             device: Device = None, requires_grad: bool = False) -> Tensor:
    """out[n] = e ** (-(n - middle) ** 2 / (2 * std ** 2))."""
    dtype = _options("gaussian", M, dtype, layout)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if M == 0:
        return _trivial(M, dtype, device, requires_grad)
    start, scale = -(M if not sym and M > 1 else M - 1) / 2.0, 1 / (std * sqrt(2))
    k = linspace(start * scale, (start + (M - 1)) * scale, M, dtype=dtype, device=device, requires_grad=requires_grad)
    return (-k ** 2).exp()


@composite(**window, errors=lambda t: [(t.args(4, beta=-1), ValueError, "beta must be non-negative, got: -1 instead.")])
def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, dtype: dtype | None = None, layout: layout | None = strided,
           device: Device = None, requires_grad: bool = False) -> Tensor:
    """out[n] = i0(beta * sqrt(1 - k ** 2)) / i0(beta), with k from -1 to 1."""
    dtype = _options("kaiser", M, dtype, layout)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M < 2:
        return _trivial(M, dtype, device, requires_grad)
    top = tensor(beta, dtype=dtype, device=device)
    end = top.minimum(-top + (M - 1) * (2.0 * top / (M if not sym else M - 1)))
    k = linspace(-top, end, M, dtype=dtype, device=device, requires_grad=requires_grad)
    return (top * top - k.pow(2)).sqrt().i0() / top.i0()


@composite(**window)
def bartlett(M: int, *, sym: bool = True, dtype: dtype | None = None, layout: layout | None = strided,
             device: Device = None, requires_grad: bool = False) -> Tensor:
    """A triangle: out[n] = 1 - |k|, with k from -1 to 1."""
    dtype = _options("bartlett", M, dtype, layout)
    if M < 2:
        return _trivial(M, dtype, device, requires_grad)
    k = linspace(-1, -1 + (M - 1) * (2 / (M if not sym else M - 1)), M, dtype=dtype, device=device,
                 requires_grad=requires_grad)
    return 1 - k.abs()


@composite(**window | {"samples": lambda t: [t.args(7, a=[0.46, 0.23, 0.31]), t.args(6, a=[0.5, 0.5], sym=False)]},
           errors=lambda t: [(t.args(5, a=3.0), TypeError, "Coefficients must be a list/tuple"),
                             (t.args(5, a=[]), ValueError, "Coefficients cannot be empty")])
def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, dtype: dtype | None = None,
                   layout: layout | None = strided, device: Device = None, requires_grad: bool = False) -> Tensor:
    """A sum of cosines: out[n] = sum over i of (-1) ** i * a[i] * cos(2 pi i n / (M - 1))."""
    dtype = _options("general_cosine", M, dtype, layout)
    if M < 2:
        return _trivial(M, dtype, device, requires_grad)
    if not hasattr(a, "__iter__"):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    step = 2 * pi / (M if not sym else M - 1)
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    k = linspace(0, (M - 1) * step, M, **options)
    weights = tensor([(-1) ** i * w for i, w in enumerate(a)], **options)
    i = arange(weights.shape[0], **options)
    return (weights.unsqueeze(-1) * (i.unsqueeze(-1) * k).cos()).sum(0)


@composite(**window)
def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, dtype: dtype | None = None,
                    layout: layout | None = strided, device: Device = None, requires_grad: bool = False) -> Tensor:
    """out[n] = alpha - (1 - alpha) * cos(2 pi n / (M - 1))."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)


@composite(**window)
def hamming(M: int, *, sym: bool = True, dtype: dtype | None = None, layout: layout | None = strided,
            device: Device = None, requires_grad: bool = False) -> Tensor:
    """out[n] = 0.54 - 0.46 * cos(2 pi n / (M - 1))."""
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


@composite(**window)
def hann(M: int, *, sym: bool = True, dtype: dtype | None = None, layout: layout | None = strided,
         device: Device = None, requires_grad: bool = False) -> Tensor:
    """out[n] = (1 - cos(2 pi n / (M - 1))) / 2."""
    return general_hamming(M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device,
                           requires_grad=requires_grad)


@composite(**window)
def blackman(M: int, *, sym: bool = True, dtype: dtype | None = None, layout: layout | None = strided,
             device: Device = None, requires_grad: bool = False) -> Tensor:
    """out[n] = 0.42 - 0.5 * cos(2 pi n / (M - 1)) + 0.08 * cos(4 pi n / (M - 1))."""
    dtype = _options("blackman", M, dtype, layout)
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)


@composite(**window)
def nuttall(M: int, *, sym: bool = True, dtype: dtype | None = None, layout: layout | None = strided,
            device: Device = None, requires_grad: bool = False) -> Tensor:
    """The sum of cosines with the weights 0.3635819, 0.4891775, 0.1365995 and 0.0106411."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, dtype=dtype, layout=layout,
                          device=device, requires_grad=requires_grad)


# --- torch.*_window: periodic unless said ------------------------------------------------------------------------
older = {"method": False, "raw": True, "samples": lambda t: [t.args(7), t.args(6, False), t.args(1), t.args(0)]}


def _build(name: str, length: int, periodic: bool, compute, dtype: dtype | None, layout: layout | None, device: Device,
          pin_memory: bool, requires_grad: bool) -> Tensor:
    """A window of which `compute(points, count)` gives the values; a periodic one lacks the last of one point more."""
    if isinstance(length, bool) or not hasattr(length, "__index__"):
        raise TypeError(f"{name}(): argument 'window_length' (position 1) must be int, not {type_name(length)}")
    kind = checked_dtype(name, dtype) or default_dtype()
    if layout is not None and layout is not strided:
        raise RuntimeError(f"{name} is not implemented for sparse types, got: {layout}")
    if not (kind.is_floating_point or kind.is_complex):
        raise RuntimeError(f"{name} expects floating point dtypes, got: TensorOptions(dtype={kind.c_name}, "
                           "device=cpu, layout=Strided (default), requires_grad=false (default), pinned_memory=false, "
                           "memory_format=(nullopt))")
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    if length < 2:
        out = _trivial(length, kind, device, False)
    else:
        if kind.is_complex:
            raise NotImplementedError(f"\"arange_cpu\" not implemented for '{NAMES[kind.name]}'")
        count = length + 1 if periodic else length
        out = compute(arange(count, dtype=kind, device=device, pin_memory=pin_memory), count)
        out = out.narrow(0, 0, length).clone() if periodic else out
    return leaf(name, out, requires_grad)


@composite(**older, errors=lambda t: [(t.args(-1), RuntimeError,
                                       "hann_window requires non-negative window_length, got window_length=-1")])
def hann_window(window_length: int, periodic: bool = True, *, dtype: dtype | None = None, layout: layout | None = None,
                device: Device = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """out[n] = (1 - cos(2 pi n / N)) / 2."""
    return _build("hann_window", window_length, periodic, lambda k, n: _raised(k, n, 0.5, 0.5), dtype, layout, device,
                 pin_memory, requires_grad)


def _raised(k: Tensor, n: int, alpha: float, beta: float) -> Tensor:
    return k.mul_(pi * 2.0 / (n - 1)).cos_().mul_(-beta).add_(alpha)


@composite(**older)
def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *,
                   dtype: dtype | None = None, layout: layout | None = None, device: Device = None,
                   pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """out[n] = alpha - beta * cos(2 pi n / N)."""
    refuse_gradient("hamming_window", "alpha", alpha, "float")
    refuse_gradient("hamming_window", "beta", beta, "float")
    return _build("hamming_window", window_length, periodic, lambda k, n: _raised(k, n, alpha, beta), dtype, layout,
                 device, pin_memory, requires_grad)


@composite(**older)
def bartlett_window(window_length: int, periodic: bool = True, *, dtype: dtype | None = None,
                    layout: layout | None = None, device: Device = None, pin_memory: bool = False,
                    requires_grad: bool = False) -> Tensor:
    """A triangle from 0 up to 1 and down."""
    refuse_gradient("bartlett_window", "window_length", window_length, "int")

    def compute(k: Tensor, n: int) -> Tensor:
        k.mul_(2.0 / (n - 1))
        rising = ((n - 1) >> 1) + 1
        k.narrow(0, rising, n - rising).mul_(-1).add_(2)
        return k
    return _build("bartlett_window", window_length, periodic, compute, dtype, layout, device, pin_memory, requires_grad)


@composite(**older)
def blackman_window(window_length: int, periodic: bool = True, *, dtype: dtype | None = None,
                    layout: layout | None = None, device: Device = None, pin_memory: bool = False,
                    requires_grad: bool = False) -> Tensor:
    """out[n] = 0.42 - 0.5 * cos(2 pi n / N) + 0.08 * cos(4 pi n / N)."""
    def compute(k: Tensor, n: int) -> Tensor:
        k.mul_(pi / (n - 1))
        return k.mul(4).cos_().mul_(0.08).sub_(k.mul(2).cos_().mul_(0.5)).add_(0.42)
    return _build("blackman_window", window_length, periodic, compute, dtype, layout, device, pin_memory, requires_grad)


@composite(**older)
def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: dtype | None = None,
                  layout: layout | None = None, device: Device = None, pin_memory: bool = False,
                  requires_grad: bool = False) -> Tensor:
    """out[n] = i0(beta * sqrt(1 - k ** 2)) / i0(beta), with k from -1 to 1."""
    refuse_gradient("kaiser_window", "beta", beta, "float")

    def compute(k: Tensor, n: int) -> Tensor:
        half = (n - 1) / 2.0
        top = tensor(float(beta), dtype=DTYPES["float64"], device=k.device).i0()
        for part in k.split(1 << 20):              # in double precision, without a copy of the whole
            x = part.double().sub_(half).div_(half)
            part.copy_((x * x).neg_().add_(1).clamp_(min=0).sqrt_().mul_(beta).i0().div_(top))
        return k
    return _build("kaiser_window", window_length, periodic, compute, dtype, layout, device, pin_memory, requires_grad)
