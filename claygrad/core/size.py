"""Shapes."""
from __future__ import annotations

from typing import Any

from claygrad.core.dtypes import prefix


class Size(tuple):
    """A shape: a tuple of ints that prints as torch's does."""

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        out = 1
        for n in self:
            out *= n
        return out

    def __repr__(self) -> str:
        return f"{prefix()}.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, key: Any) -> Any:
        out = tuple.__getitem__(self, key)
        return Size(out) if isinstance(key, slice) else out

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Size:
        return Size(tuple.__add__(tuple(other), self))

    def __mul__(self, n: Any) -> Size:
        return Size(tuple.__mul__(self, n))

    __rmul__ = __mul__

    def __reduce__(self) -> tuple:
        return Size, (tuple(self),)
