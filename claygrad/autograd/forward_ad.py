"""`torch.autograd.forward_ad`: dual tensors, which carry a tangent through every operation."""
from __future__ import annotations

from typing import Any, NamedTuple

from claygrad.autograd._function_tangents import register
from claygrad.autograd._tangents import enable, enter, is_enabled, leave, level_at, levels
from claygrad.autograd.grad_mode import _Mode
from claygrad.core import Tensor, op_named
from claygrad.core.cpython.entry_points import guard_package

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]
register()


def __getattr__(name: str) -> Any:
    if name == "_current_level":
        return len(levels()) - 1
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def enter_dual_level() -> int:
    """Begin a level: from now on tensors of this thread can have tangents."""
    if levels():
        raise RuntimeError("Nested forward mode AD is not supported at the moment\n"
                           "  torch.func.jvp can be nested, and gives derivatives of higher orders")
    enter()
    return len(levels()) - 1


def exit_dual_level(*, level: int | None = None) -> None:
    """End it: tangents are no more."""
    current = len(levels()) - 1
    if (current if level is None else level) != current:
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created. This is not "
                           "supported.")
    if current < 0:
        raise RuntimeError("Trying to exit a forward AD level but no level exists\n  enter_dual_level() comes first")
    leave()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tensor on the same memory that has a tangent.

    >>> forward_ad = claygrad.autograd.forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(claygrad.tensor(3.0), claygrad.tensor(1.0))
    ...     forward_ad.unpack_dual(x * x).tangent
    tensor(6.)
    """
    number = len(levels()) - 1 if level is None else level
    if number < 0:
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, make sure to "
                           "enter_dual_level() first.")
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise ValueError(f"Expected primal to be floating point or complex, but got: {tensor.dtype}")
    if not (tangent.is_floating_point() or tangent.is_complex()):
        raise ValueError(f"Expected tangent to be floating point or complex, but got: {tangent.dtype}")
    where = level_at(number)
    if where.get(tensor) is not None:
        raise RuntimeError("Making a dual Tensor based on a Tensor that already has a forward gradient at the same "
                           "level "
                           f"{number} is not supported.")
    with where.below():
        dual: Tensor = op_named("alias")(tensor)
    where.set(dual, tangent)
    return dual


class UnpackedDualTensor(NamedTuple):
    """The value of a dual tensor and its tangent, None without one."""

    primal: Tensor
    tangent: Tensor | None


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value of a tensor, as a view, and its tangent: None if it has none."""
    number = len(levels()) - 1 if level is None else level
    if number < 0:
        return UnpackedDualTensor(tensor, None)
    if number >= len(levels()):
        return UnpackedDualTensor(op_named("alias")(tensor), None)
    where = level_at(number)
    with where.below():
        primal, tangent = op_named("alias")(tensor), where.get(tensor)
    where.set_primal(primal)
    return UnpackedDualTensor(primal, tangent)


class dual_level(_Mode):
    """A context in which tensors can have tangents."""

    def __enter__(self) -> int:  # type: ignore[override]
        return enter_dual_level()

    def __exit__(self, *error: object) -> None:
        exit_dual_level()


def _is_fwd_grad_enabled() -> bool:
    return is_enabled()


class _set_fwd_grad_enabled(_Mode):
    """Whether operations compute tangents; as a call, or as a context."""

    def __init__(self, mode: bool) -> None:
        self.prev = is_enabled()
        enable(mode)

    def __enter__(self) -> None:
        """It was set already."""

    def __exit__(self, *error: object) -> None:
        enable(self.prev)

guard_package(__name__)          # Note [Entry points]
