"""The classic mistakes raise PyTorch's exceptions, with PyTorch's text as their first line."""

from __future__ import annotations

import pytest
import torch

import claygrad
import claygrad.nn
import claygrad.optim
from tests.errors.running import MISTAKES, run

SILENT_IN_PYTORCH = {"saved memory changed through NumPy"}

# PyTorch counts the signatures of most of these, of which claygrad has one, and names keywords in the order of a hash table; Python
# writes the name of a shape's class, and has two wordings for what it cannot pickle; PyTorch's vmap words the error of the operation
# that its rule computes; and the text about files says what PyTorch did in another version.
OTHER_TEXT = {"an unknown keyword", "a size as a list of floats", "a tensor where a number belongs", "full without a value",
              "max of two arguments and a dimension", "data where a layer is made", "a shape called", "a file of something else",
              "embedding given list", "save whole closure", "sum over dim name", "conv padding string", "log_softmax axis str",
              "to dtype string", "prune", "print shape with size()", "numpy requires grad", "permute missing",
              "add tensor str", "stack numpy", "to numpy cat", "dim name",
              "reinforce numpy reward", "shape call", "conv padding str", "named 4 of 27",
              "reshape with keyword", "save lambda module", "load weights only", "vmap inner line",
              # an inner function of PyTorch's, and one with two signatures
              "huggingface style output to loss", "random split of floats", "dataset returns string label"}

# What PyTorch's Python functions say where they ask no tensor for its size; claygrad checks the argument before.
OTHER_KIND = {"mse swapped none", "criterion of tuple", "forward no return"}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_first_line_is_pytorchs(name: str, tmp_path):
    path = tmp_path / "mistake.py"
    theirs, ours = run(MISTAKES[name][1], torch, path), run(MISTAKES[name][1], claygrad, path)
    assert ours is not None
    if name in SILENT_IN_PYTORCH:
        assert theirs is None
        return
    assert theirs is not None
    if name in OTHER_KIND:
        assert "object has no attribute 'size'" in theirs.first
        assert "must be Tensor, not" in ours.first
        return
    assert theirs.kind == ours.kind
    if name not in OTHER_TEXT:
        assert theirs.first == ours.first.replace("module 'claygrad'", "module 'torch'")


def test_the_page_shows_what_pytorch_says():
    from tests.errors.test_page import tool
    make = tool()
    shown = make.theirs_on(make.PAGE.read_text())
    assert {name: make.message(MISTAKES[name][1], torch) for name in make.SELECTED} == shown


WRONG_OPTIONS = [{"lr": "1e-3"}, {"lr": None}, {"lr": -1.0}, {"betas": 0.9}, {"betas": (0.9,)}, {"betas": (2, 3)},
                 {"weight_decay": "0"}, {"momentum": "0.9"}, {"eps": "1e-8"}, {"alpha": "0.9"}, {"rho": "0.9"}]


@pytest.mark.parametrize("options", WRONG_OPTIONS, ids=str)
@pytest.mark.parametrize("name", [name for name in dir(torch.optim) if isinstance(getattr(torch.optim, name), type)
                                  and name != "Optimizer"])
def test_options_of_optimizers_are_refused_with_pytorchs_text(name: str, options: dict):
    said = []
    for lib in (torch, claygrad):
        try:
            getattr(lib.optim, name)([lib.nn.Parameter(lib.zeros(2))], **options)
            said.append(None)
        except Exception as error:
            said.append((type(error), str(error).split("\n")[0].replace("claygrad", "torch")))
    assert said[0] == said[1]
