"""The profiler's surface and the counts of operations, as PyTorch has them."""

from __future__ import annotations

import inspect

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode as Theirs

import claygrad
import claygrad.profiler
from claygrad.utils.flop_counter import FlopCounterMode as Ours


def counted(lib, mode, program):
    with mode(display=False) as counter:
        program(lib)
    return {module: {str(name): n for name, n in counts.items()} for module, counts in counter.get_flop_counts().items()}


def mlp(lib):
    model = lib.nn.Sequential(lib.nn.Linear(4, 8), lib.nn.ReLU(), lib.nn.Linear(8, 2))
    model(lib.ones(5, 4)).sum().backward()


def images(lib):
    model = lib.nn.Sequential(lib.nn.Conv2d(4, 8, 3, stride=2, padding=1), lib.nn.Conv2d(8, 8, 3, groups=4), lib.nn.ConvTranspose2d(8, 2, 3))
    model(lib.ones(2, 4, 9, 9, requires_grad=True)).sum().backward()


def lines_and_volumes(lib):
    line, volume = lib.nn.Conv1d(3, 4, 3, dilation=2), lib.nn.Conv3d(3, 4, 3)
    line(lib.ones(2, 3, 20)).sum().backward()
    volume(lib.ones(1, 3, 5, 5, 5)).sum().backward()


def products(lib):
    a, b = lib.ones(3, 4, 5, requires_grad=True), lib.ones(3, 5, 6, requires_grad=True)
    lib.bmm(a, b).sum().backward()
    lib.baddbmm(lib.ones(3, 4, 6), a, b).sum().backward()
    (a[0] @ b[0]).sum().backward()
    lib.addmm(lib.ones(6), a[0], b[0].detach()).sum().backward()
    lib.ones(4, 5) @ lib.ones(5, 6)


@pytest.mark.parametrize("program", [mlp, images, lines_and_volumes, products])
def test_flops(program):
    ours, theirs = counted(claygrad, Ours, program), counted(torch, Theirs, program)
    assert ours == theirs


def test_attention_flops():
    from torch.utils import flop_counter as theirs

    from claygrad.utils import flop_counter as ours
    q, k, v = (2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 4)
    assert ours.sdpa_flop_count(q, k, v) == theirs.sdpa_flop_count(q, k, v)
    assert ours.sdpa_backward_flop_count((2, 3, 5, 4), q, k, v) == theirs.sdpa_backward_flop_count((2, 3, 5, 4), q, k, v)
    q, k, v = (claygrad.ones(*shape, requires_grad=True) for shape in (q, k, v[:-1] + (8,)))
    with Ours(display=False) as counter:
        claygrad.nn.functional.scaled_dot_product_attention(q, k, v).sum().backward()
    assert counter.get_total_flops() == theirs.sdpa_flop_count(q.shape, k.shape, v.shape) + theirs.sdpa_backward_flop_count(
        q.shape, q.shape, k.shape, v.shape)


@pytest.mark.parametrize("name", ["profile", "schedule", "tensorboard_trace_handler", "record_function"])
def test_signatures(name):
    ours, theirs = (inspect.signature(getattr(lib.profiler, name)).parameters for lib in (claygrad, torch))
    absent = {"post_processing_timeout_s", "activity_filters", "use_cupti_monitor"}
    assert [x for x in theirs if x not in absent and x not in ours] == []


def test_names():
    assert set(torch.profiler.__all__) - {"ExecutionTraceObserver"} <= set(claygrad.profiler.__all__)


def test_columns():
    def table(lib, **options):
        x = lib.ones(3, requires_grad=True)
        with lib.profiler.profile(activities=[lib.profiler.ProfilerActivity.CPU], **options) as prof:
            (lib.ones(2, 3) @ lib.ones(3, 2)).sum()
            (x * x).sum().backward()
        return [line.split("  ") for line in prof.key_averages(group_by_input_shape=bool(options)).table(row_limit=3).splitlines()]
    for options in ({}, {"record_shapes": True, "profile_memory": True}):
        ours, theirs = table(claygrad, **options), table(torch, **options)
        assert [x.strip() for x in ours[1] if x.strip()] == [x.strip() for x in theirs[1] if x.strip()]
        assert [len(line) for line in (ours[0], ours[-2])] == [len(line) for line in (theirs[0], theirs[-2])]


def test_schedules():
    for options in ({"wait": 1, "warmup": 1, "active": 2}, {"wait": 0, "warmup": 1, "active": 1, "repeat": 2, "skip_first": 3},
                    {"wait": 2, "warmup": 1, "active": 3, "skip_first": 1, "skip_first_wait": 1, "repeat": 1}):
        ours, theirs = claygrad.profiler.schedule(**options), torch.profiler.schedule(**options)
        assert [ours(i).name for i in range(30)] == [theirs(i).name for i in range(30)]
