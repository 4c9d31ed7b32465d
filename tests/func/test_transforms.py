"""Derivatives of functions, nested and not."""
from __future__ import annotations

import pytest

import claygrad as torch
from claygrad.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp

X = torch.linspace(0.3, 1.2, 3, dtype=torch.float64)


def f(x):
    return (x.sin() * x.exp()).sum()


SECOND = torch.diag(2 * X.cos() * X.exp())


def test_grad():
    assert torch.allclose(grad(f)(X), (X.sin() + X.cos()) * X.exp())
    g, value = grad_and_value(f)(X)
    assert torch.allclose(value, f(X))
    assert not g.requires_grad
    assert not value.requires_grad
    g, aux = grad(lambda x: (f(x), x * 2), has_aux=True)(X)
    assert aux.equal(X * 2)
    assert not aux.requires_grad
    both = grad(lambda x, y: (x * y["a"]).sum(), argnums=(0, 1))(X, {"a": X + 1})
    assert both[0].equal(X + 1)
    assert both[1]["a"].equal(X)
    with torch.no_grad():
        assert torch.allclose(grad(f)(X), (X.sin() + X.cos()) * X.exp())


def test_what_a_function_closes_over_stays_in_its_graph():
    w = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    g = grad(lambda x: (w * w * x).sum())(X)
    assert g.requires_grad
    g.sum().backward()
    assert w.grad.item() == 12
    x = X.clone().requires_grad_()
    grad(f)(x).sum().backward()
    assert torch.allclose(x.grad, SECOND.diagonal())


@pytest.mark.parametrize("outer", [jacfwd, jacrev])
@pytest.mark.parametrize("inner", [jacfwd, jacrev, grad])
def test_nested(outer, inner):
    found = outer(inner(f))(X)
    assert torch.allclose(found, SECOND)
    assert not found.requires_grad


def test_third_derivatives():
    one = torch.tensor(1.0, dtype=torch.float64)
    x = torch.tensor(2.0, dtype=torch.float64)
    push = lambda f: lambda x: jvp(f, (x,), (one,))[1]
    assert push(push(push(lambda x: x**5)))(x).item() == 60 * 4
    assert grad(push(grad(lambda x: x**5)))(x).item() == 60 * 4
    assert torch.allclose(hessian(f)(X), SECOND)


def test_perturbations_are_not_confused():
    x = torch.tensor(2.0, dtype=torch.float64)
    one = torch.ones_like(x)
    inner = lambda x: jvp(lambda y: x + y, (torch.tensor(1.0, dtype=torch.float64),), (one,))[1]
    assert jvp(lambda x: x * inner(x), (x,), (one,))[1].item() == 1


def test_vjp_and_jvp():
    def g(x, y):
        return {"a": x * y, "b": (x.sum(),)}

    _, pull = vjp(g, X, X + 1)
    ones = {"a": torch.ones_like(X), "b": (torch.tensor(1.0, dtype=torch.float64),)}
    by_x, by_y = pull(ones)
    assert torch.allclose(by_x, X + 2)
    assert torch.allclose(by_y, X)
    _value, pushed = jvp(g, (X, X + 1), (torch.ones_like(X), torch.zeros_like(X)))
    assert torch.allclose(pushed["a"], X + 1)
    assert pushed["b"][0].item() == 3
    with pytest.raises(RuntimeError, match="Expected pytree structure of cotangents"):
        pull((X,))
    with pytest.raises(RuntimeError, match="same python structure"):
        jvp(g, (X, X), (X,))
    with pytest.raises(RuntimeError, match="strict=True"):
        jvp(lambda x: torch.ones(2), (X,), (X,), strict=True)


def test_linearize():
    _value, push = linearize(lambda x: x.exp(), X)
    for step in torch.eye(3, dtype=torch.float64):
        assert torch.allclose(push(step), X.exp() * step)
    with pytest.raises(RuntimeError, match="doesn't match the shape"):
        push(torch.ones(2, dtype=torch.float64))


def test_jacobians():
    g = lambda x, y: (x[:, None] * y, x.sum())
    x, y = X, torch.rand(2, dtype=torch.float64)
    for jacobian in (jacfwd, jacrev):
        (first, second), (third, fourth) = jacobian(g, argnums=(0, 1))(x, y)
        assert torch.allclose(first, torch.einsum("ik,j->ijk", torch.eye(3, dtype=torch.float64), y))
        assert torch.allclose(second, torch.einsum("i,jk->ijk", x, torch.eye(2, dtype=torch.float64)))
        assert torch.allclose(third, torch.ones(3, dtype=torch.float64))
        assert fourth.equal(torch.zeros(2, dtype=torch.float64))
        found, aux = jacobian(lambda x: (x * 2, x), has_aux=True)(X)
        assert torch.allclose(found, 2 * torch.eye(3, dtype=torch.float64))
        assert aux.equal(X)
    with pytest.raises(ValueError, match="chunk_size"):
        jacrev(f, chunk_size=0)


def test_randomness_of_jacfwd():
    drops = lambda x: torch.nn.functional.dropout(x, 0.5)
    with pytest.raises(RuntimeError, match="randomness error mode"):
        jacfwd(drops)(X)
    torch.manual_seed(0)
    once = drops(torch.ones(3, dtype=torch.float64))
    torch.manual_seed(0)
    assert jacfwd(drops, randomness="same")(X).equal(torch.diag(once))


def test_refusals():
    with pytest.raises(RuntimeError, match="Expected f\\(\\*args\\) to return a scalar Tensor"):
        grad(lambda x: x)(X)
    with pytest.raises(RuntimeError, match="Got argnum=1, but only 1 positional inputs"):
        grad(f, argnums=1)(X)
    with pytest.raises(ValueError, match="Thing passed to transform API must be Tensor"):
        grad(f)(3.0)


def test_modules():
    model = torch.nn.Linear(2, 1)
    parameters = dict(model.named_parameters())
    x = torch.ones(4, 2)
    found = grad(lambda p: torch.func.functional_call(model, p, (x,)).sum())(parameters)
    assert found["weight"].equal(torch.full((1, 2), 4.0))
    assert found["bias"].item() == 4


WHOLE = [torch.tensor([1, 2]), torch.tensor([True, False])]


@pytest.mark.parametrize("whole", WHOLE, ids=["int64", "bool"])
@pytest.mark.parametrize("transform", [grad, grad_and_value, jacrev, lambda f: lambda x: vjp(f, x)], ids=["grad", "value", "jacrev", "vjp"])
def test_backward_refuses_dtypes_without_derivatives(transform, whole):
    with pytest.raises(RuntimeError, match=r"^only Tensors of floating point dtype can require gradients"):
        transform(lambda x: (x * 1.5).sum())(whole)
    with pytest.raises(RuntimeError, match=r"^only Tensors of floating point dtype can require gradients"):
        transform(lambda tree: (tree["a"] * tree["b"]).sum())({"a": torch.ones(2), "b": whole})


@pytest.mark.parametrize("whole", WHOLE, ids=["int64", "bool"])
@pytest.mark.parametrize("transform", [jacfwd, hessian, lambda f: lambda x: linearize(f, x), lambda f: lambda x: jvp(f, (x,), (torch.ones(2),))],
                         ids=["jacfwd", "hessian", "linearize", "jvp"])
def test_forward_refuses_dtypes_without_derivatives(transform, whole):
    with pytest.raises(ValueError, match=r"^Expected primal to be floating point or complex, but got: "):
        transform(lambda x: (x * 1.5).sum())(whole)
    with pytest.raises(ValueError, match=r"^Expected tangent to be floating point or complex, but got: "):
        jvp(f, (torch.ones(2),), (whole,))
