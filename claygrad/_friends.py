"""What other modules are told of claygrad when they are imported, before or after it. Nothing is imported for it."""
from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from claygrad.core import Tensor
from claygrad.core import shared_memory as sharing

_told: dict[str, Callable[[Any], object]] = {}      # module: what to do once it is there


class _Loader(importlib.abc.Loader):
    """Loads a module as ever, then tells it."""

    def __init__(self, own: Any, tell: Callable[[Any], object]) -> None:
        self.own, self.tell = own, tell

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self.own.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self.own
        if module.__spec__ is not None:
            module.__spec__.loader = self.own
        self.own.exec_module(module)
        self.tell(module)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname: str, path: Sequence[str] | None = None,
                  target: ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        tell = _told.pop(fullname, None)
        if tell is None:
            return None
        found = importlib.util.find_spec(fullname)
        if found is not None and found.loader is not None:
            found.loader = _Loader(found.loader, tell)
        return found


def tell(module: str, then: Callable[[Any], object]) -> None:
    """Call `then(module)` when the module is imported; now, if it is."""
    if module in sys.modules:
        then(sys.modules[module])
    else:
        _told[module] = then


def _einops(backends: Any) -> None:
    """einops looks for a backend among the subclasses of its own, by the name of an imported module."""

    class ClaygradBackend(backends.TorchBackend):
        framework_name = "claygrad"

        def __init__(self) -> None:
            self.torch = sys.modules["claygrad"]

        def is_appropriate_type(self, tensor: object) -> bool:
            return isinstance(tensor, Tensor)

    backends.ClaygradBackend = ClaygradBackend       # a class that nobody names would not live


def _matplotlib(cbook: Any) -> None:
    """matplotlib takes a tensor for an array, and not for a list of rows, if the module torch has its class."""
    known = getattr(cbook, "_is_torch_array", None)
    if known is not None:
        cbook._is_torch_array = lambda x: isinstance(x, Tensor) or known(x)


sys.meta_path.insert(0, _Finder())
tell("multiprocessing.reduction", sharing.register)
tell("joblib.externals.loky.backend.reduction", sharing.register_with_loky)
tell("loky.backend.reduction", sharing.register_with_loky)
tell("einops._backends", _einops)
tell("matplotlib.cbook", _matplotlib)
