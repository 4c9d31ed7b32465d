"""Quotients of half precision that are rounded to whole numbers: PyTorch rounds to the half dtype first, unless the divisor is one number."""
from __future__ import annotations

import numpy as np
import pytest
import torch

import claygrad

SHAPES = {"elements": (3000, 7), "a column": (3000, 1), "a row": (7,), "one element": (1, 1), "a scalar": ()}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mode", ["trunc", "floor"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_quotients_are_pytorchs(dtype: str, mode: str, shape: str):
    random = np.random.default_rng(0)
    x, y = random.standard_normal((3000, 7)), random.standard_normal(SHAPES[shape]) * 0.1

    def quotient(lib):
        a, b = (lib.tensor(values, dtype=lib.float32).to(getattr(lib, dtype)) for values in (x, y))
        return lib.div(a, b, rounding_mode=mode).float().numpy()
    np.testing.assert_array_equal(quotient(claygrad), quotient(torch))
