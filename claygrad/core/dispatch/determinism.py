"""torch.use_deterministic_algorithms: errors of operations, and uninitialized memory that is filled.

Every operation of claygrad is deterministic. The errors are those of operations that are not deterministic in PyTorch,
so that a program which asks for errors gets the same ones here.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core.graph.modes import get_fills_new_memory, set_deterministic
from claygrad.core.python_api import array_of, on_storage
from claygrad.core.user_warnings import warn

if TYPE_CHECKING:
    from claygrad.core import Tensor

_deterministic = False
_warn_only = False
_fills = True


def ask(deterministic: bool, warn_only: bool) -> None:
    """Remember what use_deterministic_algorithms said."""
    global _deterministic, _warn_only
    _deterministic, _warn_only = deterministic, warn_only
    set_deterministic(deterministic, _fills)


def asked() -> tuple[bool, bool]:
    """What use_deterministic_algorithms said last."""
    return _deterministic, _warn_only


def ask_to_fill(fills: bool) -> None:
    """Remember torch.utils.deterministic.fill_uninitialized_memory, which counts while algorithms are deterministic."""
    global _fills
    _fills = fills
    set_deterministic(_deterministic, fills)


def asked_to_fill() -> bool:
    """What torch.utils.deterministic.fill_uninitialized_memory is."""
    return _fills


def alert(name: str) -> None:
    """Raise or warn if use_deterministic_algorithms is on; `name` is PyTorch's name of the operation."""
    if not _deterministic:
        return
    if not _warn_only:
        raise RuntimeError(f"{name} does not have a deterministic implementation, but you set "
                           "'torch.use_deterministic_algorithms(True)'. You can turn off determinism just for this "
                           "operation, "
                           "or you can use the 'warn_only=True' option, if that's acceptable for your application. "
                           "You can also "
                           "file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding "
                           "deterministic support for this operation.")
    warn(f"{name} does not have a deterministic implementation, but you set "
         "'torch.use_deterministic_algorithms(True, warn_only=True)'. You can file an issue at "
         "https://github.com/pytorch/pytorch/issues to help us prioritize adding deterministic support for "
         "this "
         "operation.")


def initial(out: Tensor) -> Tensor:
    """Fill a new uninitialized tensor, if that was asked for."""
    if get_fills_new_memory() and out.device.type == "cpu":
        kind = out.dtype
        if kind.is_floating_point or kind.is_complex:
            array_of(out).fill(float("nan"))
        else:
            bits = 8 * kind.itemsize
            array_of(out).fill(True if kind.name == "bool" else (1 << (bits - kind.is_signed)) - 1)
    return out


def initial_from(tensor: Tensor, first: int) -> None:
    """Fill the bytes of a storage that grew, from the first new one on."""
    storage, item = tensor.untyped_storage(), tensor.element_size()
    count = storage.nbytes() // item - first // item
    if get_fills_new_memory() and count > 0:
        initial(on_storage(storage, tensor.dtype, (count,), (1,), first // item))
