"""A tensor as a small picture: a PNG that needs nothing but zlib, for notebooks and files."""
from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from claygrad.core import Tensor

MAX_SIDE = 256              # elements along a side; of more, every second, third ... is shown
SHOWN = 160             # pixels that the longer side has on the page, at least
# Dark blue, through white, to dark red: 0 is white where both signs occur. Else from dark to light.
_SIGNED = np.array([(5, 48, 97), (67, 147, 195), (247, 247, 247), (214, 96, 77), (103, 0, 31)], dtype=float)
_RISING = np.array([(68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37)], dtype=float)
_BROKEN = (255, 0, 255)       # NaN and infinities


class Picture:
    """A picture of a tensor. Notebooks show it; `save` writes a PNG file."""

    def __init__(self, pixels: np.ndarray[Any, Any], caption: str) -> None:
        self.pixels, self.caption = pixels, caption

    def png(self) -> bytes:
        """The picture as the bytes of a PNG file, a pixel for each element shown."""
        height, width = self.pixels.shape[:2]
        rows = b"".join(b"\0" + row.tobytes() for row in self.pixels)
        head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
        parts = (_chunk(b"IHDR", head), _chunk(b"IDAT", zlib.compress(rows, 9)), _chunk(b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(parts)

    def save(self, path: str | Path) -> None:
        """Write a PNG file."""
        Path(path).write_bytes(self.png())

    def _repr_html_(self) -> str:
        height, width = self.pixels.shape[:2]
        scale = max(1, SHOWN // max(height, width, 1))
        data = base64.b64encode(self.png()).decode()
        return (f'<figure style="margin:0"><img src="data:image/png;base64,{data}" width="{width * scale}" '
                f'height="{height * scale}" style="image-rendering:pixelated;border:1px solid #ccc" '
                f'alt="{self.caption}">'
                f'<figcaption style="font-size:small;color:gray">{self.caption}</figcaption></figure>')

    def __repr__(self) -> str:
        return f"<picture of {self.caption}>"


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def picture_of(t: Tensor) -> Picture:
    """Colours for the elements of a matrix; of more axes the first of each leading one; three channels are colours."""
    values = t.detach()
    shape = tuple(values.shape)
    if values.is_meta or values.layout.name != "strided":
        raise RuntimeError(f"picture() needs the elements of a tensor, which one that is {values.layout.name} on "
                           f"{values.device} does not have")
    if not values.numel():
        raise RuntimeError(f"picture() of a tensor without elements, of shape {shape}")
    colour = len(shape) >= 3 and shape[-3] == 3
    while values.ndim > (3 if colour else 2):
        values = values[0]
    values = values.reshape(1, -1) if values.ndim < 2 else values
    for axis in (-1, -2):
        every = -(-values.shape[axis] // MAX_SIDE)
        values = values.movedim(axis, 0)[::every].movedim(0, axis)
    values = values.abs() if values.is_complex() else values
    numbers = np.asarray(values.double().tolist(), dtype=float)
    pixels, low, high = _in_colour(numbers) if colour else _coloured(numbers)
    first = ", the first of them" if len(shape) > (3 if colour else 2) else ""
    return Picture(pixels, f"shape {shape}{first}: {low:.4g} to {high:.4g}")


def _range(numbers: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], float, float]:
    good = np.isfinite(numbers)
    return good, *((float(numbers[good].min()), float(numbers[good].max())) if good.any() else (0.0, 0.0))


def _coloured(numbers: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], float, float]:
    good, low, high = _range(numbers)
    signed = low < 0 < high
    bottom, top = (-max(-low, high), max(-low, high)) if signed else (low, high)
    share = np.where(good, numbers, bottom) / 2 - bottom / 2        # halves: the range of large numbers is not finite
    share = np.clip(share / (top / 2 - bottom / 2), 0, 1) if top > bottom else np.full(numbers.shape, 0.5)
    table = _SIGNED if signed else _RISING
    pixels = np.stack([np.interp(share, np.linspace(0, 1, len(table)), table[:, i]) for i in range(3)], -1)
    pixels[~good] = _BROKEN
    return pixels.astype(np.uint8), low, high


def _in_colour(numbers: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], float, float]:
    good, low, high = _range(numbers)
    bottom, top = (0.0, 1.0) if low >= 0 and high <= 1 else (0.0, 255.0) if low >= 0 and high <= 255 else (low, high)
    share = (np.where(good, numbers, bottom) / 2 - bottom / 2) / (top / 2 - bottom / 2) if top > bottom else numbers * 0
    pixels = np.moveaxis(np.clip(share, 0, 1) * 255, 0, -1)
    pixels[~good.all(0)] = _BROKEN
    return pixels.astype(np.uint8), low, high
