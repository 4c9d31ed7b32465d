"""What a program calls its tensors and modules."""
from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any

from claygrad.core.graph.module_paths import name_in
from claygrad.debug.graphs._steps import INPUT, PARAMETER, Steps, chain_of
from claygrad.nn import Module, Parameter

if TYPE_CHECKING:
    from types import FrameType


def variables_of(frame: FrameType) -> dict[str, Any]:
    """The variables that a line of a frame sees, with those of its module."""
    here = frame.f_locals
    found = {**frame.f_globals, **here}
    if frame.f_code.co_flags & inspect.CO_OPTIMIZED and type(here) is dict and sys.gettrace() is None:
        here.clear()                                 # a snapshot, which would keep its values alive
    return found


class Names:
    """The names of modules, parameters and inputs of one graph."""

    def __init__(self, variables: dict[str, Any], model: Module | None = None) -> None:
        self.variables: dict[int, str] = {}
        for name, value in variables.items():
            if name.isidentifier() and not name.startswith("_") and name != "self":
                self.variables.setdefault(id(value), name)
        self.model = model
        self.roots: list[Module] = [] if model is None else [model]
        self._met: set[int] = set()
        self.labels: dict[int, tuple[str, str]] = {}

    def of(self, x: Any) -> str:
        """The variable that holds an object, or ""."""
        return self.variables.get(id(x), "")

    def add_root(self, module: Module) -> None:
        """An outermost module, unless it is in one of those that are known."""
        if id(module) not in self._met:
            self._met.add(id(module))
            if not any(root is module or name_in(root, module) for root in self.roots):
                self.roots.append(module)

    def name_steps(self, steps: Steps) -> None:
        """Find the outermost modules and name the leaves after them."""
        for step in steps.found:
            chain = chain_of(step.call)
            module = chain[0].module if chain else None
            if module is not None:
                self.add_root(module)
        owners = [root for root in self.roots if next(root.parameters(), None) is not None]
        names: dict[int, str] = {}
        for root in owners:
            prefix = "" if len(owners) == 1 or root is self.model else f"{self.root_name(root)}."
            for name, p in root.named_parameters():
                names.setdefault(id(p), prefix + name)
        inputs = 0
        for i, variable in steps.variables.items():
            step = steps.found[i]
            if id(variable) in names or isinstance(variable, Parameter):
                step.kind, step.name = PARAMETER, names.get(id(variable)) or self.of(variable) or "parameter"
            else:
                inputs += 1
                step.kind, step.name = INPUT, self.of(variable) or f"input {inputs}"

    def root_name(self, root: Module) -> str:
        """A variable, or the class with a number where several are alike."""
        alike = [module for module in self.roots if type(module) is type(root)]
        name = type(root).__name__
        return self.of(root) or (name if len(alike) == 1 else f"{name} {alike.index(root) + 1}")

    def label_of(self, call: Any) -> tuple[str, str]:
        """The label of a call inside the one around it, and its whole path."""
        if call.number not in self.labels:
            self.labels[call.number] = self._label_of(call)
        return self.labels[call.number]

    def _label_of(self, call: Any) -> tuple[str, str]:
        module, outer = call.module, call.outer
        if outer is None:
            if module is None:
                return call.kind.__name__, ""
            for root in self.roots:
                inside = None if root is module else name_in(root, module)
                if inside:                           # called by itself: `model.encoder(x)`
                    return inside, inside
            return self.root_name(module), ""
        around = self.label_of(outer)[1]
        path = call.path
        if around and not path.startswith(around):   # below a part of the model that was called by itself
            path = f"{around}.{path}"
        if outer.module is module and module is not None:
            return path.rpartition(".")[2] or call.kind.__name__, path
        return path[len(around) + 1:] if around and path.startswith(f"{around}.") else path, path
