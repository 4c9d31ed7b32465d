"""Scripted modules: modules as they were, with the class and the attributes that programs look for."""
from __future__ import annotations

import copy
import functools
from typing import Any, NamedTuple, NoReturn

from claygrad.jit._files import no_file, no_graph
from claygrad.nn.modules.module import Module


class TracerWarning(Warning):
    """What a trace would warn of."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Nothing to ignore: no trace warns."""


class ScriptWarning(Warning):
    """What scripting would warn of."""


class TracingCheckError(Exception):
    """Two traces of one function differ."""

    def __init__(self, graph_diff_error: Any, tensor_compare_error: Any, extra_msg: str | None = None) -> None:
        self.message = "Tracing failed sanity checks!\n" + "".join(
            f"{one}\n" for one in (extra_msg, graph_diff_error, tensor_compare_error) if one)
        super().__init__(self.message)


class Attribute(NamedTuple):
    """A value of a scripted module, with its type."""

    value: Any
    type: Any


class ScriptModule(Module):
    """A module for TorchScript, which here stays Python. Attributes given as `Attribute` hold their value."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value.value if isinstance(value, Attribute) else value)

    @property
    def original_name(self) -> str:
        """The name of the class that was written."""
        return type(self).__name__

    def save(self, f: Any, **kwargs: Any) -> NoReturn:
        """Refused: a scripted model cannot be written to a file."""
        raise no_file("ScriptModule.save")

    def save_to_buffer(self, **kwargs: Any) -> NoReturn:
        """Refused: a scripted model cannot be written to a file."""
        raise no_file("ScriptModule.save_to_buffer")

    @property
    def graph(self) -> NoReturn:
        """Refused: there is no graph."""
        raise no_graph("ScriptModule.graph")

    @property
    def inlined_graph(self) -> NoReturn:
        """Refused: there is no graph."""
        raise no_graph("ScriptModule.inlined_graph")

    @property
    def code(self) -> NoReturn:
        """Refused: there is no code but the module's own."""
        raise no_graph("ScriptModule.code")

    @property
    def code_with_constants(self) -> NoReturn:
        """Refused: there is no code but the module's own."""
        raise no_graph("ScriptModule.code_with_constants")

    def graph_for(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: there is no graph."""
        raise no_graph("ScriptModule.graph_for")


class RecursiveScriptModule(ScriptModule):
    """A module that was given to `script`, and its children likewise."""

    @property
    def original_name(self) -> str:
        """The name of the class that was written."""
        return type(self).__name__ if type(self) is not RecursiveScriptModule else "Module"

    def _get_name(self) -> str:
        return "RecursiveScriptModule"

    def extra_repr(self) -> str:
        """The name of the class that was written."""
        return f"original_name={self.original_name}"

    def __copy__(self) -> Any:
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = object.__new__(type(self))
        memo[id(self)] = made
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return made

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise no_file("pickling a scripted module")


class TracedModule(RecursiveScriptModule):
    """A module that was given to `trace`."""


class TopLevelTracedModule(TracedModule):
    """The outermost of traced modules."""

    def _get_name(self) -> str:
        return "TopLevelTracedModule"


@functools.cache
def scripted_class(cls: type[Module], kind: type[RecursiveScriptModule]) -> type[Module]:
    """The class of a module once it is scripted: its own, which stays in charge of what it defines."""
    made: type[Module] = type(cls.__name__, (kind, cls),
                              {"__module__": cls.__module__, "__qualname__": cls.__qualname__})
    return made


def scripted(module: Module, kind: type[RecursiveScriptModule], memo: dict[int, Module]) -> Module:
    """The module as a scripted one: the same parameters and buffers, children that are scripted too."""
    if isinstance(module, ScriptModule):
        return module
    if id(module) not in memo:
        made: Any = object.__new__(scripted_class(type(module), kind))      # type: ignore[arg-type]
        memo[id(module)] = made
        made.__dict__.update(module.__dict__)
        inner = RecursiveScriptModule if kind is not TopLevelTracedModule else TracedModule
        made.__dict__["_parameters"] = module._parameters.copy()
        made.__dict__["_buffers"] = module._buffers.copy()
        made.__dict__["_modules"] = type(module._modules)(
            (name, child and scripted(child, inner, memo)) for name, child in module._modules.items())
    return memo[id(module)]
