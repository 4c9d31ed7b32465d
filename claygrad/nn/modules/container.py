"""Modules that contain modules: in sequence, in a list, in a dictionary."""
from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from itertools import chain
from typing import TYPE_CHECKING, Any

from claygrad.core.graph.module_call import prepare_sequence
from claygrad.core.user_warnings import warn
from claygrad.nn.modules.module import Module

if TYPE_CHECKING:
    from typing import Self

    from claygrad.core import Tensor

__all__ = ["Container", "ModuleDict", "ModuleList", "Sequential"]


class Container(Module):
    """Deprecated: a module with the children given. Use `Module`."""

    def __init__(self, **kwargs: Any) -> None:
        warn("`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. "
             "Subclass that instead.", FutureWarning)
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


class _Row(Module):
    """Children in order; their names are their indices."""

    _modules: dict[str, Any]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def _name_at(self, idx: int) -> str:
        idx = operator.index(idx)
        if not -len(self) <= idx < len(self):
            raise IndexError(f"index {idx} is out of range")
        return list(self._modules)[idx]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._name_at(idx), module)

    def __delitem__(self, idx: int | slice) -> None:
        for name in list(self._modules)[idx] if isinstance(idx, slice) else [self._name_at(idx)]:
            delattr(self, name)
        self._modules = OrderedDict((str(i), module) for i, module in enumerate(self))

    def _insert(self, index: int, module: Any) -> None:
        for i in range(len(self), index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module

    def append(self, module: Any) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]


class Sequential(_Row):
    """Calls modules one after the other: each gets the output of the one before. Pass the modules, or an OrderedDict of
    them.

    >>> claygrad.nn.Sequential(claygrad.nn.Identity(), claygrad.nn.Identity())(claygrad.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], OrderedDict) else (
            (str(i), module) for i, module in enumerate(args))
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input: Any) -> Tensor:
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return self._modules[self._name_at(idx)]

    def _check_addend(self, other: object) -> None:
        if not isinstance(other, Sequential):
            raise ValueError("add operator supports only objects of Sequential class, but "
                             f"{type(other)} is given.")

    def _check_factor(self, other: object) -> None:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")

    def __add__(self, other: Sequential) -> Sequential:
        self._check_addend(other)
        return Sequential().extend(self).extend(other)

    def __iadd__(self, other: Sequential) -> Self:
        self._check_addend(other)
        return self.extend(list(other))

    def __mul__(self, other: int) -> Sequential:
        self._check_factor(other)
        return Sequential().extend(list(self) * other)

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        self._check_factor(other)
        return self.extend(list(self) * (other - 1))

    def pop(self, key: int | slice) -> Any:
        """Take out the module at a place, and return it."""
        found = self[key]
        del self[key]
        return found

    def insert(self, index: int, module: Module) -> Self:
        """Put a module before the one at a place."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        n = len(self)
        if not -n <= index <= n:
            raise IndexError(f"Index out of range: {index}")
        self._insert(index + n if index < 0 else index, module)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add modules at the end."""
        for module in sequential:
            self.append(module)
        return self


prepare_sequence(Sequential.forward)


class ModuleList(_Row):
    """A list of modules. They are children of the list, so their parameters are found, saved and moved.

    >>> len(claygrad.nn.ModuleList([claygrad.nn.Identity() for _ in range(3)]))
    3
    """

    def __init__(self, modules: Iterable[Any] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(list(self._modules.values())[idx])
        return self._modules[self._name_at(idx)]

    def __add__(self, other: Iterable[Any]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __iadd__(self, other: Iterable[Any]) -> Self:
        return self.extend(other)

    def insert(self, index: int, module: Any) -> None:
        """Put a module before the one at a place."""
        self._insert(index, module)

    def pop(self, key: int | slice) -> Any:
        """Take out the module at a place, and return it."""
        found = self[key]
        del self[key]
        return found

    def extend(self, modules: Iterable[Any]) -> Self:
        """Add modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        start = len(self)
        for i, module in enumerate(modules):
            self.add_module(str(start + i), module)
        return self

    def __repr__(self) -> str:
        runs: list[list[Any]] = []      # equal neighbours are told once: [first, last, text]
        for i, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        if not runs:
            return f"{self._get_name()}()"
        lines = [f"({i}): {text}" if i == j else f"({i}-{j}): {j - i + 1} x {text}" for i, j, text in runs]
        inside = "\n".join(lines).replace("\n", "\n  ")
        return f"{self._get_name()}(\n  {inside}\n)"


class ModuleDict(Module):
    """A dictionary of modules, in insertion order. They are children of it, so their parameters are found, saved and
    moved.

    >>> list(claygrad.nn.ModuleDict({"a": claygrad.nn.Identity()}))
    ['a']
    """

    _modules: dict[str, Any]

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take out all."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Take out one, and return it."""
        return self._modules.pop(key)

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._modules.keys()

    def items(self) -> ItemsView[str, Any]:
        """Pairs of name and module."""
        return self._modules.items()

    def values(self) -> ValuesView[Any]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add modules from a mapping or from pairs of name and module."""
        for key, module in pairs_of(modules, "ModuleDict.update", "ModuleDict", ModuleDict):
            self[key] = module


def pairs_of(given: Any, call: str, name: str, kind: type) -> Iterator[tuple[str, Any]]:
    """Keys and values of what `update` was given: a mapping, a container of the same kind, or pairs."""
    if not isinstance(given, Iterable):
        raise TypeError(f"{call} should be called with an iterable of key/value pairs, but got {type(given).__name__}")
    if isinstance(given, (Mapping, kind)):
        yield from given.items()        # type: ignore[attr-defined]
        return
    for i, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{name} update sequence element #{i} should be Iterable; is{type(pair).__name__}")
        if len(pair) != 2:              # type: ignore[arg-type]
            raise ValueError(f"{name} update sequence element #{i} has length {len(pair)}; "  # type: ignore[arg-type]
                             "2 is required")
        key, value = pair
        yield key, value
