"""Names that are not there: the nearest one, at the entry points; other people's errors stay as they are."""

from __future__ import annotations

import subprocess
import sys

import pytest

import claygrad as torch
from claygrad import nn
from claygrad.errors._calls import near_parameter, parameters_in


class Runs(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function
        self.hidden = nn.Linear(2, 2)

    def forward(self, x):
        return self.function(self, x)


@pytest.mark.parametrize(("function", "way"), [
    (lambda net, x: x.trasnpose(0, 1), "did you mean transpose"),
    (lambda net, x: x.astype("f"), r"x.to(dtype)"),
    (lambda net, x: x.leaky_relux(), "did you mean leaky_relu"),
    (lambda net, x: x.cosine_similarity(x), "torch.nn.functional.cosine_similarity(x)"),
    (lambda net, x: torch.optim.Adma, "did you mean Adam"),
    (lambda net, x: torch.optim.SGD([x], lr=1).zerograd(), "did you mean zero_grad"),
    (lambda net, x: net.hidden.weight.grad.zero_(), "is None, for no backward() has reached net.hidden.weight: call backward() before"),
    (lambda net, x: x.sum().item().backward(), "without item()"),
])
def test_an_attribute_in_a_model_is_explained(function, way):
    with pytest.raises(AttributeError) as caught:
        Runs(function)(torch.ones(2, 2))
    first, at, *rest = str(caught.value).split("\n")
    assert "has no attribute" in first
    assert at == f"  at {__file__}:{function.__code__.co_firstlineno}, in <lambda>: " + at.partition("<lambda>: ")[2]
    assert way in "\n".join(rest)


@pytest.mark.parametrize("function", [lambda net, x: "a".trasnpose(), lambda net, x: None.zero_(), lambda net, x: x.frobnicate()])
def test_what_nobody_knows_stays_as_it_is(function):
    with pytest.raises(AttributeError) as caught:
        Runs(function)(torch.ones(2, 2))
    assert "\n" not in str(caught.value)


def test_python_itself_names_the_nearest_one():
    """It asks dir(), and gives up where that has 750 names."""
    assert len(dir(torch.ones(2))) < 750
    made = subprocess.run([sys.executable, "-c", "import claygrad; claygrad.ones(2).trasnpose"], capture_output=True, text=True, check=False)
    assert "Did you mean: 'transpose'?\n" in made.stderr
    assert made.stderr.endswith("\n  did you mean transpose? It is transpose(input, dim0, dim1)\n")


def test_looking_for_attributes_is_as_fast_as_for_any_object():
    """A slot of the class's own would make every call of a method slower."""
    assert "__getattr__" not in vars(torch.Tensor)
    assert "__getattribute__" not in vars(torch.Tensor)


def test_parameters_of_a_signature():
    assert parameters_in("sum(input, dim=None, keepdim=False, *, dtype=None)") == ["input", "dim", "keepdim", "dtype"]
    assert near_parameter("axs", "sum(input, dim=None, keepdim=False)") == ["dim"]
    assert near_parameter("keepdims", "sum(input, dim=None, keepdim=False)") == ["keepdim"]
    assert near_parameter("learning_rate", "SGD(params, lr=0.001)") == ["lr"]
    assert near_parameter("dim", "sum(input, dim=None)") == []


@pytest.mark.parametrize(("call", "way"), [
    (lambda x: x.sum(axs=1), "did you mean dim? It is sum(input, dim=None"),
    (lambda x: x.sum(keepdim=True, dims=1), "did you mean dim?"),
    (lambda x: nn.Linear(2, 3, use_bias=False), "did you mean bias? It is Linear(in_features, out_features"),
    (lambda x: torch.optim.SGD([x], learning_rate=1), "did you mean lr? It is SGD(params"),
    (lambda x: x.softmax(axes=1), "did you mean dim?"),
])
def test_keywords_are_explained(call, way):
    with pytest.raises(TypeError) as caught:
        call(torch.ones(2, 2))
    assert way in str(caught.value)


def test_a_module_called_with_nothing():
    with pytest.raises(TypeError, match="got no arguments by position"):
        nn.Linear(2, 3)()
