"""A sample of the random programs; `python -m tests.oracle.fuzz.run` runs any number of them."""

from __future__ import annotations

import pytest

from tests.oracle.fuzz.machine import trace, trace_apart
from tests.oracle.fuzz.program import Author, write
from tests.oracle.fuzz.run import compare, judge, show, shrink, standards
from tests.oracle.fuzz.wider import WiderAuthor

torch = pytest.importorskip("torch")
import claygrad  # noqa: E402

BATCH = 50


def _agree(first: int, programs: int, oracle: str = "mutation", author: type[Author] = Author) -> None:
    for number, lines, standard in standards(range(first, first + programs), torch, oracle=oracle, author=author):
        if judge(lines, claygrad, torch, standard, oracle).difference:
            small = shrink(lines, claygrad, torch, oracle)
            pytest.fail(f"program {number} differs:\n{show(small, compare(small, claygrad, torch, oracle))}", pytrace=False)


@pytest.mark.parametrize("first", range(0, 1000, BATCH))
def test_random_programs_agree_with_torch(first):
    _agree(first, BATCH)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 20000, 500))
def test_many_random_programs_agree_with_torch(first):
    _agree(first, 500)


@pytest.mark.parametrize("first", range(9_000_300, 9_000_700, BATCH))
def test_wider_random_programs_agree_with_torch(first):
    _agree(first, BATCH, "copies", WiderAuthor)


def test_the_oracle_agrees_with_itself():
    for number in range(20):
        lines = write(number, torch)
        assert lines == write(number, torch)
        assert compare(lines, torch, torch, "copies").difference is None


WRITTEN = ["x = torch.tensor([1., 2., 3.], requires_grad=True)", "y = x * 1"]
ASKED = "g = torch.autograd.grad(z.sum(), x)"
RIGHT = [2.0, 4.0, 6.0]


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        (["z = y * y", "y.add_(1)"], False),
        (["z = y * y", "y.data.add_(1)"], False),
        (["z = y * y", "y.detach()[:1].zero_()"], False),
        # What torch's context does not see, because it knows a storage by the address and version of a tensor on it:
        (["z = y * y", "y[1:].zero_()"], True),
        (["y.add_(0)", "z = y * y", "y.data.zero_()"], True),
        (["z = y * y", "y.data = torch.zeros(3)"], True),
    ],
)
def test_torch_with_copies_is_right_where_its_context_is_not(lines, wrong):
    lines = [*WRITTEN, *lines, ASKED]
    assert trace(lines, torch, "copies")[-1].seen["g[0]"] == ("gradient", RIGHT)
    assert (trace(lines, torch, "mutation")[-1].seen["g[0]"] != ("gradient", RIGHT)) is wrong
    verdict = compare(lines, claygrad, torch)
    assert verdict.difference is None
    assert (verdict.context is not None) is wrong


def test_a_context_that_ends_the_process_is_told():
    lines = [
        "x = torch.tensor([0.5], requires_grad=True)",
        "y = torch.zeros(1).lerp(x, 0.3).abs()",
        "g0 = torch.autograd.grad(weigh(y), [x], allow_unused=True, create_graph=True)",
        "h0 = again(g0, [x])",
    ]
    assert list(trace_apart([lines, WRITTEN], torch, "mutation"))[0] is None
    verdict = compare(lines, claygrad, torch)
    assert verdict.context_crashed
    assert verdict.difference is None


def test_what_follows_a_failed_assertion_of_torch_is_not_compared():
    lines = [
        "x, y = torch.tensor(2.0, requires_grad=True), torch.ones(2)",
        "y[0] *= x",
        "y.retain_grad()",
        "y.unsqueeze_(0)",
        "y[0, 0] = 0.5",
    ]
    verdict = compare(lines, claygrad, torch)
    assert verdict.asserted
    assert verdict.difference is None


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
