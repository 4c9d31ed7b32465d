"""What an exception carries for `claygrad.graph`, and what it keeps alive."""
from __future__ import annotations

import copy
import gc
import pickle
import weakref

import pytest

import claygrad as torch
from claygrad import nn
from claygrad.errors._failed import failed_of


def error_of(call):
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("it did not fail")


def test_an_operation_of_the_users():
    x = torch.ones(2, 3)
    found = failed_of(error_of(lambda: x @ x))
    assert [(operand.shape, operand.dtype) for operand in found.operands] == [((2, 3), "float32")] * 2
    assert found.operands[0].tensor is x
    assert found.operands[0].line == x.origin
    assert not found.in_layer
    assert found.modules == []


def test_an_operation_of_a_layer():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.ReLU(), nn.Sequential(nn.Linear(3, 2)))

        def forward(self, x):
            return self.body(x)

    model = Net()
    found = failed_of(error_of(lambda: model(torch.ones(1, 2))))
    assert found.in_layer
    assert found.name == "linear"
    assert [operand.name for operand in found.operands] == ["input", "weight", "bias"]
    assert found.modules == [model, model.body, model.body[1], model.body[1][0]]


def test_the_call_on_the_users_line_counts():
    found = failed_of(error_of(lambda: nn.functional.cross_entropy(torch.ones(1, 3), torch.tensor([5]))))
    assert found.name == "cross_entropy"
    assert [operand.dtype for operand in found.operands] == ["float32", "int64"]


def test_exceptions_of_the_users_carry_nothing():
    class Odd(nn.Module):
        def forward(self, x):
            raise ValueError("my own words")
    assert vars(error_of(lambda: nn.Sequential(Odd())(torch.ones(2)))) == {}


def test_it_keeps_the_graph_and_no_tensor():
    w = torch.ones(3, requires_grad=True)
    kept = []

    def work():
        layer = nn.Linear(4, 4)
        scaled = w * 2
        kept.extend(map(weakref.ref, (layer, layer.weight, scaled)))
        layer(scaled)

    error = error_of(work)
    found = failed_of(error)
    assert all(known() is not None for known in kept)
    error.__traceback__ = None
    gc.collect()
    assert [known() for known in kept] == [None] * 3
    assert [operand.shape for operand in found.operands] == [(3,), (4, 4), (4,)]
    assert found.operands[0].node.name() == "MulBackward0"
    assert found.modules == []
    node = weakref.ref(found.operands[0].node)
    del error, found
    gc.collect()
    assert node() is None


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_copies(copied):
    w = torch.ones(3, requires_grad=True)
    error = error_of(lambda: nn.Linear(4, 4)(w * 2))
    other = copied(error)
    assert type(other) is RuntimeError
    assert str(other) == str(error)
    if copied is not copy.copy:
        assert failed_of(other).operands == []
    with pytest.raises(ValueError, match="no traceback"):
        torch.graph(other)


def test_no_code_of_a_subclass_runs():
    ran = []

    class Loud(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            ran.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

        @property
        def grad_fn(self):
            ran.append("grad_fn")

    x = torch.ones(2, 3).as_subclass(Loud)
    ran.clear()
    error = error_of(lambda: torch.matmul(x, x))
    assert failed_of(error).operands[0].shape == (2, 3)
    assert ran == [torch.matmul]
