"""Clipping gradients, and parameters in one vector."""

from __future__ import annotations

import math

import pytest

from tests.support import close, raises, warns


def parameters(lib):
    made = [lib.nn.Parameter(lib.ones(n)) for n in (2, 3, 1)]
    made[0].grad = lib.tensor([3.0, 4.0])
    made[1].grad = lib.tensor([1.0, -2.0, 2.0])
    return made


NORMS = [(2, math.sqrt(34)), (1, 12.0), (math.inf, 4.0), (0.5, (3**0.5 + 2 + 1 + 2 * 2**0.5) ** 2), (-math.inf, 1.0)]


@pytest.mark.parametrize("foreach", [None, True, False])
@pytest.mark.parametrize(("order", "norm"), NORMS)
def test_gradients_are_scaled_to_a_norm(lib, order, norm, foreach):
    made = parameters(lib)
    total = lib.nn.utils.clip_grad_norm_(made, 0.5, order, foreach=foreach)
    assert total.item() == pytest.approx(norm, rel=1e-5)
    assert close(made[0].grad, [3 * 0.5 / norm, 4 * 0.5 / norm])
    assert made[2].grad is None


def test_small_gradients_stay(lib):
    made = parameters(lib)
    lib.nn.utils.clip_grad_norm_(iter(made), 100.0)
    assert made[0].grad.tolist() == [3.0, 4.0]


def test_values_are_clamped(lib):
    made = parameters(lib)
    lib.nn.utils.clip_grad_value_(made, 1.5)
    assert made[1].grad.tolist() == [1.0, -1.5, 1.5]


def test_what_is_not_finite(lib):
    made = parameters(lib)
    made[0].grad[0] = math.nan
    with raises(lib, RuntimeError, "The total norm of order 2.0 for gradients from `parameters` is non-finite, so it "
                "cannot be clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
                "`error_if_nonfinite=False`"):
        lib.nn.utils.clip_grad_norm_(made, 1.0, error_if_nonfinite=True)
    assert math.isnan(lib.nn.utils.clip_grad_norm_(made, 1.0).item())


def test_nothing_to_clip(lib):
    assert lib.nn.utils.clip_grad_norm_([], 1.0).item() == 0
    with warns(lib, "`parameters` is an empty generator, no gradient clipping will occur."):
        lib.nn.utils.clip_grad_norm_((p for p in []), 1.0)


def test_norm_and_scaling_by_themselves(lib):
    made = parameters(lib)
    assert lib.nn.utils.get_total_norm([lib.tensor([3.0]), lib.tensor([4.0])]).item() == 5
    assert lib.nn.utils.get_total_norm(lib.ones(4)).item() == 2
    assert lib.nn.utils.get_total_norm([]).item() == 0
    lib.nn.utils.clip_grads_with_norm_(made[0], 1.0, lib.tensor(10.0))
    assert close(made[0].grad, [0.3, 0.4])


def test_the_old_name(lib):
    with warns(lib, "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
               FutureWarning):
        lib.nn.utils.clip_grad_norm(parameters(lib), 1.0)


def test_one_vector_and_back(lib):
    made = [lib.nn.Parameter(lib.ones(2, 2)), lib.nn.Parameter(lib.zeros(3))]
    vector = lib.nn.utils.parameters_to_vector(made)
    assert vector.tolist() == [1, 1, 1, 1, 0, 0, 0]
    assert vector.requires_grad
    new = lib.arange(7.0)
    lib.nn.utils.vector_to_parameters(new, made)
    assert made[0].tolist() == [[0, 1], [2, 3]]
    assert made[1].tolist() == [4, 5, 6]
    new[0] = 9
    assert made[0][0, 0].item() == 9
    assert made[0].requires_grad
    with raises(lib, TypeError, "expected torch.Tensor, but got: int"):
        lib.nn.utils.vector_to_parameters(3, made)
