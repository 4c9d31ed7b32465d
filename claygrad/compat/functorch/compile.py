"""`functorch.compile`: compilers of functions and gradients. Functions run as they are written; graphs are refused."""
from __future__ import annotations

import importlib
from typing import Any

from claygrad.compat.refusing import refusing_function
from claygrad.compiler import compile

NAMES = """aot_function aot_module aot_module_simplified compiled_function compiled_module debug_compile
    default_partition draw_graph draw_graph_compile get_aot_compilation_context get_aot_graph_name
    get_graph_being_compiled
    min_cut_rematerialization_partition minifier nnc_jit print_compile pythonkey_decompose ts_compile""".split()
globals().update({name: refusing_function(f"torch._functorch.{name}") for name in NAMES})
config = importlib.import_module("claygrad._functorch.config")
default_decompositions: set[Any] = set()
__all__ = sorted([*NAMES, "config", "default_decompositions", "make_boxed_compiler", "make_boxed_func",
                  "memory_efficient_fusion", "nop"])


def memory_efficient_fusion(fn: Any, **kwargs: Any) -> Any:
    """The function or module as it is: nothing is fused, which `compile` says once."""
    return compile(fn)


def nop(fx_g: Any, _: Any) -> Any:
    """A compiler that leaves a graph as it is."""
    return fx_g


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
