"""What users add to vmap: rules of their operators, Functions with jvp, gradients of many seeds at once."""

from __future__ import annotations

import pytest

import claygrad as torch
from claygrad import library, nn
from claygrad.func import hessian, jacfwd, jvp, vmap

X = torch.arange(6.0, dtype=torch.float64).reshape(3, 2) / 4


def _close(a, b):
    torch.testing.assert_close(a, b)


class Cube(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x ** 3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return g * 3 * ctx.saved_tensors[0] ** 2

    @staticmethod
    def jvp(ctx, t):
        return t * 3 * ctx.saved_tensors[0] ** 2


class CubeByHand(Cube):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x):
        return CubeByHand.apply(x), in_dims[0]


@pytest.mark.parametrize("function", [Cube, CubeByHand])
def test_forward_mode_of_functions(function):
    ones = torch.ones_like(X)
    for value, tangent in (vmap(lambda v: jvp(function.apply, (v,), (torch.ones_like(v),)))(X),
                           jvp(vmap(function.apply), (X,), (ones,))):
        _close(value, X ** 3)
        _close(tangent, 3 * X ** 2)
    _close(jacfwd(function.apply)(X[1]), torch.diag(3 * X[1] ** 2))
    _close(hessian(lambda v: function.apply(v).sum())(X[1]), torch.diag(6 * X[1]))
    _close(vmap(hessian(lambda v: function.apply(v).sum()))(X), torch.stack([torch.diag(6 * x) for x in X]))
    _close(jvp(lambda a: jvp(function.apply, (a,), (ones,))[1], (X,), (ones,))[1], 6 * X)


def _operator(name):
    @library.custom_op(f"tests_vmap::{name}", mutates_args=())
    def scaled(x: torch.Tensor, y: torch.Tensor, factor: float = 2.0) -> list[torch.Tensor]:
        return [torch.from_numpy(x.detach().numpy() * y.detach().numpy() * factor), x + y]      # NumPy: sees no batch

    return scaled


def test_operators_without_a_rule_run_once_per_example():
    scaled = _operator("without")
    product, total = vmap(scaled, in_dims=(0, None))(X, X[0])
    _close(product, X * X[0] * 2)
    _close(total, X + X[0])
    _close(vmap(lambda v: scaled(v, v, factor=3.0)[0], in_dims=1, out_dims=1)(X), X * X * 3)
    assert vmap(lambda v: scaled(v, v)[0])(X[:0]).shape == (0, 2)


@pytest.mark.parametrize("register", [lambda op, rule: op.register_vmap(rule),
                                      lambda op, rule: library.register_vmap(op._qualname, rule)])
def test_operators_by_their_rule(register, request):
    scaled = _operator(f"rule{abs(hash(request.node.name))}")
    seen = []

    def rule(info, in_dims, x, y, factor=2.0):
        seen.append((info.batch_size, info.randomness, in_dims[:2]))
        return scaled(x, y, factor), [0, 0]

    register(scaled, rule)
    _close(vmap(scaled, in_dims=(0, None))(X, X[0])[0], X * X[0] * 2)
    assert seen == [(3, "error", (0, None))]
    _close(vmap(vmap(lambda v: scaled(v, v)[0]))(X.reshape(3, 2, 1)), (X * X * 2).reshape(3, 2, 1))
    assert len(seen) == 3               # the rule is called for the inner batch, and its call for the outer one


def test_gradients_of_operators():
    @library.custom_op("tests_vmap::square", mutates_args=())
    def square(x: torch.Tensor) -> torch.Tensor:
        return x * x

    library.register_autograd(square._qualname, lambda ctx, g: 2 * g * ctx.saved_tensors[0],
                              setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    x = X.clone().requires_grad_()
    _close(torch.autograd.grad(vmap(square)(x).sum(), x)[0], 2 * X)
    square.register_vmap(lambda info, in_dims, x: (square(x), in_dims[0]))
    _close(torch.autograd.grad(vmap(square)(x).sum(), x)[0], 2 * X)
    _close(vmap(torch.func.grad(lambda v: square(v).sum()))(X), 2 * X)


def test_many_seeds_are_one_backward_pass():
    calls = []
    x = X[2].clone().requires_grad_()
    middle = x * 2
    middle.register_hook(lambda g: calls.append(tuple(g.shape)))
    (rows,) = torch.autograd.grad(middle ** 2, x, torch.eye(2, dtype=torch.float64), is_grads_batched=True)
    _close(rows, torch.diag(8 * X[2]))
    assert calls == [(2,)]              # once, with the shape of one gradient


def test_many_seeds_give_the_rows_of_single_ones():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv1d(1, 3, 2), nn.Tanh(), nn.Flatten(), nn.LayerNorm(9), nn.Linear(9, 4), nn.Softmax(-1)).double()
    x = torch.randn(2, 1, 4, dtype=torch.float64, requires_grad=True)
    out, inputs = model(x), (x, *model.parameters())
    seeds = torch.randn(5, *out.shape, dtype=torch.float64)
    together = torch.autograd.grad(out, inputs, seeds, retain_graph=True, create_graph=True, is_grads_batched=True)
    for k in range(5):
        alone = torch.autograd.grad(out, inputs, seeds[k], retain_graph=True)
        for rows, row in zip(together, alone):
            _close(rows[k], row)
    again = torch.autograd.grad(sum(g.square().sum() for g in together), x, retain_graph=True)[0]
    single = torch.autograd.grad(sum(g.square().sum() for k in range(5) for g in
                                     torch.autograd.grad(out, inputs, seeds[k], create_graph=True)), x)[0]
    _close(again, single)


def test_a_function_with_a_generated_rule_in_nested_transforms():
    """Reverse over forward mode: backward runs in another vmap, which has the level of the one that is over."""
    class Square(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

        @staticmethod
        def jvp(ctx, t):
            return t * 2 * ctx.saved_tensors[0]

    forward, reverse = torch.func.jacfwd, torch.func.jacrev
    for outer in (forward, reverse):
        for inner in (forward, reverse):
            got, want = outer(inner(lambda x: Square.apply(x).sin().sum())), outer(inner(lambda x: (x * x).sin().sum()))
            _close(got(X[0]), want(X[0]))
            _close(vmap(got)(X), vmap(want)(X))
