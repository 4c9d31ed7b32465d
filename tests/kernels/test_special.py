"""Special functions in native loops against the forms in array operations, on every instruction set."""

from __future__ import annotations

import numpy as np
import pytest

from claygrad.ops import _special
from tests.kernels.door import Kernels

TINY = 10.0 ** -np.arange(1.0, 30)
ENDS = np.array([0.0, -0.0, np.inf, -np.inf, np.nan])
LINE = np.linspace(-20, 20, 1003)
POINTS = {
    "lgamma": np.concatenate([LINE, TINY, -TINY, 1 / TINY, ENDS, [-1.0, -2.0, 1.0, 2.0]]),
    "digamma": np.concatenate([LINE, TINY, -TINY, 1 / TINY, [0.0, -0.0, np.inf, np.nan, -1.0, -2.0]]),
    "erfinv": np.concatenate([LINE / 20, TINY, 1 - TINY[:16], ENDS, [1.5, -1.5]]),
    "erfc": np.concatenate([LINE, TINY, ENDS]),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", POINTS)
def test_a_special_function(kernels: Kernels, isa: str, name: str, dtype: type):
    x = POINTS[name].astype(dtype)
    found = kernels.unary(name, x)
    with np.errstate(all="ignore"):
        wanted = getattr(_special, name)(np, x)
    rounding = float(np.finfo(dtype).eps)
    # Relative to the value, or to 1 next to the zeros of the gamma functions.
    least = 1.0 if name in ("lgamma", "digamma") else float(np.finfo(dtype).tiny) / rounding
    np.testing.assert_allclose(found, wanted, rtol=(8 if dtype is np.float32 else 500) * rounding, atol=8 * rounding * least)
    assert (np.signbit(found) == np.signbit(wanted))[~np.isnan(wanted) & (wanted == 0) & (name == "erfinv")].all()


@pytest.mark.parametrize("name", POINTS)
def test_long_inputs_are_shared_between_threads_without_a_seam(kernels: Kernels, isa: str, name: str):
    x = np.random.default_rng(0).uniform(-0.99, 0.99, 200_003).astype(np.float32)
    parts = np.concatenate([kernels.unary(name, part) for part in np.array_split(x, 7)])
    assert (kernels.unary(name, x) == parts).all()
