"""`torch._dynamo`: nothing is compiled, functions stay as they are."""
from __future__ import annotations

from typing import Any

from claygrad import compiler
from claygrad.compat.refusing import always, unchanged
from claygrad.compiler import OptimizedModule

allow_in_graph = assume_constant_result = disallow_in_graph = forbid_in_graph = graph_break = unchanged
mark_dynamic = maybe_mark_dynamic = mark_static = mark_static_address = mark_unbacked = reset_code_caches = always(None)
is_compiling = compiler.is_compiling
disable, run, reset = compiler.disable, compiler.disable, compiler.reset
list_backends = compiler.list_backends


def optimize(backend: Any = "inductor", **kwargs: Any) -> Any:
    """A decorator like `torch.compile` with a backend."""
    import claygrad
    return lambda model: claygrad.compile(model, backend=backend)


optimize_assert = optimize
