"""Runs a program, statement by statement, in one library, and tells what can be seen of it."""

from __future__ import annotations

import cmath
import faulthandler
import os
import pickle
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, ModuleType
from typing import Any

from tests.oracle.fuzz.helpers import HELPERS

BLIND = "# looked at once, at the end"  # the first line of a program: reading a tensor's history must not be what makes it right


@lru_cache(maxsize=4096)
def _compiled(line: str) -> CodeType:
    return compile(line, "<program>", "exec")


@lru_cache(maxsize=4)
def _helpers(lib: ModuleType) -> dict:
    names: dict = {"torch": lib}
    exec(compile("".join(HELPERS.values()), "<helpers>", "exec"), names)
    return names


@contextmanager
def protected(lib: ModuleType, oracle: str) -> Iterator[None]:
    """torch in a state in which saved values survive later writes, for the whole of a program; claygrad always is in one.

    mutation  its own context for that, which copies a saved tensor when it sees a write to its storage. It recognises what is
              saved by address and version, and so can miss a write, or take one saved tensor for another.
    copies    a copy of whatever is saved, at the moment it is saved: plain, slow, and right by construction.
    """
    if lib.__name__ != "torch":
        yield
    elif oracle == "mutation":
        with lib.autograd.graph.allow_mutation_on_saved_tensors():
            yield
    else:
        with lib.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
            yield


@contextmanager
def aside(lib: ModuleType) -> Iterator[None]:
    """What happens here is no part of the program: torch's context need not see it."""
    if lib.__name__ != "torch":
        yield
    else:
        from torch.utils._python_dispatch import _disable_current_modes

        with _disable_current_modes():
            yield


@dataclass
class Step:
    error: str | None
    seen: dict[str, tuple]


def trace_apart(programs: list[list[str]], lib: ModuleType, oracle: str) -> Iterator[list[Step] | None]:
    """The same for several programs, in a process of its own; None for one that ended it."""
    if oracle == "mutation":
        import torch._dynamo  # noqa: F401  (which every such process would load again: it takes seconds)

    done = 0
    while done < len(programs):
        read, write = os.pipe()
        child = os.fork()
        if not child:
            try:
                faulthandler.disable()
                os.close(read)
                with os.fdopen(write, "wb") as out:
                    for lines in programs[done:]:
                        pickle.dump(trace(lines, lib, oracle), out)
                        out.flush()
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as out:
            while done < len(programs):
                try:
                    steps = pickle.load(out)
                except (EOFError, pickle.UnpicklingError):
                    break
                done += 1
                yield steps
        os.waitpid(child, 0)
        if done < len(programs):
            done += 1
            yield None


def trace(lines: list[str], lib: ModuleType, oracle: str = "") -> list[Step]:
    """Runs a program: what each statement raised, and what could be seen after it."""
    machine, steps, blind = Machine(lib), [], lines[0] == BLIND
    with protected(lib, oracle), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, line in enumerate(lines, 1):
            error = machine.run(line)
            with aside(lib):
                steps.append(Step(error, {} if blind and number < len(lines) else machine.seen()))
        machine.names.clear()  # what hangs on the graph goes while the context still stands
    return steps


class Machine:
    """The names of a program, bound to the tensors of one library."""

    def __init__(self, lib: ModuleType) -> None:
        self.lib = lib
        _helpers(lib)["log"].clear()
        self.names: dict[str, Any] = dict(_helpers(lib))
        self.own = set(self.names) | {"__builtins__"}

    def run(self, line: str) -> str | None:
        """Runs a statement; what it raised, or None."""
        try:
            exec(_compiled(line), self.names)
        except Exception as error:
            return f"{type(error).__name__}: {_first_line(error)}"
        return None

    def value(self, expression: str) -> Any:
        """What an expression would give, or None if it raises. Nothing is recorded."""
        try:
            with self.lib.no_grad():
                return eval(expression, self.names)
        except Exception:
            return None

    def tensors(self) -> list[tuple[str, Any]]:
        return [(n, t) for n, t in self.names.items() if n not in self.own and isinstance(t, self.lib.Tensor)]

    def valid(self) -> list[tuple[str, Any]]:
        """The tensors whose history can be read: not views made several at once or under no_grad whose base was written."""
        return [(n, t) for n, t in self.tensors() if " " not in _node(t)]

    def seen(self) -> dict[str, tuple]:
        """Everything a user can see of the tensors. `tolist` and not `numpy`: an export would change what is tested."""
        found = {n: _seen(t) for n, t in self.tensors()}
        for n, results in self.names.items():
            if n not in self.own and isinstance(results, tuple):
                found.update(
                    {f"{n}[{i}]": None if t is None else ("gradient", _values(t)) for i, t in enumerate(results)}
                )
        calls = [(n, [_flat(t) for t in given]) for n, given in self.names["log"]]  # of hooks, in their order
        calls = [(n, given) for n, given in calls if any(x and abs(x) > 1e-12 for values in given for x in values)]
        found.update({f"log[{i}] {n}": ("gradient", [x for values in given for x in values]) for i, (n, given) in enumerate(calls)})
        return found


def _flat(given: Any) -> list:
    if isinstance(given, list):
        return [x for t in given for x in (_values(t) if t is not None else [""])]
    return _values(given)


def _seen(t: Any) -> tuple:
    node = _node(t)
    grad = t.grad if " " not in node else None
    return (
        tuple(t.shape),
        # Along one element, or none, any stride will do.
        tuple(s for s, n in zip(t.stride(), t.shape, strict=True) if n > 1 and t.numel()),
        str(t.dtype).rpartition(".")[2],
        t.requires_grad,
        not node,
        -1 if t.is_inference() else t._version,
        node,
        _values(t),
        None if grad is None else _values(grad),
        grad is not None and grad.requires_grad,
    )


def _node(t: Any) -> str:
    """The name of the node, which is empty exactly for a leaf."""
    try:
        return "" if t.is_leaf else t.grad_fn.name()
    except RuntimeError as error:  # a view whose base was written
        return _first_line(error)


def _values(t: Any) -> list:
    t = t.detach()
    if t.numel() and not t.data_ptr():  # a zero that torch did not write out
        t = t + 0
    return t.resolve_conj().resolve_neg().reshape(-1).tolist()


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0].replace("claygrad.", "torch.")


LABELS = ("shape", "stride", "dtype", "requires_grad", "is_leaf", "_version", "grad_fn", "values", "grad", "grad.requires_grad")
# Of a gradient that was returned torch's copy stands beside our original (helpers.taken).
LOOSE = ("stride", "requires_grad", "is_leaf", "_version", "grad_fn")


def difference(
    ours: dict[str, tuple],
    theirs: dict[str, tuple],
    a: str = "claygrad",
    b: str = "torch",
    nodes: bool = True,
    versions: bool = True,
) -> str | None:
    """The first thing in which two libraries differ, or None."""
    for name in dict.fromkeys([*ours, *theirs]):
        mine, other = ours.get(name), theirs.get(name)
        if mine is None or other is None:
            if mine is not other and not (name[0] in "st" and _nothing(mine) and _nothing(other)):
                return f"{name}: {a} {mine}, {b} {other}"
        elif mine[0] == "gradient":
            if not _near(mine[1], other[1]):
                return f"{name}: {a} {mine[1]}, {b} {other[1]}"
        else:
            single = mine[2] == "float32"
            for label, m, o in zip(LABELS, mine, other, strict=True):
                same = _near(m, o, single) if isinstance(m, list) and isinstance(o, list) else m == o
                if not versions and label == "_version":
                    continue
                if not same and (nodes or label != "grad_fn") and not (name[0] == "g" and label in LOOSE):
                    return f"{name}.{label}: {a} {m}, {b} {o}"
    return None


def _nothing(seen: tuple | None) -> bool:
    """No gradient, or one of zeros: of higher derivatives, rules that are written in another form make one or the other."""
    return seen is None or not any(seen[1])


def _near(a: list, b: list, single: bool = True) -> bool:
    tolerance = 2e-4 if single else 1e-8
    return len(a) == len(b) and all(x == y or _close(x, y, tolerance) for x, y in zip(a, b, strict=True))


def _close(x: Any, y: Any, tolerance: float) -> bool:
    if isinstance(x, str) or isinstance(y, str):  # nothing, in the place of a gradient
        return False
    return (cmath.isnan(x) and cmath.isnan(y)) or abs(x - y) <= tolerance * max(1.0, abs(x), abs(y))
