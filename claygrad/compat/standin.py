"""`import torch` finds claygrad: one set of objects under two names.

Note [Two names]
While claygrad stands in, `sys.modules` holds each module twice, as `claygrad.x` and as `torch.x`; it is the same
object. A finder at the head of `sys.meta_path` does this for every import of `torch` or of a module below it, so that
an installed torch is never loaded by accident. What names itself (reprs, messages, `__module__` of classes, pickles,
`__version__`) says torch meanwhile, and claygrad again afterwards.
"""
from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import operator
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType, TracebackType
from typing import Any

import claygrad
from claygrad._friends import tell
from claygrad._lazy import Finder, lazy
from claygrad.compat.absent import explanation
from claygrad.compat.names import our_name, torch_name
from claygrad.core import set_prefix
from claygrad.version import TORCH_VERSION, TorchVersion

_BESIDE = "functorch"               # the package that an installation of torch brings along
DISTRIBUTION_VERSION = f"{TORCH_VERSION}+claygrad"


class _Loader(importlib.abc.Loader):
    """Hands over the module of claygrad, which keeps its own spec: it may be reloaded under its own name."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(_beside(spec.name) or our_name(torch_name(spec.name)))
        self.own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.own_spec
        _say_torch(module)

    def get_code(self, fullname: str) -> Any:
        """What `python -m torch.distributed.run` runs."""
        ours = our_name(fullname)
        found = importlib.util.find_spec(ours)
        loader: Any = getattr(found.loader, "own", found.loader) if found is not None else None
        return loader.get_code(ours) if hasattr(loader, "get_code") else None


class _OwnLoader(importlib.abc.Loader):
    """Loads a module of claygrad as ever, then gives it its second name."""

    def __init__(self, own: Any) -> None:
        self.own = own

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self.own.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is not None:
            spec.loader = module.__loader__ = self.own
        self.own.exec_module(module)
        sys.modules.setdefault(torch_name(module.__name__), sys.modules[module.__name__])
        _say_torch(module)


class _Distribution(importlib.metadata.Distribution):
    """What `importlib.metadata.version("torch")` reads."""

    def read_text(self, filename: str) -> str | None:
        if filename == "METADATA":
            return f"Metadata-Version: 2.1\nName: torch\nVersion: {DISTRIBUTION_VERSION}\nSummary: claygrad as torch\n"
        return None

    def locate_file(self, path: Any) -> Any:
        raise FileNotFoundError(f"{path}: claygrad stands in for torch and has no files of its own")


def _beside(name: str) -> str | None:
    """Where claygrad keeps a module of that package."""
    return f"claygrad.compat.{name}" if name.partition(".")[0] == _BESIDE else None


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname: str, path: Sequence[str] | None = None,
                  target: ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        if fullname.startswith("claygrad."):
            found = importlib.machinery.PathFinder.find_spec(fullname, path, target) or Finder.find_spec(fullname)
            if found is not None and found.loader is not None:
                found.loader = _OwnLoader(found.loader)
            return found
        if (beside := _beside(fullname)) is not None:
            if importlib.util.find_spec(beside) is None:
                told = explanation("torch._functorch")
                raise ModuleNotFoundError("\n  ".join([f"No module named '{fullname}'", *told]), name=fullname)
            return importlib.machinery.ModuleSpec(fullname, _Loader(), is_package=True)
        if fullname != "torch" and not fullname.startswith("torch."):
            return None
        ours = importlib.util.find_spec(our_name(fullname))
        if ours is None:
            told = explanation(fullname) or [f"claygrad stands in for torch, and has no module {our_name(fullname)}"]
            raise ModuleNotFoundError("\n  ".join([f"No module named '{fullname}'", *told]), name=fullname)
        package = ours.submodule_search_locations is not None
        return importlib.machinery.ModuleSpec(fullname, _Loader(), is_package=package)

    def find_distributions(self, context: importlib.metadata.DistributionFinder.Context | None = None) \
            -> Iterator[importlib.metadata.Distribution]:
        name = getattr(context, "name", None)
        if name is None or name.replace("_", "-").lower() == "torch":
            yield _Distribution()


_finder = _Finder()
_depth = 0
_own_names: list[tuple[Any, str, str]] = []     # what was renamed, which attribute says it, and what that was before
# They have no counterpart in torch.
_OURS_ALONE = ("claygrad.core", "claygrad.native", "claygrad.compat", "claygrad.cli", "claygrad.__main__")

# Modules whose public classes and functions are torch's elsewhere: pickles of them are read by torch too.
_HOMES = {"claygrad.nn.modules.attention": "torch.nn.modules.activation",
          "claygrad.nn.modules.parameter_container": "torch.nn.modules.container",
          "claygrad.nn.modules.rnn_cell": "torch.nn.modules.rnn",
          "claygrad.optim._adafactor": "torch.optim", "claygrad.optim._muon": "torch.optim",
          **dict.fromkeys(("claygrad.optim._schedule", "claygrad.optim._schedules", "claygrad.optim._cyclic_schedules",
                           "claygrad.optim._combined_schedules"), "torch.optim.lr_scheduler"),
          **dict.fromkeys(("claygrad.func._jacobians", "claygrad.func._modules", "claygrad.func._transforms",
                           "claygrad.func._vmap"), "torch.func"),
          "claygrad.utils.data.collate": "torch.utils.data._utils.collate",
          "claygrad.utils._selective_checkpoint": "torch.utils.checkpoint",
          "claygrad.core.graph.function": "torch.autograd.function", "claygrad.core.data.size": "torch",
          "claygrad.core.graph.handles": "torch.utils.hooks",
          "claygrad.nn.modules._hooks": "torch.nn.modules.module", "claygrad._info": "torch"}


def stands_in() -> bool:
    """Whether `import torch` gives claygrad."""
    return _depth > 0


def _home(module: str, name: str, value: Any) -> str:
    """Where torch has what a module of claygrad defines."""
    if module in _HOMES and (name[0] != "_" or isinstance(value, type)):
        return _HOMES[module]
    return torch_name(module)


def _say_torch(module: ModuleType) -> None:
    """Let the classes and functions that a module defines call themselves torch's, for pickles and reprs; and let the
    module answer for private names of torch's that other packages ask for."""
    vars(module).setdefault("__getattr__", lazy(module.__name__))
    if module.__name__.startswith("claygrad") and not module.__name__.startswith(_OURS_ALONE):
        _own_names.append((module, "__name__", module.__name__))
        module.__name__ = torch_name(module.__name__)
    for name, value in list(vars(module).items()):
        home = vars(value).get("__module__") if isinstance(value, type) else getattr(value, "__module__", None)
        if isinstance(home, str) and (home == "claygrad" or home.startswith("claygrad.")) and callable(value):
            try:
                value.__module__ = _home(home, name, value)
            except (AttributeError, TypeError):       # a class of the compiled core, whose name is fixed
                continue
            _own_names.append((value, "__module__", home))


class as_torch:
    """Let `import torch` give claygrad, until the process ends or the `with` block does.

    >>> with claygrad.as_torch():
    ...     import torch
    ...     print(torch.ones(2).dtype)
    torch.float32
    """

    def __init__(self) -> None:
        global _depth
        there = sys.modules.get("torch")
        if there is not None and there is not claygrad and not hasattr(there, "__claygrad_shim__"):
            raise ImportError("claygrad cannot stand in for torch: torch itself is imported already.\n"
                              "  Call claygrad.as_torch() before the first `import torch`, or start the program with "
                              "`claygrad run`.")
        _depth += 1
        self._entered = True
        if _depth == 1:
            _begin()

    def __enter__(self) -> ModuleType:
        return claygrad

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        global _depth
        if not self._entered:
            return
        self._entered = False
        _depth -= 1
        if _depth == 0:
            _end()


class _Ours:
    """In a pickle, claygrad by its own name."""

    def __reduce__(self) -> tuple:
        return importlib.import_module, ("claygrad",)


class _InChild:
    """Where a new process reads this, claygrad stands in for torch there too, before the program is imported."""

    def __reduce__(self) -> tuple:
        return operator.methodcaller("as_torch"), (_Ours(),)


def _tell_children(spawn: Any) -> None:
    """Have processes that multiprocessing starts afresh (not by a fork) stand in as well."""
    own = spawn.get_preparation_data

    def get_preparation_data(*args: Any, **kwargs: Any) -> dict[str, Any]:
        data: dict[str, Any] = own(*args, **kwargs)
        return {"claygrad": _InChild(), **data} if stands_in() else data
    spawn.get_preparation_data = get_preparation_data


for _name in ("multiprocessing.spawn", "joblib.externals.loky.backend.spawn", "loky.backend.spawn"):
    tell(_name, _tell_children)


# Modules of the standard library that are there once torch itself is imported, though no program has imported them.
_ALONG = {"concurrent": ("futures",), "http": ("client",), "unittest": ("mock",),
          "urllib": ("error", "request", "response"),
          "multiprocessing": ("connection", "context", "process", "reduction", "resource_sharer", "resource_tracker",
                              "spawn", "util")}


def _bring_along(package: Any) -> None:
    """Import what torch brings along when a program asks for it."""
    own = vars(package).get("__getattr__")

    def __getattr__(name: str) -> Any:
        if stands_in() and name in _ALONG[package.__name__]:
            return importlib.import_module(f"{package.__name__}.{name}")
        if own is not None:
            return own(name)
        raise AttributeError(f"module {package.__name__!r} has no attribute {name!r}", name=name, obj=package)
    package.__getattr__ = __getattr__


for _name in _ALONG:
    tell(_name, _bring_along)


def _begin() -> None:
    sys.meta_path.insert(0, _finder)
    set_prefix("torch")
    claygrad.__version__ = TorchVersion(f"{TORCH_VERSION}+claygrad{claygrad.version.__version__}")
    for name, module in list(sys.modules.items()):
        if name == "claygrad" or name.startswith("claygrad."):
            sys.modules[torch_name(name)] = module
            _say_torch(module)


def _end() -> None:
    sys.meta_path.remove(_finder)
    set_prefix("claygrad")
    claygrad.__version__ = claygrad.version.__version__
    for name in [name for name in sys.modules if name.partition(".")[0] in ("torch", _BESIDE)]:
        del sys.modules[name]
    while _own_names:
        value, word, former = _own_names.pop()
        setattr(value, word, former)


