"""Random functions: the forms of their arguments, and their place in the graph."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.support import backward_name, exact, is_torch, leaf, lend, raises
from tests.support.messages import LEAF, VIEWLEAF


@pytest.fixture
def lib() -> Iterator[ModuleType]:
    import claygrad

    yield from lend(claygrad)


# --- forms -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "shape"),
    [
        ("t.rand(2, 3)", (2, 3)),
        ("t.rand((2, 3))", (2, 3)),
        ("t.rand([2, 3])", (2, 3)),
        ("t.rand(size=(2, 3))", (2, 3)),
        ("t.rand(t.Size([2, 3]))", (2, 3)),
        ("t.rand(())", ()),
        ("t.rand(0, 3)", (0, 3)),
        ("t.rand(t.tensor(2))", (2,)),
        ("t.randn(2, 2, 2, 2, 2, 2)", (2,) * 6),
        ("t.randint(5, (2, 3))", (2, 3)),
        ("t.randint(1, 5, [2])", (2,)),
        ("t.randint(low=1, high=5, size=(2,))", (2,)),
        ("t.randint(high=5, size=())", ()),
        ("t.randint(1, high=5, size=(2,))", (2,)),
        ("t.normal(0, 1, size=(2, 2))", (2, 2)),
        ("t.normal(t.zeros(2, 1), t.ones(3))", (2, 3)),
        ("t.normal(mean=t.zeros(2, 1))", (2, 1)),
        ("t.normal(0.0, t.ones(3, 2))", (3, 2)),
        ("t.multinomial(t.ones(4, 3), 2)", (4, 2)),
        ("t.multinomial(t.ones(0, 3), 2, True)", (0, 2)),
        ("t.randint_like(t.zeros(2, 3), 5)", (2, 3)),
        ("t.randint_like(t.zeros(2, 3), low=2, high=5)", (2, 3)),
    ],
)
def test_sizes_come_in_many_forms(lib, program, shape):
    assert tuple(eval(program, {"t": lib}).shape) == shape


def test_dtypes_and_devices_are_those_asked_for(lib):
    assert lib.rand(2).dtype is lib.float32
    assert lib.rand(2, dtype=float).dtype is lib.float64
    assert lib.randint(5, (2,)).dtype is lib.int64
    assert lib.randperm(3).dtype is lib.int64
    assert lib.randint_like(lib.zeros(2), 9).dtype is lib.float32
    assert lib.bernoulli(lib.zeros(2, dtype=lib.float16)).dtype is lib.float16
    assert lib.randn(2, device="meta").is_meta
    with lib.device("meta"):
        assert lib.randn(2).is_meta
    before = lib.get_default_dtype()
    lib.set_default_dtype(lib.float64)
    assert lib.rand(2).dtype is lib.float64
    lib.set_default_dtype(before)


def test_meta_tensors_draw_nothing(lib):
    before = lib.get_rng_state()
    lib.rand(3, device="meta")
    lib.empty(20, device="meta").normal_()
    lib.randperm(5, device="meta")
    lib.multinomial(lib.rand(3, device="meta"), 2)
    assert lib.equal(lib.get_rng_state(), before)


def test_empty_tensors_draw_nothing(lib):
    before = lib.get_rng_state()
    lib.rand(0)
    lib.empty(0).normal_()
    lib.randperm(0)
    lib.randperm(1)
    assert lib.equal(lib.get_rng_state(), before)


def test_out_is_resized_and_filled_in_its_own_order(lib):
    lib.manual_seed(2)
    straight = lib.rand(6)
    lib.manual_seed(2)
    out = lib.empty(3, 2).t()
    assert lib.rand(2, 3, out=out) is out
    assert lib.equal(out.t().reshape(-1), straight)
    grown = lib.empty(2)
    lib.rand(2, 3, out=grown)
    assert tuple(grown.shape) == (2, 3)
    whole = lib.empty(0, dtype=lib.int32)
    lib.randperm(4, out=whole)
    assert sorted(whole.tolist()) == [0, 1, 2, 3]
    with raises(lib, RuntimeError, "dtype Double does not match dtype of out parameter (Float)"):
        lib.rand(2, out=lib.empty(2), dtype=lib.float64)
    with raises(lib, RuntimeError, "multinomial expects Long tensor out, got: Float"):
        lib.multinomial(lib.ones(3), 2, out=lib.empty(2))


def test_ranges_are_respected(lib):
    assert set(lib.randint(3, 6, (200,)).tolist()) == {3, 4, 5}
    assert set(lib.empty(300, dtype=lib.uint8).random_(250, None).tolist()) == set(range(250, 256))
    uniform = lib.empty(1000, dtype=lib.bfloat16).uniform_(1, 1.01)
    assert ((uniform >= 1) & (uniform < 1.01)).all()
    assert lib.empty(100).geometric_(0.9).min() >= 1


def test_a_permutation_holds_every_number_once(lib):
    assert sorted(lib.randperm(1000).tolist()) == list(range(1000))
    assert sorted(lib.randperm(200, dtype=lib.uint8).tolist()) == list(range(200))


def test_without_replacement_no_category_comes_twice(lib):
    drawn = lib.multinomial(lib.rand(50, 20), 20)
    assert all(sorted(row) == list(range(20)) for row in drawn.tolist())


def test_weights_of_zero_are_never_drawn(lib):
    weights = lib.tensor([0.0, 1.0, 0.0, 2.0])
    assert set(lib.multinomial(weights, 500, True).tolist()) == {1, 3}


# --- autograd --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "node"),
    [
        ("y.normal_()", "NormalBackward0"),
        ("y.uniform_()", "UniformBackward0"),
        ("y.exponential_()", "ExponentialBackward0"),
        ("y.random_()", "RandomBackward2"),
        ("y.random_(5)", "RandomBackward1"),
        ("y.random_(5, 7)", "RandomBackward0"),
        ("y.geometric_(0.5)", "GeometricBackward0"),
        ("y.cauchy_()", "CauchyBackward0"),
        ("y.log_normal_()", "LogNormalBackward0"),
        ("y.bernoulli_()", "BernoulliBackward2"),
        ("y.bernoulli_(t.ones(3))", "BernoulliBackward1"),
        ("t.normal(y, 1.0)", "NormalBackward1"),
        ("t.normal(0.0, y)", "NormalBackward2"),
        ("t.normal(y, t.ones(3))", "NormalBackward3"),
        ("t.bernoulli(y)", "BernoulliBackward0"),
    ],
)
def test_no_gradient_passes_through_draws(lib, program, node):
    x = leaf(lib, [1.0, 1.0, 1.0])
    made = eval(program, {"t": lib, "y": x * 1})
    assert backward_name(made) == node
    made.sum().backward()
    assert exact(x.grad, [0.0, 0.0, 0.0])


def test_a_write_to_a_view_stops_the_gradient_there_only(lib):
    x = leaf(lib, [1.0, 2.0, 3.0])
    y = x * 1
    y[:2].normal_()
    y.sum().backward()
    assert exact(x.grad, [0.0, 0.0, 1.0])


def test_a_saved_value_survives_a_fill(lib):
    if is_torch(lib):
        return  # torch raises at backward
    x = leaf(lib, [1.0, 2.0])
    y = x * 3
    z = y * y
    y.normal_()
    z.sum().backward()
    assert exact(x.grad, [18.0, 36.0])


def test_leaves_that_require_grad_are_not_overwritten(lib):
    x = leaf(lib, [1.0, 2.0, 3.0])
    for fill in ("normal_", "uniform_", "random_", "bernoulli_", "exponential_"):
        with raises(lib, RuntimeError, LEAF):
            getattr(x, fill)()
    with raises(lib, RuntimeError, VIEWLEAF):
        x[:2].normal_()
    assert exact(x, [1.0, 2.0, 3.0])
    assert x._version == 0
    with lib.no_grad():
        x.fill_(0).uniform_(5, 6)
    assert x.min() >= 5


def test_a_fill_counts_as_one_write_and_returns_its_tensor(lib):
    x = lib.empty(3)
    assert x.normal_() is x
    assert x._version == 1
    x.detach().uniform_()
    assert x._version == 2
    x.data.uniform_()
    assert x._version == 2


def test_new_tensors_can_require_grad(lib):
    assert lib.randn(2, requires_grad=True).is_leaf
    assert lib.rand_like(leaf(lib, [1.0])).requires_grad is False
    assert lib.rand_like(lib.zeros(2), requires_grad=True).requires_grad
    assert lib.normal(0.0, 1.0, (2,), requires_grad=True).requires_grad
    with raises(lib, RuntimeError, "Only Tensors of floating point and complex dtype can require gradients"):
        lib.randint(5, (2,), requires_grad=True)


def test_bernoulli_of_one_probability_has_no_derivative(lib):
    drawn = lib.bernoulli(leaf(lib, [1.0]), 0.5)
    assert drawn.requires_grad
    with raises(lib, RuntimeError, "derivative for aten::bernoulli is not implemented…"):
        drawn.sum().backward()
