"""The first operation that makes a NaN or an infinity, with its line, its module and what it was given."""
from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

from claygrad.core.graph.finite import NonFiniteObserver, kinds
from claygrad.core.graph.module_call import running
from claygrad.core.graph.observe import Call
from claygrad.core.graph.value_ranges import described, first_odd, odd_counts, saved_in
from claygrad.debug._allowed import Allowed

P = ParamSpec("P")
R = TypeVar("R")


class NonFiniteError(RuntimeError):
    """An operation made a NaN or an infinity. `call` is that operation, as an observer sees it."""

    call: Call


class trace_nans(NonFiniteObserver):
    """Stops at the first operation, forward or backward, that makes a NaN or an infinity.

    A context manager, a decorator, or on for the rest of the program: `trace_nans().start()`, and `stop()`.

    allow: what may make them: names of operations ("log", torch.log), of nodes ("LogBackward0"), or lines
        ("model.py:42"). Infinities that a call names itself are deliberate without saying so: masked_fill(mask, -inf).
    inf: whether infinities count (True), or NaN alone.
    given: whether to stop where a NaN comes in from outside: in data, or from before the tracing began.
    threads: "all", or "own": the thread that starts it.
    """

    def __init__(self, *, allow: Iterable[str | Callable[..., Any]] | str | Callable[..., Any] = (), inf: bool = True,
                 given: bool = True, threads: str = "all") -> None:
        super().__init__(threads=threads)
        self.allowed = Allowed(allow)
        self.inf = inf
        self.tolerant = not given

    def start(self) -> trace_nans:
        """Trace from now on, for the whole program."""
        self.add()
        return self

    def stop(self) -> None:
        self.remove()

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        if not callable(function) or inspect.isclass(function):
            raise TypeError(f"trace_nans() decorates functions, not {type(function).__name__}")
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            raise TypeError("trace_nans() decorates functions that return when they are done; "
                            "use `with trace_nans():` inside")

        @functools.wraps(function)
        def traced(*args: P.args, **kwargs: P.kwargs) -> R:
            if self.is_active:                    # it calls itself
                return function(*args, **kwargs)
            with self:
                return function(*args, **kwargs)
        return traced

    def found(self, call: Call, kinds: set[str], given: bool) -> None:
        if not self.inf and "nan" not in kinds:
            return
        if self.allowed.covers(call):
            if "nan" in kinds:
                self.tolerant = True              # it goes on from there, and is no news
            return
        error = NonFiniteError(report(call, kinds, given))
        error.call = call
        raise error


def report(call: Call, kinds: set[str], given: bool) -> str:
    """What happened, where, and with which values."""
    made = " and ".join(sorted(kinds, reverse=True))
    name = "the step of the optimizer" if call.kind == "step" else call.name
    lines = [f"{name} got NaN, which no operation made that was traced" if given else f"{name} made {made}"]
    lines += _where(call)
    lines += _values(call)
    lines.append(_way_out(call, given))
    return "\n".join(lines)


def _where(call: Call) -> list[str]:
    lines = []
    forward = call.forward_origin
    if forward is not None:
        lines.append(f"  its forward ran at {_place(forward)}")
    if call.origin is not None:
        lines.append(f"  {'backward was called' if call.kind == 'backward' else 'it ran'} at {_place(call.origin)}")
    module = call.what.module if call.kind == "backward" else running()
    if module is not None:
        lines.append(f"  in {module}" if module.path else f"  in {module}, the outermost module")
    return lines


def _values(call: Call) -> list[str]:
    lines = []
    names = _names(call)
    had = None
    for i, value in enumerate(call.args):
        for name, t in _tensors(value, names[i] if i < len(names) else f"argument {i}"):
            if call.kind == "in-place" and i == 0:
                lines.append(f"  {name}: {t.dtype.name} {tuple(t.shape)}, overwritten by this operation")
                continue
            if call.kind == "step":
                continue
            lines.append(f"  {name}: {described(t)}")
            if had is None and kinds(t):
                had = name
    if call.kind == "backward":
        for name, t in saved_in(call.what).items():
            lines.append(f"  saved {name}: {described(t)}")
    for i, t in enumerate(call.outputs):
        if kinds(t):
            which = "result" if len(call.outputs) == 1 else f"result {i}"
            if call.kind == "backward":
                which = f"gradient of input {i}"
            if call.kind == "step":
                which = f"parameter {i}"
            counts = ", ".join(f"{n:,} of {t.numel():,} {name}" for name, n in odd_counts(t).items())
            lines.append(f"  {which}: {t.dtype.name} {tuple(t.shape)}, {counts}, the first at {list(first_odd(t))}")
    if had is not None:
        lines.append(f"  {had} had it first")
    return lines


def _tensors(value: Any, name: str) -> list[tuple[str, Any]]:
    if hasattr(value, "isfinite"):
        return [(name, value)]
    if isinstance(value, (list, tuple)):
        return [(f"{name}[{i}]", x) for i, x in enumerate(value) if hasattr(x, "isfinite")]
    return []


def _names(call: Call) -> list[str]:
    if call.kind == "backward":
        return ["gradient"] if len(call.args) == 1 else [f"gradient {i}" for i in range(len(call.args))]
    return list(getattr(call.what, "params", ()))


def _place(origin: tuple[str, int, str, str]) -> str:
    name, line, function, source = origin
    return f"{_short(name)}:{line}, in {function}" + (f": {source}" if source else "")


def _short(path: str) -> str:
    try:
        near = os.path.relpath(path)
    except ValueError:                            # another drive
        return path
    return path if near.startswith("..") or re.match(r"<.*>", path) else near


def _way_out(call: Call, given: bool) -> str:
    if given:
        return "  Look at the data, or say given=False if NaN is meant to be in it."
    place = call.forward_origin if call.kind == "backward" else call.origin
    line = "" if place is None else f" or trace_nans(allow={os.path.basename(place[0]) + ':' + str(place[1])!r})"
    return f"  If it is meant: trace_nans(allow={call.name!r}){line}"
