"""Reading the pickle of a checkpoint: a reader that runs nothing but what rebuilds tensors, and one that trusts."""
from __future__ import annotations

import io
import pickle
import reprlib
import struct
import sys
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

from claygrad.core import Storage, Tensor
from claygrad.nn.parameter import Parameter
from claygrad.serialization._names import Kind, Typed
from claygrad.serialization._rebuild import OURS, REBUILDING, TYPES, check_key, filled, known, modern, rebuild_from_type

# Modules of which nothing is ever allowed, whoever vouches for it.
BLOCKED = ("sys", "os", "posix", "nt")
_SAFE: list[Any] = []
_UNSAFE = ("The default value of the `weights_only` argument in `torch.load` is `True`. Re-running `torch.load` with "
           "`weights_only` set to `False` will likely succeed, but it can result in arbitrary code execution. Do it "
           "only if you got the file from a trusted source.")
_InPython: Any = pickle._Unpickler         # whose instructions can be replaced one by one
_CALLED = {id(one) for one in OURS.values() if callable(one) and one not in TYPES}
_DICTS = (dict, OrderedDict, Counter)


def failed(why: object, *, trust: bool = False) -> str:
    """In the words of PyTorch; `trust` if only a name that the user could vouch for was in the way."""
    if trust:
        return ("Weights only load failed. This file can still be loaded, to do so you have two options, \033[1mdo "
                f"those steps only if you trust the source of the checkpoint\033[0m. \n\t(1) {_UNSAFE}\n\t(2) "
                "Alternatively, to load with `weights_only=True` please check the recommended steps in the following "
                f"error message.\n\t{why}")
    return f"Weights only load failed. {_UNSAFE}\n\n  {why}"


class _Unknown(pickle.UnpicklingError):
    """A global that is not allowed, but could be."""


class Trusting(pickle.Unpickler):
    """Reads any pickle; classes of torch are looked for under the same name in claygrad. Runs what the file says."""

    def __init__(self, file: io.BytesIO, storage: Callable[..., Any], **options: Any) -> None:
        super().__init__(file, **options)
        self.persistent_load = lambda told: stored(told, storage)  # type: ignore[method-assign]

    def find_class(self, module: str, name: str) -> Any:
        found = known(module, name)
        if found is not None and module.startswith("torch"):
            return found
        if module == "torch" or module.startswith("torch."):
            module = "claygrad" + module[len("torch"):]
        return super().find_class(module, name)


class Careful(_InPython):
    """Reads tensors and plain containers. Every other global is refused by name, before anything of it runs."""

    def __init__(self, file: io.BytesIO, storage: Callable[..., Any], **options: Any) -> None:
        super().__init__(file, **options)
        self.storage = storage
        self.allowed = {f"{one.__module__}.{one.__qualname__}": one for one in _SAFE if not isinstance(one, tuple)}
        self.allowed |= {one[1]: one[0] for one in _SAFE if isinstance(one, tuple)}

    def persistent_load(self, told: Any) -> Any:
        return stored(told, self.storage)

    def find_class(self, module: str, name: str) -> Any:
        module, name = modern(module, name)
        full = f"{module}.{name}"
        if module in BLOCKED:
            raise pickle.UnpicklingError(f"Trying to load unsupported GLOBAL {full} whose module {module} is blocked.")
        found = known(module, name)
        if found is not None:
            return found
        if full in self.allowed:
            return self.allowed[full]
        full = full.removeprefix("builtins.")
        raise _Unknown(
            f"Unsupported global: GLOBAL {full} was not an allowed global by default. Please use "
            f"`torch.serialization.add_safe_globals([{full}])` or the `torch.serialization.safe_globals([{full}])` "
            "context manager to allowlist this global if you trust this class/function.")

    def _vouched(self, thing: Any) -> bool:
        return any(thing is one for one in self.allowed.values())

    def load_reduce(self) -> None:
        arguments = self.stack.pop()
        function = self.stack[-1]
        if not (id(function) in _CALLED or self._vouched(function)) or type(arguments) is not tuple:
            raise pickle.UnpicklingError(f"Trying to call reduce for unrecognized function {reprlib.repr(function)}")
        if function is rebuild_from_type:
            self._check_nested(*arguments[:2])
        if function in (OrderedDict, Counter) and arguments and [type(one) for one in arguments] != [dict]:
            raise pickle.UnpicklingError(f"a {function.__name__} is filled from a {type(arguments[0]).__name__}")
        if function in (set, frozenset, bytearray):
            self.stack[-1] = filled(function, *arguments)
        else:
            self.stack[-1] = function(*arguments)

    def _check_nested(self, inner: Any, kind: Any) -> None:
        vouched = self._vouched(kind) and isinstance(kind, type) and issubclass(kind, Tensor)
        if all(inner is not one for one in REBUILDING.values()) or not (kind in TYPES or vouched):
            raise pickle.UnpicklingError("a tensor is rebuilt by something that rebuilds no tensors")

    def load_build(self) -> None:
        state, out = self.stack.pop(), self.stack[-1]
        if type(out) in (OrderedDict, Tensor, Parameter):
            out.__dict__.update(state)
        elif self._vouched(type(out)):
            if hasattr(out, "__setstate__"):
                out.__setstate__(state)
                return
            state, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
            if state:
                out.__dict__.update(state)
            for name, value in (slots or {}).items():
                setattr(out, name, value)
        else:
            raise pickle.UnpicklingError(f"Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
                                         f"`add_safe_globals`, but got {type(out)}")

    def load_newobj(self) -> None:
        arguments = self.stack.pop()
        kind = self.stack.pop()
        allowed = isinstance(kind, type) and (kind is OrderedDict or self._vouched(kind))
        if not allowed or type(arguments) is not tuple:
            raise pickle.UnpicklingError("Can only create new object for nn.Parameter or classes allowlisted via "
                                         f"`add_safe_globals` but got {reprlib.repr(kind)}")
        self.append(kind.__new__(kind, *arguments))

    def _fill(self, kinds: tuple[type, ...], what: str, items: list[Any]) -> Any:
        target = self.stack[-1]
        if type(target) not in kinds:
            raise pickle.UnpicklingError(f"Can only {what}, but got {type(target)}")
        if list not in kinds:
            for key in items:
                check_key(key)
        return target

    def load_append(self) -> None:
        item = self.stack.pop()
        self._fill((list,), "append to lists", [item]).append(item)

    def load_appends(self) -> None:
        items = self.pop_mark()
        self._fill((list,), "extend lists", items).extend(items)

    def load_setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._fill(_DICTS, "SETITEM for dict, collections.OrderedDict, collections.Counter", [key])[key] = value

    def load_setitems(self) -> None:
        items = self.pop_mark()
        target = self._fill(_DICTS, "SETITEMS for dict, collections.OrderedDict, collections.Counter", items[::2])
        target.update(zip(items[::2], items[1::2], strict=True))

    def load_additems(self) -> None:
        items = self.pop_mark()
        self._fill((set,), "add to sets", items).update(items)

    def load_frozenset(self) -> None:
        self.append(filled(frozenset, self.pop_mark()))

    def load_bytearray8(self) -> None:
        count, = struct.unpack("<Q", self.read(8))
        self.append(bytearray(self.read(min(count, sys.maxsize))))        # no more than there is

    def refuse(self) -> None:
        raise pickle.UnpicklingError("Unsupported operand: an operation that checkpoints have no need of")

    dispatch = dict.fromkeys(range(256), refuse)
    dispatch |= {getattr(pickle, code)[0]: _InPython.dispatch[getattr(pickle, code)[0]] for code in (
        "BINBYTES BINBYTES8 BINFLOAT BINGET BININT BININT1 BININT2 BINPERSID BINPUT BINUNICODE BINUNICODE8 EMPTY_DICT "
        "EMPTY_LIST EMPTY_SET EMPTY_TUPLE FRAME GLOBAL LONG1 LONG4 LONG_BINGET LONG_BINPUT MARK MEMOIZE NEWFALSE "
        "NEWTRUE NONE PROTO SHORT_BINBYTES SHORT_BINUNICODE STACK_GLOBAL STOP TUPLE TUPLE1 TUPLE2 TUPLE3").split()}
    dispatch |= {pickle.REDUCE[0]: load_reduce, pickle.BUILD[0]: load_build, pickle.NEWOBJ[0]: load_newobj,
                 pickle.APPEND[0]: load_append, pickle.APPENDS[0]: load_appends, pickle.SETITEM[0]: load_setitem,
                 pickle.SETITEMS[0]: load_setitems, pickle.ADDITEMS[0]: load_additems,
                 pickle.FROZENSET[0]: load_frozenset, pickle.BYTEARRAY8[0]: load_bytearray8}

def stored(told: Any, storage: Callable[..., Any]) -> Any:
    """The storage that a reference in the pickle means, of the type it says."""
    if isinstance(told, tuple) and len(told) == 6 and told[5] is None:       # before PyTorch 1.6: a part of another?
        told = told[:5]
    if isinstance(told, tuple) and len(told) == 4 and told[0] == "module" and isinstance(told[1], type):
        return told[1]                                                       # a class of modules, with its source
    if not isinstance(told, tuple) or len(told) != 5 or told[0] != "storage" or type(told[1]) is not Kind:
        raise pickle.UnpicklingError(f"not the reference of a storage: {reprlib.repr(told)}")
    _, kind, key, location, count = told
    if type(key) is not str or type(location) is not str or type(count) is not int or count < 0:
        raise pickle.UnpicklingError(f"not the reference of a storage: {reprlib.repr(told)}")
    item = 1 if kind.dtype is None else kind.dtype.itemsize
    found: Storage = storage(key, location, count * item, kind.dtype)
    return found if kind.dtype is None else Typed(found, kind.dtype)


def read(data: bytes, storage: Callable[..., Any], weights_only: bool, options: dict[str, Any]) -> Any:
    """The object of a pickle."""
    if not weights_only:
        return Trusting(io.BytesIO(data), storage, **options).load()
    try:
        return Careful(io.BytesIO(data), storage, **options).load()
    except pickle.UnpicklingError as error:
        raise pickle.UnpicklingError(failed(error, trust=isinstance(error, _Unknown))) from None
    except (RuntimeError, MemoryError):
        raise
    except Exception as error:          # whatever nonsense the file says, it is the file that is wrong
        raise pickle.UnpicklingError(failed(f"the pickle is damaged: {type(error).__name__}: {error}")) from None


def safe_list() -> list[Any]:
    return _SAFE
