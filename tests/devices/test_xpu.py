"""Operations on `xpu`, where dpnp and a SYCL device are (make test-xpu): every fourth in the tests, all for the table of
docs/devices.md (python -m tests.devices.coverage)."""

from __future__ import annotations

import pytest

from tests.devices.compare import SAID, differences
from tests.devices.test_operations import KEYS, LACKING

FEW = [key for i, key in enumerate(KEYS) if i % 4 == 0 or SAID[key].namespaces[0] == "nn.functional"]


@pytest.mark.parametrize("key", FEW)
def test_an_operation_does_there_what_it_does_on_the_cpu(key):
    found = list(differences(key, "xpu", most=2))        # kernels are compiled as they are met
    if key in LACKING:
        assert {word for word, _ in found} <= {"lacks"}
    else:
        assert not found, "\n".join(f"{word}: {text}" for word, text in found)
