"""Write claygrad/compat/reexports.txt: names that a module of PyTorch has because it imports them from another.

    python -m tests.oracle.names.make_reexports

Packages import from where they once found a name (`from torch.optim.lr_scheduler import Optimizer`). Listed is what
claygrad does not find there otherwise, and has elsewhere, or the standard library has.
"""
from __future__ import annotations

import contextlib
import importlib
import io
import pkgutil
import re
import sys
import types
import typing
import warnings
from pathlib import Path
from typing import Any

import torch

from claygrad.compat import names as ours

TABLE = Path(__file__).parents[3] / "claygrad/compat/reexports.txt"
LEFT_OUT = re.compile(r"torch\.(_inductor|_dynamo\.|_refs|_prims|testing\._internal|onnx\.|distributed\.|ao\.|export\.|fx\.|jit\."
                      r"|_export|_functorch|_higher_order_ops|_subclasses|_decomp|_numpy|_strobelight|_logging|_lazy|_library|"
                      r"_vendor|_native|_awaits|_classes|_custom|nativert|package|contrib|backends\._|utils\.(hipify|tensorboard|"
                      r"model_dump|viz|jit|benchmark\.|_sympy|data\.datapipes|serialization|_debug|bottleneck|_strobelight))"
                      r"|\.__main__|torch\.bin|\.(_docs|.*_docs)$")
PLAIN = (types.ModuleType, typing.TypeVar, typing.ParamSpec, types.NoneType, bool, int, float, str, tuple, list, dict, set)
KNOWN_HOMES = ("torch", "torch.overrides", "torch._C", "torch.nn.functional", "torch.types", "torch.utils._pytree", "typing",
               "collections.abc", "collections", "math", "functools", "itertools")


def find(module: str, name: str) -> Any:
    """A name of one of claygrad's modules, as `import torch` in its place would find it; AttributeError otherwise."""
    held = importlib.import_module(module)
    return getattr(held, name) if hasattr(held, name) else ours.find(module, name)


def has(path: str, name: str) -> bool:
    try:
        find(ours.our_name(path), name)
    except Exception:
        return False
    return True


def home_of(path: str, name: str, value: Any) -> str | None:
    """The module that has this very object under this name, in PyTorch and in claygrad."""
    homes = [getattr(value, "__module__", None), *KNOWN_HOMES]
    if isinstance(homes[0], str):
        parts = homes[0].split(".")
        homes[1:1] = [".".join(parts[:n]) for n in range(len(parts) - 1, 0, -1)]
    for home in homes:
        if not isinstance(home, str) or home == path or home.startswith("_") or home in ("builtins", "typing_extensions"):
            continue
        try:
            module = importlib.import_module(home)
        except Exception:
            continue
        if vars(module).get(name) is value and (not home.startswith("torch") or has(home, name)):
            return home
    return None


def modules() -> list[str]:
    found = {"torch", "torch._C"}
    for info in pkgutil.walk_packages(torch.__path__, "torch.", onerror=lambda name: None):
        if not LEFT_OUT.search(info.name):
            found.add(info.name)
    return sorted(found)


def table() -> str:
    lines = []
    for path in modules():
        try:
            module = importlib.import_module(path)
            importlib.import_module(ours.our_name(path))
        except BaseException:
            continue
        homes: dict[str, list[str]] = {}
        for name, value in sorted(vars(module).items()):
            if name.startswith("__") or isinstance(value, PLAIN) or has(path, name):
                continue
            if (home := home_of(path, name, value)) is not None:
                homes.setdefault(home, []).append(name)
        if homes:
            lines += [path, *(f"  {home} {' '.join(homes[home])}" for home in sorted(homes))]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    TABLE.write_text("")
    ours.reexports.cache_clear()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        text = table()
    TABLE.write_text(text)
    print(f"{text.count(chr(10))} lines, {len(text)} characters", file=sys.stdout)
