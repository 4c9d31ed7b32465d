"""The workloads of `make bench` are PyTorch programs too."""

from __future__ import annotations

import pytest
import torch

from tests.test_benchmarks import workloads


@pytest.mark.parametrize("name", workloads.WORKLOADS)
def test_every_workload_runs_under_pytorch(name):
    workloads.WORKLOADS[name].setup(torch)()
