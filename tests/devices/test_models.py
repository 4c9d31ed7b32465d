"""Ten small programs on every device: their losses are those of the CPU."""

from __future__ import annotations

import pytest

from tests.devices.models import PROGRAMS, losses


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_trains_as_on_the_cpu(name, there):
    assert losses(name, there) == pytest.approx(losses(name, "cpu"), rel=2e-4)
