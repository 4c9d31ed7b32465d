"""Elements moved between channels and space, or between groups of channels."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.ops._registry import missing, op

if TYPE_CHECKING:
    from claygrad.core import Tensor

public = {"namespace": ("torch", "nn.functional"), "method": False, "out": False, "half": "raw"}


def check_pixels(name: str, word: str, input: Tensor, factor: int) -> None:
    if input.ndim < 3:
        raise RuntimeError(f"{name} expects input to have at least 3 dimensions, but got input with {input.ndim} "
                           "dimension(s)")
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {word}, but got {factor}")


def check_shuffle(input: Tensor, upscale_factor: int) -> None:
    check_pixels("pixel_shuffle", "upscale_factor", input, upscale_factor)
    if upscale_factor ** 2 >= 1 << 63:
        raise ValueError("upscale factor is too large, (upscale_factor)^2 overflowed: "
                         f"upscale_factor={upscale_factor}")
    if input.shape[-3] % upscale_factor ** 2:
        raise RuntimeError("pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
                           f"upscale_factor, but input.size(-3)={input.shape[-3]} is not divisible by "
                           f"{upscale_factor ** 2}")


def check_unshuffle(input: Tensor, downscale_factor: int) -> None:
    check_pixels("pixel_unshuffle", "downscale_factor", input, downscale_factor)
    for word, axis in (("height", -2), ("width", -1)):
        if input.shape[axis] % downscale_factor:
            raise RuntimeError(f"pixel_unshuffle expects {word} to be divisible by downscale_factor, but "
                               f"input.size({axis})={input.shape[axis]} is not divisible by {downscale_factor}")


def shuffled_shape(input, upscale_factor: int) -> tuple[int, ...]:
    *lead, c, h, w = input.shape
    r = upscale_factor
    return (*lead, c // r ** 2, h * r, w * r)


@op(kernel="pixel_shuffle", **public, check=check_shuffle, meta=shuffled_shape,
    samples=lambda t: [t.args(t(2, 8, 2, 3), 2), t.args(t(9, 2, 1), 3), t.args(t(2, 3, 2, 2), 1)],
    errors=lambda t: [(t.args(t(1, 3, 2, 2), 2), RuntimeError, "pixel_shuffle expects its input's 'channel' dimension"),
                      (t.args(t(2, 2), 2), RuntimeError, "pixel_shuffle expects input to have at least 3 dimensions"),
                      (t.args(t(1, 4, 2, 2), 0), RuntimeError, "pixel_shuffle expects a positive upscale_factor")])
def pixel_shuffle(xp, input: Tensor, upscale_factor: int):
    """Channels laid out as space: (*, C * r * r, H, W) to (*, C, H * r, W * r)."""
    *lead, c, h, w = input.shape
    n, r = len(lead), upscale_factor
    apart = input.reshape(*lead, c // r ** 2, r, r, h, w)
    transposed = apart.transpose(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return transposed.reshape(shuffled_shape(input, r))
pixel_shuffle.rule(input=lambda g, upscale_factor: pixel_unshuffle(g, upscale_factor))


def unshuffled_shape(input, downscale_factor: int) -> tuple[int, ...]:
    *lead, c, h, w = input.shape
    r = downscale_factor
    return (*lead, c * r ** 2, h // r, w // r)


@op(kernel="pixel_unshuffle", **public, check=check_unshuffle, meta=unshuffled_shape,
    samples=lambda t: [t.args(t(2, 2, 4, 6), 2), t.args(t(1, 6, 3), 3)],
    errors=lambda t: [(t.args(t(1, 1, 3, 4), 2), RuntimeError, "pixel_unshuffle expects height to be divisible by"),
                      (t.args(t(1, 1, 4, 3), 2), RuntimeError, "pixel_unshuffle expects width to be divisible by")])
def pixel_unshuffle(xp, input: Tensor, downscale_factor: int):
    """Space laid out as channels: (*, C, H * r, W * r) to (*, C * r * r, H, W)."""
    *lead, c, h, w = input.shape
    n, r = len(lead), downscale_factor
    apart = input.reshape(*lead, c, h // r, r, w // r, r)
    transposed = apart.transpose(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return transposed.reshape(unshuffled_shape(input, r))
pixel_unshuffle.rule(input=lambda g, downscale_factor: pixel_shuffle(g, downscale_factor))


def check_channels(input: Tensor, groups: int) -> None:
    if input.ndim < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if input.shape[1] % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {input.shape[1]} channels and "
                           f"{groups} groups.")


def regrouped(input, groups: int):
    n, c, *rest = input.shape
    return input.reshape(n, groups, c // groups, *rest).swapaxes(1, 2).reshape(input.shape)


@op(kernel="channel_shuffle", **public, check=check_channels, meta=lambda input: input.shape,
    samples=lambda t: [t.args(t(2, 6, 2, 3), 2), t.args(t(1, 6, 3), 3), t.args(t(0, 4, 2, 2), 2)],
    errors=lambda t: [(t.args(t(1, 4, 2), 3), RuntimeError, "Number of channels must be divisible by groups."),
                      (t.args(t(4, 2), 2), RuntimeError, "channel_shuffle expects input with > 2 dims")])
def channel_shuffle(xp, input: Tensor, groups: int):
    """The channels (axis 1) dealt out: the first of every group, then the second of every group, and so on."""
    return regrouped(input, groups)
channel_shuffle.rule(input=lambda g, groups: channel_shuffle(g, g.shape[1] // groups) if g.numel() else g)


@op(**public, node="NotImplemented", check=check_channels, meta=lambda input: input.shape,
    samples=lambda t: [t.args(t(2, 6, 2, 3, requires_grad=False), 2)])
def native_channel_shuffle(xp, input: Tensor, groups: int):
    """As channel_shuffle, without a derivative."""
    return regrouped(input, groups)
native_channel_shuffle.rule(input=missing)
