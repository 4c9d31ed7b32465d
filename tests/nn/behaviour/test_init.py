"""First values of parameters: what they are, and what is refused."""

from __future__ import annotations

import math

import pytest

from tests.support import close, raises, warns


def test_numbers_of_one_seed(lib):
    drawn = {}
    for name in ("uniform_", "normal_", "xavier_uniform_", "kaiming_uniform_", "trunc_normal_"):
        lib.manual_seed(0)
        drawn[name] = getattr(lib.nn.init, name)(lib.empty(1, 3))
    assert close(drawn["uniform_"], [[0.496257, 0.768222, 0.088477]])
    assert close(drawn["normal_"], [[1.540996, -0.293429, -2.178789]])
    assert close(drawn["xavier_uniform_"], [[-0.009169, 0.657007, -1.00802]])
    assert close(drawn["kaiming_uniform_"], [[-0.010588, 0.758646, -1.163962]])
    assert close(drawn["trunc_normal_"][0, :2], [1.540996, -0.293429])


@pytest.mark.parametrize("name", ["uniform_", "normal_", "xavier_uniform_", "kaiming_normal_", "ones_"])
def test_they_write_a_leaf_without_complaint_once(lib, name):
    p = lib.nn.Parameter(lib.empty(3, 3))
    assert getattr(lib.nn.init, name)(p) is p
    assert p.grad_fn is None
    assert p.requires_grad
    assert p._version == 1


def test_fixed_values(lib):
    init = lib.nn.init
    assert init.eye_(lib.empty(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert init.constant_(lib.empty(2), 2.5).tolist() == [2.5, 2.5]
    assert init.ones_(lib.empty(2)).tolist() == [1, 1]
    assert init.zeros_(lib.ones(2)).tolist() == [0, 0]
    assert init.dirac_(lib.empty(2, 2, 3)).tolist() == [[[0, 1, 0], [0, 0, 0]], [[0, 0, 0], [0, 1, 0]]]
    assert init.dirac_(lib.empty(4, 2, 1), groups=2).squeeze(-1).tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]


def test_orthogonal_matrices(lib):
    for shape in ((4, 4), (5, 3), (3, 5), (3, 2, 2)):
        w = lib.nn.init.orthogonal_(lib.empty(shape, dtype=lib.float64), gain=2).reshape(shape[0], -1)
        square = w @ w.t() if w.shape[0] <= w.shape[1] else w.t() @ w
        assert close(square, (lib.eye(len(square)) * 4).tolist())


def test_sparse_columns(lib):
    w = lib.nn.init.sparse_(lib.empty(10, 4), 0.35)
    assert (w == 0).sum(0).tolist() == [4, 4, 4, 4]


def test_truncation_holds(lib):
    for args in ((0.0, 1.0, -1.0, 1.0), (0.0, 1.0, 3.0, 4.0), (5.0, 1.0, 2.5, 3.0)):
        w = lib.nn.init.trunc_normal_(lib.empty(500), *args)
        assert args[2] <= w.min().item()
        assert w.max().item() <= args[3]
    with warns(lib, "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
               "incorrect."):
        lib.nn.init.trunc_normal_(lib.empty(3), 10.0, 1.0)


GAINS = [("linear", None, 1), ("conv2d", None, 1), ("sigmoid", None, 1), ("tanh", None, 5 / 3), ("relu", None, math.sqrt(2)),
         ("selu", None, 0.75), ("leaky_relu", None, math.sqrt(2 / 1.0001)), ("leaky_relu", 0.5, math.sqrt(2 / 1.25))]


@pytest.mark.parametrize(("name", "param", "gain"), GAINS)
def test_gains(lib, name, param, gain):
    assert lib.nn.init.calculate_gain(name, param) == gain


REFUSALS = [
    ("calculate_gain", ("foo",), "Unsupported nonlinearity foo"),
    ("calculate_gain", ("leaky_relu", True), "negative_slope True not a valid number"),
    ("eye_", (1,), "Only tensors with 2 dimensions are supported"),
    ("sparse_", (1, 0.1), "Only tensors with 2 dimensions are supported"),
    ("dirac_", (2,), "Only tensors with 3, 4, or 5 dimensions are supported"),
    ("dirac_", (3, 2), "dim 0 must be divisible by groups"),
    ("orthogonal_", (1,), "Only tensors with 2 or more dimensions are supported"),
    ("xavier_uniform_", (1,), "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"),
    ("kaiming_uniform_", (2, 0, "x"), "Mode x not supported, please use one of ['fan_in', 'fan_out']"),
    ("kaiming_normal_", (2, 0, "fan_in", "foo"), "Unsupported nonlinearity foo"),
]


@pytest.mark.parametrize(("name", "args", "text"), REFUSALS)
def test_what_is_refused(lib, name, args, text):
    first = args[0] if isinstance(args[0], str) else lib.empty((3,) * args[0])
    with raises(lib, ValueError, text):
        getattr(lib.nn.init, name)(first, *args[1:])


def test_empty_tensors_are_left_alone(lib):
    with warns(lib, "Initializing zero-element tensors is a no-op"):
        lib.nn.init.kaiming_uniform_(lib.empty(0, 3))


@pytest.mark.parametrize("name", ["uniform", "normal", "xavier_uniform", "xavier_normal", "kaiming_uniform",
                                  "kaiming_normal", "orthogonal", "eye"])
def test_old_names(lib, name):
    with warns(lib, f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning):
        getattr(lib.nn.init, name)(lib.empty(2, 2))


def test_meta_tensors_are_left_alone(lib):
    for name in ("uniform_", "trunc_normal_", "orthogonal_", "kaiming_uniform_"):
        assert getattr(lib.nn.init, name)(lib.empty(3, 3, device="meta")).is_meta
