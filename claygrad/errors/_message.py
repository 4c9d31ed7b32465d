"""The text of an exception, put together as it leaves the entry points."""
from __future__ import annotations

import ast
import re
import weakref
from typing import TYPE_CHECKING, Any

from claygrad.core import Tensor
from claygrad.core.dispatch.promotion import facts
from claygrad.errors._calls import Call, described, shape_of, shape_text
from claygrad.errors._fitting import fitting
from claygrad.errors._frames import is_library, is_library_file, is_numpy, is_ours, is_ours_class
from claygrad.errors._source import Line, line_of_frame, short, value_of
from claygrad.errors._values import Operand, in_the_users_words, operands_on, plain_values
from claygrad.errors._ways import Context, way_out

if TYPE_CHECKING:
    from types import FrameType, TracebackType

_KEY = "_claygrad_message"
_MOST = 6           # operands that are described
_MOST_HELD = 2      # of the parameters and buffers of a layer
_SIGNATURE = re.compile(r"(?:; it is|^see|It is) \w+\(.*")      # at the end of a way out
_DTYPE = re.compile(r"(?:claygrad|torch)\.(?:u?int|float|b?float|bool|complex)\d*")
_CODE = re.compile(r"[\w\])]\.[a-z]\w+|\w\(|[\w)]\[")
_BELOW = re.compile(r"(?<!\n)\n  (?=\S)")        # begins a line that is not PyTorch's


def message_of(error: BaseException) -> Message | None:
    found = vars(error).get(_KEY)
    return found if isinstance(found, Message) and error.args == found.args else None


def is_noted(error: BaseException) -> bool:
    """Whether it has a note from here. Python has notes of its own, since 3.14 of what could not be serialized."""
    notes = getattr(error, "__notes__", None)
    return isinstance(notes, list) and any(isinstance(text, str) and text.startswith("  ") for text in notes)


class Message:
    """PyTorch's text, and below it what the entry points added."""

    def __init__(self, head: str, own: list[str]) -> None:
        self.head, self.own = head, own
        self.told = own                          # by whoever raised it
        self.args: tuple[str, ...] = ()          # of the exception, as they were written last
        self.kind: type = Exception
        self.line: Line | None = None
        self.line_text = ""
        self.operands: list[str] = []
        self.more: list[str] = []                # lines that go with the way out
        self.way: list[str] = []
        self.call: Call | None = None            # until a frame of the user's is reached
        self.layer: Call | None = None           # the innermost module
        self.outer: Call | None = None           # the module that the user's line calls
        self.layer_text = ""
        self.path = ""                           # from the module met last to the innermost
        self.root = ""
        self.met: Any = None                     # a weak reference to the module met last
        self.place: tuple[int, int] = (0, 0)     # the frame of the user's, and the instruction

    def __reduce__(self) -> Any:
        return Message, (self.head, self.own)    # an exception may go to another process: its text goes, the rest stays

    @classmethod
    def of(cls, error: BaseException) -> Message | None:
        """Of an exception that was just raised; None for one whose text is not a single string."""
        if error.args and (len(error.args) != 1 or type(error.args[0]) is not str):
            return None
        head, *own = _BELOW.split(error.args[0]) if error.args else [""]
        said = cls(head, own)
        said.args, said.kind = error.args, type(error)
        vars(error)[_KEY] = said
        return said

    def meet(self, call: Call, frame: FrameType, ours: bool, trace: TracebackType | None) -> None:
        """Add what an entry point has to say."""
        if call.kind == "module":
            self._meet_module(call, frame)
            if self.line is not None and self.place == (id(frame), frame.f_lasti):       # the layer's container
                names = call.names_on(self.line, frame) if self._is_called_by(self.line, call, frame) else []
                context = Context(self.head, self.kind, call, self.layer, self.line, frame, names, self.own)
                self._add_what_fits(fitting(context, call, names))
        elif self.layer is None and (self.line is None or call.kind != "method") and (
                self.call is None or (call.name and not self._hides_a_device(call)) or not self.call.name):
            self.call = call
        again = self.line is not None and self.call is not None and self.place == (id(frame), frame.f_lasti)
        if not ours and (self.line is None or again):
            self._reach(frame, trace)
        elif self.line is not None:
            self.call = None

    def _hides_a_device(self, call: Call) -> bool:
        """Whether the tensors of a call are on one device and those of the call inside on two: it got the other one by
        a keyword, or made it."""
        inside = [] if self.call is None else self.call.tensors
        return len({facts(x)[2] for x in inside}) > 1 and len({facts(x)[2] for x in call.tensors}) < 2

    def _reach(self, frame: FrameType, trace: TracebackType | None) -> None:
        """The exception comes to the user's line. (Again, if an operation called another one on the way there.)"""
        call = self.call or self.layer
        self.place = (id(frame), frame.f_lasti)
        outer: Any = frame
        while outer is not None and (is_library(outer.f_code) or is_ours(outer.f_code)):
            outer = outer.f_back
        library = "numpy" if is_numpy(frame.f_code) else ""
        frame = outer or frame
        self.line = line_of_frame(frame)
        self.line_text = self.line.text
        if call is None:
            return
        self.own = [text for text in self.told if not _tells_of_a_library(text)]
        outside = call if self.layer is None else self.outer or self.layer
        direct = self._is_called_by(self.line, outside, frame)
        names = outside.names_on(self.line, frame) if direct else []
        context = Context(self.head, self.kind, call, self.layer, self.line, frame, names, self.own)
        context.library = library
        seen = operands_on(self.line, frame, outside, names if direct else None, context.receiver)
        context.seen, context.trace = seen, trace
        way = way_out(context)
        told = "\n".join([self.head, *way, *context.lines])
        self.operands = self._operand_lines([*seen, *self._held(call, seen)], told, context)
        plain = plain_values(self.line.expression, frame)
        if plain:
            self.operands.append(f"where {plain}")
        self.way = [in_the_users_words(text, seen) for text in way]
        self._add_what_fits(fitting(context, outside, names))
        said = "\n".join(self.operands)
        self.own = [text for text in self.own if not _said_before(text, said)]
        self.more = [text for text in context.lines if not _said_before(text, said)]
        self._say_where_the_layer_was_made(said, context)
        self.call = self.outer = None
        if self.layer is not None:
            self.layer = Call("module", None, ())            # what it held is said

    def _add_what_fits(self, text: str) -> None:
        """Say with what change the call runs, where the way out has no code to write instead."""
        told = _DTYPE.sub("", _SIGNATURE.sub("", " ".join(self.way)))
        if text and (("batch_first" in text and "batch_first" not in told) or not _CODE.search(told)):
            self.way.append(text)

    @staticmethod
    def _is_called_by(line: Line, call: Call, frame: FrameType) -> bool:
        """Whether a line calls this module, and not one that it is in: an nn.Sequential runs its layers itself."""
        node = line.expression
        called = value_of(node.func, frame) if call.kind == "module" and isinstance(node, ast.Call) else None
        return called is call.called or not hasattr(called, "_modules")

    def _held(self, call: Call, seen: list[Operand]) -> list[Operand]:
        """What the layer itself brought into the call that failed: its parameters and buffers, where they are few."""
        if self.layer is None:
            return []
        layer = self.layer.called
        own = {id(x) for x in (*layer.parameters(), *layer.buffers())}
        shown = {id(one.tensor) for one in seen}
        inside = [Operand(name, "", x) for name, x in call.operands() if id(x) not in shown]
        held = [one for one in inside if id(one.tensor) in own]
        if len({described(one.tensor) for one in held}) > _MOST_HELD:
            held = []
        return held if seen else inside

    def _say_where_the_layer_was_made(self, said: str, context: Context) -> None:
        if self.layer is None or self.layer.called is None:
            return
        layer = self.layer.called
        for parameter in layer.parameters(recurse=is_ours_class(type(layer))):
            origin = facts(parameter)[3]
            if origin is not None and self.line is not None and not is_library(origin[0]):
                made = Line(*origin)
                if made.text not in said and made.text != self.line.text:
                    self.layer_text += f", made at {made.text}"
            return
        func = getattr(context.line.expression, "func", None)          # it has no parameters: a loss
        if func is not None and value_of(func, context.frame) is layer:
            self.layer_text += context.assigned_at(func)

    def _operand_lines(self, found: list[Operand], told: str, context: Context) -> list[str]:
        devices = {facts(one.tensor)[2] for one in found}
        lines: dict[str, list[str]] = {}
        for one in found:
            text = described(one.tensor, len(devices) > 1) + (
                context.made(one.tensor) or context.given_at(one.name) or context.taken_from(one.name))
            same = lines.setdefault(text, [])
            label = one.name
            if one.word not in ("", one.name) and re.search(rf"(?<![\w.]){re.escape(one.word)}\b", told):
                label = f"{one.name} ({one.word})"           # the text speaks of it by the parameter's name
            if label not in same:
                same.append(label)
        shown = [f"{', '.join(same[:4])}{', ...' * (len(same) > 4)}: {text}" for text, same in lines.items()]
        return shown if len(shown) <= _MOST else [*shown[:_MOST], f"and {len(shown) - _MOST} more"]

    def _meet_module(self, call: Call, frame: FrameType) -> None:
        module = call.called
        if self.layer is None:
            self.layer = call
            got = ", ".join(_came(x) for x in call.args) or "no arguments by position"
            self.layer_text = f"{_one_line(module)} got {got}"
        else:
            inner = None if self.met is None else self.met()
            step = _path_between(module, inner)
            if step is None:
                return
            self.path = f"{step}{'.' * bool(self.path and not self.path.startswith('['))}{self.path}"
        self.met = weakref.ref(module)
        self.outer = call if self.line is None else None         # no tensor lives longer for an error
        node = line_of_frame(frame).expression
        func = getattr(node, "func", None)
        self.root = (short(func) or "") if func is not None and value_of(func, frame) is module else ""

    def write(self, error: BaseException) -> None:
        """Put the text together and into the exception."""
        if self.line is None or error.args != self.args:
            return
        lines = [*self.own, f"at {self.line_text}"]
        if self.layer_text:
            dot = "." if self.path and not self.path.startswith("[") else ""
            path = f"{self.root}{dot if self.root else ''}{self.path}"
            lines.append(f"in {path}: {self.layer_text}" if path else f"in {self.layer_text}")
        lines += [*self.operands, *self.more, *self.way]
        if isinstance(error, KeyError) or not self.args:            # it prints its argument as Python would read it
            vars(error)["__notes__"] = ["\n  ".join(["", *dict.fromkeys(lines)])[1:]]
            return
        self.args = error.args = ("\n  ".join([self.head, *dict.fromkeys(lines)]),)


def _tells_of_a_library(text: str) -> bool:
    """Whether a line names a place in Python's own library: `the leaf was made at /usr/lib/python3/copy.py:153`."""
    found = re.search(r" at (\S+?):\d+, in ", text)
    return found is not None and is_library_file(found[1])


def _said_before(text: str, said: str) -> bool:
    """Whether a line only tells where something was made, as the line of an operand does."""
    return text.startswith(("it was made at", "the leaf was made at", "made at")) and text.partition(" at ")[2] in said


def _came(x: Any) -> str:
    """The shape of a tensor, `a tuple of (4, 3), (1, 4)`, or the type of what is none."""
    if isinstance(x, Tensor):
        return shape_text(shape_of(x))
    if isinstance(x, (list, tuple)) and x and all(isinstance(part, Tensor) for part in x):
        shapes = ", ".join(shape_text(shape_of(part)) for part in x[:4])
        return f"a {type(x).__name__} of {shapes}{', ...' * (len(x) > 4)}"
    return type(x).__name__


def _one_line(module: Any) -> str:
    """`Linear(in_features=3, out_features=2, bias=True)`, or the name of the class where that takes more lines."""
    try:
        extra = module.extra_repr()
    except Exception:
        extra = ""
    name = type(module).__name__
    return f"{name}({extra})" if "\n" not in extra and len(extra) < 100 else name


def _path_between(outer: Any, inner: Any) -> str | None:
    """`encoder.layers[3]`: from a module to one in it; None if it is the same or not to be found."""
    if inner is None or inner is outer:
        return None
    for name, found in outer.named_modules():
        if found is inner:
            return "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in name.split(".")).removeprefix(".")
    for name, held in vars(outer).items():
        if isinstance(held, (list, tuple)):
            for i, found in enumerate(held):
                if found is inner:
                    return f"{name}[{i}]"
    return None
