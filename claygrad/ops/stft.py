"""The short-time Fourier transform and its inverse: spectra of overlapping frames of a signal."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core.user_warnings import warn
from claygrad.ops._fft import MEAN, PLAIN, ROOT, fft_c2c, fft_c2r, fft_r2c
from claygrad.ops._geometry import text
from claygrad.ops._registry import composite
from claygrad.ops._words import tensor_type
from claygrad.ops.complex import view_as_real
from claygrad.ops.pad import pad
from claygrad.ops.part import slice_view, unfold_backward

if TYPE_CHECKING:
    from claygrad.core import Tensor

_ONESIDED = "Cannot have onesided output if window or input is complex"


def _call(name: str, input: Tensor, window: Tensor | None, **given: int | None) -> str:
    """The call as PyTorch's refusals print it."""
    words = {key: int(value) if isinstance(value, bool) else value for key, value in given.items()}
    parts = []
    for key, value in words.items():
        parts.append(f"{key}={value}")
        if key == "win_length":
            shown = "None" if window is None else f"{tensor_type(window.dtype)}{{{text(window.shape)}}}"
            parts.append(f"window={shown}")
    return f"{name}({tensor_type(input.dtype)}{text(input.shape)}, {', '.join(parts)})"


def _centred(window: Tensor | None, like: Tensor, n: int, total: int) -> Tensor | None:
    """A window of n points with zeros on both sides; of ones where none was given."""
    if window is None:
        window = like.new_ones((n,), dtype=like.dtype.to_real())
    left = (total - n) // 2
    return window if n == total else pad(window, (left, total - n - left))


def _samples(t):
    return [t.args(t(2, 20), 8, window=t(8, low=0.2), return_complex=True),
            t.args(t(20), 8, 3, 6, t(6, low=0.2), normalized=True, return_complex=True),
            t.args(t(2, 20), 8, window=t(8, low=0.2), center=False, onesided=False, return_complex=True),
            t.args(t(20), 8, window=t(8, low=0.2), pad_mode="constant", return_complex=True)]


@composite(samples=_samples,
           errors=lambda t: [(t.args(t(20), 8), RuntimeError,
                              "stft requires the return_complex parameter be given for real inputs, and will further"),
                             (t.args(t(20), 8, align_to_window=True, return_complex=True), RuntimeError,
                              "stft align_to_window should only be set when center = false")])
def stft(input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
         window: Tensor | None = None, center: bool = True, pad_mode: str | None = "reflect", normalized: bool = False,
         onesided: bool | None = None, return_complex: bool | None = None,
         align_to_window: bool | None = None) -> Tensor:
    """The spectra of frames of n_fft points, hop_length apart (n_fft // 4 unless said): out[..., frequency, frame].

    Each frame is multiplied by `window`. `center` pads the signal so that frame k is centred at k * hop_length; else
    `align_to_window` says that a window shorter than n_fft begins there. Of real signals half the spectrum is given
    unless `onesided` is False.
    """
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if center:
        rank = input.ndim
        wide = input.view([1] * (3 - rank) + list(input.shape))
        wide = pad(wide, (n_fft // 2, n_fft // 2), pad_mode)
        input = wide.view(wide.shape[-rank:] if rank else wide.shape)
    return _framed(input, n_fft, hop_length, win_length, window, normalized, onesided, return_complex, align_to_window)


def _framed(input: Tensor, n_fft: int, hop_length: int | None, win_length: int | None, window: Tensor | None,
            normalized: bool, onesided: bool | None, return_complex: bool | None,
            align_to_window: bool | None) -> Tensor:
    hop = n_fft // 4 if hop_length is None else hop_length
    win = n_fft if win_length is None else win_length
    if window is None:
        warn("A window was not provided. A rectangular window will be applied,which is known to cause "
             "spectral leakage. Other windows such as torch.hann_window or torch.hamming_window are "
             "recommended to reduce spectral leakage.To suppress this warning and use a rectangular window, "
             "explicitly set `window=torch.ones(n_fft, device=<device>)`.")

    def refused(why: str) -> RuntimeError:
        said = _call("stft", input, window, n_fft=n_fft, hop_length=hop, win_length=win, normalized=normalized,
                     onesided=onesided, return_complex=return_complex, align_to_window=align_to_window)
        return RuntimeError(f"{said} : {why}")

    is_complex = input.dtype.is_complex or (window is not None and window.dtype.is_complex)
    if return_complex is None and not is_complex:
        raise RuntimeError("stft requires the return_complex parameter be given for real inputs, and will further "
                           "require that return_complex=True in a future PyTorch release.")
    if return_complex is False:
        warn("stft with return_complex=False is deprecated. In a future pytorch release, stft will return "
             "complex tensors for all inputs, and return_complex=False will raise an error.\nNote: you can "
             "still call torch.view_as_real on the complex output to recover the old return format.")
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise refused("expected a tensor of floating point or complex values")
    if input.ndim not in (1, 2):
        raise refused("expected a 1D or 2D tensor")
    rows = input.unsqueeze(0) if input.ndim == 1 else input
    length = rows.shape[1]
    if not 0 < n_fft <= length:
        raise refused(f"expected 0 < n_fft < {length}, but got n_fft={n_fft}")
    if hop <= 0:
        raise refused(f"expected hop_length > 0, but got hop_length={hop}")
    if not 0 < win <= n_fft:
        raise refused(f"expected 0 < win_length <= n_fft, but got win_length={win}")
    if window is not None and tuple(window.shape) != (win,):
        raise refused(f"expected a 1D window tensor of size equal to win_length={win}, but got window "
                      f"with size {text(window.shape)}")
    if align_to_window:
        left = (n_fft - win) // 2
        rows = pad(rows, (left, n_fft - win - left))
    frames = rows.unfold(1, n_fft, hop)
    if window is not None or win < n_fft:
        frames = frames * _centred(window, rows, win, n_fft)
    if onesided is None:
        onesided = not frames.dtype.is_complex
    scale = ROOT if normalized else PLAIN
    if frames.dtype.is_complex:
        if onesided:
            raise RuntimeError(_ONESIDED)
        out = fft_c2c(frames, (2,), scale, True)
    else:
        if frames.dtype.itemsize < 4:
            raise RuntimeError(f"MKL FFT doesn't support tensors of type: {frames.dtype.legacy}")
        out = fft_r2c(frames, (2,), scale, onesided)
    out = out.transpose_(1, 2)
    if input.ndim == 1:
        out = out.squeeze_(0)
    return out if return_complex or return_complex is None else view_as_real(out)


@composite(samples=lambda t: [t.args(t(2, 5, 6, dtype="complex128"), 8, window=t(8, low=0.2, dtype="float64")),
                              t.args(t(5, 6, dtype="complex128"), 8, 3, 6, t(6, low=0.2, dtype="float64"),
                                     normalized=True, length=12),
                              t.args(t(8, 6, dtype="complex128"), 8, window=t(8, low=0.2, dtype="float64"),
                                     center=False, return_complex=True)],
           errors=lambda t: [(t.args(t(5, 6), 8), RuntimeError,
                              "istft requires a complex-valued input tensor matching the output from stft with")])
def istft(input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
          window: Tensor | None = None, center: bool = True, normalized: bool = False, onesided: bool | None = None,
          length: int | None = None, return_complex: bool = False) -> Tensor:
    """The signal that has these spectra, by least squares where they contradict each other: the inverse of `stft`."""
    if not input.dtype.is_complex:
        raise RuntimeError("istft requires a complex-valued input tensor matching the output from stft with "
                           "return_complex=True.")
    if input.ndim < 2:
        raise IndexError(f"Dimension out of range (expected to be in range of [-{input.ndim + 1}, {input.ndim}], but "
                         "got -3)")
    hop = n_fft // 4 if hop_length is None else hop_length
    win = n_fft if win_length is None else win_length
    if window is None:
        warn("A window was not provided. A rectangular window will be applied.Please provide the same window "
             "used by stft to make the inversion lossless.To suppress this warning and use a rectangular "
             "window, explicitly set `window=torch.ones(n_fft, device=<device>)`.")
    said = _call("istft", input, window, n_fft=n_fft, hop_length=hop, win_length=win, center=center,
                 normalized=normalized, onesided=onesided, length=length, return_complex=return_complex) + " "
    onesided = _check_inverse(said, input, n_fft, hop, win, window, onesided)
    count = input.shape[-1]
    total = n_fft + hop * (count - 1)
    weight = _centred(window, input, win, n_fft)
    frames = (input if input.ndim == 3 else input.unsqueeze(0)).transpose(1, 2)
    scale = ROOT if normalized else MEAN
    if return_complex:
        if onesided:
            raise RuntimeError(_ONESIDED)
        frames = fft_c2c(frames, (2,), scale, False)
    else:
        if window is not None and window.dtype.is_complex:
            raise RuntimeError("Complex windows are incompatible with return_complex=False")
        if not onesided:
            frames = slice_view(frames, 2, 0, n_fft // 2 + 1)
        frames = fft_c2r(frames, (2,), scale, n_fft)
    frames = frames * weight.view(1, 1, n_fft)
    y = unfold_backward(frames, (frames.shape[0], total), 1, n_fft, hop)
    envelope = unfold_backward(weight.pow(2).expand(1, count, n_fft), (1, total), 1, n_fft, hop)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - n_fft // 2 if center else total
    y, envelope = slice_view(y, 1, start, end), slice_view(envelope, 1, start, end)
    if bool(envelope.abs().min() < 1e-11):
        raise RuntimeError(f"{said}window overlap add min: 1")
    y = y / envelope
    if input.ndim == 2:
        y = y.squeeze(0)
    if end > total:
        warn("The length of signal is shorter than the length parameter. Result is being padded with zeros in "
             "the tail. Please check your center and hop_length settings.")
        y = pad(y, (0, end - total))
    return y


def _check_inverse(said: str, input: Tensor, n_fft: int, hop: int, win: int, window: Tensor | None,
                   onesided: bool | None) -> bool:
    """Refuse what cannot be a result of `stft`; whether it holds half the spectrum."""
    height = input.shape[-2]
    if input.numel() == 0:
        raise RuntimeError(f"{said}: input tensor cannot be empty.")
    if input.ndim not in (2, 3):
        raise RuntimeError(f"{said}: expected a tensor with 3 or 4 dimensions, but got {input.ndim + 1}")
    onesided = height != n_fft if onesided is None else onesided
    words = "expected the frequency dimension (3rd to the last) of the input tensor to match"
    if onesided and n_fft // 2 + 1 != height:
        raise RuntimeError(f"{said}: {words} n_fft / 2 + 1 when onesided=True, but got {height}")
    if not onesided and n_fft != height:
        raise RuntimeError(f"{said}: {words} n_fft when onesided=False, but got {height}")
    if not 0 < hop <= win:
        raise RuntimeError(f"{said}: expected 0 < hop_length <= win_length")
    if not 0 < win <= n_fft:
        raise RuntimeError(f"{said}: expected 0 < win_length <= n_fft")
    if window is not None and tuple(window.shape) != (win,):
        raise RuntimeError(f"{said}: Invalid window shape. window has to be 1D and length of `win_length`")
    return onesided
