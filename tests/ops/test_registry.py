"""Native forms are asked for by name, and a name that nobody offers is an error where it is declared."""

# ruff: noqa: F821 - the words of declarations, which are text
from __future__ import annotations

import pytest

import claygrad
from claygrad.ops._registry import REGISTRY, composite, op, pointwise, reduction, view


def elementwise(xp, input: Tensor):
    return xp.exp(input)


def over_axes(xp, input: Tensor, dim: ints | None = None, keepdim: bool = False):
    return xp.sum(input, dim, keepdims=keepdim)


def of_a_tensor(input: Tensor):
    return input


def with_its_own_arguments(*args):
    return args


@pytest.mark.parametrize(("declare", "fn"), [
    (pointwise(kernel="nobody"), elementwise),
    (reduction(kernel="nobody"), over_axes),
    (op(kernel="nobody"), elementwise),
    (view(geometry="nobody"), of_a_tensor),
    (view(multi=True, geometry="nobody"), of_a_tensor),
    (composite(native="nobody"), of_a_tensor),
    (composite(native="nobody"), with_its_own_arguments),
], ids=["pointwise", "reduction", "op", "view", "pieces", "composite", "factory"])
def test_a_name_that_nobody_offers_is_refused(declare, fn):
    with pytest.raises(TypeError, match=r"nobody offers .*'nobody'"):
        declare(fn)
    assert fn.__name__ not in REGISTRY


@pytest.mark.parametrize(("declare", "fn"), [
    (op(kernel="exp"), elementwise),                        # of elements, each for itself
    (reduction(kernel="flatten"), over_axes),               # of a composite
    (composite(native="flip"), of_a_tensor),                 # of an operation
    (composite(native="zeros"), of_a_tensor),                # of a factory
    (composite(native="flatten"), with_its_own_arguments),   # of a composite that has its arguments bound
], ids=["elements", "composite", "operation", "factory", "bound"])
def test_a_name_offered_to_another_kind_is_refused(declare, fn):
    with pytest.raises(TypeError, match="nobody offers"):
        declare(fn)


def test_a_name_that_is_offered_gives_its_way():
    @op(kernel="flip", name="turned_round", function=False, method=False)
    def turned_round(xp, input: Tensor, dims: ints):
        raise AssertionError("the native form was not taken")

    try:
        x = claygrad.arange(6.0).reshape(2, 3)
        assert turned_round(x, (1,)).tolist() == [[2, 1, 0], [5, 4, 3]]
    finally:
        del REGISTRY["turned_round"]
