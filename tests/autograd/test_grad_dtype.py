"""`grad_dtype`: the dtype in which a leaf takes its gradients."""
from __future__ import annotations

import copy
import gc

import pytest

import claygrad
from claygrad.autograd import Function


class Wider(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g.to(claygrad.float64) * 3


def leaf(**kwargs):
    return claygrad.tensor([1.0, 2.0], requires_grad=True, **kwargs)


@pytest.mark.parametrize(("wanted", "found"), [("own", "float32"), (claygrad.float16, "float16"), (None, "float64")])
@pytest.mark.parametrize("when", ["before the graph", "after it"])
def test_gradients_come_in_the_dtype_that_was_asked_for(wanted, found, when) -> None:
    x = leaf()
    if wanted != "own" and when == "before the graph":
        x.grad_dtype = wanted
    y = Wider.apply(x).sum()
    if wanted != "own" and when == "after it":
        x.grad_dtype = wanted
    y.backward()
    assert x.grad.dtype == getattr(claygrad, found)
    assert x.grad.tolist() == [3, 3]


def test_it_is_the_leaf_s_own_unless_set() -> None:
    x = leaf()
    assert x.grad_dtype is claygrad.float32
    x.grad_dtype = claygrad.float16
    assert x.grad_dtype is claygrad.float16
    x.grad_dtype = None
    assert x.grad_dtype is None
    assert copy.deepcopy(x).grad_dtype is claygrad.float32
    assert not vars(x)
    del x
    gc.collect()
    assert all(claygrad.ones(2).grad_dtype is claygrad.float32 for _ in range(100))     # ids come again


def test_an_assigned_gradient_must_have_it() -> None:
    x = leaf()
    x.grad_dtype = claygrad.float16
    with pytest.raises(RuntimeError, match="gradient with dtype 'float' to a tensor with grad_dtype 'Half'"):
        x.grad = claygrad.ones(2)
    x.grad = claygrad.ones(2, dtype=claygrad.float16)
    with pytest.raises(RuntimeError, match="Cannot set grad_dtype to 'Float' because there is already a gradient with "
                                           "dtype 'c10::Half'"):
        x.grad_dtype = claygrad.float32
    x.grad_dtype = None
    x.grad = claygrad.ones(2, dtype=claygrad.float64)


def test_only_leaves_have_it() -> None:
    y = leaf() * 2
    with pytest.raises(RuntimeError, match="can only be accessed on leaf tensors"):
        _ = y.grad_dtype
    with pytest.raises(RuntimeError, match="can only be set on leaf tensors"):
        y.grad_dtype = claygrad.float16
    with pytest.raises(RuntimeError, match=r"must be a claygrad\.dtype or None, but got int"):
        leaf().grad_dtype = 3


def test_the_graph_under_its_older_name() -> None:
    y = leaf() * 2
    assert y._grad_fn is y.grad_fn
    with pytest.raises(RuntimeError, match="Deletion of _grad_fn not allowed"):
        del y._grad_fn
    with pytest.raises(RuntimeError, match="can be only set to None"):
        y._grad_fn = 3
    y._grad_fn = None
    assert y.grad_fn is None
    with pytest.warns(UserWarning, match="volatile was removed"):
        assert y.volatile is False
