"""Warnings name the line of the user's program, never one of the library."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import claygrad
from claygrad import nn
from claygrad.nn import functional as F

PACKAGE = Path(__file__).parents[1] / "claygrad"


def early_scheduler() -> None:
    optimizer = claygrad.optim.SGD([claygrad.ones(1, requires_grad=True)], 0.1)
    claygrad.optim.lr_scheduler.StepLR(optimizer, 1).step()


def module_without_dim() -> None:
    nn.Softmax()(claygrad.ones(2, 2))


def out_of_another_size() -> None:
    claygrad.add(claygrad.ones(2), 1, out=claygrad.ones(3))


CALLS: dict[str, Callable[[], object]] = {
    "grad of a non-leaf": lambda: (claygrad.ones(1, requires_grad=True) * 2).grad,
    "softmax without dim": lambda: F.softmax(claygrad.ones(2, 2)),
    "the layer without dim": module_without_dim,
    "a result of another size": out_of_another_size,
    "a scheduler before the optimizer": early_scheduler,
    "loss of other sizes": lambda: F.mse_loss(claygrad.ones(2, 1), claygrad.ones(2)),
    "complex made real": lambda: claygrad.tensor([1j]).to(claygrad.float32),
    "the layer's loss of other sizes": lambda: nn.L1Loss()(claygrad.ones(2, 1), claygrad.ones(2)),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_line_is_the_users(name: str) -> None:
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        CALLS[name]()
    assert given
    assert {warning.filename for warning in given} == {__file__}


def test_all_warnings_pass_through_one_function() -> None:
    """It finds the user's line; a call of the standard library's counts frames, and counts wrong from the next layer."""
    found = [path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*") if path.suffix in {".py", ".pyx"}
             and re.search(r"\bwarnings\.warn(_explicit)?\(", path.read_text())]
    assert found == ["core/user_warnings.py"]
