"""`torch.compiler`: functions that stay as they are, and the one that changes arguments."""
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
