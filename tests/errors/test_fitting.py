"""What would have run: suggestions that were tried, and what trying them leaves alone."""

from __future__ import annotations

import pytest

import claygrad
import claygrad.nn.functional as F
from claygrad import nn


def said(run) -> str:
    with pytest.raises((RuntimeError, TypeError, ValueError, IndexError)) as raised:
        run()
    return str(raised.value)


def test_a_change_is_named_with_the_words_of_the_line():
    scores, mask = claygrad.randn(10, 4), claygrad.rand(10, 1) > 0.5
    assert "it runs with mask.squeeze(-1), (10,)" in said(lambda: scores[mask])


def test_the_dtype_is_changed_only_where_the_text_speaks_of_dtypes():
    rows, mask = claygrad.randn(10, 4), claygrad.rand(10, 1) > 0.5
    assert ".long()" not in said(lambda: rows[mask]).splitlines()[-1]
    scores, steps = claygrad.randn(3, 4), claygrad.rand(3, 1)
    assert ".long()" in said(lambda: scores.gather(1, steps))


def test_no_change_that_pairs_every_element_with_every_other():
    a, b = claygrad.randn(8), claygrad.randn(3)
    text = said(lambda: a + b)
    assert "unsqueeze" not in text
    assert "it runs with a[:3], (3,)" in text or "a[:3]" in text


def test_the_order_of_a_recurrent_layer():
    layer = nn.GRU(3, 4)
    steps, state = claygrad.randn(5, 7, 3), claygrad.zeros(1, 5, 4)
    assert "it runs where the layer is made with batch_first=True" in said(lambda: layer(steps, state))
    assert layer.batch_first is False


def test_nothing_is_changed_and_no_number_is_drawn():
    layer = nn.Sequential(nn.Dropout(0.5), nn.BatchNorm2d(3))
    image, before = claygrad.rand(3, 4, 4), layer[1].running_mean.clone()
    was, state = image.clone(), claygrad.get_rng_state()
    assert "it runs with image.unsqueeze(0), (1, 3, 4, 4)" in said(lambda: layer[1](image))
    assert claygrad.equal(claygrad.get_rng_state(), state)
    assert claygrad.equal(layer[1].running_mean, before)
    assert claygrad.equal(image, was)
    assert layer[1].num_batches_tracked == 0


def test_functions_of_the_program_do_not_run_again():
    calls = []

    class Mine(nn.Module):
        def forward(self, x):
            calls.append(x)
            return x.matmul(claygrad.zeros(5, 2))

    model, x = nn.Sequential(Mine(), nn.ReLU()), claygrad.zeros(5, 3)
    said(lambda: model(x))
    assert len(calls) == 1
    layer = nn.Linear(5, 2)
    layer.register_forward_pre_hook(lambda module, args: calls.append(args))
    said(lambda: layer(x))
    assert len(calls) == 2


def test_subclasses_are_left_alone():
    calls = []

    class Mine(claygrad.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            calls.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = claygrad.zeros(10, 1).as_subclass(Mine)
    calls.clear()
    said(lambda: claygrad.matmul(x, claygrad.zeros(3, 4)))
    assert len(calls) == 1


def test_none_inside_vmap():
    def row(x, mask):
        return x[mask.unsqueeze(0).repeat(3, 1)]

    text = said(lambda: claygrad.vmap(row)(claygrad.randn(4, 3, 2), claygrad.zeros(4, 7, dtype=claygrad.long)[:, :1] > 0))
    assert "\n  it runs with" not in text


def test_large_arguments_are_not_copied():
    big, mask = claygrad.zeros(2**18), claygrad.zeros(2**18, 1) > 0
    assert "\n  it runs with" not in said(lambda: big[mask])


def test_a_hidden_state_of_a_record():
    class Output:
        def __init__(self, logits):
            self.logits = logits

    outputs, labels = Output(claygrad.randn(3, 2)), claygrad.tensor([0, 1, 0])
    assert "outputs.logits" in said(lambda: F.cross_entropy(outputs, labels))


def test_lists_without_end_are_not_walked():
    inside: tuple = ()
    for _ in range(200):
        inside = (inside, inside)
    itself: list = []
    itself.append(itself)
    for endless in (inside, itself):
        assert "\n  it runs with" not in said(lambda endless=endless: claygrad.cat([claygrad.zeros(1), endless]))


def test_a_line_that_fails_over_and_over_is_tried_some_times_only():
    x, mask = claygrad.zeros(10), claygrad.zeros(10, 1) > 0
    texts = [said(lambda: x[mask]) for _ in range(30)]
    assert "\n  it runs with" in texts[0]
    assert "\n  it runs with" not in texts[-1]


@pytest.mark.parametrize("wrong", [
    lambda x, y: x @ y.view(-1, 2),                          # 20,000 x 20,000 where one is transposed
    lambda x, y: x + y[:, :1],
    lambda x, y: claygrad.einsum("i,j->ij", x[:, 0], y[:, :1]),
    lambda x, y: claygrad.nn.Linear(1, 40_000)(y),
    lambda x, y: claygrad.cdist(x, y[:, :1]),
])
def test_no_large_result_is_computed(wrong):
    x, y = claygrad.zeros(20_000, 2), claygrad.zeros(19_998, 2)
    said(lambda: wrong(x, y))                                # loaded, compiled and cached
    claygrad.memory.reset_peak()
    before = claygrad.memory.peak()
    said(lambda: wrong(x, y))
    assert claygrad.memory.peak() - before < 2**24


def test_nobody_sees_what_is_tried():
    from claygrad.utils._python_dispatch import TorchDispatchMode
    from claygrad.utils.flop_counter import FlopCounterMode

    seen = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    a, b = claygrad.zeros(2, 3), claygrad.zeros(2, 3)
    with FlopCounterMode(display=False) as flops, Mode():
        assert "\n  it runs with" in said(lambda: claygrad.mm(a, b))
    assert len(seen) <= 1
    assert flops.get_total_flops() == 0


def test_hooks_of_all_modules_do_not_run_again():
    calls = []
    handle = nn.modules.module.register_module_forward_hook(lambda module, args, out: calls.append(module))
    try:
        said(lambda: nn.Sequential(nn.Linear(3, 2), nn.Linear(3, 2))(claygrad.zeros(1, 3)))
    finally:
        handle.remove()
    assert len(calls) == 1


def test_what_is_tried_warns_of_nothing(recwarn):
    said(lambda: F.mse_loss(claygrad.zeros(8, 10), claygrad.zeros(8, 20)))
    assert len(recwarn) == 1
