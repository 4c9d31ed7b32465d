"""`torch._functorch.aot_autograd`: functions that a compiler would be given as graphs, forward and backward.

There are no graphs, so a function runs as it is written where the compiler would leave its graph as it is; any other
compiler is refused.
"""
from __future__ import annotations

import functools
from typing import Any

from claygrad.compat.answers._functorch.compilers import nop, ts_compile
from claygrad.compat.refusing import refusal
from claygrad.nn.modules.module import Module

_AS_IT_IS = (nop, ts_compile)


def _expect_as_it_is(name: str, *compilers: Any) -> None:
    if any(compiler is not None and compiler not in _AS_IT_IS for compiler in compilers):
        raise refusal(f"torch._functorch.{name}")


def aot_function(fn: Any, fw_compiler: Any, bw_compiler: Any = None, partition_fn: Any = None,
                 decompositions: Any = None, num_params_buffers: int = 0, keep_inference_input_mutations: bool = False,
                 inference_compiler: Any = None, *, dynamic: bool = False, enable_log: bool = True,
                 disable_functionalization: bool = False) -> Any:
    """The function as it is, for compilers that leave graphs as they are."""
    _expect_as_it_is("aot_function", fw_compiler or refusal, bw_compiler, inference_compiler)

    @functools.wraps(fn)
    def returned_function(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return returned_function


def aot_module(mod: Module, *args: Any, **kwargs: Any) -> Module:
    """A module around the given one, as `aot_function` is around a function."""

    class AOTModule(Module):
        def __init__(self) -> None:
            super().__init__()
            self.orig_module = mod
            self.call = aot_function(mod, *args, **kwargs)

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return self.call(*args, **kwargs)

    return AOTModule()


def aot_module_simplified(mod: Module, args: Any, fw_compiler: Any, bw_compiler: Any = None, partition_fn: Any = None,
                          decompositions: Any = None, keep_inference_input_mutations: bool = False,
                          inference_compiler: Any = None) -> Any:
    """A function of the arguments in their order."""
    return aot_function(mod, fw_compiler, bw_compiler, inference_compiler=inference_compiler)


compiled_function, compiled_module = aot_function, aot_module
