"""Pruning: masks, their composition, and the way back."""

from __future__ import annotations

import pickle

import pytest

from tests.nn.behaviour.layers import affine, names
from tests.support import raises


def pruned(lib, how, *args, **kwargs):
    m = affine(lib)
    assert getattr(lib.nn.utils.prune, how)(m, "weight", *args, **kwargs) is m
    return m


def zeros(mask):
    return int((mask == 0).sum().item())


@pytest.mark.parametrize(("how", "args", "count"), [
    ("identity", (), 0), ("random_unstructured", (0.3,), 4), ("random_unstructured", (5,), 5), ("l1_unstructured", (0.4,), 5),
    ("random_structured", (2, 0), 6), ("random_structured", (0.5, 1), 8), ("ln_structured", (2, 2, 0), 6),
    ("ln_structured", (0.3, 1, -1), 4), ("ln_structured", (1, float("inf"), 1), 4), ("l1_unstructured", (0,), 0)])
def test_how_many_are_pruned(lib, how, args, count):
    m = pruned(lib, how, *args)
    assert zeros(m.weight_mask) == count
    assert names(m.named_parameters()) == ["bias", "weight_orig"]
    assert lib.equal(m.weight, m.weight_orig * m.weight_mask)
    assert type(m.weight) is lib.Tensor
    m(lib.ones(1, 3)).sum().backward()
    assert lib.equal(m.weight_orig.grad, m.weight_mask)
    assert lib.nn.utils.prune.is_pruned(m)


def test_the_nearest_to_zero_go_first(lib):
    m = pruned(lib, "l1_unstructured", 2)
    assert m.weight_mask.tolist() == [[0, 1, 1], [0, 1, 1], [1, 1, 1], [1, 1, 1]]
    m = pruned(lib, "l1_unstructured", 2, importance_scores=-lib.arange(12.0).view(4, 3).flip(0))
    assert zeros(m.weight_mask[3]) == 2
    m = pruned(lib, "ln_structured", 1, 2, 1)
    assert m.weight_mask[0].tolist() == [0, 1, 1]


def test_pruning_again_prunes_what_is_left(lib):
    prune = lib.nn.utils.prune
    m = pruned(lib, "l1_unstructured", 2)
    prune.ln_structured(m, "weight", 1, 2, 0)
    prune.random_unstructured(m, "weight", 3)
    (hook,) = m._forward_pre_hooks.values()
    assert type(hook) is prune.PruningContainer
    assert len(hook) == 3
    assert type(hook[0]) is prune.L1Unstructured
    assert zeros(m.weight_mask) == len({0, 3} | {i for i in range(12) if m.weight_mask.view(-1)[i] == 0})
    assert any(not row.any() for row in m.weight_mask)
    assert m.weight_mask[0, 0].item() == 0


def test_a_mask_of_your_own(lib):
    mask = lib.eye(4, 3)
    m = pruned(lib, "custom_from_mask", mask)
    assert lib.equal(m.weight_mask, mask)
    with raises(lib, AssertionError, "default_mask shape torch.Size([4, 3]) must match self.mask shape torch.Size([2])"):
        pruned(lib, "custom_from_mask", lib.ones(2))


def test_removing_makes_it_permanent(lib):
    prune = lib.nn.utils.prune
    m = affine(lib)
    original = m.weight
    prune.l1_unstructured(m, "weight", 4)
    value = m.weight.detach().clone()
    prune.remove(m, "weight")
    assert m.weight is original
    assert lib.equal(m.weight, value)
    assert not prune.is_pruned(m)
    assert sorted(m.state_dict()) == ["bias", "count", "weight"]
    with pytest.raises(ValueError, match="has to be pruned before pruning can be removed"):
        prune.remove(m, "weight")


def test_the_mask_follows_changes_of_the_original(lib):
    m = pruned(lib, "l1_unstructured", 2)
    with lib.no_grad():
        m.weight_orig.fill_(5)
    m(lib.ones(1, 3))
    assert m.weight.sum().item() == 50


@pytest.mark.parametrize(("amount", "kind", "text"), [
    (-1, ValueError, "amount=-1 should either be a float in the range [0, 1] or a non-negative integer"),
    (1.5, ValueError, "amount=1.5 should either be a float in the range [0, 1] or a non-negative integer"),
    ("a", TypeError, "Invalid type for amount: a. Must be int or float."),
    (100, ValueError, "amount=100 should be smaller than the number of parameters to prune=12")])
def test_amounts_that_are_refused(lib, amount, kind, text):
    m = affine(lib)
    with raises(lib, kind, text):
        lib.nn.utils.prune.l1_unstructured(m, "weight", amount)
    assert names(m.named_parameters()) == ["weight", "bias"] or names(m.named_parameters()) == ["bias", "weight"]


def test_structures_that_are_refused(lib):
    prune = lib.nn.utils.prune
    with raises(lib, ValueError, "Structured pruning can only be applied to multidimensional tensors. Found tensor of "
                "shape torch.Size([4]) with 1 dims"):
        prune.ln_structured(affine(lib), "bias", 1, 2, 0)
    with raises(lib, IndexError, "Invalid index 5 for tensor of size torch.Size([4, 3])"):
        prune.random_structured(affine(lib), "weight", 1, 5)
    with pytest.raises(AssertionError, match="importance_scores should have the same shape as parameter weight of"):
        prune.l1_unstructured(affine(lib), "weight", 1, importance_scores=lib.ones(2))


def test_several_parameters_as_one(lib):
    prune = lib.nn.utils.prune
    m = lib.nn.Sequential(affine(lib), affine(lib))
    with lib.no_grad():
        m[1].weight.mul_(100)
    prune.global_unstructured([(m[0], "weight"), (m[1], "weight"), (m[0], "bias")], prune.L1Unstructured, amount=16)
    assert zeros(m[0].bias_mask) == 4
    assert zeros(m[0].weight_mask) + zeros(m[1].weight_mask) == 12
    assert zeros(m[1].weight_mask) == 1
    with pytest.raises(TypeError, match='Only "unstructured" PRUNING_TYPE supported for the `pruning_method`'):
        prune.global_unstructured([(m[0], "weight")], prune.LnStructured, amount=1, n=2)
    with raises(lib, TypeError, "global_unstructured(): parameters is not an Iterable"):
        prune.global_unstructured(3, prune.L1Unstructured)
    with raises(lib, TypeError, "global_unstructured(): importance_scores must be of type dict"):
        prune.global_unstructured([], prune.L1Unstructured, importance_scores=[1])


def test_a_tensor_of_no_module(lib):
    method = lib.nn.utils.prune.L1Unstructured(2)
    assert method.prune(lib.tensor([3.0, -1.0, 2.0, 0.5])).tolist() == [3, 0, 2, 0]


def test_a_method_of_your_own(lib):
    prune = lib.nn.utils.prune

    class EveryOther(prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t, default_mask):
            mask = default_mask.clone()
            mask.view(-1)[::2] = 0
            return mask

    m = affine(lib)
    EveryOther.apply(m, "bias")
    assert m.bias_mask.tolist() == [0, 1, 0, 1]
    EveryOther.apply(m, "bias")
    assert m.bias_mask.tolist() == [0, 0, 0, 1]
    with raises(lib, TypeError, "<class 'int'> is not a BasePruningMethod subclass"):
        prune.PruningContainer(EveryOther.apply(affine(lib), "bias")).add_pruning_method(3)


def test_pruned_modules_are_pickled(lib):
    m = lib.nn.Linear(3, 2)
    lib.nn.utils.prune.l1_unstructured(m, "weight", 2)
    back = pickle.loads(pickle.dumps(m))
    assert lib.equal(back.weight_mask, m.weight_mask)
    assert lib.nn.utils.prune.is_pruned(back)


@pytest.mark.parametrize(("amount", "size", "count"), [(0, 15, 0), (10, 15, 10), (1, 15, 1), (1.0, 15, 15), (0.4, 17, 7)])
def test_amounts_are_numbers_or_fractions(lib, amount, size, count):
    prune = lib.nn.utils.prune
    prune._validate_pruning_amount(amount, size)
    assert prune._compute_nparams_toprune(amount, tensor_size=size) == count


def test_more_elements_than_there_are_cannot_be_pruned(lib):
    with raises(lib, ValueError, "amount=20 should be smaller than the number of parameters to prune=19"):
        lib.nn.utils.prune._validate_pruning_amount(amount=20, tensor_size=19)
