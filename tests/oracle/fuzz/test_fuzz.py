"""A sample of the random programs; `python -m tests.oracle.fuzz.run` runs any number of them."""

from __future__ import annotations

import pytest

from tests.oracle.fuzz.machine import Machine
from tests.oracle.fuzz.program import write
from tests.oracle.fuzz.run import compare, show, shrink

torch = pytest.importorskip("torch")
BATCH = 50


def _agree(first: int, programs: int) -> None:
    import claygrad

    for number in range(first, first + programs):
        lines = write(number, torch)
        if compare(lines, claygrad, torch).difference:
            small = shrink(lines, claygrad, torch)
            pytest.fail(f"program {number} differs:\n{show(small, compare(small, claygrad, torch))}", pytrace=False)


@pytest.mark.parametrize("first", range(0, 1000, BATCH))
def test_random_programs_agree_with_torch(first):
    _agree(first, BATCH)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 20000, 500))
def test_many_random_programs_agree_with_torch(first):
    _agree(first, 500)


def test_the_oracle_agrees_with_itself():
    for number in range(20):
        lines = write(number, torch)
        assert lines == write(number, torch)
        assert compare(lines, torch, torch).difference is None


def test_the_oracle_copies_what_it_saves():
    machine = Machine(torch)
    for line in (
        "x = torch.tensor([1., 2., 3.], requires_grad=True)",
        "y = x * 1",
        "z = y * y",
        "y.add_(1)",
        "w = y * y",
        "y.data[1:].mul_(5)",
        "y.data = torch.zeros(3)",
        "(g,) = torch.autograd.grad(z.sum(), x, retain_graph=True)",
        "(h,) = torch.autograd.grad(w.sum(), x)",
    ):
        assert machine.run(line) is None
    assert machine.names["g"].tolist() == [2.0, 4.0, 6.0]
    assert machine.names["h"].tolist() == [4.0, 6.0, 8.0]


def test_a_difference_is_shrunk_to_the_statements_that_matter(monkeypatch):
    lines = ["a = torch.tensor([1., 2.])", "b = torch.tensor([3.])", "c = a * 2", "d = torch.marked(c)", "e = a + b"]
    ours, theirs = _Marked(torch, 1), _Marked(torch, 2)
    assert shrink(lines, ours, theirs) == ["a = torch.tensor([1., 2.])", "c = a * 2", "d = torch.marked(c)"]


class _Marked:
    """torch with one function that differs."""

    def __init__(self, lib, factor):
        self.__name__ = "torch"
        self._lib, self._factor = lib, factor

    def __getattr__(self, name):
        return getattr(self._lib, name)

    def marked(self, t):
        return t * self._factor

    def __hash__(self):
        return hash(self._factor)

    def __eq__(self, other):
        return self is other
