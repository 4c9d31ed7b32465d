"""A tensor among Python's objects: as lists and members."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad.core import array_of
from claygrad.ops._registry import composite

if TYPE_CHECKING:
    from claygrad.core import Tensor


@composite(function=False, raw=True, samples=lambda t: [t.args(t(3, 4)), t.args(t()), t.args(t(2, 0, 3))])
def tolist(self: Tensor) -> Any:
    """The elements as Python numbers, in lists nested as the axes are; a tensor without axes is a number."""
    array = array_of(self)
    return (array.astype("float32") if array.dtype.kind == "V" else array).tolist()
