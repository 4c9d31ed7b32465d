"""Sequences beside tensors, strings as indices, flags of losses, dtypes of convolutions: results and refusals are PyTorch's."""

from __future__ import annotations

import itertools
import warnings

import pytest
import torch

import claygrad
import claygrad.nn

SEQUENCES = ["[1]", "(1,)", "'a'", "b'a'", "range(3)", "{}", "None"]
OTHERS = ["torch.ones(2)", "torch.tensor(2)", "torch.nn.Parameter(torch.ones(2))"]
EXPRESSIONS = [
    *(f"{a} {sign} {b}" for a, sign, b in itertools.product(SEQUENCES, "+*-/", OTHERS)),
    *(f"{b} {sign} {a}" for a, sign, b in itertools.product(SEQUENCES[:3], "+-", OTHERS)),
    *(f"torch.ones({shape})[{key!r}]" for shape in ("3", "2, 3", "1, 2, 3") for key in ("a", "ab", "abc", "labels", "")),
    *(f"torch.nn.MSELoss({a}, {b}).reduction" for a, b in itertools.product(
        ["torch.ones(3)", "torch.zeros(())", "True", "None", "0"], ["torch.ones(3)", "torch.ones(())", "False", "None"])),
    *(f"torch.nn.functional.conv{n}d(torch.ones({', '.join('11555'[:n + 2])}, dtype=torch.{a}), "
      f"torch.ones({', '.join('11333'[:n + 2])}, dtype=torch.{b}), {c}).shape"
      for n, a, b in itertools.product((1, 2), ("float32", "float64", "int64", "uint8"), ("float32", "float64"))
      for c in ("None", "torch.ones(1)", "torch.ones(1, dtype=torch.float64)")),
]


def outcome(expression: str, module: object) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return repr(eval(expression, {"torch": module})).replace("claygrad", "torch")
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}".replace("claygrad", "torch")


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_it_is_as_in_pytorch(expression: str):
    assert outcome(expression, claygrad) == outcome(expression, torch)
