"""The call that failed, left on the exception for `claygrad.graph`: the frames that could tell are gone by then."""
from __future__ import annotations

import linecache
import weakref
from typing import TYPE_CHECKING, Any

from claygrad.core import Tensor
from claygrad.core.dispatch.promotion import facts
from claygrad.errors._source import Line

if TYPE_CHECKING:
    from types import FrameType

    from claygrad.errors._calls import Call

_KEY = "_claygrad_failed"
_GRAD_FN: Any = Tensor.grad_fn                   # not x.grad_fn: a subclass may have its own


class Operand:
    """A tensor that a call got. Keeps the graph behind it, as the frame of the call did, and neither it nor a leaf."""

    def __init__(self, name: str, t: Tensor) -> None:
        self.name = name
        self.shape, self.dtype, _, self._origin = facts(t)[:4]
        self.node = _GRAD_FN.__get__(t)
        self._tensor = weakref.ref(t)

    @property
    def tensor(self) -> Tensor | None:
        """The tensor itself, while somebody else has it."""
        return self._tensor()

    @property
    def line(self) -> tuple[str, int, str, str] | None:
        """Where it was made: file, line, function, source."""
        if self._origin is None:
            return None
        line = Line(*self._origin)
        return line.file, line.number, line.code.co_name, linecache.getline(line.file, line.number).strip()


class Failed:
    """The call that failed on the user's line, and the modules around it."""

    def __init__(self) -> None:
        self.name = ""
        self.operands: list[Operand] = []
        self.in_layer = False                    # whether one of claygrad's layers made the call, not the user's line
        self._modules: list[weakref.ref[Any]] = []               # the innermost first
        self._place: tuple[int, int] | None = None               # the frame of the user's, and the instruction

    def __reduce__(self) -> Any:
        return Failed, ()                        # no tensor goes with an exception to another process

    @property
    def modules(self) -> list[Any]:
        """Those whose calls failed, the outermost first; without those that are gone."""
        return [module for known in reversed(self._modules) if (module := known()) is not None]

    def meet(self, call: Call, frame: FrameType, ours: bool) -> None:
        """Add what an entry point has to say. Several may lie on one line: an operation in a layer in a Sequential."""
        place = (id(frame), frame.f_lasti)
        on_the_way = self._place in (None, place)
        if call.kind == "module":
            if not self._modules or self._modules[-1]() is not call.called:
                self._modules.append(weakref.ref(call.called))
            if on_the_way and not self.in_layer:
                self.in_layer = True
                self._take("", call, only_if_none=True)
        elif on_the_way and not self.in_layer and call.name:
            self._take(call.name, call, only_if_none=call.kind == "method")
        if on_the_way and not ours:
            self._place = place

    def _take(self, name: str, call: Call, only_if_none: bool) -> None:
        operands = [] if only_if_none and self.operands else call.operands()
        if operands or not (self.name or self.operands):         # what got no tensors tells less than what it called
            self.name, self.operands = name, [Operand(word, t) for word, t in operands]


def failed_of(error: BaseException) -> Failed | None:
    """What an exception of claygrad's carries; None for others."""
    found = vars(error).get(_KEY)
    return found if isinstance(found, Failed) else None


def attach(error: BaseException) -> Failed:
    found = vars(error)[_KEY] = Failed()
    return found
