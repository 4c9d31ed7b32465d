"""Rules that are one operation: run without their Python, over the gradient that they alone see, and to the same result."""

from __future__ import annotations

import subprocess
import sys

import pytest

import claygrad
from claygrad.nn import functional as f

UNARY = {
    "relu": claygrad.relu, "tanh": claygrad.tanh, "sigmoid": claygrad.sigmoid, "exp": claygrad.exp, "neg": claygrad.neg,
    "erf": claygrad.erf, "gelu": f.gelu, "silu": f.silu, "leaky_relu": lambda x: f.leaky_relu(x, 0.2), "elu": f.elu,
    "softplus": f.softplus, "hardtanh": f.hardtanh, "number": lambda x: x * 2.5, "sqrt": lambda x: (x * x + 1).sqrt(),
    "threshold": lambda x: f.threshold(x, 0.1, 0.3),
}
BINARY = {
    "mul": lambda x, y: x * y, "itself": lambda x, y: x * x + y, "inside": lambda x, y: (x * y).tanh() * x,
    "chain": lambda x, y: -(x * y).sigmoid() * y.exp(),
}
LAYOUTS = {
    "plain": lambda t: t,
    "turned": lambda t: t.t() if t.ndim == 2 else t,
    "gaps": lambda t: t[..., ::2],
    "row": lambda t: t[:1] if t.ndim else t,
    "number": lambda t: t.sum(),
    "empty": lambda t: t[..., :0],
}


def both_ways(function, *inputs):
    """Gradients by the operations themselves, and by the rules as they are written: a run that is recorded takes those."""
    made = []
    for recorded in (False, True):
        y = function(*inputs) * 1.5 if inputs[0].dtype.is_complex else (function(*inputs) * 1.5).sin()
        made.append(claygrad.autograd.grad(y, inputs, claygrad.ones_like(y), create_graph=recorded))
    return made


def agree(native, declared):
    for one, other in zip(native, declared, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        assert one.stride() == other.stride() or 1 in one.shape
        assert claygrad.equal(one, other.detach())
        assert not one.requires_grad


@pytest.mark.parametrize("dtype", [claygrad.float32, claygrad.float64, claygrad.float16, claygrad.complex128], ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", UNARY)
def test_one_operand(name, layout, dtype):
    if dtype.is_complex and name not in ("tanh", "sigmoid", "exp", "neg", "number"):
        return
    claygrad.manual_seed(1)
    x = LAYOUTS[layout](claygrad.randn(6, 8, dtype=dtype)).detach().requires_grad_()
    agree(*both_ways(UNARY[name], x))


@pytest.mark.parametrize("dtype", [claygrad.float32, claygrad.complex128], ids=str)
@pytest.mark.parametrize("second", LAYOUTS)
@pytest.mark.parametrize("first", LAYOUTS)
@pytest.mark.parametrize("name", BINARY)
def test_two_operands(name, first, second, dtype):
    claygrad.manual_seed(2)
    x, y = (LAYOUTS[way](claygrad.randn(6, 6, dtype=dtype)) for way in (first, second))
    try:
        claygrad.broadcast_shapes(x.shape, y.shape)
    except RuntimeError:
        return
    agree(*both_ways(BINARY[name], x.detach().requires_grad_(), y.detach().requires_grad_()))


def frames_during(function) -> set[str]:
    """The files whose Python ran."""
    seen = set()
    sys.setprofile(lambda frame, event, arg: seen.add(frame.f_code.co_filename) if event == "call" else None)
    try:
        function()
    finally:
        sys.setprofile(None)
    return seen


@pytest.mark.parametrize("name", ["relu", "tanh", "sigmoid", "exp", "neg", "gelu", "silu", "leaky_relu", "number"])
def test_no_python_of_a_declaration_runs(name):
    x = claygrad.randn(5, requires_grad=True)
    g = claygrad.ones(5)
    UNARY[name](x).backward(g)                                     # the first time a rule is looked at
    y = UNARY[name](x)
    assert not [path for path in frames_during(lambda: y.backward(g)) if "/ops/" in path and "test_" not in path]


def test_a_gradient_that_somebody_else_sees_is_not_written_over():
    x, seen = claygrad.tensor([0.5, -1.0, 2.0], requires_grad=True), []
    y = x.tanh()
    y.register_hook(seen.append)
    z = y.exp()
    z.register_hook(seen.append)
    given = claygrad.tensor([1.0, 2.0, 3.0])
    (z * 2.0).neg().backward(given)
    of_z, of_y = seen
    assert given.tolist() == [1.0, 2.0, 3.0]
    assert of_z.tolist() == [-2.0, -4.0, -6.0]
    assert claygrad.equal(of_y, of_z * z)
    assert claygrad.equal(x.grad, of_y * (1 - y * y))


def test_both_factors_get_their_own_gradient():
    x, y = (claygrad.randn(4, requires_grad=True) for _ in range(2))
    a, b = x * 1.0, y * 1.0
    a.retain_grad()
    b.retain_grad()
    (a * b * 3.0).sum().backward()
    assert claygrad.equal(a.grad, b * 3.0)
    assert claygrad.equal(b.grad, a * 3.0)
    assert claygrad.equal(x.grad, a.grad)
    assert claygrad.equal(y.grad, b.grad)


def test_a_view_of_a_gradient_that_somebody_else_sees_stays_his():
    x, seen = claygrad.tensor([0.5, -1.0, 2.0, 1.0], requires_grad=True), []
    y = x.view(2, 2)
    y.register_hook(seen.append)
    (y * 2.0).backward(claygrad.ones(2, 2))
    x.grad.zero_()
    assert seen[0].tolist() == [[2.0, 2.0], [2.0, 2.0]]
    given = claygrad.ones(2, 2)
    x.grad = None
    x.view(2, 2).backward(given)
    x.grad.zero_()
    assert given.tolist() == [[1.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize("step", ["-y", "-y.view(-1)", "-y.view(1000, -1).unsqueeze(0)"])
def test_backward_along_a_chain_needs_one_buffer(step):
    """The input, the result, its gradient and one more; a fifth if every node wrote its own."""
    size = 1_000_000
    program = f"""
import claygrad
x = claygrad.ones({size}, requires_grad=True)
y = x
for _ in range(20):
    y = {step}
y = y.view(-1)
y.backward(claygrad.ones({size}))
print(claygrad.memory.peak())
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 4.5 * 4 * size


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", [None, 0, -1, (0, 2), (2, 0), (0, 1, 2), ()], ids=str)
def test_the_gradient_of_a_sum(dim, keepdim):
    x = claygrad.randn(3, 4, 5, dtype=claygrad.float64).transpose(0, 1).detach().requires_grad_()
    weights = claygrad.randn(x.sum(dim, keepdim).shape, dtype=claygrad.float64)
    native, declared = (claygrad.autograd.grad((x.sum(dim, keepdim) * weights).sum(), x, create_graph=recorded)[0]
                        for recorded in (False, True))
    assert native.stride() == declared.stride()
    assert claygrad.equal(native, declared.detach())


VIEWS = {
    "view": lambda x: x.view(3, 8), "and back": lambda x: x.view(2, 12).view(4, 6), "transpose": lambda x: x.transpose(0, -1),
    "reshape of turned": lambda x: x.t().reshape(3, 8), "alias": lambda x: x[:, ::2].reshape(2, 2, 3), "t": lambda x: x.t(),
    "linear": lambda x: f.linear(x.view(2, 2, 6), claygrad.ones(5, 6, dtype=x.dtype), claygrad.ones(5, dtype=x.dtype)),
    "transpose of three": lambda x: x.view(2, 2, 6).transpose(1, 2), "of a sum": lambda x: x.view(2, 2, 6).sum(1),
}


@pytest.mark.parametrize("dtype", [claygrad.float32, claygrad.float64, claygrad.complex128], ids=str)
@pytest.mark.parametrize("name", VIEWS)
def test_gradients_of_views_need_no_python(name, dtype):
    x = (claygrad.arange(24).view(4, 6) / 7).to(dtype).requires_grad_()
    agree(*both_ways(VIEWS[name], x))
