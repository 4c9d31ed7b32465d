"""vmap: axes, structures, chunks, randomness, nesting, derivatives, modules, Functions, and what it refuses."""
import pytest

import claygrad as torch
from claygrad import nn
from claygrad.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, stack_module_state, vjp, vmap

torch.manual_seed(0)
X, W = torch.randn(4, 3, dtype=torch.float64), torch.randn(5, 3, dtype=torch.float64)


def _close(a, b):
    assert a.shape == b.shape
    assert a.dtype == b.dtype
    assert torch.allclose(a, b, rtol=1e-9, atol=1e-12)


def test_axes_of_inputs_and_outputs():
    _close(vmap(lambda a, b: a * b.sum(), in_dims=(1, 0), out_dims=1)(X.t(), X), X.t() * X.sum(1))
    _close(vmap(lambda a, b: a + b, in_dims=(-1, None), out_dims=-1)(X, X[:, 0]), X + X[:, :1])
    out = vmap(lambda p: {"a": p["x"] * 2, "b": (p["x"].sum(),)}, in_dims=({"x": 0, "y": None},),
               out_dims={"a": 1, "b": (0,)})({"x": X, "y": 3})
    _close(out["a"], X.t() * 2)
    _close(out["b"][0], X.sum(1))
    _close(vmap(lambda a: torch.ones(2), in_dims=0)(X), torch.ones(4, 2))
    _one, two = vmap(lambda a: (a, 7), out_dims=(0, None))(X)
    assert two == 7


@pytest.mark.parametrize("chunk", [1, 3, 4, 9])
def test_chunks(chunk):
    _close(vmap(lambda a: (W @ a).tanh(), chunk_size=chunk)(X), (X @ W.t()).tanh())
    _close(vmap(lambda a: a * 2, in_dims=1, out_dims=1, chunk_size=chunk)(X), X * 2)


def test_nested():
    both = vmap(vmap(lambda a, b: a * b + W.sum(), in_dims=(None, 0)), in_dims=(0, None))(X[:, 0], X[:, 1])
    _close(both, X[:, 0, None] * X[None, :, 1] + W.sum())
    _close(vmap(lambda row: vmap(lambda a: a * row.sum())(row))(X), X * X.sum(1, keepdim=True))


def test_derivatives_of_every_example():
    def f(w, a):
        return (w @ a).tanh().sum()

    _close(vmap(grad(f), (None, 0))(W, X), torch.stack([grad(f)(W, a) for a in X]))
    g = lambda a: (W @ a).sin()
    _close(vmap(jacrev(g))(X), torch.stack([jacrev(g)(a) for a in X]))
    _close(vmap(jacfwd(g))(X), torch.stack([jacrev(g)(a) for a in X]))
    h = lambda a: (W @ a).sin().prod()
    _close(vmap(hessian(h))(X), torch.stack([hessian(h)(a) for a in X]))
    _close(jacrev(vmap(h))(X), torch.stack([torch.stack([grad(h)(a) if i == k else torch.zeros_like(a)
                                                         for k, a in enumerate(X)]) for i in range(4)]))
    _close(jacfwd(vmap(h))(X), jacrev(vmap(h))(X))
    out, pushed = vmap(lambda a, t: jvp(g, (a,), (t,)))(X, X.flip(0))
    _close(out, torch.stack([g(a) for a in X]))
    _close(pushed, torch.stack([jvp(g, (a,), (t,))[1] for a, t in zip(X, X.flip(0), strict=True)]))
    _, pull = vjp(g, X[0])
    _close(vmap(pull)(torch.eye(5, dtype=torch.float64))[0], jacrev(g)(X[0]))


@pytest.mark.parametrize("layer", [nn.Linear(3, 4), nn.Linear(3, 4, bias=False), nn.Conv1d(3, 4, 1),
                                   nn.LayerNorm(3)], ids=lambda layer: type(layer).__name__)
def test_gradients_of_every_example_are_contiguous(layer):
    """People flatten them with `view`, to clip or to compare them."""
    parameters = dict(layer.named_parameters())

    def loss(parameters, x):
        x = x[None, :, None] if isinstance(layer, nn.Conv1d) else x[None]
        return functional_call(layer, parameters, (x,)).sum()

    made = vmap(grad(loss), (None, 0))(parameters, torch.randn(5, 3))
    for name, gradient in made.items():
        assert gradient.shape == (5, *parameters[name].shape)
        assert gradient.view(5, -1).is_contiguous()


def test_gradients_through_it():
    w = W.clone().requires_grad_()
    x = X.clone().requires_grad_()
    vmap(lambda a: (w @ a).tanh())(x).square().sum().backward()
    v, y = W.clone().requires_grad_(), X.clone().requires_grad_()
    (y @ v.t()).tanh().square().sum().backward()
    _close(w.grad, v.grad)
    _close(x.grad, y.grad)
    assert not vmap(lambda a: a.detach() * 2)(x).requires_grad


def test_writes():
    def f(a):
        z = torch.zeros_like(a)
        z[0] = a[1]
        z[1:] += a[:-1] * 2
        z.mul_(a)
        return z

    _close(vmap(f)(X), torch.stack([f(a) for a in X]))
    _close(vmap(grad(lambda a: f(a).sum()))(X), torch.stack([grad(lambda a: f(a).sum())(a) for a in X]))
    x = X.clone()
    vmap(lambda a: a.add_(1))(x)
    _close(x, X + 1)
    with pytest.raises(RuntimeError, match=r"vmap: aten::add_.*is not possible because there exists a Tensor `other`"):
        vmap(lambda a: torch.zeros(3, dtype=torch.float64).add_(a))(X)


def test_ensembles_of_modules():
    models = [nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                            nn.Linear(64, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3)).double() for _ in range(3)]
    for model in models:
        model.eval()
        nn.init.normal_(model[1].running_mean)
    state = stack_module_state(models)
    x = torch.randn(2, 1, 8, 8, dtype=torch.float64)
    out = vmap(lambda p, b, x: functional_call(models[0], (p, b), (x,)), in_dims=(0, 0, None))(*state, x)
    _close(out, torch.stack([model(x) for model in models]))

    target = torch.tensor([0, 2])
    params = {name: p.detach() for name, p in models[0].named_parameters()}
    buffers = dict(models[0].named_buffers())

    def loss(p, one, label):
        return nn.functional.cross_entropy(functional_call(models[0], (p, buffers), (one[None],)), label[None])

    each = vmap(grad(loss), in_dims=(None, 0, 0))(params, x, target)
    for name in params:
        _close(each[name], torch.stack([grad(loss)(params, x[i], target[i])[name] for i in range(2)]))


def test_randomness():
    with pytest.raises(RuntimeError, match="vmap: called random operation while in randomness error mode"):
        vmap(lambda a: a + torch.randn(3))(X)
    same = vmap(lambda a: torch.rand(3), randomness="same")(X)
    assert (same == same[0]).all()
    different = vmap(lambda a: torch.rand(3), randomness="different")(X)
    assert different.shape == (4, 3)
    assert different.unique().numel() == 12
    torch.manual_seed(3)
    drawn = vmap(lambda a: torch.randn(3), randomness="different")(X)
    torch.manual_seed(3)
    assert drawn.equal(torch.randn(4, 3))
    ones = torch.ones(4, 100)
    kept = vmap(nn.functional.dropout, randomness="same")(ones)
    assert (kept == kept[0]).all()
    assert 0 < int((kept == 0).sum()) < 400
    assert not (vmap(nn.functional.dropout, randomness="different")(ones)[0] == kept[0]).all()
    assert vmap(torch.bernoulli, randomness="different")(torch.full((4, 50), 0.5)).unique(dim=0).shape[0] == 4


class Cube(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, w):
        return x ** 3 * w

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return 3 * x ** 2 * w * g, (x ** 3 * g).sum_to_size(w.shape)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2

    @staticmethod
    def vmap(info, in_dims, x):
        assert info.batch_size == 4
        assert info.randomness == "error"
        assert in_dims == (0,)
        return Doubled.apply(x.movedim(0, 1)), 1


def test_custom_functions():
    w = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    _close(vmap(Cube.apply, in_dims=(0, None))(X, w), X ** 3 * w)
    f = lambda x, w: Cube.apply(x, w).sum()
    _close(vmap(grad(f), in_dims=(0, None))(X, w), 3 * X ** 2 * w)
    shared = w.clone().requires_grad_()
    vmap(Cube.apply, in_dims=(0, None))(X, shared).sum().backward()
    _close(shared.grad, (X ** 3).sum(0))
    _close(vmap(Doubled.apply)(X), X * 2)

    class Without(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

    with pytest.raises(RuntimeError, match="You tried to vmap over Without, but it does not have vmap support"):
        vmap(Without.apply)(X)


def test_what_depends_on_values_is_refused():
    with pytest.raises(RuntimeError, match="data-dependent control flow"):
        vmap(lambda a: a if a.sum() > 0 else -a)(X)
    with pytest.raises(RuntimeError, match=r"calling \.item\(\) on a Tensor"):
        vmap(lambda a: a.sum().item())(X)
    with pytest.raises(RuntimeError, match="dynamic shape"):
        vmap(torch.nonzero)(X)
    with pytest.raises(RuntimeError, match="data-dependent"):
        vmap(lambda a: a[a > 0])(X)


def test_dtypes_as_for_one_example():
    x, s = torch.randn(4, 3), torch.randn(4, dtype=torch.float64)
    assert vmap(lambda a, b: a * b)(x, s).dtype == torch.float32
    assert vmap(lambda a, b: a + b)(torch.ones(4, 3, dtype=torch.int8), torch.arange(4)).dtype == torch.int8
    assert vmap(lambda a, b: a + b)(torch.arange(4), x).dtype == torch.float32


def test_empty_batch():
    assert vmap(lambda a: (a.sin() @ W.t()).sum())(X[:0]).shape == (0,)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="got no inputs"):
        vmap(torch.sin)()
    with pytest.raises(ValueError, match="in_dims is not compatible with the structure of `inputs`"):
        vmap(torch.add, in_dims=(0, 0, 0))(X, X)
    with pytest.raises(ValueError, match="Expected all tensors to have the same size in the mapped dimension"):
        vmap(torch.add)(X, W)
    with pytest.raises(ValueError, match="must only return Tensors, got type"):
        vmap(lambda a: 3)(X)
    with pytest.raises(ValueError, match="expected in_dim to satisfy -2 <= in_dim < 2"):
        vmap(torch.sin, in_dims=2)(X)
    with pytest.raises(RuntimeError, match="Only allowed values for randomness"):
        vmap(torch.sin, randomness="some")


def test_batch_norms_without_statistics():
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    assert torch.func.replace_all_batch_norm_modules_(model) is model
    assert model[1].running_mean is None
    assert model[1].num_batches_tracked is None
    assert not model[1].track_running_stats
    assert vmap(model)(torch.randn(2, 4, 3)).shape == (2, 4, 3)


@pytest.mark.parametrize("function", [
    lambda x: ((x[1:] - x[:-1]) * (x[1:] - x[:-1])).sum(), lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum(),
    lambda x: (x * x * x).sum() + (x.flip(0) * x).sum(), lambda x: (x + x.sin() + x).pow(3).sum()])
def test_gradients_that_meet_in_one_place_are_added_to_none_but_their_own(function):
    x = torch.arange(1.0, 5.0, dtype=torch.float64, requires_grad=True)
    slope = torch.autograd.grad(function(x), x, create_graph=True)[0]

    def product(v):
        return torch.autograd.grad(slope, x, v, retain_graph=True)[0]

    rows = torch.eye(4, dtype=torch.float64)
    one_by_one = torch.stack([product(row) for row in rows])
    assert torch.allclose(torch.vmap(product)(rows), one_by_one)
    assert torch.allclose(torch.autograd.grad(slope, x, rows, retain_graph=True, is_grads_batched=True)[0], one_by_one)
    assert torch.allclose(torch.func.hessian(function)(x.detach()), one_by_one)
    assert torch.allclose(torch.autograd.functional.hessian(function, x.detach(), vectorize=True), one_by_one)
