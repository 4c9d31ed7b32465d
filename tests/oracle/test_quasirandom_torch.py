"""Sobol points, scrambled or not, are PyTorch's to the last bit."""
from __future__ import annotations

import pytest
import torch

import claygrad


def engines(*args, **kwargs):
    return [lib.quasirandom.SobolEngine(*args, **kwargs) for lib in (claygrad, torch)]


@pytest.mark.parametrize("scramble", [False, True])
@pytest.mark.parametrize("dimension", [1, 2, 3, 7, 40, 1111])
def test_points(dimension, scramble):
    ours, theirs = engines(dimension, scramble, seed=1234 if scramble else None)
    assert ours.sobolstate.tolist() == theirs.sobolstate.tolist()
    for n in (1, 5, 2, 64):
        assert ours.draw(n).tolist() == theirs.draw(n).tolist()
    assert ours.draw(3, dtype=claygrad.float64).tolist() == theirs.draw(3, dtype=torch.float64).tolist()
    assert (repr(ours), ours.num_generated) == (repr(theirs), theirs.num_generated)


def test_the_first_directions_of_every_dimension():
    ours, theirs = engines(claygrad.quasirandom.SobolEngine.MAXDIM)
    assert claygrad.equal(ours.sobolstate, claygrad.from_numpy(theirs.sobolstate.numpy()))


def test_scrambling_draws_from_the_default_generator():
    claygrad.manual_seed(5)
    torch.manual_seed(5)
    ours, theirs = engines(4, True)
    assert ours.draw(9).tolist() == theirs.draw(9).tolist()
    assert claygrad.rand(3).tolist() == torch.rand(3).tolist()


@pytest.mark.parametrize("steps", [(3, 4, 1), (1, 1, 1000), (8, 0, 5)])
def test_forward_and_back(steps):
    ours, theirs = engines(5, True, 7)
    for engine in (ours, theirs):
        engine.fast_forward(steps[0])
        engine.draw(2)
        engine.fast_forward(steps[1]).fast_forward(steps[2])
    assert ours.draw(4).tolist() == theirs.draw(4).tolist()
    assert ours.reset().draw(2).tolist() == theirs.reset().draw(2).tolist()


def test_powers_of_two_only():
    ours, theirs = engines(2)
    for m in (2, 2, 3):
        assert ours.draw_base2(m).tolist() == theirs.draw_base2(m).tolist()
    said = []
    for engine in (ours, theirs):
        with pytest.raises(ValueError, match="balance properties") as caught:
            engine.draw_base2(1)
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_out_and_bad_dimensions():
    ours, theirs = engines(3)
    out = claygrad.empty(0)
    assert ours.draw(5, out=out) is out
    assert out.tolist() == theirs.draw(5).tolist()
    for lib in (claygrad, torch):
        for dimension in (0, 21202):
            with pytest.raises(ValueError, match=r"Supported range of dimensionality for SobolEngine is \[1, 21201\]"):
                lib.quasirandom.SobolEngine(dimension)
