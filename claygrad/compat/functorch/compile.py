"""`functorch.compile`: compilers of functions and gradients. Functions run as they are written; graphs are refused."""
from __future__ import annotations

import importlib
from typing import Any

from claygrad.compat.answers._functorch.aot_autograd import (  # noqa: F401
    aot_function,
    aot_module,
    aot_module_simplified,
    compiled_function,
    compiled_module,
)
from claygrad.compat.answers._functorch.compilers import (  # noqa: F401
    memory_efficient_fusion,
    nnc_jit,
    nop,
    ts_compile,
)
from claygrad.compat.refusing import refusing_function

NAMES = """debug_compile default_partition draw_graph draw_graph_compile get_aot_compilation_context get_aot_graph_name
    get_graph_being_compiled min_cut_rematerialization_partition minifier print_compile pythonkey_decompose""".split()
globals().update({name: refusing_function(f"torch._functorch.{name}") for name in NAMES})
config = importlib.import_module("claygrad._functorch.config")
default_decompositions: set[Any] = set()
__all__ = sorted([*NAMES, "aot_function", "aot_module", "aot_module_simplified", "compiled_function", "compiled_module",
                  "config", "default_decompositions", "make_boxed_compiler", "make_boxed_func",
                  "memory_efficient_fusion", "nnc_jit", "nop", "ts_compile"])


def make_boxed_func(f: Any) -> Any:
    """A function of one list of arguments."""

    def boxed(args: Any) -> Any:
        return f(*args)

    boxed._boxed_call = True             # type: ignore[attr-defined]
    return boxed


def make_boxed_compiler(compiler: Any) -> Any:
    """A compiler whose functions take one list of arguments."""

    def compiles(fx_g: Any, example_inputs: Any) -> Any:
        return make_boxed_func(compiler(fx_g, example_inputs))

    return compiles
