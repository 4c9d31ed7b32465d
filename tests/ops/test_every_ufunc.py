"""Every universal function of NumPy that computes with floats: on a tensor that requires grad, with NumPy's values and a gradient."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import claygrad

STEPS = {"nextafter", "spacing"}                     # they tell floats apart that lie beside each other, and have no slope
WITHOUT_SLOPE = {"floor_divide", "heaviside"}        # PyTorch says of them that their derivative is not implemented
FUNCTIONS = {name: function for name in dir(numpy) if isinstance(function := getattr(numpy, name), numpy.ufunc)}
SHAPES = {"matmul": ((2, 3), (3, 2)), "matvec": ((2, 3), (3,)), "vecmat": ((3,), (3, 2)), "vecdot": ((2, 3), (3,))}


def _inputs(name: str) -> list[numpy.ndarray]:
    function = FUNCTIONS[name]
    shapes = SHAPES.get(name, ((3,),) * function.nin)
    source = numpy.random.default_rng(1)
    made = [source.uniform(0.2, 0.8, shape) for shape in shapes]
    if name in ("acosh", "arccosh"):
        made[0] += 1
    if name == "ldexp":
        made[1] = numpy.array([1, -2, 3])
    return made


def _answers(name: str) -> list[numpy.ndarray] | None:
    try:
        made = FUNCTIONS[name](*_inputs(name))
    except TypeError:                                # not of floats
        return None
    made = list(made) if isinstance(made, tuple) else [made]
    return made if any(one.dtype.kind == "f" for one in made) else None


REAL = [name for name in FUNCTIONS if name not in STEPS and _answers(name) is not None]


def test_there_are_some() -> None:
    assert len(REAL) > 60
    assert {"cbrt", "divmod", "frexp", "ldexp", "modf", "vecdot"} <= set(REAL)


@pytest.mark.parametrize("name", REAL)
def test_values_and_gradients(name: str) -> None:
    given = _inputs(name)
    leaves = [claygrad.tensor(one, requires_grad=one.dtype.kind == "f") for one in given]
    got, want = FUNCTIONS[name](*leaves), _answers(name)
    got = got if isinstance(got, tuple) else (got,)
    assert want is not None
    assert len(got) == len(want)
    for mine, theirs in zip(got, want):
        assert isinstance(mine, claygrad.Tensor)
        assert mine.requires_grad is (theirs.dtype.kind == "f")
        assert mine.dtype.numpy == theirs.dtype
        numpy.testing.assert_allclose(mine.detach().numpy(), theirs, rtol=1e-12)

    def call(*tensors: Any) -> Any:
        made = FUNCTIONS[name](*tensors)
        return tuple(one for one in (made if isinstance(made, tuple) else (made,)) if one.requires_grad)

    if name in WITHOUT_SLOPE:
        with pytest.raises(RuntimeError, match="is not implemented"):
            call(*leaves)[0].sum().backward()
    else:
        assert claygrad.autograd.gradcheck(call, tuple(leaves))


def test_steps_are_refused_where_a_gradient_is_recorded() -> None:
    x = claygrad.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="requires grad"):
        numpy.spacing(x)
    assert isinstance(numpy.spacing(x.detach()), claygrad.Tensor)


def test_parts_of_infinities_and_zeros() -> None:
    given = numpy.array([numpy.inf, -numpy.inf, -0.0, 1.5, -2.25])
    x = claygrad.tensor(given, requires_grad=True)
    for mine, theirs in zip(numpy.modf(x), numpy.modf(given)):
        numpy.testing.assert_array_equal(mine.detach().numpy(), theirs)
    numpy.testing.assert_array_equal(numpy.cbrt(x).detach().numpy()[:3], numpy.cbrt(given)[:3])
