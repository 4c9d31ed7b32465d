"""`claygrad.graph`: what it takes, and what the picture can do."""
from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from claygrad.autograd.graph import get_gradient_edge
from claygrad.core import Node, Tensor
from claygrad.debug.graphs import _dot, _page, _text
from claygrad.debug.graphs._failing import Failure
from claygrad.debug.graphs._names import Names, variables_of
from claygrad.debug.graphs._steps import FAILED, OPERATION, PARAMETER, Step, Steps
from claygrad.debug.graphs._tree import Group, build
from claygrad.nn import Module

if TYPE_CHECKING:
    from collections.abc import Iterator


class Graph:
    """The autograd graph of tensors, as it was when it was read. It keeps neither the graph nor its memory alive.

    `print` it, leave it in the last line of a notebook's cell, or `save` it as a page.
    """

    def __init__(self, steps: list[Step], tree: Group, title: str = "graph", failure: str = "") -> None:
        self.steps, self.tree, self.title, self.failure = steps, tree, title, failure
        self.has_norms = any(step.norm is not None for step in steps)

    @property
    def summary(self) -> str:
        """What is in it, in one line."""
        operations = sum(step.kind == OPERATION for step in self.steps)
        parameters = [step for step in self.steps if step.kind == PARAMETER]
        numbers = sum(_product(step.shape) for step in parameters)
        of_them = "no parameters"
        if parameters:
            of_them = f"{_count(len(parameters), 'parameter')} with {_count(numbers, 'number')}"
        return (f"graph of {self.title}: {_count(operations, 'operation')}, {of_them}, "
                f"{_text.bytes_text(self.kept_in(self.tree))} kept for backward")

    def __str__(self) -> str:
        return _text.text(self)

    def __repr__(self) -> str:
        return f"<{self.summary}>"

    def text(self, depth: int | None = None) -> str:
        """Lines for the terminal with `depth` levels of modules; by default as many as fit on a screen."""
        return _text.text(self, depth)

    def html(self) -> str:
        """A page that needs nothing else: no network, no Graphviz."""
        return _page.page(self)

    def _repr_html_(self) -> str:
        return _page.frame(self)

    def dot(self) -> str:
        """The graph in Graphviz's language."""
        return _dot.dot(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file, of the kind that its name says: `.html`, `.dot` or `.gv`, `.txt`."""
        kind = os.path.splitext(os.fspath(path))[1].lower()
        makers = {".html": self.html, ".htm": self.html, ".dot": self.dot, ".gv": self.dot, ".txt": self.__str__}
        if kind not in makers:
            raise ValueError(f"graph.save() writes .html, .dot, .gv and .txt files, not {os.fspath(path)!r}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(makers[kind]())

    def path_to(self, name: str) -> Graph:
        """The part of the graph through which the gradient reaches a parameter or an input, by its name."""
        from claygrad.debug.graphs._paths import restricted
        return restricted(self, name)

    # What the forms of it ask
    def short_name(self, number: int) -> str:
        """The name of a leaf inside the module that has it."""
        step = self.steps[number]
        return step.name.rpartition(".")[2] if step.kind == PARAMETER else step.name

    def given_to(self, number: int) -> str:
        """The shapes that an operation got which failed before it was recorded."""
        step = self.steps[number]
        if step.kind != FAILED or step.shape is not None:
            return ""
        return ", ".join(_text.shape_text(self.steps[before].shape) for before in step.inputs)

    def kept_in(self, group: Group) -> int:
        """The bytes kept for backward below a group, each memory once."""
        memory: dict[int, int] = {}
        for number in group.steps():
            memory.update(self.steps[number].memory)
        return sum(memory.values())

    def result_of(self, group: Group) -> Step | None:
        """The last operation of a group."""
        last = None
        for number in group.steps():
            step = self.steps[number]
            if step.kind == OPERATION and (last is None or step.order >= last.order):
                last = step
        return last

    def line_of(self, group: Group) -> str:
        """The line of a group, if all its operations have the same."""
        operations = (self.steps[number] for number in group.steps() if self.steps[number].kind == OPERATION)
        lines = {_text.line_text(step) for step in operations}
        return lines.pop() if len(lines) == 1 else ""

    def holds_failure(self, group: Group) -> bool:
        """Whether a step below went wrong."""
        return bool(self.failure) and any(self.steps[number].kind == FAILED for number in group.steps())


def graph(of: Any, model: Module | None = None, *, gradients: bool = False) -> Graph:
    """The autograd graph of a tensor, or of several in a list, tuple or dict; of an exception, what had been built.

    `model` names the parameters; without it they are named after the modules that were called. `gradients` runs
    backward once, without adding to any `.grad`, and shows the norm of the gradient at each operation (of several
    elements: that of their sum). Otherwise those of the leaves that have a `.grad` are shown.
    """
    return _graph(of, model, gradients, sys._getframe(1))


def _graph(of: Any, model: Module | None, gradients: bool, frame: Any) -> Graph:
    if model is not None and not isinstance(model, Module):
        raise TypeError(f"graph() takes a module as its model, not {type(model).__name__}")
    if isinstance(of, BaseException):
        if gradients:
            raise ValueError("graph() of an exception has no gradients: the program did not get that far")
        return Failure(of, model).graph()
    tensors = _tensors(of)
    names = Names(variables_of(frame), model)
    titles = [names.of(t) for t in tensors]
    nodes: list[Node] = [get_gradient_edge(t).node for t in tensors if t.requires_grad]
    if not nodes:
        raise ValueError("graph() got nothing that has a graph: " + "; ".join(_why_none(t) for t in tensors[:3]))
    steps = Steps(nodes)
    if gradients:
        steps.measure(tensors)
    names.name_steps(steps)
    for t, title in zip(tensors, titles, strict=True):
        number = steps.number_of(t)
        if number is not None and title and steps.found[number].kind == OPERATION:
            steps.found[number].result = title
    steps.drop_nodes()
    tree = build(steps.found, names.label_of)
    _forget_calls(tree, steps.found)
    title = ", ".join(title or "a tensor" for title in titles[:3]) + (" …" if len(titles) > 3 else "")
    return Graph(steps.found, tree, title)


def _forget_calls(tree: Group, steps: list[Step]) -> None:
    for step in steps:
        step.call = None
    waiting = [tree]
    while waiting:
        group = waiting.pop()
        group.call = None
        waiting.extend(child for child in group.children if isinstance(child, Group))


def _tensors(of: Any) -> list[Tensor]:
    if isinstance(of, Tensor):
        return [of]
    if isinstance(of, dict):
        of = list(of.values())
    if isinstance(of, (list, tuple)) and of and all(isinstance(t, Tensor) for t in of):
        return list(of)
    empty = "an empty " if isinstance(of, (list, tuple)) and not of else ""
    raise TypeError("graph() takes a tensor, several in a list, tuple or dict, or an exception, "
                    f"not {empty}{type(of).__name__}")


def _why_none(t: Tensor) -> str:
    where = t.origin
    text = f"a tensor of shape {_text.shape_text(tuple(t.shape))} that does not require grad"
    return text if where is None else f"{text}, from {_text.file_text(where[0])}:{where[1]}: {where[3]}"


@contextmanager
def graph_on_error(path: str | os.PathLike[str], model: Module | None = None) -> Iterator[None]:
    """When the block fails, write the graph that it had built, the failure marked, and let the exception go on."""
    try:
        yield
    except Exception as error:
        try:
            Failure(error, model).graph().save(path)
        except Exception as second:
            error.add_note(f"its graph could not be drawn: {second}")
        else:
            error.add_note(f"the graph that was built until then is in {os.fspath(path)}")
        raise


def _product(shape: tuple[int, ...] | None) -> int:
    n = 1
    for size in shape or ():
        n *= size
    return n


def _count(n: int, thing: str) -> str:
    return f"{n:,} {thing}" if n == 1 else f"{n:,} {thing}s"
