"""Every distribution: samples, gradients through them, log-probabilities, moments and texts are torch's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest

import claygrad
from tests.distributions.cases import CASES
from tests.support import same_text

torch = pytest.importorskip("torch")

TOLERANCE = {"float64": {"rtol": 1e-9, "atol": 1e-11}, "float32": {"rtol": 2e-4, "atol": 2e-5}}
NUMBERS = [name for name, case in CASES.items() if not case.params]
# Errors of torch's where claygrad has an answer: a GeneralizedPareto of doubles, an expanded Multinomial's entropy.
FAULTS = ("Double did not match Float", "'Multinomial' object has no attribute '_binomial'")
EACH = pytest.mark.parametrize("name", CASES)
DTYPES = pytest.mark.parametrize("dtype", ["float64", "float32"])


def array(x: Any) -> Any:
    return x.detach().numpy()


def here(x: Any, grad: bool = False) -> Any:
    return claygrad.tensor(array(x), requires_grad=grad)


def agree(ours: Any, theirs: Any, dtype: str = "float64") -> None:
    assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
    assert tuple(ours.shape) == tuple(theirs.shape)
    tolerance = TOLERANCE["float32" if str(theirs.dtype) == "torch.float32" else dtype]
    numpy.testing.assert_allclose(array(ours), array(theirs), **tolerance)


def both(name: str, dtype: str = "float64", grad: bool = False) -> Any:
    """The distribution in both libraries, with its parameters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return *CASES[name].make(claygrad, dtype, grad), *CASES[name].make(torch, dtype, grad)


def outcome(work: Any) -> Any:
    """What a function gives, or the error that it ends with."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return work()
        except (NotImplementedError, ValueError, RuntimeError, AssertionError, TypeError, AttributeError,
                IndexError) as error:
            return error


def same(ours: Any, theirs: Any, dtype: str = "float64") -> bool:
    """Both agree, in values or in errors; True if they are values."""
    if any(fault in str(theirs) for fault in FAULTS):
        assert isinstance(ours, claygrad.Tensor)
        return False
    if isinstance(theirs, Exception):
        assert isinstance(ours, type(theirs)), repr(ours)
        assert same_text(claygrad, str(ours).replace("claygrad.distributions", "torch.distributions"),
                         str(theirs)) or "derivative" in str(theirs), (str(ours), str(theirs))
        return False
    if isinstance(ours, Exception):
        raise ours
    if isinstance(theirs, torch.Tensor):
        agree(ours, theirs, dtype)
    else:
        assert ours == theirs
    return True


def seeded(distribution: Any, method: str, shape: tuple[int, ...], lib: Any) -> Any:
    lib.manual_seed(11)
    return outcome(lambda: getattr(distribution, method)(shape))


def grads(params: dict[str, Any]) -> dict[str, Any]:
    return {name: param.grad for name, param in params.items()}


def same_grads(ours: dict[str, Any], theirs: dict[str, Any], dtype: str) -> None:
    for name, param in theirs.items():
        mine = ours[name].grad
        assert (mine is None) == (param.grad is None), name
        if mine is not None:
            # In float32 torch's gradients of beta draws, and in float64 its trigamma, have errors of this size.
            # A gradient that is 0 is a sum whose terms cancel: what is left of them goes by the size of the others.
            cancelled = 20 * numpy.finfo(dtype).eps * numpy.abs(array(param.grad)).max(initial=0)
            tolerance = {"rtol": 5e-3 if dtype == "float32" else 1e-8, "atol": TOLERANCE[dtype]["atol"] + cancelled}
            numpy.testing.assert_allclose(array(mine), array(param.grad), err_msg=name, **tolerance)


@EACH
def test_shapes_and_texts(name: str):
    ours, _, theirs, _ = both(name)
    assert tuple(ours.batch_shape) == tuple(theirs.batch_shape)
    assert tuple(ours.event_shape) == tuple(theirs.event_shape)
    assert type(ours.batch_shape).__name__ == type(ours.event_shape).__name__ == "Size"
    assert ours.has_rsample == theirs.has_rsample
    assert ours.has_enumerate_support == theirs.has_enumerate_support
    assert repr(ours) == repr(theirs).replace("torch.", "claygrad.")
    assert repr(ours.support) == repr(theirs.support).replace("torch.", "claygrad.")
    assert ours.support.event_dim == theirs.support.event_dim
    assert ours.support.is_discrete == theirs.support.is_discrete
    assert list(ours.arg_constraints) == list(theirs.arg_constraints)
    for key, constraint in theirs.arg_constraints.items():
        assert repr(ours.arg_constraints[key]) == repr(constraint).replace("torch.", "claygrad.")
    assert type(ours).__module__ == type(theirs).__module__.replace("torch", "claygrad")


@EACH
@DTYPES
@pytest.mark.parametrize("shape", [(), (3,), (2, 25)], ids=str)
def test_samples(name: str, dtype: str, shape: tuple[int, ...]):
    ours, _, theirs, _ = both(name, dtype)
    found = seeded(theirs, "sample", shape, torch)
    assert same(seeded(ours, "sample", shape, claygrad), found, dtype)
    assert numpy.array_equal(claygrad.get_rng_state().numpy(), torch.get_rng_state().numpy())


@EACH
@DTYPES
def test_gradients_through_samples(name: str, dtype: str):
    ours, mine, theirs, its = both(name, dtype, grad=True)
    found = seeded(theirs, "rsample", (4,), torch)
    if not same(seeded(ours, "rsample", (4,), claygrad), found, dtype):
        return
    drawn = seeded(ours, "rsample", (4,), claygrad)
    assert drawn.requires_grad == found.requires_grad
    if found.requires_grad:
        weight = torch.linspace(-1, 2, found.numel(), dtype=found.dtype).reshape(found.shape)
        (drawn * here(weight)).sum().backward()
        if "Wishart" in name:           # torch overwrites what it has saved, and has no gradient here
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                (found * weight).sum().backward()
            assert all(param.grad.isfinite().all() and param.grad.any() for param in mine.values())
            return
        (found * weight).sum().backward()
        same_grads(mine, its, dtype)


def value_of(theirs: Any) -> Any:
    torch.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return theirs.sample((3,))


@EACH
@DTYPES
def test_log_probabilities_and_their_gradients(name: str, dtype: str):
    ours, mine, theirs, its = both(name, dtype, grad=True)
    value = value_of(theirs).detach()
    smooth = value.dtype.is_floating_point and not theirs.support.is_discrete
    x, y = here(value, smooth), value.clone().requires_grad_(smooth)
    found = outcome(lambda: theirs.log_prob(y))
    if same(outcome(lambda: ours.log_prob(x)), found, dtype) and found.requires_grad:
        found.sum().backward()
        ours.log_prob(x).sum().backward()
        same_grads(mine, its, dtype)
        assert (x.grad is None) == (y.grad is None)
        if y.grad is not None:
            single = y.grad.dtype is torch.float32             # as of samples of numbers, whatever the dtype asked for
            tolerance = {**TOLERANCE["float32" if single else dtype], "atol": 1e-4 if single else 1e-9}
            numpy.testing.assert_allclose(array(x.grad), array(y.grad), **tolerance)


@EACH
@DTYPES
@pytest.mark.parametrize("what", ["mean", "mode", "variance", "stddev"])
def test_moments(name: str, dtype: str, what: str):
    ours, mine, theirs, its = both(name, dtype, grad=True)
    found = outcome(lambda: getattr(theirs, what))
    if same(outcome(lambda: getattr(ours, what)), found, dtype) and found.requires_grad:
        getattr(ours, what).sum().backward()
        found.sum().backward()
        if not any(param.grad is not None and param.grad.isnan().any() for param in its.values()):
            same_grads(mine, its, dtype)


@EACH
@DTYPES
@pytest.mark.parametrize("what", ["entropy", "perplexity"])
def test_entropies(name: str, dtype: str, what: str):
    ours, mine, theirs, its = both(name, dtype, grad=True)
    found = outcome(getattr(theirs, what))
    if same(outcome(getattr(ours, what)), found, dtype) and found.requires_grad:
        getattr(ours, what)().sum().backward()
        found.sum().backward()
        same_grads(mine, its, dtype)


@EACH
@DTYPES
def test_distribution_functions_and_their_inverses(name: str, dtype: str):
    ours, _, theirs, _ = both(name, dtype)
    value = value_of(theirs)
    same(outcome(lambda: ours.cdf(here(value))), outcome(lambda: theirs.cdf(value)), dtype)
    chance = torch.linspace(0.05, 0.95, max(theirs.batch_shape.numel(), 1), dtype=getattr(torch, dtype)).reshape(theirs.batch_shape)
    same(outcome(lambda: ours.icdf(here(chance))), outcome(lambda: theirs.icdf(chance)), dtype)


@EACH
def test_enumerations(name: str):
    ours, _, theirs, _ = both(name)
    for expand in (True, False):
        same(outcome(lambda e=expand: ours.enumerate_support(e)), outcome(lambda e=expand: theirs.enumerate_support(e)))


@EACH
def test_expansions(name: str):
    ours, _, theirs, _ = both(name)
    shape = (2, *theirs.batch_shape)
    for way in (lambda d: d.expand(shape), lambda d: d.expand(shape).expand((5, *shape))):
        wide, found = way(ours), way(theirs)
        assert tuple(wide.batch_shape) == tuple(found.batch_shape)
        assert tuple(wide.event_shape) == tuple(found.event_shape)
        assert repr(wide) == repr(found).replace("torch.", "claygrad.")
        assert same(seeded(wide, "sample", (2,), claygrad), seeded(found, "sample", (2,), torch))
        value = value_of(found)
        same(outcome(lambda w=wide, v=value: w.log_prob(here(v))), outcome(lambda f=found, v=value: f.log_prob(v)))
        for what in ("mean", "variance"):
            same(outcome(lambda w=wide, x=what: getattr(w, x)), outcome(lambda f=found, x=what: getattr(f, x)))
        same(outcome(wide.entropy), outcome(found.entropy))


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_give_the_default_dtype(name: str):
    ours, _, theirs, _ = both(name)
    agree(seeded(ours, "sample", (2,), claygrad), seeded(theirs, "sample", (2,), torch))
