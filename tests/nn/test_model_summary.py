"""Tables of layers, shapes, parameters and bytes."""

from __future__ import annotations

import pytest

import claygrad
from claygrad import nn
from claygrad.utils.model_summary import human, summary


def model() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Sequential(nn.Flatten(), nn.Linear(144, 10)))


def test_the_table():
    text = str(summary(model(), claygrad.ones(2, 1, 8, 8)))
    assert text.splitlines() == [
        "Layer             Output shape  Parameters    Bytes",
        "---------------------------------------------------",
        "Sequential        [2, 10]            1,498  5.9 KiB",
        "  0: Conv2d       [2, 4, 6, 6]          40    160 B",
        "  1: BatchNorm2d  [2, 4, 6, 6]           8     72 B",
        "  2: ReLU         [2, 4, 6, 6]           0      0 B",
        "  3: Sequential   [2, 10]            1,450  5.7 KiB",
        "    0: Flatten    [2, 144]               0      0 B",
        "    1: Linear     [2, 10]            1,450  5.7 KiB",
        "---------------------------------------------------",
        "Parameters: 1,498 (1,498 trainable, 0 frozen)",
        "Bytes: parameters 5.9 KiB, buffers 40 B, inputs 512 B, outputs of layers 4.6 KiB",
    ]


def test_the_rows():
    m = model()
    m[0].requires_grad_(False)
    found = summary(m, claygrad.ones(2, 1, 8, 8))
    assert [row.name for row in found.rows] == ["", "0", "1", "2", "3", "3.0", "3.1"]
    assert [row.depth for row in found.rows] == [0, 1, 1, 1, 1, 2, 2]
    conv = found.rows[1]
    assert conv.output == [2, 4, 6, 6]
    assert (conv.parameters, conv.trainable, conv.bytes, conv.output_bytes) == (40, 0, 160, 1152)
    assert (found.total_parameters, found.trainable_parameters) == (1498, 1458)
    assert found.output_bytes == 3 * 1152 + 2 * 144 * 4 + 80


def test_depth_hides_rows_but_not_their_bytes():
    full, short = (summary(model(), claygrad.ones(2, 1, 8, 8), depth=depth) for depth in (None, 1))
    assert [row.name for row in short.rows] == ["", "0", "1", "2", "3"]
    assert short.output_bytes == full.output_bytes


def test_without_inputs_there_are_no_shapes():
    found = summary(model())
    assert [row.output for row in found.rows] == [None] * 7
    assert "-" in str(found).splitlines()[2]


def test_the_model_stays_as_it_was():
    m = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(), nn.Linear(3, 1))
    m[1].eval()
    claygrad.manual_seed(0)
    expected = claygrad.rand(1).item()
    claygrad.manual_seed(0)
    summary(m, claygrad.rand(4, 3, generator=claygrad.Generator()))
    assert claygrad.rand(1).item() == expected
    assert (m.training, m[0].training, m[1].training) == (True, True, False)
    assert m[0].num_batches_tracked.item() == 0
    assert not any(inner._forward_hooks or inner._forward_pre_hooks for inner in m.modules())
    assert m[2].weight.grad is None


def test_a_failing_forward_leaves_no_hooks():
    m = model()
    with pytest.raises(RuntimeError):
        summary(m, claygrad.ones(2, 3, 8, 8))
    assert m.training
    assert not any(inner._forward_hooks for inner in m.modules())


def test_a_layer_that_is_called_twice_counts_once():
    shared = nn.Linear(3, 3)
    found = summary(nn.Sequential(shared, nn.ReLU(), shared), claygrad.ones(1, 3))
    assert found.total_parameters == 12
    assert [row.again for row in found.rows] == [False, False, False, True]
    assert "(again)" in str(found)


def test_results_that_are_nested():
    class Many(nn.Module):
        def forward(self, x, *, flag):
            return {"a": (x, [x]), "n": 3}

    found = summary(Many(), claygrad.ones(2, 3), flag=True)
    assert found.rows[0].output == {"a": ([2, 3], ([2, 3],)), "n": None}
    assert "{a: ([2, 3], ([2, 3])), n: -}" in str(found)


def test_lazy_modules_are_counted_once_they_know_their_sizes():
    assert summary(nn.Sequential(nn.LazyLinear(3))).total_parameters == 0
    assert summary(nn.Sequential(nn.LazyLinear(3)), claygrad.ones(1, 4)).total_parameters == 15


def test_meta_models_have_summaries():
    with claygrad.device("meta"):
        m = nn.Linear(100_000, 100_000)
    assert summary(m, claygrad.ones(2, 100_000, device="meta")).parameter_bytes == 4 * 100_000 * 100_001


def test_bytes_as_text():
    assert [human(n) for n in (0, 1023, 1024, 1536, 5 * 1024**3)] == ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "5.0 GiB"]


def test_what_is_no_module_is_refused():
    with pytest.raises(TypeError, match=r"summary\(\) wants a module first, not int"):
        summary(3)      # type: ignore[arg-type]
