"""Normalisations against their formulas in plain operations, to the third derivative; and what they keep."""

from __future__ import annotations

import pytest

import claygrad
from claygrad.nn import functional as f

EPS = 1e-5


def by_hand(x: claygrad.Tensor, axes: tuple[int, ...], centred: bool = True) -> claygrad.Tensor:
    centre = x - x.mean(axes, keepdim=True) if centred else x
    return centre / (centre.square().mean(axes, keepdim=True) + EPS).sqrt()


CASES = {
    "layer_norm": (lambda x, w: f.layer_norm(x, (6,), w), lambda x, w: by_hand(x, (1,)) * w),
    "rms_norm": (lambda x, w: f.rms_norm(x, (6,), w, EPS), lambda x, w: by_hand(x, (1,), False) * w),
    "group_norm": (lambda x, w: f.group_norm(x, 2, w), lambda x, w: by_hand(x.view(4, 2, 3), (2,)).view(4, 6) * w),
    "batch_norm": (lambda x, w: f.batch_norm(x, None, None, w, training=True), lambda x, w: by_hand(x, (0,)) * w),
    "instance_norm": (
        lambda x, w: f.instance_norm(x.view(2, 6, 2), weight=w).reshape(4, 6),
        lambda x, w: (by_hand(x.view(2, 6, 2), (2,)) * w[:, None]).reshape(4, 6),
    ),
    "batch_norm in evaluation": (
        lambda x, w: f.batch_norm(x, claygrad.ones(6).double(), claygrad.full((6,), 2.0).double(), w),
        lambda x, w: (x - 1) / (2 + EPS) ** 0.5 * w,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_three_derivatives_are_those_of_the_formula(name):
    found = []
    for form in CASES[name]:
        claygrad.manual_seed(1)
        x, w = (claygrad.randn(*shape, dtype=claygrad.float64, requires_grad=True) for shape in ((4, 6), (6,)))
        y = form(x, w)
        found.append([y])
        y = y.pow(3).sum()
        for _ in range(3):
            grads = claygrad.autograd.grad(y, (x, w), create_graph=True)
            found[-1] += grads
            y = sum((g * g.detach().cos()).sum() for g in grads)
    for fused, plain in zip(*found, strict=True):
        assert claygrad.allclose(fused, plain, rtol=1e-8, atol=1e-10)


def test_writing_into_the_result_copies_nothing():
    """The rule needs the moments, not the result: an activation in place, as in residual networks, stays in place."""
    x = claygrad.randn(8, 4, requires_grad=True)
    y = f.batch_norm(x, None, None, training=True)
    address = y.data_ptr()
    z = f.relu(y, inplace=True)
    z.pow(2).sum().backward()
    assert z.data_ptr() == address
    other = x.detach().requires_grad_()
    f.relu(f.batch_norm(other, None, None, training=True)).pow(2).sum().backward()
    assert claygrad.equal(x.grad, other.grad)


def test_running_statistics_that_a_graph_holds_stay_what_they_were():
    mean, var = claygrad.zeros(3), claygrad.ones(3, requires_grad=False)
    scale = claygrad.ones(3, requires_grad=True)
    before = (scale * var).sum()
    f.batch_norm(claygrad.randn(9, 3) * 5, mean, var, training=True)
    before.backward()
    assert scale.grad.tolist() == [1.0, 1.0, 1.0]
    assert var.tolist() != [1.0, 1.0, 1.0]
