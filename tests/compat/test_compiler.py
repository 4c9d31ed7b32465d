"""`torch.compiler`: functions that stay as they are, and the one that changes arguments."""
import subprocess
import sys

import numpy as np

import claygrad


def test_a_numpy_function_wrapped_takes_and_gives_tensors():
    seen = []

    @claygrad.compiler.wrap_numpy
    def double(x, more):
        seen.append((type(x), type(more["y"])))
        return {"sum": x + more["y"], "name": "kept"}

    got = double(claygrad.ones(2), {"y": claygrad.arange(2.0)})
    assert seen == [(np.ndarray, np.ndarray)]
    assert got["sum"].tolist() == [1.0, 2.0]
    assert got["name"] == "kept"


REGISTERED = """
import torch
from torch._decomp import get_decompositions, register_decomposition
from torch._inductor.decomposition import register_decomposition as register_for_inductor
from torch._inductor.lowering import add_layout_constraint, register_lowering
from torch._inductor.pattern_matcher import register_graph_pattern, register_lowering_pattern

aten = torch.ops.aten
for register in (register_decomposition, register_for_inductor, register_lowering, register_graph_pattern, register_lowering_pattern):
    for known in (aten.add.Tensor, [aten.add.Tensor, aten.sub]):
        @register(known)
        def add_one(x):
            return x + 1
        assert add_one(torch.ones(1)).item() == 2
assert add_layout_constraint(aten.mm, None) is None
assert get_decompositions([aten.gelu]) == {}
assert list(get_decompositions([aten.sub, aten.gelu])) == [aten.sub]
"""


def test_what_packages_tell_the_compiler_leaves_their_functions_as_they_are():
    program = f"import claygrad; claygrad.as_torch()\n{REGISTERED}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
