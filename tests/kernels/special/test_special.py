"""Special functions in native loops against the forms in array operations, on every instruction set."""

from __future__ import annotations

import numpy as np
import pytest

from claygrad.ops import _special
from tests.kernels.kernel_api import Kernels

TINY = 10.0 ** -np.arange(1.0, 30)
ENDS = np.array([0.0, -0.0, np.inf, -np.inf, np.nan])
LINE = np.linspace(-20, 20, 1003)
UNIT = np.concatenate([LINE / 20, TINY, 1 - TINY[:16], ENDS, [1.5, -1.5]])
POINTS = {
    "lgamma": np.concatenate([LINE, TINY, -TINY, 1 / TINY, ENDS, [-1.0, -2.0, 1.0, 2.0]]),
    "digamma": np.concatenate([LINE, TINY, -TINY, 1 / TINY, [0.0, -0.0, np.inf, np.nan, -1.0, -2.0]]),
    "erfinv": UNIT,
    "erfc": np.concatenate([LINE, TINY, ENDS]),
    "erfcx": np.concatenate([LINE, TINY, 1 / TINY, ENDS, [-27.5, -26.6]]),
    "ndtri": np.concatenate([UNIT, 10.0 ** -np.arange(1.0, 300, 7)]),
    **{name: np.concatenate([LINE, TINY, -TINY, ENDS, [600.0, -700.0, 800.0]]) for name in ("i0", "i1", "i0e", "i1e")},
}
BLUNT = {"erfcx": 3000, "i0": 1000, "i1": 1000}          # the array operations' own error, in units of the last place


def _run(kernels: Kernels, name: str, x: np.ndarray) -> np.ndarray:
    return kernels.unary(name, x) if name == "erfc" else kernels.each(name, x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", POINTS)
def test_a_special_function(kernels: Kernels, isa: str, name: str, dtype: type):
    x = POINTS[name].astype(dtype)
    found = _run(kernels, name, x)
    with np.errstate(all="ignore"):
        wanted = getattr(_special, name)(np, x)
    rounding = float(np.finfo(dtype).eps)
    # Relative to the value, or to 1 next to the zeros of the gamma functions.
    least = 1.0 if name in ("lgamma", "digamma") else float(np.finfo(dtype).tiny) / rounding
    rough = 8 if dtype is np.float32 else BLUNT.get(name, 500)
    np.testing.assert_allclose(found, wanted, rtol=rough * rounding, atol=8 * rounding * least)
    assert (np.signbit(found) == np.signbit(wanted))[~np.isnan(wanted) & (wanted == 0) & (name == "erfinv")].all()


@pytest.mark.parametrize("name", POINTS)
def test_long_inputs_are_shared_between_threads_without_a_seam(kernels: Kernels, isa: str, name: str):
    x = np.random.default_rng(0).uniform(-0.99, 0.99, 200_003).astype(np.float32)
    parts = np.concatenate([_run(kernels, name, part) for part in np.array_split(x, 7)])
    assert np.array_equal(_run(kernels, name, x), parts, equal_nan=True)
