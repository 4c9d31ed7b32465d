"""Images, sounds and volumes at another size."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core.user_warnings import warn
from claygrad.ops import _resample
from claygrad.ops._conv import same_format
from claygrad.ops._registry import composite, op
from claygrad.ops._words import refuse_gradient
from claygrad.ops.pool_adaptive import shared_means
from claygrad.ops.reduce import mean

if TYPE_CHECKING:
    from claygrad.core import Tensor

    ints = int | tuple[int, ...] | list[int]

hidden = {"function": False, "method": False, "out": False}
functional = {"namespace": "nn.functional", "method": False}
KINDS = {"linear": "linear", "bilinear": "linear", "trilinear": "linear", "bicubic": "cubic", "lanczos": "lanczos"}
NEEDS = {"linear": 3, "bilinear": 4, "trilinear": 5}
LETTERS = {1: ("W",), 2: ("H", "W"), 3: ("D", "H", "W")}


def node_name(size, mode: str, antialias: bool) -> str:
    word = {"nearest": "Nearest", "nearest-exact": "NearestExact"}.get(mode, mode.capitalize())
    return f"Upsample{word}{len(size)}D{'Aa' * antialias}Backward0"


def kernel_name(dims: int, mode: str, antialias: bool) -> str:
    if antialias:
        return "compute_index_ranges_weights"
    if dims == 2 and mode != "bicubic":
        return f"upsample_{'bilinear' if mode == 'bilinear' else 'nearest'}2d_channels_last"
    return f"compute_indices_weights_{KINDS.get(mode, 'nearest')}"


def check_upsample(input: Tensor, size: ints, mode: str, antialias: bool) -> None:
    dims, shape, have = len(size), list(input.shape), input.dtype
    if min(*shape[2:], *size) <= 0:
        texts = [", ".join([f"{w}: {n}" for w, n in zip(LETTERS[dims], values)]) for values in (shape[2:], size)]
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input ({texts[0]}) "
                           f"{'and ' if dims == 1 else ''}output ({texts[1]})")
    if max(size) >= 1 << 59:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={[*shape[:2], *size]}")
    if 0 in shape[1:]:
        raise RuntimeError(f"Non-empty {dims + 2}D data tensor expected but got a tensor with sizes {shape}")
    bytes_too = have.name == "uint8" and (dims == 2 or mode.startswith("nearest"))
    if not (have.is_floating_point or bytes_too) or (antialias and have.itemsize == 2):
        raise NotImplementedError(f"\"{kernel_name(dims, mode, antialias)}\" not implemented for '{have.legacy}'")


@op(kernel="upsample", name="_upsample", node=node_name, **hidden, check=check_upsample,
    meta=lambda input, size: (*input.shape[:2], *size),
    samples=lambda t: [t.args(t(1, 2, 4, 3), (5, 6), "bilinear", False, False, None)])
def upsample_to(xp, input: Tensor, size: ints, mode: str, align: bool, antialias: bool, scales):
    """The last axes at another size, one after the other."""
    out = input
    for i in reversed(range(len(size))):
        axis, scale = i + 2, None if scales is None else scales[i]
        n = input.shape[axis]
        if mode.startswith("nearest"):
            index = _resample.nearest(xp, n, size[i], scale, mode == "nearest-exact", len(size) == 2)
            out = xp.take(out, index, axis=axis)
        elif n == size[i] and (antialias or input.dtype.kind == "u"):
            continue                                                  # whatever the scale
        elif input.dtype.kind == "u":
            double = xp.dtype("float64")
            index, weight = _resample.taps(xp, n, size[i], KINDS[mode], align, antialias, scale, double)
            out = _resample.in_bytes(xp, out, index, weight, axis)
        else:
            index, weight = _resample.taps(xp, n, size[i], KINDS[mode], align, antialias, scale, input.dtype)
            out = _resample.applied(xp, out, index, weight, axis)
    return same_format(xp, out, input) if out is not input else input.copy()


@op(kernel="upsample_backward", name="_upsample_backward", **hidden, meta=lambda shape: shape,
    samples=lambda t: [t.args(t(1, 2, 5, 6), (1, 2, 4, 3), "bilinear", False, False, None)])
def upsample_back(xp, grad_output: Tensor, shape: ints, mode: str, align: bool, antialias: bool, scales):
    """The transpose of that: what was made of an element returns to it."""
    out = grad_output
    for i in range(len(shape) - 2):
        axis, scale = i + 2, None if scales is None else scales[i]
        n, had = shape[axis], grad_output.shape[axis]
        if mode.startswith("nearest"):
            index = _resample.nearest(xp, n, had, scale, mode == "nearest-exact", len(shape) == 4)[:, None]
            weight = None
        elif n == had and antialias:
            continue
        else:
            index, weight = _resample.taps(xp, n, had, KINDS[mode], align, antialias, scale, grad_output.dtype)
        out = _resample.transposed(xp, out, index, weight, axis, n)
    return same_format(xp, out, grad_output)


upsample_to.rule(input=lambda g, input_shape, mode, align, antialias, scales: upsample_back(
    g, tuple(input_shape), mode, align, antialias, scales))
upsample_back.rule(grad_output=lambda g, grad_output_shape, mode, align, antialias, scales: upsample_to(
    g, tuple(grad_output_shape[2:]), mode, align, antialias, scales))


# The public forms

def wanted(input: Tensor, size, scale_factor) -> tuple[list | None, list | None]:
    """Sizes or scales of every axis, of which one is given."""
    dims, spatial = input.dim() - 2, list(input.shape[2:])
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    given = size if size is not None else scale_factor
    refuse_gradient("interpolate", "scale_factor", scale_factor, "float")
    if not isinstance(given, (list, tuple)):
        given = [given] * dims
    elif len(given) != dims:
        word, shown, letter = ("output", "output size of", "o") if size is not None else (
            "scale_factor", "scale_factor of shape", "s")
        raise ValueError(f"Input and {word} must have the same number of spatial dimensions, but got input with "
                         f"spatial dimensions of {spatial} and {shown} {given}. Please provide input tensor in "
                         f"(N, C, d1, d2, ...,dK) format and {word.replace('output', 'output size')} in "
                         f"({letter}1, {letter}2, ...,{letter}K) format.")
    elif size is not None and any(not hasattr(n, "__index__") for n in given):
        raise TypeError("expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but "
                        f"got size with types {[type(n) for n in given]}")
    return ([*given], None) if size is not None else (None, [*given])


def refuse_mode(input: Tensor, mode: str) -> None:
    n = input.dim()
    if mode in NEEDS and 3 <= n <= 5 and NEEDS[mode] != n:
        raise NotImplementedError(f"Got {n}D input, but {mode} mode needs {NEEDS[mode]}D input")
    fits = {3: ("nearest", "nearest-exact", "area", "linear"),
            4: ("nearest", "nearest-exact", "area", "bilinear", "bicubic", "lanczos"),
            5: ("nearest", "nearest-exact", "area", "trilinear")}
    if mode not in fits.get(n, ()):
        raise NotImplementedError(f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {n}D) for the modes: "
                                  "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact "
                                  f"(got {mode})")


@composite(**functional, native="interpolate", parts=(upsample_to, shared_means, mean),
           samples=lambda t: [t.args(t(1, 2, 5), 3), t.args(t(1, 2, 4, 3), (6, 5), mode="nearest-exact"),
                              t.args(t(1, 2, 4), 7, mode="linear"), t.args(t(1, 2, 4, 3), (6, 2), mode="bilinear"),
                              t.args(t(1, 2, 4, 3), scale_factor=1.7, mode="bilinear", align_corners=True),
                              t.args(t(1, 2, 4, 3), (7, 5), mode="bicubic"),
                              t.args(t(1, 1, 5, 6), (3, 8), mode="bicubic", align_corners=True),
                              t.args(t(1, 1, 3, 4, 2), 4, mode="trilinear"), t.args(t(1, 2, 5, 4), 3, mode="area"),
                              t.args(t(1, 1, 8, 7), (3, 4), mode="bilinear", antialias=True),
                              t.args(t(1, 1, 8, 7), (3, 9), mode="bicubic", antialias=True),
                              t.args(t(1, 2, 4, 3), scale_factor=(1.7, 2.2), mode="bilinear",
                                     recompute_scale_factor=True), t.args(t(0, 2, 4), 3)],
           errors=lambda t: [(t.args(t(1, 2, 5, 5)), ValueError, "either size or scale_factor should be defined"),
                             (t.args(t(1, 2, 5), 3, mode="bilinear"), NotImplementedError,
                              "Got 3D input, but bilinear mode needs 4D input"),
                             (t.args(t(1, 2, 5), 3, align_corners=True), ValueError,
                              "align_corners option can only be set with the interpolating modes"),
                             (t.args(t(1, 2, 5, 5), (3, 3, 3)), ValueError,
                              "Input and output must have the same number of spatial dimensions"),
                             (t.args(t(1, 2, 5, 5), 0), RuntimeError, "Input and output sizes should be greater than"),
                             (t.args(t(1, 2, 5, 5), 3, antialias=True), ValueError,
                              "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes"),
                             (t.args(t(2, 5), 3), NotImplementedError, "Input Error: Only 3D, 4D and 5D input")])
def interpolate(input: Tensor, size: ints | None = None, scale_factor: float | tuple[float, ...] | None = None,
                mode: str = "nearest", align_corners: bool | None = None,
                recompute_scale_factor: bool | None = None, antialias: bool = False) -> Tensor:
    """(N, C, L), (N, C, H, W) or (N, C, D, H, W) at another size or scale, by the nearest element, (bi-, tri-)linear or
    bicubic interpolation, or means over areas; antialias widens the kernel where the input shrinks."""
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | "
                         "bicubic | trilinear")
    size, scales = wanted(input, size, scale_factor)
    if recompute_scale_factor and scales is None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if scales is not None:
        size = [int(n * s) for n, s in zip(input.shape[2:], scales)]
        if recompute_scale_factor or mode == "area":
            scales = None
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and input.dim() == 4):
        raise ValueError("Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D "
                         "tensor as input")
    refuse_mode(input, mode)
    if mode == "area":
        from claygrad.ops import pool_adaptive
        return getattr(pool_adaptive, f"adaptive_avg_pool{input.dim() - 2}d")(input, size)
    if mode == "lanczos" and align_corners:
        raise ValueError("Lanczos mode does not support align_corners=True")
    if mode == "lanczos" and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")
    return upsample_to(input, [int(n) for n in size], mode, bool(align_corners), antialias, scales)


@composite(**functional, raw=True, samples=lambda t: [t.args(t(1, 2, 5, 4), 3), t.args(t(1, 2, 4), scale_factor=2)])
def upsample(input: Tensor, size: ints | None = None, scale_factor: float | tuple[float, ...] | None = None,
             mode: str = "nearest", align_corners: bool | None = None) -> Tensor:
    """The older name of interpolate."""
    warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)


@composite(**functional, raw=True, samples=lambda t: [t.args(t(1, 2, 5, 4), 3)])
def upsample_nearest(input: Tensor, size: ints | None = None,
                     scale_factor: float | tuple[float, ...] | None = None) -> Tensor:
    """interpolate by the nearest element."""
    warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="nearest")


@composite(**functional, raw=True, samples=lambda t: [t.args(t(1, 2, 5, 4), 3)])
def upsample_bilinear(input: Tensor, size: ints | None = None,
                      scale_factor: float | tuple[float, ...] | None = None) -> Tensor:
    """interpolate linearly, the corners of input and result aligned."""
    warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
