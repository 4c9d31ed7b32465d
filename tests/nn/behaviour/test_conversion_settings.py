"""`__future__`: whether conversions keep parameters, put new ones in their place, or exchange what they hold."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import claygrad
from claygrad import nn


@contextmanager
def setting(name: str) -> Iterator[None]:
    future = claygrad.__future__
    assert getattr(future, f"get_{name}_module_params_on_conversion")() is False
    getattr(future, f"set_{name}_module_params_on_conversion")(True)
    try:
        assert getattr(future, f"get_{name}_module_params_on_conversion")() is True
        yield
    finally:
        getattr(future, f"set_{name}_module_params_on_conversion")(False)


def layer() -> nn.Linear:
    made = nn.Linear(2, 3)
    made.weight.grad = claygrad.ones(3, 2)
    return made


def test_by_default_parameters_and_gradients_stay_the_same_objects() -> None:
    m = layer()
    weight, grad = m.weight, m.weight.grad
    m.double()
    assert m.weight is weight
    assert m.weight.grad is grad
    assert weight.dtype is grad.dtype is claygrad.float64


def test_overwriting_leaves_the_old_ones_as_they_were() -> None:
    m = layer()
    weight, grad = m.weight, m.weight.grad
    with setting("overwrite"):
        m.double()
    assert m.weight is not weight
    assert weight.dtype is claygrad.float32
    assert grad.dtype is claygrad.float32
    assert m.weight.dtype is m.weight.grad.dtype is claygrad.float64
    assert isinstance(m.weight, nn.Parameter)
    assert m.weight.requires_grad


def test_swapping_keeps_the_objects() -> None:
    m = layer()
    weight, grad = m.weight, m.weight.grad
    with setting("swap"):
        m.double()
    assert m.weight is weight
    assert m.weight.grad is grad
    assert weight.dtype is grad.dtype is claygrad.float64
    assert weight.requires_grad


def test_another_layout_needs_a_new_parameter() -> None:
    m = layer()
    weight = m.weight
    m._apply(lambda t: t.to_sparse())
    assert m.weight is not weight
    assert m.weight.is_sparse
    assert m.weight.grad.is_sparse
    assert not weight.is_sparse


@pytest.mark.parametrize("assign", [False, True])
def test_a_state_is_swapped_in(assign: bool) -> None:
    m, other = layer(), nn.Linear(2, 3).double()
    weight = m.weight
    with setting("swap"):
        m.load_state_dict(other.state_dict(), assign=assign)
    assert m.weight is weight
    assert weight.dtype is (claygrad.float64 if assign else claygrad.float32)
    assert claygrad.allclose(weight.double(), other.weight)


def test_a_subclass_says_what_is_loaded() -> None:
    class Doubled(nn.Parameter):
        def module_load(self, other, assign=False):  # type: ignore[no-untyped-def]
            return Doubled(other.detach() * 2)

    class Lazy(nn.Parameter):
        def module_load(self, other, assign=False):  # type: ignore[no-untyped-def]
            return other

    m = nn.Module()
    m.w = Doubled(claygrad.zeros(2))
    with setting("swap"):
        m.load_state_dict({"w": claygrad.ones(2)})
        assert m.w.tolist() == [2.0, 2.0]
        m.w = Lazy(claygrad.zeros(2))
        with pytest.raises(RuntimeError, match=r'While swapping the parameter named "w".*module_load returned one of self or other'):
            m.load_state_dict({"w": claygrad.ones(2)})
