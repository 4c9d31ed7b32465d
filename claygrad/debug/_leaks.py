"""`leaks`: memory that a loop keeps from one step to the next, and the line that keeps it."""

from __future__ import annotations

import itertools
import weakref
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from claygrad.autograd.grad_mode import is_grad_enabled
from claygrad.core import Node, Tensor
from claygrad.core.data.storage import Storage
from claygrad.core.graph import memory_ledger as _ledger
from claygrad.core.graph.memory_holders import block_of, leaf_behind, node_of, node_place, own_grad, place_of, saved_in
from claygrad.debug import _sources
from claygrad.debug._names import Names, user_frames
from claygrad.debug._places import Line, count_text, line_at, size_text
from claygrad.debug._referrers import Referrer, referrers
from claygrad.debug._walk import Population
from claygrad.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from claygrad.ops.fill import ones

if TYPE_CHECKING:
    from types import CodeType, TracebackType
    from typing import Self

    from claygrad.core import RemovableHandle

ENOUGH = 3  # steps in a row in which something must have grown


@dataclass(frozen=True)
class Leak:
    """One thing that a loop keeps. `kind` is "graph grows", "evaluation records a graph" or "memory grows"."""

    kind: str
    text: str
    where: Line | None
    way_out: str
    kept_by: tuple[Referrer, ...] = ()

    def __str__(self) -> str:
        out = f"{self.kind}: {self.text}"
        if self.where is not None:
            out += f"\n  at {self.where}"
        for one in self.kept_by:
            out += f"\n  kept by {one}"
        return f"{out}\n  {self.way_out}"

    __repr__ = __str__


class leaks:
    """Watch a training loop: what each step leaves behind, and which line keeps it.

    Call `step()` at the end of every step, at least four times. `findings`, or what `print` shows, are the things that
    grew in each of the last steps: graphs that the next step or a list holds on to (`total += loss`), graphs that an
    evaluation records and nobody uses, other tensors that pile up.

    >>> model = claygrad.nn.Linear(3, 1)
    >>> total = 0
    >>> with claygrad.debug.leaks() as watch:
    ...     for _ in range(5):
    ...         loss = model(claygrad.ones(2, 3)).mean()
    ...         total += loss
    ...         watch.step()
    >>> watch.findings[0].kind
    'graph grows'
    """

    def __init__(self) -> None:
        self._marks: list[int] = []
        self._old: list[int] = []  # nodes of earlier steps, after each step
        self._tensors: list[Counter[tuple[CodeType, int] | None]] = []
        self._bytes: list[Counter[tuple[CodeType, int] | None]] = []
        self._handles: list[RemovableHandle] = []
        self._depth = 0
        self._evaluated: list[_Evaluation] = []
        self._unused: dict[Line | None, _Evaluation] = {}
        self._found: list[Leak] | None = None

    def __enter__(self) -> Self:
        self.__init__()  # type: ignore[misc]
        _ledger.open_ledger()
        self._handles = [
            register_module_forward_pre_hook(self._enter_module),
            register_module_forward_hook(self._leave_module, always_call=True),
        ]
        self._marks.append(latest_node())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for handle in self._handles:
            handle.remove()
        self._settle_evaluations()
        self._found = self._search()  # while the variables of the loop are there
        _ledger.close_ledger()

    @property
    def steps(self) -> int:
        """How many steps were seen."""
        return len(self._marks) - 1

    @property
    def findings(self) -> list[Leak]:
        """What grew, so far."""
        if not self._marks:
            return []
        return self._search() if self._found is None else self._found

    def step(self) -> None:
        """The end of a step."""
        if not self._marks or self._found is not None:
            raise RuntimeError("step() is for the inside of `with claygrad.debug.leaks() as watch:`")
        self._settle_evaluations()
        living = Population()
        self._old.append(sum(self._marks[0] < node._sequence_nr() <= self._marks[-1] for node in living.nodes))
        counts: Counter[tuple[CodeType, int] | None] = Counter()
        sizes: Counter[tuple[CodeType, int] | None] = Counter()
        for t in living.tensors:
            place = _made_at(t)
            counts[place] += 1
            sizes[place] += block_of(t)[1]
        self._tensors.append(counts)
        self._bytes.append(sizes)
        self._marks.append(latest_node())

    # --- evaluation without no_grad ---------------------------------------------------------------------------------
    def _enter_module(self, module: Any, args: Any) -> None:
        self._depth += 1

    def _leave_module(self, module: Any, args: Any, output: Any) -> None:
        self._depth -= 1
        if self._depth or module.training or not is_grad_enabled():
            return
        first = next(
            (
                t
                for t in (output if isinstance(output, tuple | list) else (output,))
                if isinstance(t, Tensor) and node_of(t) is not None
            ),
            None,
        )
        if first is not None:
            self._evaluated.append(_Evaluation(module, first))

    def _settle_evaluations(self) -> None:
        for one in self._evaluated:
            one.handle.remove()
            if not one.used:
                self._unused.setdefault(one.where, one)
        self._evaluated = []

    # --- the search -------------------------------------------------------------------------------------------------
    def _search(self) -> list[Leak]:
        out = [one.leak() for one in self._unused.values()]
        if _grows(self._old):
            out += self._graphs(bool(out))
        lines = {one.where for one in out}
        out += [leak for leak in self._piles() if leak.where not in lines]
        return out

    def _graphs(self, evaluating: bool, least: int = ENOUGH - 1) -> list[Leak]:
        living = Population()
        first, last = self._marks[0], self._marks[-2]
        old = {id(node): node for node in living.nodes if first < node._sequence_nr() <= last}
        held = {address: size for node in old.values() for address, size in _held(node)}
        size = f"{count_text(len(old), 'node')} and {size_text(sum(held.values()))} of earlier steps"
        out: list[Leak] = []
        crossing: dict[Line | None, Node] = {}
        for node in living.nodes:  # a node of the last step that reads one of an earlier step
            if (
                leaf_behind(node) is None
                and node._sequence_nr() > last
                and any(id(x) in old for x, _ in node.next_functions)
            ):
                crossing.setdefault(line_at(node_place(node)), node)
        for where, node in crossing.items():
            before = [t for t in living.tensors if node_of(t) is node]
            out.append(_carried(where, size, before, [living.tensors, living.nodes, before]))
        groups: dict[str, list[tuple[Tensor, Referrer]]] = {}
        holders = [t for t in living.tensors if id(node_of(t)) in old]
        for t in holders[-4 * ENOUGH :]:  # enough to know who they are
            for one in referrers(t, ignore=(living.tensors, living.nodes, holders, *groups.values())):
                if one.holder is not None and one.kind in ("element", "attribute", "closure"):
                    groups.setdefault(one.holder, []).append((t, one))
                    break
        for holder, members in groups.items():
            if len(members) >= least:
                out.append(_piled(holder, members[-1][0], members[-1][1], len(holders), size, evaluating))
        if not out:
            where = next((line_at(node_place(node)) for node in old.values()), None)
            out.append(
                Leak(
                    "graph grows",
                    f"{size} are still alive, but no name for what keeps them was found",
                    where,
                    "use debug.referrers(tensor) for a tensor of that line",
                )
            )
        return out

    def _piles(self) -> list[Leak]:
        """Tensors without a graph that a line made and that became more in every step."""
        out = []
        for place in self._tensors[-1] if self._tensors else ():
            counts, sizes = [seen[place] for seen in self._tensors], [seen[place] for seen in self._bytes]
            if not _grows(counts) or not _grows(sizes) or place is None:
                continue
            living = Population()
            made = [t for t in living.tensors if _made_at(t) == place and node_of(t) is None]
            gradients = {id(own_grad(t)) for t in living.tensors}
            if len(made) < ENOUGH or any(id(t) in gradients for t in made):
                continue
            names = [one for one in referrers(made[-1], ignore=(living.tensors, made)) if one.kind != "graph"][:2]
            more, bytes_ = counts[-1] - counts[-2], size_text(sizes[-1] - sizes[-2])
            out.append(
                Leak(
                    "memory grows",
                    f"{count_text(more, 'tensor')} ({bytes_}) more after every step",
                    line_at(place),
                    "if it is not meant: keep numbers (`.item()`), or the newest only",
                    tuple(names),
                )
            )
        return out

    def __str__(self) -> str:
        if not self.findings:
            more = "" if self.steps > ENOUGH else f" (at least {ENOUGH + 1} are needed)"
            return f"nothing grows after {count_text(self.steps, 'step')}{more}"
        return "\n".join(str(one) for one in self.findings)

    __repr__ = __str__


class _Evaluation:
    """A call of a model in evaluation mode that recorded a graph. It is used if a backward pass goes through it."""

    def __init__(self, module: Any, output: Tensor) -> None:
        self.kind, self.used = type(module).__name__, False
        self.module = weakref.ref(module)
        node = output.grad_fn
        assert node is not None
        self.where = line_at(node_place(node))
        self.bytes = _held_below(node)
        self.handle = node.register_prehook(self._note)

    def _note(self, grads: Any) -> None:
        self.used = True

    def leak(self) -> Leak:
        module = self.module()
        name = (Names().of(module) if module is not None else None) or self.kind
        return Leak(
            "evaluation records a graph",
            f"`{name}` is in evaluation mode, but its call recorded a graph of "
            f"{size_text(self.bytes)} that no backward used",
            self.where,
            "put `with torch.no_grad():` around the evaluation",
        )


def _carried(where: Line | None, size: str, tensors: list[Tensor], ignore: list[Any]) -> Leak:
    """The leak of a line that reads a value of an earlier step."""
    names = [one for t in tensors for one in referrers(t, ignore=ignore) if one.kind in ("variable", "attribute")][:1]
    found = None if where is None else _sources.accumulation_at(where)
    if found is not None:
        total, added, instead = found
        return Leak(
            "graph grows",
            f"`{total}` keeps the graph of every `{added}`: {size}",
            where,
            f"use `{instead}`",
            tuple(names),
        )
    carried = [] if where is None else _sources.carried_at(where)
    name = carried[0] if carried else names[0].name if names else None
    if name is not None:
        return Leak(
            "graph grows",
            f"`{name}` is a value of the step before, with its graph: {size}",
            where,
            f"cut it between steps: `{name} = {name}.detach()`",
            tuple(names),
        )
    return Leak(
        "graph grows",
        f"this line reads a value of the step before, with its graph: {size}",
        where,
        "cut that value between steps with `.detach()`",
    )


def _piled(holder: str, t: Tensor, one: Referrer, count: int, size: str, evaluating: bool) -> Leak:
    """The leak of a list that gets a tensor with its graph in every step."""
    how = "item" if t.numel() == 1 else "detach"
    made = line_at(place_of(t))
    files = dict.fromkeys(
        [frame.f_code.co_filename for frame in user_frames()] + ([made.file] if made is not None else [])
    )
    for file in files:
        own = one.where.line if one.where is not None and one.where.file == file else None
        for line, source, instead in _sources.additions(file, holder, own):
            way = f"use `{instead.format(how)}`" + (", or `with torch.no_grad():`" if evaluating else "")
            return Leak(
                "graph grows",
                f"`{holder}` keeps {count_text(count, 'tensor')} with their graphs: {size}",
                Line(file, line, one.function or "<module>", source),
                way,
                (one,),
            )
    return Leak(
        "graph grows",
        f"`{holder}` keeps {count_text(count, 'tensor')} with their graphs: {size}",
        made,
        f"put `.{how}()` of the tensor there",
        (one,),
    )


def _grows(amounts: list[int]) -> bool:
    """Whether there was more after each of the last steps than after the one before."""
    last = amounts[-ENOUGH - 1 :]
    return len(last) > ENOUGH and all(a < b for a, b in itertools.pairwise(last))


def kept_graphs(marks: list[int]) -> list[Leak]:
    """Who keeps the nodes between the first mark and the last but one, given that they are still there."""
    watch = leaks()
    watch._marks = marks
    return watch._graphs(evaluating=False, least=1)


def latest_node() -> int:
    """The number of the newest node: a new one has it."""
    return (ones(1, requires_grad=True) * 1).grad_fn._sequence_nr()


def _made_at(t: Tensor) -> tuple[CodeType, int] | None:
    return (_ledger.unrecorded_origin(t) if node_of(t) is None else None) or place_of(t)


def _held(node: Node) -> list[tuple[int, int]]:
    """Address and size of what a node saved."""
    return [block_of(x)[:2] for x, _, _ in saved_in(node) if isinstance(x, Storage | Tensor)]


def _held_below(node: Node) -> int:
    seen, waiting, blocks = {id(node)}, [node], dict[int, int]()
    while waiting:
        one = waiting.pop()
        blocks.update(_held(one))
        for below, _ in one.next_functions:
            if below is not None and id(below) not in seen and leaf_behind(below) is None:
                seen.add(id(below))
                waiting.append(below)
    return sum(blocks.values())
