"""FlopCounterMode: sums by module and operation, and its table. tests/oracle/test_profiler_torch.py has PyTorch's numbers."""

from __future__ import annotations

import pytest

import claygrad as torch
from claygrad import nn
from claygrad.utils.flop_counter import FlopCounterMode, convert_num_with_suffix, get_suffix_str


def test_by_module_and_operation(capsys):
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    with FlopCounterMode() as counter:
        model(torch.ones(5, 4)).sum().backward()
    assert counter.get_flop_counts() == {
        "Global": {"aten.addmm": 480, "aten.mm": 640}, "Sequential": {"aten.addmm": 480, "aten.mm": 640},
        "Sequential.0": {"aten.addmm": 320, "aten.mm": 320}, "Sequential.2": {"aten.addmm": 160, "aten.mm": 320}}
    assert counter.get_total_flops() == 1120
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["Module", "FLOP", "%", "Total"]
    assert lines[2].split() == ["Sequential", "1120.000", "100.00%"]
    assert "  - aten.addmm" in "\n".join(lines)
    assert len(counter.get_table(depth=1).splitlines()) == 5


def test_batches_and_kernels_of_their_own():
    with FlopCounterMode(display=False) as counter:
        torch.ones(2, 3, 4, 5) @ torch.ones(2, 3, 5, 6)
        torch.ones(3, 4, 5) @ torch.ones(5, 6)
    assert counter.get_total_flops() == 2 * 6 * 4 * 5 * 6 + 2 * 12 * 5 * 6


def test_second_derivatives_and_failures():
    w = torch.ones(3, 3, requires_grad=True)
    with FlopCounterMode(display=False) as counter:
        g, = torch.autograd.grad((w @ w).sum(), w, create_graph=True)
        with pytest.raises(RuntimeError):
            torch.ones(2, 3) @ torch.ones(2, 3)
    assert counter.get_total_flops() == 3 * 54
    assert g.shape == (3, 3)


def test_formulas_of_ones_own():
    with FlopCounterMode(display=False, custom_mapping={"exp": lambda x, out_shape: 7 * out_shape[0]}) as counter:
        torch.ones(3).exp()
    assert counter.get_flop_counts()["Global"] == {"aten.exp": 21}


def test_nothing():
    with FlopCounterMode(display=False) as counter:
        torch.ones(3) + 1
    assert counter.get_total_flops() == 0
    assert "Global" in counter.get_table()
    with pytest.warns(UserWarning, match="not needed"):
        FlopCounterMode(nn.Linear(1, 1))
    assert (get_suffix_str(1_010_000_000), convert_num_with_suffix(1_500_000, "M")) == ("M", "1.500M")
