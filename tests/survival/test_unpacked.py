"""Saved tensors that come back from their hooks in another shape, dtype or device: the gradient PyTorch computes, or an error."""

from __future__ import annotations

import pytest

OTHERS = {
    "shorter": lambda t: t[:1],
    "scalar": lambda t: t.reshape(-1)[0],
    "empty": lambda t: t[:0],
    "double": lambda t: t.double(),
    "meta": lambda t: t.to("meta"),
}


def programs(lib) -> dict:
    functional = lib.nn.functional
    image, square = lib.rand(1, 1, 4, 4), lib.rand(3, 3)
    return {
        "max_pool2d": (lambda x: functional.max_pool2d(x, 2), image),
        "adaptive_max_pool2d": (lambda x: functional.adaptive_max_pool2d(x, 2), image),
        "grid_sample": (lambda x: functional.grid_sample(x, lib.zeros(1, 2, 2, 2), align_corners=False), image),
        "matmul": (lambda x: x @ x, square),
        "softmax": (lambda x: x.softmax(1), square),
        "layer_norm": (lambda x: functional.layer_norm(x, (3,)), square),
        "prod": (lambda x: x.prod(), square),
        "svd": (lambda x: lib.linalg.svd(x)[1], square),
    }


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("name", programs(__import__("claygrad")))
def test_saved_tensors_that_come_back_otherwise_are_refused(lib, name, other):
    function, x = programs(lib)[name]
    x.requires_grad_()
    with lib.autograd.graph.saved_tensors_hooks(lambda t: t, OTHERS[other]):
        y = function(x)
    if other == "shorter" and x.shape[0] == 1:
        y.sum().backward()                       # as it was
        return
    with pytest.raises(RuntimeError, match=r"unpack_hook expected to be a .* tensor of shape"):
        y.sum().backward()


@pytest.mark.parametrize("other", ["shorter", "scalar", "double"])
def test_derivatives_of_elementwise_operations_broadcast_what_comes_back(lib, other):
    x = lib.full((3,), 2.0, requires_grad=True)
    with lib.autograd.graph.saved_tensors_hooks(lambda t: t, OTHERS[other]):
        y = x.exp()
    y.sum().backward()
    assert x.grad.dtype is lib.float32
    assert x.grad.tolist() == pytest.approx(y.tolist())
