"""`check`: run one training step and say what is certainly wrong with it."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from claygrad.core.graph.memory_holders import own_grad
from claygrad.debug import _rules
from claygrad.debug._leaks import kept_graphs, latest_node
from claygrad.debug._names import Names, module_paths
from claygrad.debug._places import Line
from claygrad.debug._walk import Population
from claygrad.debug._watching import Watch
from claygrad.nn import Module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: the rule's name, what was seen, the line, the way out."""

    rule: str
    text: str
    where: Line | None
    way_out: str

    def __str__(self) -> str:
        at = f"\n  at {self.where}" if self.where is not None else ""
        return f"{self.rule}: {self.text}{at}\n  {self.way_out}"

    __repr__ = __str__


class Report:
    """What `check` found, in order; false if that is nothing."""

    def __init__(self, findings: list[Finding]) -> None:
        self.findings = findings

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __str__(self) -> str:
        return "\n".join(str(one) for one in self.findings) or "nothing wrong was found"

    __repr__ = __str__


def check(model: Module, step: Callable[[], Any]) -> Report:
    """Run one training step of a model and report what is certainly wrong with it.

    `step` is a function without arguments that does what the training loop does with one batch: clear the gradients,
    compute the loss, go backward, let the optimizer step. It is really run: parameters change. It is run a second time
    where one run cannot tell (gradients that nobody cleared, a graph that was kept).

    Reported are: a loss that broadcasts (n, 1) against (n,), softmax before cross-entropy and its kin, parameters
    without a gradient and modules that never ran, an optimizer that misses parameters, gradients that nobody clears, a
    model in evaluation mode, layers whose units are all dead, a graph that is kept, a loss that is cut from the model,
    gradients that are cleared before they are used, layers that forward makes anew, softmax over one unit.

    >>> model = claygrad.nn.Sequential(claygrad.nn.Linear(4, 3), claygrad.nn.Softmax(-1))
    >>> optimizer = claygrad.optim.SGD(model.parameters(), lr=0.1)
    >>> def step():
    ...     optimizer.zero_grad()
    ...     claygrad.nn.functional.cross_entropy(model(claygrad.ones(2, 4)), claygrad.tensor([0, 2])).backward()
    ...     optimizer.step()
    >>> claygrad.debug.check(model, step).findings[0].rule
    'softmax before cross-entropy'
    """
    if not isinstance(model, Module):
        raise TypeError(
            f"check() takes a module and a function that runs one training step, not {type(model).__name__}"
        )
    if not callable(step):
        raise TypeError(
            f"check(): `step` is a function without arguments that runs one training step, not {type(step).__name__}"
        )
    session = Session(model)
    cut: RuntimeError | None = None
    try:
        with session:
            step()
    except RuntimeError as error:
        if "does not require grad" not in str(error):
            raise
        cut = error
    found = session.findings(cut)
    if cut is None:
        found += _again(session, step)
    return Report(found)


class Session:
    """A context for each run of a step, and what is found in them."""

    def __init__(self, model: Module) -> None:
        self.model = model
        self.watch = Watch(model)
        self.trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self._before = {name: p.detach().clone() for name, p in self.trained.items()}
        self.marks = [latest_node()]

    def __enter__(self) -> None:
        self.watch.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.watch.__exit__(kind, error, trace)
        self.marks.append(latest_node())

    def facts(self) -> _rules.Facts:
        """What is known by now."""
        names = Names()
        root = names.of(self.model) or "model"
        changed = any(
            p.shape == self._before[name].shape and not p.detach().equal(self._before[name])
            for name, p in self.trained.items()
        )
        return _rules.Facts(
            self.model, self.watch, self.trained, changed, module_paths(self.model.modules(), names), root, _optimized()
        )

    def findings(self, cut: RuntimeError | None = None) -> list[Finding]:
        """What one run tells."""
        return [Finding(*one) for one in _rules.findings(self.facts(), cut)]

    def piled(self) -> list[Finding]:
        """Gradients that were not cleared, which the second of two runs tells."""
        return [Finding(*one) for one in _rules.piled(self.facts())] if self.watch.piled else []


def _optimized() -> set[int]:
    """The parameters of all optimizers that there are."""
    gc.collect()
    return {id(p) for optimizer in Population().optimizers for group in optimizer.param_groups for p in group["params"]}


def _graph_remains(marks: list[int]) -> bool:
    """Whether nodes of the first run are alive."""
    gc.collect()
    return any(marks[0] < node._sequence_nr() <= marks[1] for node in Population().nodes)


def _again(session: Session, step: Callable[[], Any]) -> list[Finding]:
    """What only a second run can tell, if the first gives reason for one."""
    watch, out = session.watch, list[Finding]()
    uncleared = not watch.cleared and any(
        (grad := own_grad(p)) is not None and id(p) in watch.used and bool((grad != 0).any())
        for p in session.trained.values()
    )
    idle = watch.cleared and bool(watch.arrived) and not session.facts().changed
    if not watch.piled and (uncleared or idle or _graph_remains(session.marks)):
        try:
            with session:
                step()
        except StopIteration:  # the data is at its end
            return out
        if _graph_remains(session.marks):
            out += [
                Finding("graph kept between steps", leak.text, leak.where, leak.way_out)
                for leak in kept_graphs(session.marks)
            ]
    return out + session.piled() + ([Finding(*one) for one in _rules.wasted(session.facts())] if idle else [])
