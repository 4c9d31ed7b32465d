"""`_foreach_` functions do to each tensor of a list what the plain operation does to one."""
from __future__ import annotations

import pytest

import claygrad
from claygrad import _foreach

NAMES = sorted(name for name in dir(_foreach) if name.startswith("_foreach_"))
ALONE = _foreach._ALONE


def tensors(**options):
    return [claygrad.tensor([0.25, 0.5], **options), claygrad.tensor(0.75, **options),
            claygrad.tensor([[0.1], [0.9]], **options)]


def values(made):
    return [x.tolist() for x in made]


def test_every_function_is_found_by_its_name_and_none_more():
    listed = sorted(name for name, home in claygrad._LAZY_NAMES.items() if home == "_foreach")
    assert listed == NAMES
    assert len(NAMES) == 91
    assert all(getattr(claygrad, name) is getattr(_foreach, name) for name in NAMES)


@pytest.mark.parametrize("base", ALONE)
def test_one_list(base):
    plain = [getattr(claygrad, base)(x) for x in tensors()]
    made = getattr(claygrad, f"_foreach_{base}")(tensors())
    assert isinstance(made, tuple)
    assert values(made) == values(plain)
    given = tensors()
    assert getattr(claygrad, f"_foreach_{base}_")(given) is given
    assert values(given) == values(plain)


@pytest.mark.parametrize("base", _foreach._PAIRS)
def test_with_numbers_and_tensors(base):
    plain = getattr(claygrad, base)
    numbers = [0.5, 2.0, 0.25]
    wanted = [plain(x, claygrad.tensor(by)) for x, by in zip(tensors(), numbers)]
    foreach, foreach_ = getattr(claygrad, f"_foreach_{base}"), getattr(claygrad, f"_foreach_{base}_")
    claygrad.testing.assert_close(list(foreach(tensors(), numbers)), wanted)
    assert values(foreach(tensors(), [claygrad.tensor(by) for by in numbers])) == values(wanted)
    given = tensors()
    assert foreach_(given, numbers) is given
    claygrad.testing.assert_close(given, wanted)
    assert values(foreach(tensors(), 0.5)) == values(foreach(tensors(), [0.5, 0.5, 0.5]))
    with pytest.raises(RuntimeError, match="same number of elements as scalar list"):
        foreach(tensors(), [1.0])
    with pytest.raises(RuntimeError, match="must have the same number of tensors, got 3 and 1"):
        foreach(tensors(), [claygrad.ones(2)])
    with pytest.raises(TypeError, match="received an invalid combination of arguments"):
        foreach(tensors(), "x")


def test_a_name_stands_for_its_kind_of_value():
    assert values(claygrad._foreach_add(tensors(), scalar=1)) == values(claygrad._foreach_add(tensors(), 1))
    assert values(claygrad._foreach_pow(tensors(), exponent=2)) == values(claygrad._foreach_pow(tensors(), 2))
    assert values(claygrad._foreach_pow(2, tensors())) == [claygrad.pow(2, x).tolist() for x in tensors()]
    for wrong in ({"other": 1}, {"scalar": tensors()}, {"scalars": 1}, {"exponent": 1}):
        with pytest.raises(TypeError, match="invalid combination"):
            claygrad._foreach_add(tensors(), **wrong)
    with pytest.raises(TypeError, match="invalid combination"):
        claygrad._foreach_pow(tensors(), scalar=2)


def test_a_step_of_adam():
    """The update as optimizers write it with lists is the one with single tensors."""
    params, grads = tensors(), [x * 2 for x in tensors()]
    mean, square = [claygrad.zeros_like(x) for x in params], [claygrad.zeros_like(x) for x in params]
    claygrad._foreach_lerp_(mean, grads, 0.1)
    claygrad._foreach_mul_(square, 0.999)
    claygrad._foreach_addcmul_(square, grads, grads, 0.001)
    roots = claygrad._foreach_sqrt(square)
    claygrad._foreach_add_(roots, 1e-8)
    claygrad._foreach_addcdiv_(params, mean, roots, -0.01)
    for made, x in zip(params, tensors()):
        g = x * 2
        wanted = x - 0.01 * (0.1 * g) / ((0.001 * g * g).sqrt() + 1e-8)
        claygrad.testing.assert_close(made, wanted)


def test_gradients_are_recorded():
    given = tensors(requires_grad=True)
    sum(x.sum() for x in claygrad._foreach_mul(claygrad._foreach_exp(given), given)).backward()
    for x in given:
        claygrad.testing.assert_close(x.grad, (x.exp() * (x + 1)).detach())
    tie = claygrad.ones(2, requires_grad=True)
    claygrad._foreach_maximum([tie], 1)[0].sum().backward()
    assert tie.grad.tolist() == [0.5, 0.5]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        claygrad._foreach_exp_([tie])


def test_results_that_do_not_fit_are_refused():
    whole = [claygrad.ones(2, dtype=claygrad.int64)]
    for call in (claygrad._foreach_exp_, lambda x: claygrad._foreach_maximum_(x, 0.5),
                 lambda x: claygrad._foreach_minimum_(x, [claygrad.ones(2)])):
        with pytest.raises(RuntimeError, match="can't be cast to the desired output type Long"):
            call(whole)
    with pytest.raises(NotImplementedError, match="powsum_cpu"):
        claygrad._foreach_powsum(whole)
    with pytest.raises(TypeError, match="expected Tensor as element 0 in argument 1, but got float"):
        claygrad._foreach_copy_(tensors(), [1.0, 2.0, 3.0])
    with pytest.raises(RuntimeError, match="at least one tensor"):
        claygrad._foreach_abs([])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "complex64"])
def test_a_bool_is_not_subtracted(dtype):
    x = claygrad.ones(2, dtype=getattr(claygrad, dtype))
    for call in (lambda: x - True, lambda: True - x, lambda: x.sub_(True), lambda: claygrad._foreach_sub([x], True)):
        with pytest.raises(RuntimeError, match="with a bool tensor is not supported"):
            call()
    assert (x + True).tolist() == [2, 2]
