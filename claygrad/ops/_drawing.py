"""What random functions share: their arguments as PyTorch reads them, and new tensors to draw into."""
from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING

from claygrad.core import Tensor, empty, empty_strided, parse_device, parse_dtype, prefix, without_writes
from claygrad.core.dispatch.wrong_arguments import type_name
from claygrad.native.random import Generator
from claygrad.ops._formats import layout as layout_type
from claygrad.ops._formats import strided, strides_like

if TYPE_CHECKING:
    from claygrad.core import device, dtype
    from claygrad.ops._formats import memory_format

OPTIONS = ("claygrad.dtype dtype = None, claygrad.layout layout = None, claygrad.device device = None, "
           "bool pin_memory = False, bool requires_grad = False")
OPTION_NAMES = frozenset(("generator", "out", "dtype", "layout", "device", "requires_grad", "pin_memory"))
DRAWN = "claygrad.Generator generator = None, "
OUT = "Tensor out = None, "


def refused(name: str, args: tuple, named: dict, *signatures: str) -> TypeError:
    """PyTorch's error for arguments that fit none of a function's signatures."""
    got = [type_name(value) for value in args] + [f"{key}={type_name(value)}" for key, value in named.items()]
    end = ", " if named and not args else ""             # as PyTorch writes it
    forms = "".join(f"\n * ({signature})" for signature in signatures).replace("claygrad.", f"{prefix()}.")
    return TypeError(f"{name}() received an invalid combination of arguments - got ({', '.join(got)}{end}), "
                     f"but expected one of:{forms}\n")


def wrong(name: str, argument: str, position: int | None, wanted: str, value: object) -> TypeError:
    place = "" if position is None else f" (position {position})"
    return TypeError(f"{name}(): argument '{argument}'{place} must be {wanted}, not {type(value).__name__}")


def is_maybe(value: object, kind: type) -> bool:
    return value is None or isinstance(value, kind)


def is_int(value: object) -> bool:
    """A Python or NumPy int, or a 0-dim int tensor; no bool."""
    if type(value) is int:
        return True
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return False
    return not isinstance(value, Tensor) or (value.ndim == 0 and value.dtype.name != "bool"
                                             and not value.dtype.is_floating_point and not value.dtype.is_complex)


def is_float(value: object) -> bool:
    """A number that is not complex, or a 0-dim tensor of one that needs no gradient."""
    if isinstance(value, Tensor):
        return value.ndim == 0 and not value.requires_grad and not value.dtype.is_complex
    return isinstance(value, (int, float)) or (hasattr(value, "__float__") and getattr(value, "ndim", None) == 0)


def is_size(value: object) -> bool:
    return isinstance(value, (tuple, list)) and all(map(is_int, value))


def as_int(value: object) -> int:
    """An int that fits into 64 bits."""
    number = index(value)
    if not -2**63 <= number < 2**63:
        raise ValueError("Overflow when unpacking long long")
    return number


def as_size(name: str, size: object, position: int | None = 1) -> tuple[int, ...]:
    """A size given as one sequence of ints."""
    if not isinstance(size, (tuple, list)):
        raise wrong(name, "size", position, "tuple of ints", size)
    for i, length in enumerate(size):
        if is_int(length) or (i and isinstance(length, bool)):       # PyTorch looks closely at the first one only
            continue
        kind = type(length).__name__
        if i == 0:
            raise TypeError(f"{name}(): argument 'size'{'' if position is None else f' (position {position})'} must be "
                            f"tuple of ints, but found element of type {kind} at pos 0")
        raise TypeError(f"{name}(): argument 'size' failed to unpack the object at pos {i + 1} with error "
                        f"\"type must be tuple of ints,but got {kind}\"")
    return checked_size([as_int(length) for length in size])


def checked_size(size: list[int]) -> tuple[int, ...]:
    for length in size:
        if length < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {length}: {size}")
    return tuple(size)


class Options:
    """The options of a factory, read and checked: where the new tensor lies and what it holds."""

    __slots__ = ("device", "dtype", "out", "requires_grad")

    def __init__(self, name: str, args: tuple, named: dict, signature: str, default: dtype) -> None:
        out, kind, where, form = named.get("out"), named.get("dtype"), named.get("device"), named.get("layout")
        flags = named.get("requires_grad", False), named.get("pin_memory", False)
        self.dtype = default if kind is None else parse_dtype(kind)
        self.device = parse_device(where)
        if (self.dtype is None or self.device is None or not is_maybe(named.get("generator"), Generator)
                or not is_maybe(out, Tensor) or not is_maybe(form, layout_type)
                or any(not isinstance(flag, bool) for flag in flags)):
            raise refused(name, args, named, signature)
        if form not in (None, strided):
            raise NotImplementedError(f"{name}: tensors of layout {form} are not supported, only strided ones")
        if flags[1]:
            raise RuntimeError("pin_memory=True requires a CUDA or other accelerator backend; no pinned memory "
                               "allocator is available on this system.")
        self.requires_grad, self.out = flags[0], out
        if out is not None:
            self._meet(name, out, kind, where)

    def _meet(self, name: str, out: Tensor, kind: object, where: object) -> None:
        """What out= does not allow."""
        if kind is not None and self.dtype is not out.dtype:
            raise RuntimeError(f"dtype {self.dtype.legacy} does not match dtype of out parameter ({out.dtype.legacy})")
        if where is not None and self.device != out.device:
            raise RuntimeError(f"device type {self.device.type} does not match device type of out parameter "
                               f"({out.device.type})")
        if out.requires_grad and out.is_leaf:
            raise needs_no_grad(f"aten::{name}")
        self.dtype, self.device = out.dtype, out.device

    def target(self, size: tuple[int, ...]) -> Tensor:
        """The tensor to draw into."""
        if self.out is None:
            return empty(size, self.dtype, self.device)
        return self.out if self.out.shape == size else self.out.resize_(size)

    def finish(self, result: Tensor) -> Tensor:
        if self.out is None:
            without_writes(result)
        if not self.requires_grad:
            return result
        if not (result.dtype.is_floating_point or result.dtype.is_complex):
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        return result.requires_grad_()


def needs_no_grad(name: str) -> RuntimeError:
    return RuntimeError(f"{name}(): functions with out=... arguments don't support automatic differentiation, but "
                        "one of the arguments requires grad.")


def empty_like(input: Tensor, kind: dtype | None = None, where: device | None = None,
               form: memory_format | None = None) -> Tensor:
    """An uninitialised tensor of another's shape, by default with its dtype, device and order in memory."""
    strides = strides_like(input.shape, input.stride(), form)
    return empty_strided(input.shape, strides, kind or input.dtype, where or input.device)
