"""`debug.leaks()` finds what a loop keeps from step to step, says the line and the way out, and says nothing of a good loop."""

from __future__ import annotations

from collections import deque

import pytest

import claygrad as torch
from claygrad import debug, nn


@pytest.fixture
def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(20, 1))


def batches(n=6):
    for _ in range(n):
        yield torch.randn(8, 10), torch.randn(8, 1)


def error(model, x, y):
    return (model(x) - y).square().mean()


def only(watch) -> debug.leaks:
    assert len(watch.findings) == 1, str(watch)
    return watch.findings[0]


def test_a_sum_of_losses(model):
    total = 0
    with debug.leaks() as watch:
        for x, y in batches():
            loss = error(model, x, y)
            loss.backward()
            total += loss
            watch.step()
    leak = only(watch)
    assert leak.kind == "graph grows"
    assert leak.where.source == "total += loss"
    assert leak.way_out == "use `total += loss.item()`"
    assert [one.name for one in leak.kept_by] == ["total"]


@pytest.mark.parametrize(("line", "instead"), [
    ("total = total + loss", "total = total + loss.item()"),
    ("total = loss + total", "total = loss.item() + total"),
    ("total += loss * len(x)", "total += loss.item() * len(x)"),
    ("total += loss.sum() / 2", "total += (loss.sum() / 2).item()"),
    ("total -= 2 * loss", "total -= (2 * loss).item()"),
])
def test_ways_to_sum(model, tmp_path, line, instead):
    program = tmp_path / "train.py"
    program.write_text(f"def train(model, batches, error, leaks):\n    total = 0\n    with leaks() as watch:\n"
                       f"        for x, y in batches():\n            loss = error(model, x, y)\n            {line}\n"
                       f"            watch.step()\n    return watch\n")
    space: dict = {}
    exec(compile(program.read_text(), str(program), "exec"), space)
    leak = only(space["train"](model, batches, error, debug.leaks))
    assert leak.where.line == 6
    assert leak.way_out == f"use `{instead}`"


def test_a_list_of_losses(model):
    losses = []
    with debug.leaks() as watch:
        for x, y in batches():
            loss = error(model, x, y)
            loss.backward()
            losses.append(loss)
            watch.step()
    leak = only(watch)
    assert leak.where.source == "losses.append(loss)"
    assert leak.way_out == "use `losses.append(loss.item())`"


def test_an_attribute_and_a_dict(model):
    class Trainer:
        def __init__(self):
            self.history = []
            self.by_step = {}

    trainer = Trainer()
    with debug.leaks() as watch:
        for x, y in batches():
            trainer.history.append(error(model, x, y))
            watch.step()
    leak = only(watch)
    assert leak.where.source == "trainer.history.append(error(model, x, y))"
    assert "error(model, x, y).item()" in leak.way_out
    with debug.leaks() as watch:
        for step, (x, _) in enumerate(batches()):
            trainer.by_step[step] = model(x)
            watch.step()
    assert only(watch).way_out == "use `trainer.by_step[step] = model(x).detach()`"


def test_a_state_that_is_carried_on():
    cell = nn.GRUCell(10, 4)
    h = torch.zeros(8, 4)
    with debug.leaks() as watch:
        for x, _ in batches():
            h = cell(x, h)
            watch.step()
    leak = only(watch)
    assert leak.where.source == "h = cell(x, h)"
    assert leak.way_out == "cut it between steps: `h = h.detach()`"


def test_evaluation_that_records(model):
    model.eval()
    with debug.leaks() as watch:
        for x, y in batches():
            right = (model(x) - y).abs().mean().item()
            watch.step()
    leak = only(watch)
    assert right > 0
    assert leak.kind == "evaluation records a graph"
    assert leak.where.source.startswith("right = (model(x)")
    assert "torch.no_grad()" in leak.way_out
    assert "`model`" in leak.text


def test_tensors_that_pile_up(model):
    seen = []
    with debug.leaks() as watch:
        for x, _ in batches():
            with torch.no_grad():
                out = model(x)
            seen.append(out + 1)
            watch.step()
    leak = only(watch)
    assert leak.kind == "memory grows"
    assert leak.where.source == "seen.append(out + 1)"
    assert leak.kept_by[0].holder == "seen"


def good_training(model, watch):
    optimizer = torch.optim.Adam(model.parameters())
    total, losses = 0.0, []
    for x, y in batches():
        optimizer.zero_grad()
        loss = error(model, x, y)
        loss.backward()
        optimizer.step()
        total += loss.item()
        losses.append(loss.item())
        watch.step()


def accumulated_gradients(model, watch):
    for x, y in batches():
        (error(model, x, y) / 6).backward()
        watch.step()


def good_recurrence(model, watch):
    cell, h = nn.GRUCell(10, 4), torch.zeros(8, 4)
    for x, _ in batches():
        h = cell(x, h.detach())
        h.sum().backward()
        watch.step()


def several_losses(model, watch):
    for x, y in batches():
        loss = 0
        for _ in range(3):
            loss += error(model, x, y)
        loss.backward()
        watch.step()


def bounded_memory(model, watch):
    newest = deque(maxlen=2)
    for x, _ in batches(8):
        newest.append(model(x).detach())
        watch.step()


def evaluation(model, watch):
    model.eval()
    for x, _ in batches():
        with torch.no_grad():
            model(x)
        watch.step()


def frozen_features(model, watch):
    model.eval()                                  # as for batch norm whose statistics stay
    head = nn.Linear(1, 1)
    for x, y in batches():
        (head(model(x)) - y).square().mean().backward()
        watch.step()


@pytest.mark.parametrize("loop", [good_training, accumulated_gradients, good_recurrence, several_losses, bounded_memory,
                                  evaluation, frozen_features], ids=lambda loop: loop.__name__)
def test_a_good_loop_is_left_alone(model, loop):
    with debug.leaks() as watch:
        loop(model, watch)
    assert watch.findings == []
    assert str(watch).startswith("nothing grows after")


def test_few_steps_tell_nothing_and_steps_belong_inside(model):
    total = 0
    with debug.leaks() as watch:
        for x, y in batches(3):
            total += error(model, x, y)
            watch.step()
    assert watch.findings == []
    assert "at least 4 are needed" in str(watch)
    with pytest.raises(RuntimeError, match="inside"):
        watch.step()
    with pytest.raises(RuntimeError, match="inside"):
        debug.leaks().step()


def test_inside_a_ledger_of_memory(model):
    total = 0
    with debug.memory() as ledger, debug.leaks() as watch:
        for x, y in batches():
            total += error(model, x, y)
            watch.step()
        assert only(watch).kind == "graph grows"
    assert sum(ledger.by_kind.values()) == ledger.reserved


def test_a_list_beside_a_sum(model):
    total, history = 0, []
    with debug.leaks() as watch:
        for x, y in batches():
            loss = error(model, x, y)
            total += loss
            history.append(loss)
            watch.step()
    assert [one.kind for one in watch.findings] == ["graph grows"] * 2
    assert ["total" in watch.findings[0].text, "history" in watch.findings[1].text] == [True, True]
