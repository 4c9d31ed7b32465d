"""Calls every method, property and slot of every extension class with what it must refuse; run as a program by test_self.

    python hostile_self.py <share> <shares>

Takes every <shares>-th class member, prints what it calls before the call, and "done <count>" at the end.
"""

from __future__ import annotations

import faulthandler
import gc
import importlib.machinery
import inspect
import pkgutil
import sys
import warnings
from typing import Any

import claygrad

SUFFIX = importlib.machinery.EXTENSION_SUFFIXES[0]            # of modules: libraries have another
_NOT_CALLED = {"__subclasshook__", "__init_subclass__", "__class_getitem__", "__del__"}


def modules() -> list[Any]:
    """All of them; a compiled one that cannot be imported is an error, for its classes would not be tried."""
    found = [claygrad]
    for info in pkgutil.walk_packages(claygrad.__path__, "claygrad.", onerror=lambda name: None):
        if not info.name.endswith("__main__"):
            try:
                found.append(importlib.import_module(info.name))
            except (ImportError, AssertionError):
                if getattr(info.module_finder.find_spec(info.name), "origin", "").endswith(SUFFIX):  # type: ignore[union-attr]
                    raise
    return found


def is_built(cls: type) -> bool:
    """Whether a class is compiled: its instances are not made by Python alone."""
    return not cls.__flags__ & (1 << 9)  # Py_TPFLAGS_HEAPTYPE


def is_ours(cls: type) -> bool:
    return str(cls.__module__).startswith(("claygrad", "torch")) or cls is claygrad.Tensor


def classes() -> list[type]:
    """The compiled classes of claygrad's modules and of its live objects, and what Python made of them."""
    x = claygrad.ones(2, requires_grad=True)
    y = x * 2
    samples = [x, y, y.grad_fn, y.grad_fn.next_functions[0][0], x.untyped_storage(), x.shape, x.device, x.dtype, claygrad.add,
               claygrad.zeros, claygrad.Generator(), x.detach().numpy().base, claygrad.no_grad(), claygrad.enable_grad()]
    candidates = [value for module in modules() for value in vars(module).values() if isinstance(value, type)]
    candidates += [type(thing) for thing in gc.get_objects()] + [type(thing) for thing in samples]
    found = {id(cls): cls for some in candidates for cls in some.__mro__ if is_ours(cls)}
    built = [cls for cls in found.values() if any(is_ours(base) and is_built(base) for base in cls.__mro__)]
    return sorted([*built, claygrad.Size], key=lambda cls: (str(cls.__module__), cls.__qualname__))


def members(cls: type) -> list[tuple[str, Any]]:
    """What the class itself defines and can be called with a self."""
    out = []
    for name, value in sorted(vars(cls).items()):
        if name in _NOT_CALLED or name.endswith("_cython__"):
            continue
        if isinstance(value, property):
            out.append((f"{name}.fget", value.fget))
            out += [(f"{name}.fset", value.fset)] if value.fset else []
        elif inspect.isgetsetdescriptor(value) or inspect.ismemberdescriptor(value):
            out.append((name, lambda self=None, *args, get=value.__get__: get(self, type(self))))
            out.append((name, lambda self=None, *args, put=value.__set__: put(self, *args)))
            out.append((name, lambda self=None, *args, drop=value.__delete__: drop(self)))
        elif callable(value) or isinstance(value, (staticmethod, classmethod)):
            out.append((name, getattr(cls, name)))
    return out


class Odd:
    """Has no methods, and a repr that fails."""

    def __repr__(self) -> str:
        raise ValueError("no repr")


def selves(cls: type) -> list[Any]:
    """Wrong and half-made objects. Not the class itself: where Python 3.11 has specialized `x.method()` for the class of x,
    the same line with the class in place of x crashes the interpreter, for `str` as for any other built-in class."""
    x = claygrad.ones(2, requires_grad=True)
    made = [5, None, 3.0, "a", (), [], {}, Odd(), object, x, claygrad.empty(2, device="meta"), x.untyped_storage()]
    for make in (lambda: cls.__new__(cls), lambda: object.__new__(cls), lambda: type("Sub", (cls,), {}).__new__(
            type("Sub", (cls,), {})), cls):
        try:
            made.append(make())
        except Exception:
            continue
    return made


ARGUMENTS: list[tuple] = [(), (None,), (5,), ("a",), (-1,), (2**70,), (object(),), ((),), ([None],), (slice(None),),
                          (1.5,), (None, None), (0, None), (0, 0), ("a", "b"), (5, 5, 5)]


def call(function: Any, self: Any, args: tuple) -> None:
    try:
        function(self, *args)
    except RecursionError:
        raise
    except Exception:
        return


def skipped(cls: type, name: str) -> bool:
    """What ends or waits for something else, or would change the library for the calls that follow."""
    return name in ("__init_subclass__", "share_memory_", "__setattr__", "__delattr__") and isinstance(cls, type)


def main(share: int, shares: int) -> None:
    warnings.simplefilter("ignore")
    faulthandler.enable()
    listed = [(cls, name, function) for cls in classes() for name, function in members(cls) if not skipped(cls, name)]
    count = 0
    for cls, name, function in listed[share::shares]:
        for args in ARGUMENTS[: 7 if name.startswith("_") else 5]:
            for k, self in enumerate(selves(cls)):
                print(f"{cls.__qualname__}.{name}(self {k}, *{args!r})", file=sys.stderr)
                call(function, self, args)
                count += 1
        claygrad.set_default_dtype(claygrad.float32)
        claygrad.set_default_device("cpu")
    gc.collect()
    print("done", count)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
