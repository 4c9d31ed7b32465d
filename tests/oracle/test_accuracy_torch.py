"""No row of these families is clearly further from the true values than PyTorch: a sample of tests/oracle/accuracy."""

from __future__ import annotations

import pytest

pytest.importorskip("mpmath")

from tests.oracle.accuracy.run import table
from tests.oracle.accuracy.units import clearly_worse

FAMILIES = ["lgamma", "erfinv", "special.ndtri", "special.i0", "special.i1", "digamma", "sin float", "cos float", "log float",
            "log10 float", "atan2", "complex log1p", "addcmul", "large mean", "matmul", "linear", "conv2d"]


@pytest.mark.parametrize("family", FAMILIES)
def test_no_row_is_clearly_worse(family: str):
    found = table([family], share=0.1)
    assert found
    assert not [(name, ours, theirs) for name, dtype, ours, theirs in found if clearly_worse(ours, theirs, dtype)]
