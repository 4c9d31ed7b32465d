"""`torch._functorch.compilers`: of compilers, those that leave a function as it is."""
from __future__ import annotations

from typing import Any

from claygrad.compiler import compile


def nop(fx_g: Any, _: Any) -> Any:
    """A compiler that leaves a graph as it is."""
    return fx_g


def ts_compile(fx_g: Any, inps: Any) -> Any:
    """What is scripted stays Python: the graph as it is."""
    return fx_g


def nnc_jit(f: Any) -> Any:
    """The function as it is, which `compile` says once."""
    return compile(f)


def memory_efficient_fusion(fn: Any, **kwargs: Any) -> Any:
    """The function or module as it is: nothing is fused, which `compile` says once."""
    return compile(fn)
