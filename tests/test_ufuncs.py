"""NumPy's functions and arrays beside tensors: values as in PyTorch, gradients kept where PyTorch refuses."""

from __future__ import annotations

import operator

import numpy
import pytest

import claygrad as torch

UNARY = ("absolute arccos arccosh arcsin arcsinh arctan arctanh ceil conjugate cos cosh deg2rad exp exp2 expm1 fabs floor log "
         "log10 log1p log2 negative positive rad2deg reciprocal rint sign sin sinh sqrt square tan tanh trunc").split()
BINARY = ("add arctan2 copysign divide float_power floor_divide fmax fmin fmod heaviside hypot logaddexp logaddexp2 matmul maximum "
          "minimum multiply power remainder subtract").split()
OPERATORS = "add sub mul truediv floordiv mod pow matmul".split()


def close(made: torch.Tensor, right: numpy.ndarray) -> bool:
    return made.shape == right.shape and numpy.allclose(made.detach().numpy(), right)


def inside(name: str) -> list[float]:
    return [1.25, 1.5, 2.5] if name == "arccosh" else [0.25, 0.5, 0.75]


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_tensor_keep_the_gradient(name):
    function, values = getattr(numpy, name), inside(name)
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    y = function(x)
    assert close(y, function(numpy.array(values)))
    assert y.requires_grad
    y.sum().backward()
    step = 1e-6
    slopes = (function(numpy.array(values) + step) - function(numpy.array(values) - step)) / (2 * step)
    assert numpy.allclose(x.grad.numpy(), slopes, atol=1e-5) or name in ("ceil", "floor", "rint", "trunc", "sign")


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_keep_the_gradient(name):
    function, a, b = getattr(numpy, name), numpy.array([1.3, 2.6, 3.9]), numpy.array([0.5, 2.5, 7.5])
    for first, second in ((torch.tensor(a, requires_grad=True), b), (a, torch.tensor(b, requires_grad=True)),
                          (torch.tensor(a, requires_grad=True), torch.tensor(b))):
        made = function(first, second)
        assert isinstance(made, torch.Tensor)
        assert made.requires_grad or name in ("heaviside", "floor_divide")
        assert close(made, function(a, b))
    if name != "matmul":
        assert close(function(torch.tensor(a, requires_grad=True), 2), function(a, 2))


def test_what_has_no_gradient_is_computed_and_what_has_no_counterpart_is_refused():
    x = torch.tensor([1.0, float("nan")], requires_grad=True)
    assert numpy.isnan(x).tolist() == [0, 1]
    assert numpy.greater(x, 0).tolist() == [1, 0]
    with pytest.raises(RuntimeError, match="Can't call numpy\\(\\) on Tensor that requires grad"):
        numpy.spacing(x)
    with pytest.raises(RuntimeError, match="Can't call numpy\\(\\) on Tensor that requires grad"):
        numpy.add.reduce(x)
    with pytest.raises(RuntimeError, match="Can't call numpy\\(\\) on Tensor that requires grad"):
        numpy.add(x, 1, out=numpy.zeros(2))
    with torch.no_grad():
        assert not numpy.exp(x).requires_grad


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("kinds", [("float32", "int64"), ("float32", "float64"), ("int64", "float32"), ("float32", "float32")], ids=str)
def test_operators_take_arrays_on_either_side(name, kinds):
    a, b = numpy.array([4, 9, 16], kinds[0]), numpy.array([2, 3, 5], kinds[1])
    function = getattr(operator, name)
    right = function(a, b)
    for made in (function(torch.tensor(a), b), function(a, torch.tensor(b))):
        assert isinstance(made, torch.Tensor)
        assert str(made.dtype).endswith(str(right.dtype))
        assert close(made, right)
    if kinds[0] != "int64":
        made = function(torch.tensor(a, requires_grad=True), b)
        assert made.requires_grad
        assert str(made.dtype).endswith(str(right.dtype))


def test_arrays_and_tensors_are_compared_as_tensors():
    a, x = numpy.array([1.0, 5.0]), torch.tensor([2.0, 2.0])
    for made in (a < x, x > a, a == x, a != x, a <= x, a >= x):
        assert made.dtype is torch.bool
    assert (a < x).tolist() == (x > a).tolist() == [True, False]


def test_an_array_takes_tensors_in_place():
    a = numpy.zeros(3)
    same = a
    a += torch.arange(3.0)
    assert a is same
    assert a.tolist() == [0, 1, 2]


def test_numbers_of_numpy_do_not_widen_a_tensor():
    for number in (numpy.float64(2), numpy.int64(2), numpy.float32(2)):
        for made in (number * torch.ones(2), torch.ones(2) * number, number - torch.ones(2), number / torch.ones(2), number ** torch.ones(2)):
            assert made.dtype is torch.float32
        assert (number < torch.ones(2)).dtype is torch.bool
    assert (numpy.float64(2) * torch.ones(2, requires_grad=True)).requires_grad


def test_bfloat16_has_functions_too():
    x = torch.ones(2, dtype=torch.bfloat16)
    assert numpy.exp(x).dtype is torch.bfloat16
    assert (x + numpy.ones(2)).dtype is torch.float64


def test_scipys_functions_keep_the_gradient():
    special = pytest.importorskip("scipy.special")
    x = torch.tensor([0.2, 0.6], dtype=torch.float64, requires_grad=True)
    for name in ("erf", "erfc", "expit", "gammaln", "psi", "i0", "ndtr", "logit", "xlogy"):
        args = (x, x) if name == "xlogy" else (x,)
        made = getattr(special, name)(*args)
        assert made.requires_grad
        assert close(made, getattr(special, name)(*(a.detach().numpy() for a in args)))
    assert isinstance(special.erf(x.detach()), torch.Tensor)
