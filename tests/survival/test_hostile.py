"""A sample of hostile calls: whatever a call is given, the process lives. More of them: `make hostile`, `make sanitize`."""

from __future__ import annotations

import contextlib
import copy
import operator
from random import Random

import pytest

import claygrad as torch
from tests.survival.hostile import things
from tests.survival.hostile.histories import STEPS, filled
from tests.survival.hostile.mutate import program
from tests.survival.hostile.programs import PROGRAMS
from tests.survival.hostile.run import campaign
from tests.survival.hostile.shrink import shrink
from tests.survival.hostile.things import POOL, Index, Int, Lie, fresh, leaf, t
from tests.survival.hostile.tool_programs import PROGRAMS as TOOL_PROGRAMS
from tests.survival.hostile.worker import _settle, run


@pytest.mark.parametrize("part", range(4))
def test_a_sample_of_hostile_calls(part: int):
    found = campaign(seed=20, begin=part * 500, calls=500, batch=500, effort=20, most=3)
    assert found == [], "\n".join(found)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_hostile_calls():
    found = campaign(seed=21, begin=0, calls=20_000, most=10)
    assert found == [], "\n".join(found)


def test_a_seed_gives_the_same_programs():
    texts = [program(3, number) for number in range(50)]
    assert texts == [program(3, number) for number in range(50)]
    assert len(set(texts)) > 45


# Of programs that ask for what may be absent, or whose point is a wrong answer.
MAY_LACK = ("hasattr", "Like(", "Func(", "keen(", "setstate", "backward_hooks")


@pytest.mark.parametrize("part", range(4))
def test_the_programs_to_start_from_name_what_exists(part: int):
    """A program that stops at a name which is not there tries nothing."""
    missed = []
    for text in [*PROGRAMS, *TOOL_PROGRAMS][part::4]:
        if "race(" in text or any(word in text for word in MAY_LACK):
            continue
        names = {name: getattr(things, name) for name in things.__all__}
        fresh()
        try:
            exec(text, names)
        except (NameError, AttributeError, ImportError) as error:
            missed.append(f"{text}: {error}")
        except Exception as error:
            del error
        finally:
            _settle()
    assert missed == []


def test_the_steps_of_histories_name_what_exists():
    missed, done = [], 0
    for number, step in enumerate(STEPS):
        names = {name: getattr(things, name) for name in things.__all__} | {"copy": copy}
        names |= {"a": t(2, 3), "b": leaf(2, 3), "c": t(2, 3) * 1, "d": t(6)}
        if "race(" in step:
            continue
        try:
            exec(filled(step, Random(number)), names)
            done += 1
        except (NameError, SyntaxError, ImportError) as error:
            missed.append(f"{step}: {error}")
        except Exception as error:
            del error
        finally:
            _settle()
    assert not missed, "\n".join(missed)
    assert done > len(STEPS) / 2


def test_a_process_that_dies_is_noticed_and_its_program_made_short():
    """By a signal, by SystemError, by running for ever; and what comes before is not blamed."""
    fatal = "x = t(3)\ny = torch.add(x, __import__('ctypes').string_at(0), alpha=2)"
    end = run(["t(3)", fatal, "t(3)"])
    assert (end.at, end.why) == (1, "dies of SIGSEGV")
    short = shrink(fatal, lambda text: run([text]).why == end.why, tries=30)
    assert short == "y = __import__('ctypes').string_at(0)"
    assert "SystemError" in run(["t(3)", "raise SystemError('a')"]).why
    end = run(["t(3)", "while True: pass"], seconds=2)
    assert (end.at, "hangs" in end.why) == (1, True)
    assert run(["t(3)", "raise KeyboardInterrupt"]).at is None


# What was found

CALLS = {
    "get": lambda x: x[Index("a")], "get float": lambda x: x[Index(0.5)], "set": lambda x: operator.setitem(x, Index(None), 0),
    "slice": lambda x: x[:Index([])], "dim": lambda x: x.sum(Index("a")), "size": lambda x: x.view(Index(0.5), 2),
    "dims": lambda x: x.permute((0, Index("a"))),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_index_that_is_no_int_is_refused(name):
    with pytest.raises((TypeError, IndexError), match=r"__index__ returned non-int|only integers, slices"):
        CALLS[name](t(2, 3))


def test_objects_with_an_index_and_kinds_of_int_are_ints():
    x = torch.arange(6).view(2, 3)
    assert x[Index(1), Int(2)].item() == 5
    assert x[Index(0):Index(1)].tolist() == [[0, 1, 2]]
    assert x.view(Index(3), 2).shape == (3, 2)
    assert x.sum(Index(0)).tolist() == [3, 5, 7]


def test_an_index_may_change_the_tensor():
    for key in (lambda: (Index(1, "shape"), 2), lambda: (slice(0, Index(2, "shape")), 2), lambda: (slice(Index(0, "shrink"), None), 1)):
        fresh()
        x = POOL[0]
        with contextlib.suppress(IndexError):
            assert x[key()].numel() <= 6


def test_steps_beyond_the_end():
    x = torch.arange(6.0).view(2, 3)
    assert (x[::5].stride(), x[:, ::2].stride()) == ((15, 1), (3, 2))
    for step in (2**31, 2**60 + 1, 2**62, 2**63 - 1):
        assert x[::step].tolist() == [[0, 1, 2]]
        assert x[1::step, ::step].clone().numpy().tolist() == [[3]]
        assert x[:, 5::step].shape == (2, 0)


def test_more_neighbours_than_channels():
    x, norm = torch.rand(2, 5, 3), torch.nn.LocalResponseNorm
    assert torch.allclose(norm(2**40, alpha=2.0**40)(x), x / (1 + (x * x).sum(1, keepdim=True)) ** 0.75)
    assert torch.allclose(norm(11, alpha=11.0)(x), x / (1 + (x * x).sum(1, keepdim=True)) ** 0.75)


@pytest.mark.parametrize("data", [range(2**62), Lie(2**53), [1.0, Lie(2**62)], [Lie(2**40)] * 2**20], ids=["range", "object", "entry", "many"])
def test_lengths_that_no_memory_holds_are_refused_before_they_are_read(data):
    for call in (torch.tensor, torch.as_tensor, lambda data: t(3)[data]):
        with pytest.raises((RuntimeError, TypeError, IndexError, ValueError, OverflowError)):
            call(data)


def test_a_backward_that_calls_itself_for_ever_ends():
    """The function that is run again returns the very tensor whose gradient is asked for."""
    same = t(1)
    out = torch.utils.checkpoint.checkpoint(lambda x: same, t(3).requires_grad_(), use_reentrant=True)
    with pytest.raises(RecursionError, match="calls of backward inside one another"):
        out.backward()
