"""Names that a module has when somebody asks for them: its submodules, and what stands in the tables of `compat`."""
from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy(module: str, modules: tuple[str, ...] = (), names: Mapping[str, str] | None = None) -> Callable[[str], Any]:
    """The `__getattr__` of a module: submodules are imported, `names` are taken from the modules they are listed
    with, and what only other packages ask for comes from `compat.names`, or is explained there."""

    def __getattr__(name: str) -> Any:
        if name in modules:
            return importlib.import_module(f"{module}.{name}")
        if names is not None and name in names:
            return getattr(importlib.import_module(f"claygrad.{names[name]}"), name)
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"module '{module}' has no attribute '{name}'", name=name, obj=sys.modules.get(module))
        return importlib.import_module("claygrad.compat.names").find(module, name)

    entry_points = importlib.import_module("claygrad.core.cpython.entry_points")
    guarded: Callable[[str], Any] = entry_points.guard(__getattr__)          # Note [Entry points]
    return guarded


class Finder:
    """Finds the modules of `compat.names` for `import claygrad.x`, after everything that has a file of its own."""

    @staticmethod
    def find_spec(fullname: str, path: Any = None, target: Any = None) -> Any:
        """The spec of a module that the tables know, or None."""
        inner = ("claygrad.compat.", "claygrad.core.", "claygrad.native.")
        if not fullname.startswith("claygrad.") or fullname.startswith(inner):
            return None
        return importlib.import_module("claygrad.compat.names").spec(fullname)


_before: dict[str, Any] = {}           # the hooks that were there before, by the name of their module


def _uncaught(kind: Any, error: Any, trace: Any) -> None:
    """Python is about to show an error: say the way out below it, and let the hook before this one show it."""
    _explain(error)
    _before["sys"](kind, error, trace if error is None else error.__traceback__ or trace)


def _uncaught_in_thread(args: Any) -> None:
    """The same for an error that ends a thread."""
    _explain(args.exc_value)
    _before["threading"](args)


def _explain(error: Any) -> None:
    try:
        importlib.import_module("claygrad.errors._uncaught").note(error)
    except Exception:
        return                         # the error itself is what counts


def listen() -> None:
    """Let imports find the modules of the tables, and whoever shows an error that Python raised say the way out."""
    if Finder not in sys.meta_path:
        sys.meta_path.append(Finder)
    for name, hook in (("sys", _uncaught), ("threading", _uncaught_in_thread)):
        module = sys.modules.get(name)
        if module is not None and name not in _before:
            _before[name] = module.excepthook
            vars(module)["excepthook"] = hook
    if "IPython" in sys.modules:
        importlib.import_module("claygrad.errors._uncaught").listen()
