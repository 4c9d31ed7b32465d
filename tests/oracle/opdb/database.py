"""The operator database of PyTorch: which entries count, and claygrad's function for each."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db

import claygrad
from tests.oracle.opdb import translate

# Importing the database forbids every later test to set a flag of torch.backends outside of a block.
torch.backends.flags_frozen.__globals__["__allow_nonbracketed_mutation_flag"] = True

# Left out by their kind: what has no dense CPU meaning, and names that are nobody's to call.
LEFT_OUT = {
    "sparse": ("sparse.sampled_addmm", "sparse.mm", "to_sparse"),
    "CUDA alone": ("jiterator_unary", "jiterator_binary", "jiterator_4inputs_with_extra_args",
                   "jiterator_binary_return_by_ref", "jiterator_2inputs_2outputs"),
    "no public name": ("slice",),
    "an operator of Python 2": ("__rdiv__",),
    "quantized": ("torch._scaled_mm", "torch._scaled_mm_v2"),
}
_OUT = {name for names in LEFT_OUT.values() for name in names}


def counts(op: Any) -> bool:
    """Public, dense, on the CPU. Operators of Python (`__radd__`) count; other underscored names are private."""
    last = op.name.rpartition(".")[2]
    private = any(part.startswith("_") for part in op.name.split(".")) and not last.startswith("__")
    return op.name not in _OUT and not private


@functools.cache
def entries() -> dict[str, Any]:
    """Every entry that counts, by its name with its variant."""
    return {name_of(op): op for op in op_db if counts(op)}


def name_of(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


@functools.cache
def ours(name: str) -> Callable | None:
    """claygrad's function for an entry, or None where it has none."""
    op = entries()[name]
    theirs = op.op
    place: Any = torch
    for part in op.name.split("."):
        place = getattr(place, part, None)
    if theirs is not place and isinstance(theirs, types.FunctionType) and theirs.__module__.startswith("torch.testing"):
        return translate.function(theirs)
    found = translate.named(op.name)
    return found if callable(found) else getattr(claygrad.Tensor, op.name, None)         # cfloat is a dtype, too


def tolerance(op: Any, wider: float = 1.0) -> Callable[[torch.dtype], tuple[float, float]]:
    """PyTorch's own tolerance for an operation: the default of the dtype, or the widest its tests grant."""
    granted = [inner.d for told in op.decorators for inner in getattr(told, "decorators", ())
               if type(inner).__name__ == "toleranceOverride"]

    def of(dtype: torch.dtype) -> tuple[float, float]:
        rtol, atol = _DEFAULT.get(dtype, (0.0, 0.0))
        for allowed in (one[dtype] for one in granted if dtype in one):
            rtol, atol = max(rtol, allowed.rtol), max(atol, allowed.atol)
        return rtol * wider, atol * wider

    return of


_DEFAULT = {
    torch.float16: (1e-3, 1e-3),
    torch.bfloat16: (1.6e-2, 1e-2),
    torch.float32: (1.3e-6, 1e-5),
    torch.complex64: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex128: (1e-7, 1e-7),
}
