"""The classes that contexts of other packages are made of."""
from __future__ import annotations

import pytest

from claygrad.compat.answers.utils._contextlib import (
    _DecoratorContextManager,
    _NoParamDecoratorContextManager,
    context_decorator,
)

LOG: list[str] = []


class Noted(_DecoratorContextManager):
    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        LOG.append(f"in {self.name}")

    def __exit__(self, *error: object) -> None:
        LOG.append(f"out {self.name}")

    def clone(self) -> Noted:
        return Noted(self.name)


class Plain(_NoParamDecoratorContextManager):
    def __enter__(self) -> None:
        LOG.append("in")

    def __exit__(self, *error: object) -> None:
        LOG.append("out")


@pytest.fixture(autouse=True)
def empty() -> None:
    LOG.clear()


def test_functions_run_inside() -> None:
    @Noted("a")
    def call(x: int) -> int:
        LOG.append("call")
        return x + 1

    assert call(1) == 2
    assert LOG == ["in a", "call", "out a"]
    assert call.__name__ == "call"


def test_without_brackets() -> None:
    @Plain
    def call() -> int:
        return 3

    assert call() == 3
    assert LOG == ["in", "out"]


def test_generators_wait_outside() -> None:
    @Noted("g")
    def count():
        try:
            got = yield 1
            LOG.append(f"got {got}")
            yield 2
        except KeyError:
            LOG.append("caught")
            yield 3
        return 4

    made = count()
    assert next(made) == 1
    assert LOG == ["in g", "out g"]
    assert made.send("x") == 2
    assert made.throw(KeyError("k")) == 3
    with pytest.raises(StopIteration) as done:
        next(made)
    assert done.value.value == 4
    assert LOG.count("in g") == LOG.count("out g") == 4
    assert "got x" in LOG
    assert "caught" in LOG


def test_classes_are_refused() -> None:
    with pytest.raises(RuntimeError, match="Cannot decorate classes"):
        context_decorator(lambda: Noted("a"), int)
