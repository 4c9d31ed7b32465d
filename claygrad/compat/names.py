"""Names that exist so that other packages find them, made from tables when they are asked for.

`names.txt` lists what PyTorch has where claygrad has nothing: a line for a module, below it its names by kind. They may
be imported, mentioned in `isinstance` and annotations, and subclassed; used, they raise `NotImplementedError` with the
reason and the way out (`absent`). Where a name has an answer all the same (`torch.distributed.is_available()` is
False), a module in `answers/` of the same path gives it. `reexports.txt` lists names that live elsewhere: packages
import `Optimizer` from `torch.optim.lr_scheduler` too. Regenerate the lists with `python -m tests.oracle.names.make`
and `python -m tests.oracle.names.make_reexports`.

`inner_modules.xz` lists in the same form all other modules of PyTorch, which few packages ask for. It is made from
their source by `python -m tests.oracle.names.make_inner_modules`.
"""
from __future__ import annotations

import enum
import functools
import importlib
import importlib.machinery
import importlib.util
import lzma
import re
import sys
import types
from ast import literal_eval
from pathlib import Path
from typing import Any

from claygrad.compat.absent import message
from claygrad.compat.refusing import RefusingObject, refusing_class, refusing_function

ANSWERS = "claygrad.compat.answers"


@functools.cache
def table() -> dict[str, dict[str, tuple[str, str]]]:
    """The list: by module, by name, the kind and what is written after the name."""
    return _read(Path(__file__).with_suffix(".txt").read_text())


@functools.cache
def _inner_modules() -> dict[str, dict[str, tuple[str, str]]]:
    return _read(lzma.decompress(Path(__file__).with_name("inner_modules.xz").read_bytes()).decode())


def names_of(module: str) -> dict[str, tuple[str, str]] | None:
    """The names of one of PyTorch's modules that have no counterpart; None if it has no such module."""
    known = table().get(module)
    return known if known is not None else _inner_modules().get(module)


def _read(text: str) -> dict[str, dict[str, tuple[str, str]]]:
    modules: dict[str, dict[str, tuple[str, str]]] = {}
    names: dict[str, tuple[str, str]] = {}
    for line in text.splitlines():
        if not line.startswith(" "):
            names = modules.setdefault(line, {})
            continue
        kind, _, rest = line.strip().partition(" ")
        if kind in ("enum", "value", "group"):
            name, _, text = rest.partition(" ")
            names[name] = kind, text
        elif kind == "same":
            names.update((full.rpartition(".")[2], (kind, full)) for full in rest.split())
        else:
            names.update(dict.fromkeys(rest.split(), (kind, "")))
    return modules


@functools.cache
def reexports() -> dict[str, dict[str, str]]:
    """Names that a module of PyTorch has because it imports them: by module, by name, the module where it lives."""
    modules: dict[str, dict[str, str]] = {}
    homes: dict[str, str] = {}
    for line in Path(__file__).with_name("reexports.txt").read_text().splitlines():
        if not line.startswith(" "):
            homes = modules.setdefault(line, {})
        else:
            home, *names = line.split()
            homes.update(dict.fromkeys(names, home))
    return modules


def torch_name(module: str) -> str:
    """The name of one of claygrad's modules in PyTorch."""
    return "torch" + module.removeprefix("claygrad") if module.startswith("claygrad") else module


def our_name(module: str) -> str:
    """The name of one of PyTorch's modules in claygrad."""
    return "claygrad" + module.removeprefix("torch") if module.startswith("torch") else module


def make(module: str, name: str, kind: str, text: str) -> Any:
    """The object behind a name of the list."""
    full = f"{torch_name(module)}.{name}"
    if kind == "module":
        return importlib.import_module(f"{our_name(module)}.{name}")
    if kind == "same":
        home = text.rpartition(".")[0]
        return getattr(importlib.import_module(our_name(home)), name)
    if kind == "value":
        return literal_eval(text)
    if kind == "group":
        return types.SimpleNamespace(**literal_eval(text))
    if kind == "any":
        return Any
    if kind == "function":
        return _is_available if _ASKS.fullmatch(name) else refusing_function(full)
    if kind == "object":
        return RefusingObject(full)
    if kind == "protocol":
        return types.new_class(name, (), exec_body=lambda body: body.update(__module__=torch_name(module)))
    if kind == "enum":
        members = [word.partition("=") for word in text.split()]
        return enum.Enum(name, [(key, literal_eval(value) if value else order)
                                for order, (key, _, value) in enumerate(members)], module=torch_name(module))
    return refusing_class(full, _base(kind.removeprefix("class").strip("()")))


_ASKS = re.compile(r"is_(\w+_)?available|has_triton\w*")


def _is_available(*args: Any, **kwargs: Any) -> bool:
    """Whether claygrad has this part of PyTorch, of which there are only names: False."""
    return False


def _base(name: str) -> type:
    """`RuntimeError`, or `torch.nn.modules.module.Module`; object where nothing is named."""
    home, _, last = name.rpartition(".")
    base: type = getattr(importlib.import_module(our_name(home) if home else "builtins"), last or "object")
    return base


def answers(module: str) -> types.ModuleType | None:
    """The module in `answers/` that speaks for one of PyTorch's modules, if there is one."""
    path = ANSWERS + (module.removeprefix("claygrad") if module != "claygrad" else ".top")
    try:
        found = importlib.util.find_spec(path)
    except ModuleNotFoundError:             # the package above it is not there either
        return None
    return importlib.import_module(path) if found is not None else None


def _of_another(value: Any) -> bool:
    """Whether this is a module of `answers/` that names one of claygrad's: who imports it gets that one."""
    return isinstance(value, types.ModuleType) and hasattr(value, "itself")


def find(module: str, name: str) -> Any:
    """A name of a module that has none of its own; AttributeError with the reason where PyTorch's is unknown too."""
    held = importlib.import_module(module)
    speaker = answers(module)
    if speaker is not None and name in vars(speaker):
        value = vars(speaker)[name]
        if _of_another(value):
            value = importlib.import_module(f"{module}.{name}")
    elif speaker is not None and hasattr(speaker, name):    # by a __getattr__ of its own
        value = getattr(speaker, name)
    else:
        known = names_of(torch_name(module)) or {}
        if name in known:
            value = make(module, name, *known[name])
        elif (home := reexports().get(torch_name(module), {}).get(name)) is not None:
            there = importlib.import_module(our_name(home))
            value = getattr(there, name) if hasattr(there, name) else find(our_name(home), name)
        elif spec(f"{module}.{name}") is not None:          # `torch.distributed` is there without an import of its own
            value = importlib.import_module(f"{module}.{name}")
        else:
            raise AttributeError(message(held.__name__, name, sorted(vars(held))), name=name, obj=held)
    setattr(held, name, value)
    return value


class _Loader:
    """Makes a module of names: each is made when it is asked for."""

    def create_module(self, spec: Any) -> None:
        """As for any module."""

    def exec_module(self, module: types.ModuleType) -> None:
        name = module.__name__
        speaker = answers(name)
        known = names_of(torch_name(name)) or {}
        if speaker is not None and hasattr(speaker, "itself"):
            vars(speaker.itself)["__getattr__"] = lambda one: _attribute(name, one)
            sys.modules[name] = speaker.itself
            return
        module.__doc__ = f"`{torch_name(name)}`, as far as other packages ask for it."
        module.__file__ = __file__ if speaker is None else speaker.__file__        # packages look which folder it is in
        offered: set[str] = {one for one in known if not one.startswith("_")}
        if speaker is not None:
            module.__doc__ = speaker.__doc__
            own = {one: value for one, value in vars(speaker).items()
                   if not one.startswith("__") and not _of_another(value)}
            vars(module).update(own)
            offered |= {one for one in own if not one.startswith("_")}
        vars(module).update(__all__=sorted(offered), __dir__=lambda: sorted({*vars(module), *known}),
                            __getattr__=lambda one: _attribute(name, one))


def _attribute(module: str, name: str) -> Any:
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(f"module '{module}' has no attribute '{name}'", name=name, obj=sys.modules[module])
    return find(module, name)


def spec(module: str) -> importlib.machinery.ModuleSpec | None:
    """What the import system needs to make a module of names; None where neither table nor answers know it."""
    if answers(module) is None and names_of(torch_name(module)) is None:
        return None
    return importlib.machinery.ModuleSpec(module, _Loader(), is_package=True)    # type: ignore[arg-type]
