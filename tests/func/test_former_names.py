"""What functorch had before `torch.func`: modules as functions of tuples, and the parts of `vmap` that packages replace."""
from __future__ import annotations

import pytest
from claygrad._functorch import vmap as parts

import claygrad
from claygrad import nn
from claygrad.compat.functorch import combine_state_for_ensemble, make_functional, make_functional_with_buffers
from claygrad.compat.functorch import compile as compilers
from claygrad.compat.functorch.experimental import chunk_vmap
from claygrad.func import functionalize, grad, vmap
from tests.support import fresh


def test_a_module_is_a_function_of_a_copy_of_its_parameters():
    layer, x = nn.Linear(3, 2), claygrad.randn(4, 3)
    function, params = make_functional(layer)
    assert claygrad.equal(function(params, x), layer(x))
    assert all(p.requires_grad and p is not q for p, q in zip(params, layer.parameters()))
    assert {p.device.type for p in function.parameters()} == {"meta"}
    layer(x).pow(2).sum().backward()
    found = grad(lambda given: function(given, x).pow(2).sum())(params)
    assert all(claygrad.allclose(g, q.grad) for g, q in zip(found, layer.parameters()))
    with pytest.raises(RuntimeError, match="has buffers"):
        make_functional(nn.BatchNorm1d(3))


def test_a_shared_parameter_is_given_once():
    layer = nn.Linear(2, 2)
    twice = nn.Sequential(layer, layer)
    function, params = make_functional(twice, disable_autograd_tracking=True)
    assert len(params) == 2
    assert not any(p.requires_grad for p in params)
    assert claygrad.equal(function(params, claygrad.ones(2)), twice(claygrad.ones(2)))


def test_buffers_are_given_and_written():
    x = claygrad.randn(8, 3)
    function, params, buffers = make_functional_with_buffers(nn.BatchNorm1d(3))
    function(params, buffers, x)
    assert claygrad.allclose(buffers[0], 0.1 * x.mean(0))
    assert buffers[2].item() == 1


def test_several_models_are_one_function_under_vmap():
    x = claygrad.randn(8, 3)
    models = [nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)) for _ in range(5)]
    function, params, buffers = combine_state_for_ensemble(models)
    for p in params:
        p.requires_grad_()
    out = vmap(function, (0, 0, None))(params, buffers, x)
    assert claygrad.allclose(out, claygrad.stack([model(x) for model in models]), atol=1e-6)
    out.sum().backward()
    assert params[0].grad.shape == (5, 4, 3)
    for wrong, text in (([], "at least one model"), ([nn.Tanh(), nn.ReLU()], "same class"),
                        ([nn.Tanh(), nn.Tanh().eval()], "training/eval")):
        with pytest.raises(RuntimeError, match=text):
            combine_state_for_ensemble(wrong)


def test_chunks_and_compilers_leave_results_as_they_are():
    x = claygrad.randn(7, 3)
    assert claygrad.equal(chunk_vmap(claygrad.sum, chunks=3)(x), vmap(claygrad.sum)(x))
    assert claygrad.equal(compilers.memory_efficient_fusion(claygrad.sin)(x), x.sin())
    assert compilers.make_boxed_compiler(compilers.nop)(claygrad.add, ())([x, x]).equal(x + x)
    zero = claygrad.zeros(2)
    functionalize(lambda given: given.add_(1))(zero)
    assert zero.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="received invalid argument for remove=views"):
        functionalize(abs, remove="views")


class Box:
    """A container that is no tensor and no node of a tree."""

    def __init__(self, held):
        self.held = held


def test_packages_can_teach_vmap_their_containers(monkeypatch):
    process, create, unwrap = parts._process_batched_inputs, parts._create_batched_inputs, parts._unwrap_batched

    def processed(in_dims, args, func):
        _, dims, given, spec = process(in_dims, tuple(x.held if isinstance(x, Box) else x for x in args), func)
        return given[0].size(dims[0]), dims, list(args), spec

    def created(dims, given, level, spec):
        made = create(dims, [x.held if isinstance(x, Box) else x for x in given], level, spec)
        return [Box(made[0]), *made[1:]]

    monkeypatch.setattr(parts, "_process_batched_inputs", processed)
    monkeypatch.setattr(parts, "_create_batched_inputs", created)
    monkeypatch.setattr(parts, "_unwrap_batched", lambda out, *rest: Box(unwrap(out.held, *rest)))
    x = claygrad.randn(4, 3)
    out = vmap(lambda box, w: Box(box.held @ w), in_dims=(0, None))(Box(x), claygrad.ones(3))
    assert claygrad.allclose(out.held, x.sum(1))


def test_what_inner_functions_say_of_tensors_under_vmap():
    inner = claygrad._C._functorch
    seen = []

    def look(x):
        seen.append((inner.is_batchedtensor(x), inner.maybe_get_level(x), inner.maybe_get_bdim(x), inner.get_unwrapped(x).shape))
        return inner._remove_batch_dim(x, inner.current_level(), 2, 1)

    out = vmap(look)(claygrad.zeros(2, 3))
    assert out.shape == (2, 3, 2)
    assert seen == [(True, 1, 0, (2, 3))]
    plain = claygrad.ones(1)
    assert (inner.is_batchedtensor(plain), inner.maybe_get_level(plain), inner.maybe_get_bdim(plain)) == (False, -1, -1)
    with pytest.raises(RuntimeError, match="No wrappers present!"):
        inner.get_unwrapped(plain)


def test_the_module_of_vmap_is_found_after_the_one_that_names_it():
    program = """
        import claygrad.compat.answers._functorch.vmap
        from claygrad._functorch import vmap
        import claygrad._functorch.vmap as same
        from claygrad.func import _vmap
        print(vmap is _vmap, same is _vmap)
    """
    assert fresh(claygrad, program).strip() == "True True"
