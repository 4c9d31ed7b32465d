"""Every declared operation on the test device against the CPU: values, gradients, the order of memory."""

from __future__ import annotations

import pytest

from tests.devices.compare import HOST_ONLY, SAID, differences

KEYS = [key for key, said in SAID.items() if said.name not in HOST_ONLY]

# SciPy and LAPACK compute these, in main memory: the device refuses them and names the way out.
LACKING = frozenset(
    "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 "
    "scaled_modified_bessel_k1 igamma igammac chalf ldl_factor_ex ldl_factor ldl_solve".split()
)


@pytest.mark.parametrize("key", KEYS)
def test_an_operation_does_there_what_it_does_on_the_cpu(key, strict):
    found = list(differences(key, strict))
    if key in LACKING:
        assert found
        assert {word for word, _ in found} == {"lacks"}
    else:
        assert not found, "\n".join(f"{word}: {text}" for word, text in found)
