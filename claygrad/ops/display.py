"""A tensor in a notebook: its text with shape, dtype and device, and a picture on request."""
from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from claygrad.core import UPCALLS
from claygrad.ops._picture import Picture, picture_of
from claygrad.ops._registry import composite

if TYPE_CHECKING:
    from claygrad.core import Tensor


@composite(function=False, raw=True)
def picture(self: Tensor) -> Picture:
    """A small picture of the elements: a notebook shows it, `.save("x.png")` writes it; three channels are colours.

    >>> claygrad.eye(8).picture()
    <picture of shape (8, 8): 0 to 1>
    """
    return picture_of(self)


@composite(function=False, raw=True)
def _repr_html_(self: Tensor) -> str:
    """What a notebook shows: text, shape, dtype and device; `set_printoptions(picture=True)` adds a picture."""
    facts = [f"shape {tuple(self.shape)}", str(self.dtype).rpartition(".")[2], str(self.device)]
    if self.requires_grad:
        facts.append("requires grad")
    text = (f'<pre style="margin:0">{escape(repr(self))}</pre>'
            f'<div style="font-size:small;color:gray">{escape(" · ".join(facts))}</div>')
    picture = UPCALLS["print_options"]().get("picture")
    if picture and self.numel() and not self.is_meta and self.layout.name == "strided":
        text += picture_of(self)._repr_html_()
    return f"<div>{text}</div>"
