"""Reading the pickle of a checkpoint: PyTorch's names as claygrad's things; a reader that runs nothing but these."""
from __future__ import annotations

import io
import pickle
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

from claygrad.core import DTYPES, Size, Storage, Tensor, device, empty_strided, on_storage
from claygrad.nn.parameter import Parameter
from claygrad.ops import _formats
from claygrad.serialization._names import DTYPE_OF, Kind, Typed

# Modules of which nothing is ever allowed, whoever vouches for it.
BLOCKED = {"sys", "os", "posix", "nt", "subprocess", "builtins", "importlib", "runpy", "shutil", "socket", "pty",
           "ctypes", "code", "codeop", "commands", "webbrowser"}
_HARMLESS = {"set": set, "frozenset": frozenset, "bytearray": bytearray, "complex": complex}
_SAFE: list[Any] = []

FAILED = ("Weights only load failed. In PyTorch 2.6, we changed the default value of the `weights_only` argument in "
          "`torch.load` from `False` to `True`. Re-running `torch.load` with `weights_only` set to `False` will likely "
          "succeed, but it can result in arbitrary code execution. Do it only if you got the file from a trusted "
          "source.")


# --- rebuilding, in the words of the file --------------------------------------------------------------------------
def rebuild_tensor(storage: Typed, offset: int, size: Any, stride: Any, requires_grad: bool = False,
                   hooks: Any = None, metadata: Any = None) -> Tensor:
    if metadata:
        raise pickle.UnpicklingError(f"a tensor with the marks {metadata}: claygrad keeps no conjugated views")
    if type(storage) is not Typed:
        raise pickle.UnpicklingError(f"a tensor is said to lie in a {type(storage).__name__}")
    shape, strides = _whole(size), _whole(stride)
    if len(shape) != len(strides) or type(offset) is not int or min((offset, *shape, *strides), default=0) < 0:
        raise RuntimeError(f"mismatch in length of strides and shape: {shape}, {strides}, from {offset} on")
    reach = offset + 1 + sum((n - 1) * s for n, s in zip(shape, strides)) if 0 not in shape else 0
    item = storage.dtype.itemsize
    if reach * item > storage.storage.nbytes():
        raise RuntimeError(f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {offset}, and "
                           f"itemsize {item} requiring a storage size of {reach * item} are out of bounds for storage "
                           f"of size {storage.storage.nbytes()}")
    return on_storage(storage.storage, storage.dtype, shape, strides, offset).requires_grad_(bool(requires_grad))


def _whole(sizes: Any) -> tuple[int, ...]:
    if not isinstance(sizes, tuple) or not all(type(n) is int for n in sizes):
        raise pickle.UnpicklingError(f"sizes are whole numbers, not {sizes!r:.60}")
    return tuple(sizes)


def rebuild_meta(kind: Any, size: Any, stride: Any, requires_grad: bool) -> Tensor:
    return empty_strided(_whole(tuple(size)), _whole(tuple(stride)), kind, "meta").requires_grad_(bool(requires_grad))


def rebuild_parameter(data: Tensor, requires_grad: bool, hooks: Any) -> Parameter:
    return Parameter(data, bool(requires_grad))


def rebuild_parameter_with_state(data: Tensor, requires_grad: bool, hooks: Any, state: dict[str, Any]) -> Parameter:
    made = Parameter(data, bool(requires_grad))
    made.__dict__.update(state)
    return made


def rebuild_from_type(function: Callable, kind: type, arguments: tuple, state: Any) -> Tensor:
    made = function(*arguments)
    if kind is not Tensor and type(made) is not kind:
        made = Tensor._make_subclass(kind, made, made.requires_grad)
    if isinstance(state, tuple):
        state = state[0]
    if state:
        made.__dict__.update(state)
    return made


_REBUILDING = {"_rebuild_tensor_v2": rebuild_tensor, "_rebuild_meta_tensor_no_storage": rebuild_meta,
               "_rebuild_parameter": rebuild_parameter, "_rebuild_parameter_with_state": rebuild_parameter_with_state,
               "_rebuild_from_type_v2": rebuild_from_type}
_OURS: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): OrderedDict, ("collections", "Counter"): Counter,
    ("torch", "Size"): Size, ("torch", "device"): device, ("torch", "Tensor"): Tensor,
    ("torch.nn.parameter", "Parameter"): Parameter, ("torch", "UntypedStorage"): Kind(None),
    ("torch.storage", "UntypedStorage"): Kind(None),
    **{("torch._utils", name): function for name, function in _REBUILDING.items()},
    **{("torch._tensor", name): function for name, function in _REBUILDING.items()},
    **{("torch", kind): Kind(found) for kind, found in DTYPE_OF.items()},
    **{("torch", name): found for name, found in DTYPES.items()},
    **{("torch", name): getattr(_formats, name) for name in (
        "contiguous_format", "channels_last", "channels_last_3d", "preserve_format", "strided")},
    **{(module, name): kind for module in ("builtins", "__builtin__") for name, kind in _HARMLESS.items()},
}


def known(module: str, name: str) -> Any:
    """What a global of PyTorch's files is here, or None."""
    return _OURS.get((module, name))


# --- the two readers ----------------------------------------------------------------------------------------------
class Trusting(pickle.Unpickler):
    """Reads any pickle; classes of torch are looked for under the same name in claygrad. Runs what the file says."""

    def __init__(self, file: io.BytesIO, storage: Callable[..., Any], **options: Any) -> None:
        super().__init__(file, **options)
        self.persistent_load = lambda told: stored(told, storage)  # type: ignore[method-assign,assignment]

    def find_class(self, module: str, name: str) -> Any:
        found = known(module, name)
        if found is not None:
            return found
        if module == "torch" or module.startswith("torch."):
            module = "claygrad" + module[len("torch"):]
        return super().find_class(module, name)


class Careful(pickle._Unpickler):  # type: ignore[name-defined]
    """Reads tensors and plain containers. Every other global is refused by name, before anything of it runs."""

    def __init__(self, file: io.BytesIO, storage: Callable[..., Any], **options: Any) -> None:
        super().__init__(file, **options)
        self.storage = storage
        self.allowed = {f"{one.__module__}.{one.__qualname__}": one for one in _SAFE if not isinstance(one, tuple)}
        self.allowed |= {one[1]: one[0] for one in _SAFE if isinstance(one, tuple)}

    def persistent_load(self, told: Any) -> Any:
        return stored(told, self.storage)

    def find_class(self, module: str, name: str) -> Any:
        found = known(module, name)
        if found is not None:
            return found
        full = f"{module}.{name}"
        if module.partition(".")[0] in BLOCKED:
            raise pickle.UnpicklingError(f"Trying to load unsupported GLOBAL {full} whose module {module} is blocked.")
        if full in self.allowed:
            return self.allowed[full]
        raise pickle.UnpicklingError(
            f"Unsupported global: GLOBAL {full} was not an allowed global by default. Please use "
            f"`torch.serialization.add_safe_globals([{name}])` or the `torch.serialization.safe_globals([{name}])` "
            "context manager to allowlist this global if you trust this class/function.")

    def load_reduce(self) -> None:
        arguments = self.stack.pop()
        function = self.stack[-1]
        if not callable(function) or isinstance(function, Kind) or type(arguments) is not tuple:
            raise pickle.UnpicklingError(f"the file calls a {type(function).__name__}")
        if function is rebuild_from_type:
            self._check_nested(arguments)
        self.stack[-1] = function(*arguments)

    def _check_nested(self, arguments: tuple) -> None:
        inner, kind = arguments[:2]
        if inner not in _REBUILDING.values() or not (isinstance(kind, type) and issubclass(kind, Tensor)):
            raise pickle.UnpicklingError("a tensor is rebuilt by something that rebuilds no tensors")

    def load_build(self) -> None:
        state, made = self.stack.pop(), self.stack[-1]
        if type(made) in (OrderedDict, Tensor, Parameter):
            made.__dict__.update(state)
        elif type(made) in self.allowed.values():
            if hasattr(made, "__setstate__"):
                made.__setstate__(state)
            else:
                made.__dict__.update(state)
        else:
            raise pickle.UnpicklingError(f"Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
                                         f"`add_safe_globals`, but got {type(made)}")

    def load_newobj(self) -> None:
        arguments = self.stack.pop()
        kind = self.stack.pop()
        if not isinstance(kind, type) or type(arguments) is not tuple:
            raise pickle.UnpicklingError(f"the file makes an instance of a {type(kind).__name__}")
        self.append(kind.__new__(kind, *arguments))

    def refuse(self) -> None:
        raise pickle.UnpicklingError("Unsupported operand: an operation that checkpoints have no need of")

    dispatch = dict.fromkeys(range(256), refuse)
    dispatch |= {code[0]: pickle._Unpickler.dispatch[code[0]] for code in (  # type: ignore[attr-defined]
        pickle.APPEND, pickle.APPENDS, pickle.ADDITEMS, pickle.BINBYTES, pickle.BINBYTES8, pickle.BINFLOAT,
        pickle.BINGET, pickle.BININT, pickle.BININT1, pickle.BININT2, pickle.BINPERSID, pickle.BINPUT, pickle.BINUNICODE,
        pickle.EMPTY_DICT, pickle.EMPTY_LIST, pickle.EMPTY_SET, pickle.EMPTY_TUPLE, pickle.FRAME, pickle.FROZENSET,
        pickle.GLOBAL, pickle.LONG1, pickle.LONG_BINGET, pickle.LONG_BINPUT, pickle.MARK, pickle.MEMOIZE,
        pickle.NEWFALSE, pickle.NEWTRUE, pickle.NONE, pickle.PROTO, pickle.SETITEM, pickle.SETITEMS, pickle.SHORT_BINBYTES,
        pickle.SHORT_BINUNICODE, pickle.STACK_GLOBAL, pickle.STOP, pickle.TUPLE, pickle.TUPLE1, pickle.TUPLE2,
        pickle.TUPLE3, pickle.BINUNICODE8, pickle.LONG4, pickle.DUP, pickle.POP, pickle.POP_MARK)}
    dispatch |= {pickle.REDUCE[0]: load_reduce, pickle.BUILD[0]: load_build, pickle.NEWOBJ[0]: load_newobj}


def stored(told: Any, storage: Callable[..., Any]) -> Any:
    """The storage that a reference in the pickle means, of the type it says."""
    if not isinstance(told, tuple) or len(told) != 5 or told[0] != "storage" or type(told[1]) is not Kind:
        raise pickle.UnpicklingError(f"not the reference of a storage: {told!r:.80}")
    _, kind, key, location, count = told
    if type(key) is not str or type(location) is not str or type(count) is not int or count < 0:
        raise pickle.UnpicklingError(f"not the reference of a storage: {told!r:.80}")
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
        raise pickle.UnpicklingError(f"{FAILED}\n\n  {error}") from None
    except (RuntimeError, MemoryError):
        raise
    except Exception as error:          # whatever nonsense the file says, it is the file that is wrong
        raise pickle.UnpicklingError(f"{FAILED}\n\n  the pickle is damaged: {type(error).__name__}: {error}") from None


def safe_list() -> list[Any]:
    return _SAFE
