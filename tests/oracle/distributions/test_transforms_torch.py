"""Transforms, constraints and the registry that leads from these to those."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import claygrad
from tests.oracle.distributions.test_distributions_torch import agree, here, outcome, same

torch = pytest.importorskip("torch")

TRANSFORMS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "Abs": (lambda d: d.AbsTransform(), (3, 4)),
    "Affine": (lambda d: d.AffineTransform(1.5, -2.0), (3, 4)),
    "Affine-event": (lambda d: d.AffineTransform(0, 3, event_dim=1), (3, 4)),
    "Cat": (lambda d: d.CatTransform([d.ExpTransform(), d.AffineTransform(0.5, 2.0)], dim=1, lengths=[1, 3]), (3, 4)),
    "Cat-events": (lambda d: d.CatTransform([d.ExpTransform(), d.identity_transform], dim=0, lengths=[2, 1]), (3, 4)),
    "Compose": (lambda d: d.ComposeTransform([d.AffineTransform(0.1, 0.5), d.ExpTransform(), d.PowerTransform(2.0)]), (3, 4)),
    "Compose-events": (lambda d: d.ComposeTransform([d.TanhTransform(), d.StickBreakingTransform()]), (3, 4)),
    "Compose-none": (lambda d: d.ComposeTransform([]), (3, 4)),
    "CorrCholesky": (lambda d: d.CorrCholeskyTransform(), (2, 6)),
    "Cdf": (lambda d: d.CumulativeDistributionTransform(d.Normal(0.0, 1.0)), (3, 4)),
    "Exp": (lambda d: d.ExpTransform(), (3, 4)),
    "Independent": (lambda d: d.IndependentTransform(d.ExpTransform(), 1), (3, 4)),
    "Inverse": (lambda d: d.IndependentTransform(d.AffineTransform(1.0, 2.0), 2).inv, (3, 4)),
    "LowerCholesky": (lambda d: d.LowerCholeskyTransform(), (2, 3, 3)),
    "PositiveDefinite": (lambda d: d.PositiveDefiniteTransform(), (2, 3, 3)),
    "Reshape": (lambda d: d.ReshapeTransform((4,), (2, 2)), (3, 4)),
    "Sigmoid": (lambda d: d.SigmoidTransform(), (3, 4)),
    "Softmax": (lambda d: d.SoftmaxTransform(), (3, 4)),
    "Softplus": (lambda d: d.SoftplusTransform(), (3, 4)),
    "Stack": (lambda d: d.StackTransform([d.ExpTransform(), d.SigmoidTransform(), d.TanhTransform()], dim=0), (3, 4)),
    "StickBreaking": (lambda d: d.StickBreakingTransform(), (3, 4)),
    "Tanh": (lambda d: d.TanhTransform(), (3, 4)),
}
EACH = pytest.mark.parametrize("name", TRANSFORMS)


def both(name: str) -> tuple[Any, Any, Any]:
    make, shape = TRANSFORMS[name]
    torch.manual_seed(5)
    return make(claygrad.distributions), make(torch.distributions), torch.randn(shape, dtype=torch.float64)


@EACH
def test_values_inverses_and_determinants(name: str):
    ours, theirs, x = both(name)
    x.requires_grad_()
    mine = here(x, True)
    y, y_mine = theirs(x), ours(mine)
    agree(y_mine, y)
    agree(ours.inv(y_mine), theirs.inv(y))
    if same(outcome(lambda: ours.log_abs_det_jacobian(mine, y_mine)), outcome(lambda: theirs.log_abs_det_jacobian(x, y))):
        same(outcome(lambda: ours.inv.log_abs_det_jacobian(y_mine, mine)), outcome(lambda: theirs.inv.log_abs_det_jacobian(y, x)))
        total, total_mine = theirs.log_abs_det_jacobian(x, y), ours.log_abs_det_jacobian(mine, y_mine)
        if total.requires_grad:
            total.sum().backward(retain_graph=True)
            total_mine.sum().backward(retain_graph=True)
    y.sum().backward()
    y_mine.sum().backward()
    numpy.testing.assert_allclose(mine.grad.numpy(), x.grad.numpy(), rtol=1e-8, atol=1e-10)


@EACH
def test_what_they_say_of_themselves(name: str):
    ours, theirs, x = both(name)
    assert repr(ours) == repr(theirs)
    assert repr(ours.inv) == repr(theirs.inv)
    assert ours.inv.inv is ours
    for what in ("bijective", "event_dim", "sign"):
        found = outcome(lambda w=what: getattr(theirs, w))
        same(outcome(lambda w=what: getattr(ours, w)), found)
    for side in ("domain", "codomain"):
        assert repr(getattr(ours, side)) == repr(getattr(theirs, side)) or "Cat" in name or "Stack" in name
        assert getattr(ours, side).event_dim == getattr(theirs, side).event_dim
    shape = torch.Size(x.shape)
    assert tuple(ours.forward_shape(claygrad.Size(shape))) == tuple(theirs.forward_shape(shape))
    out = theirs.forward_shape(shape)
    assert tuple(ours.inverse_shape(claygrad.Size(out))) == tuple(theirs.inverse_shape(out))
    for bad in ((), (5,), (2, 5)):
        same(outcome(lambda b=bad: tuple(ours.forward_shape(claygrad.Size(b)))), outcome(lambda b=bad: tuple(theirs.forward_shape(torch.Size(b)))))
        same(outcome(lambda b=bad: tuple(ours.inverse_shape(claygrad.Size(b)))), outcome(lambda b=bad: tuple(theirs.inverse_shape(torch.Size(b)))))


@EACH
def test_equality_caches_and_pickles(name: str):
    ours, theirs, x = both(name)
    ours_too, theirs_too, _ = both(name)
    assert (ours == ours_too) == (theirs == theirs_too)
    assert ours != claygrad.distributions.AffineTransform(9.0, 9.0)
    cached, cached_theirs = ours.with_cache(1), theirs.with_cache(1)
    mine = here(x)
    y, y_theirs = cached(mine), cached_theirs(x)
    assert (cached.inv(y) is mine) == (cached_theirs.inv(y_theirs) is x)
    assert (cached(mine) is y) == (cached_theirs(x) is y_theirs)
    assert cached.with_cache(1) is cached
    again = pickle.loads(pickle.dumps(ours))
    agree(again(mine), theirs(x))
    agree(again.inv(again(mine)), theirs.inv(theirs(x)))


REFUSED = {
    "cache": lambda lib, d: d.ExpTransform(cache_size=2),
    "reshape": lambda lib, d: d.ReshapeTransform((3,), (2, 2)),
    "few": lambda lib, d: d.IndependentTransform(d.ExpTransform(), 2)(lib.zeros(3)),
    "few-inverse": lambda lib, d: d.IndependentTransform(d.ExpTransform(), 2).inv(lib.zeros(3)),
    "cat-lengths": lambda lib, d: d.CatTransform([d.ExpTransform()], lengths=[1, 2]),
    "cat-kind": lambda lib, d: d.CatTransform([3]),
    "cat-size": lambda lib, d: d.CatTransform([d.ExpTransform()], lengths=[2])(lib.zeros(3)),
    "cat-dim": lambda lib, d: d.CatTransform([d.ExpTransform()], dim=2)(lib.zeros(3)),
    "stack-size": lambda lib, d: d.StackTransform([d.ExpTransform()])(lib.zeros(3)),
    "stack-kind": lambda lib, d: d.StackTransform([None]),
    "stack-det": lambda lib, d: d.StackTransform([d.ExpTransform()]).log_abs_det_jacobian(lib.zeros(2), lib.zeros(2)),
    "sign": lambda lib, d: d.SoftmaxTransform().sign,
    "event": lambda lib, d: d.CorrCholeskyTransform().event_dim,
    "base": lambda lib, d: d.Transform()(1),
    "triangle": lambda lib, d: d.CorrCholeskyTransform()(lib.zeros(4)),
    "no-maker": lambda lib, d: d.biject_to(d.constraints.boolean),
    "no-constraint": lambda lib, d: d.biject_to.register(3, None)(lambda c: c),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str):
    found = [outcome(lambda lib=lib: REFUSED[name](lib, lib.distributions)) for lib in (claygrad, torch)]
    assert isinstance(found[1], Exception)
    same(*found)


# --- constraints ------------------------------------------------------------------------------------------------------
REGIONS: dict[str, Callable[[Any, Any], Any]] = {
    **{name: (lambda lib, c, name=name: getattr(c, name)) for name in (
        "boolean", "nonnegative", "nonnegative_integer", "positive", "positive_integer", "real", "real_vector",
        "simplex", "unit_interval", "one_hot", "lower_cholesky", "lower_triangular", "corr_cholesky", "square",
        "symmetric", "positive_definite", "positive_semidefinite")},
    "greater_than": lambda lib, c: c.greater_than(0.5),
    "greater_than_eq": lambda lib, c: c.greater_than_eq(1.0),
    "less_than": lambda lib, c: c.less_than(0.5),
    "interval": lambda lib, c: c.interval(-1.0, 1.0),
    "half_open_interval": lambda lib, c: c.half_open_interval(-1.0, 1.0),
    "integer_interval": lambda lib, c: c.integer_interval(0, 3),
    "multinomial": lambda lib, c: c.multinomial(3),
    "independent": lambda lib, c: c.independent(c.positive, 1),
    "cat": lambda lib, c: c.cat([c.positive, c.real], dim=-1, lengths=[1, 2]),
    "stack": lambda lib, c: c.stack([c.positive, c.real, c.unit_interval], dim=-1),
    "mixture": lambda lib, c: c.MixtureSameFamilyConstraint(c.positive),
    "tensors": lambda lib, c: c.interval(lib.tensor([0.0, -1.0, 2.0]), lib.tensor([1.0, 0.0, 3.0])),
}
VALUES = [
    [[0.0, 1.0, 2.0], [-1.0, 0.5, 1.0]], [0.0, 1.0, 0.0], [0.2, 0.3, 0.5], [float("nan"), 1.0, float("inf")], [1.0, 1.0, 1.0],
    [[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.6, 0.8]], [[2.0, 0.5, 0.0], [0.5, 1.0, 0.1], [0.0, 0.1, 3.0]],
    [[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]],
]


@pytest.mark.parametrize("name", REGIONS)
def test_constraints(name: str):
    ours, theirs = (REGIONS[name](lib, lib.distributions.constraints) for lib in (claygrad, torch))
    assert ours.event_dim == theirs.event_dim
    assert ours.is_discrete == theirs.is_discrete
    assert name in ("cat", "stack") or repr(ours) == repr(theirs).replace("torch.", "claygrad.")
    for value in VALUES:
        found = outcome(lambda v=value: theirs.check(torch.tensor(v)))
        mine = outcome(lambda v=value: ours.check(claygrad.tensor(v)))
        if isinstance(found, torch.Tensor):
            agree(mine, found)
        else:
            assert isinstance(mine, Exception), value


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize("name", REGIONS)
def test_ways_into_constraints(name: str, registry: str):
    ours, theirs = (outcome(lambda lib=lib: getattr(lib.distributions, registry)(REGIONS[name](lib, lib.distributions.constraints)))
                    for lib in (claygrad, torch))
    if isinstance(theirs, Exception):
        same(ours, theirs)
        return
    assert type(ours).__name__ == type(theirs).__name__
    shape = (3, 3)
    torch.manual_seed(1)
    x = torch.randn(shape, dtype=torch.float64)
    found = outcome(lambda: theirs(x))
    if same(outcome(lambda: ours(here(x))), found):
        assert REGIONS[name](claygrad, claygrad.distributions.constraints).check(ours(here(x))).all()
        agree(ours.inv(ours(here(x))), theirs.inv(found))


def test_dependent_constraints():
    for lib in (claygrad, torch):
        c = lib.distributions.constraints
        for region in (c.dependent, lib.distributions.Uniform.support, lib.distributions.Independent.support):
            assert c.is_dependent(region)
            with pytest.raises(ValueError, match=r"^Cannot determine validity of dependent constraint(\n|$)"):
                region.check(lib.zeros(1))
        assert lib.distributions.Uniform.support.event_dim == 0
        with pytest.raises(NotImplementedError, match=r"^\.event_dim cannot be determined statically(\n|$)"):
            lib.distributions.Independent.support.event_dim
        assert c.dependent(is_discrete=True, event_dim=1).is_discrete
        with pytest.raises(AssertionError, match=r"^reinterpreted_batch_ndims must be >= 0, got -1(\n|$)"):
            c.independent(c.real, -1)
        with pytest.raises(ValueError, match=r"^Expected value.dim\(\) >= 1 but got 0(\n|$)"):
            c.real_vector.check(lib.tensor(1.0))
