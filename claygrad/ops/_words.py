"""The words operations share when they refuse: PyTorch's names of dtypes and kernels, and its sentences."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import DTYPES, dtype_of_numpy, prefix

if TYPE_CHECKING:
    from claygrad.core import Tensor

NAMES = {name: dtype.legacy for name, dtype in DTYPES.items()}
FLOATS, INTS, COMPLEX = "fV", "iu", "c"      # NumPy's dtype.kind; V is bfloat16


def need(array, kinds: str, kernel: str) -> None:
    """Refuse an array whose kind of numbers `kernel` has no loop for."""
    if array.dtype.kind not in kinds:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtype_of_numpy(array.dtype).legacy}'")


def refuse_complex(array, text: str, error: type[Exception] = NotImplementedError) -> None:
    if array.dtype.kind == "c":
        raise error(text)


def zeros(g: Tensor) -> Tensor:
    """The gradient of what does not change: zeros, so that a leaf gets them rather than None."""
    return g.new_zeros(g.shape)


def is_number(value: object) -> bool:
    """A Python number rather than a tensor: such arguments select PyTorch's scalar overloads and their node names."""
    return isinstance(value, (int, float, complex))


def same_dtype(expected: Tensor, **others: object) -> None:
    """Operations without promotion: every named tensor must have the dtype of the first."""
    for name, other in others.items():
        if not is_number(other) and other is not None and other.dtype != expected.dtype:
            raise RuntimeError(f"expected dtype {expected.dtype.c_name} for `{name}` "
                               f"but got dtype {other.dtype.c_name}")


def tensor_type(dtype) -> str:
    """What PyTorch's refusals call a tensor of this dtype: those that came later have no class of their own there."""
    lazy = dtype.name == "bfloat16" or dtype.name == "bool" or dtype.is_complex or dtype.code >= DTYPES["uint16"].code
    return f"CPU{dtype.legacy}Type" if lazy else f"{prefix()}.{dtype.legacy}Tensor"


def refuse_gradient(name: str, argument: str, value: object, wanted: str = "Number") -> None:
    """Refuse a tensor that requires grad where a number is meant: its gradient would be lost."""
    if getattr(value, "requires_grad", False):
        raise TypeError(f"{name}(): argument '{argument}' must be {wanted}, not Tensor")


def no_derivative(name: str):
    """The rule of what PyTorch does not differentiate either."""
    def rule(g: Tensor) -> Tensor:
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")
    return rule
