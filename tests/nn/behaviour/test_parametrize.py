"""Weights that are functions of other parameters."""

from __future__ import annotations

import copy
import pickle

import pytest

from tests.nn.behaviour.layers import affine, names
from tests.support import close, raises, warns


def parts(lib):
    class Symmetric(lib.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

        def right_inverse(self, a):
            return a.triu()

    class Twice(lib.nn.Module):
        def forward(self, x):
            return x * 2

    class Outer(lib.nn.Module):
        def forward(self, a, b):
            return a[:, None] * b

        def right_inverse(self, z):
            return z[:, 0].clone(), z[0].clone()

    return Symmetric, Twice, Outer


def test_a_parametrized_weight_is_computed_from_its_original(lib):
    Symmetric, Twice, _ = parts(lib)
    p = lib.nn.utils.parametrize
    m = affine(lib, 3, 3)
    weight = m.weight
    assert p.register_parametrization(m, "weight", Symmetric()) is m
    assert type(m).__name__ == "ParametrizedAffine"
    assert lib.equal(m.weight, m.weight.t())
    assert names(m.named_parameters()) == ["bias", "parametrizations.weight.original"]
    assert m.parametrizations.weight.original is weight
    assert weight.tril(-1).abs().sum().item() == 0
    assert repr(m) == ("ParametrizedAffine(\n  3 to 3\n  (parametrizations): ModuleDict(\n    (weight): "
                       "ParametrizationList(\n      (0): Symmetric()\n    )\n  )\n)")
    p.register_parametrization(m, "weight", Twice())
    assert close(m.weight, (2 * (weight + weight.triu(1).t())).tolist())
    assert p.is_parametrized(m)
    assert p.is_parametrized(m, "weight")
    assert not p.is_parametrized(m, "bias")
    assert p.type_before_parametrizations(m).__name__ == "Affine"
    m(lib.ones(1, 3)).sum().backward()
    assert weight.grad is not None


def test_assigning_goes_through_the_inverse(lib):
    Symmetric, Twice, _ = parts(lib)
    p = lib.nn.utils.parametrize
    m = p.register_parametrization(affine(lib, 2, 2), "weight", Symmetric())
    m.weight = lib.tensor([[1.0, 2.0], [2.0, 3.0]])
    assert m.weight.tolist() == [[1, 2], [2, 3]]
    assert m.parametrizations.weight.original.tolist() == [[1, 2], [0, 3]]
    p.register_parametrization(m, "weight", Twice())
    with raises(lib, RuntimeError, "parametrization Twice does not implement right_inverse."):
        m.weight = lib.ones(2, 2)


def test_several_originals(lib):
    *_, Outer = parts(lib)
    p = lib.nn.utils.parametrize
    m = p.register_parametrization(affine(lib), "weight", Outer())
    assert list(m.state_dict()) == ["bias", "count", "parametrizations.weight.original0", "parametrizations.weight.original1"]
    assert m.weight.shape == (4, 3)
    assert m.parametrizations.weight.ntensors == 2
    with raises(lib, ValueError, "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
                "parametrized in terms of a sequence of tensors."):
        p.remove_parametrizations(m, "weight", leave_parametrized=False)
    other = p.transfer_parametrizations_and_params(m, affine(lib))
    assert lib.equal(other.weight, m.weight)
    assert other.parametrizations.weight.original0 is m.parametrizations.weight.original0
    value = m.weight.detach().clone()
    p.remove_parametrizations(m, "weight")
    assert lib.equal(m.weight, value)
    assert type(m.weight) is lib.nn.Parameter


def test_removing(lib):
    _Symmetric, Twice, _ = parts(lib)
    p = lib.nn.utils.parametrize
    m = affine(lib, 2, 2)
    cls, weight, start = type(m), m.weight, m.weight.detach().clone()
    p.register_parametrization(m, "weight", Twice())
    p.register_parametrization(m, "count", lib.nn.Identity())
    p.remove_parametrizations(m, "weight")
    assert m.weight is weight
    assert lib.equal(weight, start * 2)
    assert type(m) is not cls
    p.remove_parametrizations(m, "count", leave_parametrized=False)
    assert type(m) is cls
    assert not hasattr(m, "parametrizations")
    assert "count" in dict(m.named_buffers())
    with pytest.raises(ValueError, match="does not have a parametrization on weight"):
        p.remove_parametrizations(m, "weight")


def test_the_cache(lib):
    _, Twice, _ = parts(lib)
    p = lib.nn.utils.parametrize
    m = p.register_parametrization(affine(lib), "weight", Twice())
    assert m.weight is not m.weight
    with p.cached():
        first = m.weight
        assert m.weight is first
    assert m.weight is not first


def test_copies_and_pickles(lib):
    _, Twice, _ = parts(lib)
    m = lib.nn.utils.parametrize.register_parametrization(affine(lib), "weight", Twice())
    c = copy.deepcopy(m)
    assert type(c) is type(m)
    assert lib.equal(c.weight, m.weight)
    assert c.parametrizations.weight.original is not m.parametrizations.weight.original
    with raises(lib, RuntimeError, "Serialization of parametrized modules is only supported through state_dict(). See:\n"
                "https://pytorch.org/tutorials/beginner/saving_loading_models.html#saving-loading-a-general-"
                "checkpoint-for-inference-and-or-resuming-training"):
        pickle.dumps(m)


@pytest.mark.parametrize(("result", "text"), [
    (lambda x: x[0], "Registering a parametrization may not change the shape of the tensor, unless"),
    (lambda x: x.double(), "Registering a parametrization may not change the dtype of the tensor, unless"),
    (lambda x: 3, "A parametrization must return a tensor. Got int."),
])
def test_results_that_do_not_fit(lib, result, text):
    class Odd(lib.nn.Module):
        def forward(self, x):
            return result(x)

    p = lib.nn.utils.parametrize
    with raises(lib, ValueError, text + "…"):
        p.register_parametrization(affine(lib), "weight", Odd())
    m = p.register_parametrization(affine(lib), "weight", lib.nn.Identity())
    with raises(lib, ValueError, text + "…"):
        p.register_parametrization(m, "weight", Odd())
    if not text.startswith("A "):
        p.register_parametrization(m, "weight", Odd(), unsafe=True)


def test_what_is_not_there_cannot_be_parametrized(lib):
    with pytest.raises(ValueError, match="does not have a parameter, a buffer, or a parametrized element with name 'nope'"):
        lib.nn.utils.parametrize.register_parametrization(affine(lib), "nope", lib.nn.Identity())
    with raises(lib, ValueError, "ParametrizationList requires one or more modules."):
        lib.nn.utils.parametrize.ParametrizationList([], lib.ones(1))


def test_conversions_and_modes_reach_the_originals(lib):
    _, Twice, _ = parts(lib)
    m = lib.nn.utils.parametrize.register_parametrization(affine(lib), "weight", Twice()).double().eval()
    assert m.weight.dtype is lib.float64
    assert not m.parametrizations.weight[0].training


@pytest.mark.parametrize(("dim", "shape"), [(0, (4, 1)), (1, (1, 3)), (None, ())])
def test_weight_norm(lib, dim, shape):
    m = affine(lib)
    weight = m.weight.detach().clone()
    lib.nn.utils.parametrizations.weight_norm(m, dim=dim)
    g, v = m.parametrizations.weight.original0, m.parametrizations.weight.original1
    assert g.shape == shape
    assert lib.equal(v, weight)
    assert close(m.weight, weight.tolist())
    with lib.no_grad():
        v.mul_(5)
    assert close(m.weight, weight.tolist())
    m.load_state_dict({"bias": m.bias, "count": m.count, "weight_g": g * 2, "weight_v": v}, strict=True)
    assert close(m.weight, (weight * 2).tolist())


def test_the_older_weight_norm(lib):
    m = affine(lib)
    weight = m.weight.detach().clone()
    with warns(lib, "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
               FutureWarning):
        lib.nn.utils.weight_norm(m)
    assert names(m.named_parameters()) == ["bias", "weight_g", "weight_v"]
    assert m.weight_g.shape == (4, 1)
    m(lib.ones(1, 3)).sum().backward()
    assert m.weight_g.grad.shape == (4, 1)
    assert close(m.weight, weight.tolist())
    with raises(lib, RuntimeError, "Cannot register two weight_norm hooks on the same parameter weight"):
        lib.nn.utils.weight_norm(m)
    lib.nn.utils.remove_weight_norm(m)
    assert names(m.named_parameters()) == ["bias", "weight"]
    assert close(m.weight, weight.tolist())
    with pytest.raises(ValueError, match="weight_norm of 'weight' not found in"):
        lib.nn.utils.remove_weight_norm(m)



def test_spectral_norm(lib):
    m = lib.nn.utils.parametrizations.spectral_norm(affine(lib), n_power_iterations=3)
    for _ in range(20):
        m(lib.ones(1, 3))
    u = m.parametrizations.weight[0]._u
    assert abs(u.norm().item() - 1) < 1e-6
    assert list(m.state_dict())[-2:] == [
        "parametrizations.weight.0._u", "parametrizations.weight.0._v"]
    sigma = u @ m.weight @ m.parametrizations.weight[0]._v
    assert sigma.item() == pytest.approx(1, abs=1e-5)
    m.eval()
    before = u.clone()
    m(lib.ones(1, 3)).sum().backward()
    assert lib.equal(u, before)
    assert m.parametrizations.weight.original.grad.shape == (4, 3)


def test_spectral_norm_refuses(lib):
    spectral_norm = lib.nn.utils.parametrizations.spectral_norm
    with raises(lib, IndexError, "Dimension out of range (expected to be in range of [-2, 1] but got 7)"):
        spectral_norm(affine(lib), dim=7)
    with raises(lib, ValueError, "Expected n_power_iterations to be positive, but got n_power_iterations=0"):
        spectral_norm(affine(lib), n_power_iterations=0)
    with pytest.raises(ValueError, match="has no parameter or buffer with name 'nope'"):
        spectral_norm(affine(lib), "nope")


def test_the_older_spectral_norm(lib):
    m = lib.nn.utils.spectral_norm(affine(lib))
    for _ in range(60):
        m(lib.ones(1, 3))
    state = m.state_dict()
    assert list(state)[-3:] == ["weight_orig", "weight_u", "weight_v"] or set(state) >= {"weight_orig", "weight_u", "weight_v"}
    assert state._metadata[""] == {"version": 1, "spectral_norm": {"weight.version": 1}}
    assert (m.weight_u @ m.weight @ m.weight_v).item() == pytest.approx(1, abs=1e-5)
    m.load_state_dict(state)
    m.eval()
    value = m.weight.detach().clone()
    lib.nn.utils.remove_spectral_norm(m)
    assert names(m.named_parameters()) == ["bias", "weight"]
    assert close(m.weight, value.tolist())
    with pytest.raises(ValueError, match="spectral_norm of 'weight' not found in"):
        lib.nn.utils.remove_spectral_norm(m)
