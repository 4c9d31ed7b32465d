"""`debug.referrers()` names what keeps a tensor alive."""

from __future__ import annotations

import gc
import sys
import weakref
from collections import deque
from typing import NamedTuple

import pytest

import claygrad as torch
from claygrad import debug, nn

in_module = torch.ones(2)


def names(x) -> set[str]:
    return {one.name for one in debug.referrers(x) if one.function != "names"}


def test_variables_of_functions_and_modules():
    here = torch.ones(1)
    other = here
    assert names(here) == {"here", "other"}
    assert names(in_module) == {"in_module"}
    found = debug.referrers(here)[0]
    assert found.kind == "variable"
    assert found.function == "test_variables_of_functions_and_modules"
    assert other is here


def test_elements_of_containers():
    losses = [torch.ones(1) for _ in range(3)]
    assert "losses[1]" in names(losses[1])
    by_step = {"first": {"x": torch.ones(1)}}
    assert names(by_step["first"]["x"]) == {"by_step['first']['x']"}
    queue = deque([torch.ones(1)])
    assert names(queue[0]) == {"queue[0]"}
    pair = (0, torch.ones(1))
    assert names(pair[1]) == {"pair[1]"}


def test_attributes_slots_parameters_and_gradients():
    class Trainer:
        pass

    class Slotted:
        __slots__ = ("last",)

    class Pair(NamedTuple):
        x: object

    trainer, slotted, model = Trainer(), Slotted(), nn.Sequential(nn.Linear(2, 2))
    trainer.history = [torch.ones(1)]
    slotted.last = torch.ones(1)
    pair = Pair(torch.ones(1))
    assert names(trainer.history[0]) == {"trainer.history[0]"}
    assert names(slotted.last) == {"slotted.last"}
    assert names(pair.x) == {"pair[0]"}
    model[0].weight.sum().backward()
    assert any(name.endswith(".weight") for name in names(model[0].weight))
    assert any(name.endswith(".weight.grad") for name in names(model[0].weight.grad))


def test_closures_and_views():
    def make():
        hidden = torch.ones(3)
        return lambda: hidden

    get = make()
    found = debug.referrers(get())
    assert [one.kind for one in found] == ["closure"]
    assert found[0].name == "hidden"
    row = torch.ones(3, 3)[0]
    assert "row" in names(row._base)


def test_asking_keeps_nothing_alive_and_leaves_locals_alone():
    snapshot = locals()
    x = torch.ones(4)
    gone = weakref.ref(x)
    before = sys.getrefcount(x)
    debug.referrers(x)
    debug.memory()
    assert sys.getrefcount(x) == before
    assert "x" not in snapshot
    del x
    gc.collect()
    assert gone() is None


def test_what_nothing_names_has_no_referrers():
    assert debug.referrers(torch.ones(2)) == []


@pytest.mark.parametrize("x", [0, None, "", (), True, int, torch, torch.ones], ids=repr)
def test_what_thousands_refer_to_is_not_searched_for_ever(monkeypatch, x):
    searches, search = [], gc.get_referrers
    monkeypatch.setattr(gc, "get_referrers", lambda *what: searches.append(1) or search(*what))
    assert isinstance(debug.referrers(x), list)
    assert 1 <= len(searches) <= 100
