"""What all optimizers share: groups, states, hooks, closures."""

from __future__ import annotations

import copy
import importlib
import pickle

import pytest

from tests.support import close, exact, leaf, raises, warns


def with_grad(lib, values):
    p = leaf(lib, values)
    p.grad = lib.ones_like(p)
    return p


def test_step_changes_the_parameters_and_only_those_with_gradients(lib):
    a, b = with_grad(lib, [1.0, 2.0]), leaf(lib, [3.0])
    lib.optim.SGD([a, b], lr=0.5).step()
    assert exact(a, [0.5, 1.5])
    assert exact(b, [3.0])
    assert a._version == 1
    assert a.requires_grad
    assert a.is_leaf


def test_a_step_runs_without_recording_and_leaves_the_mode_as_it_was(lib):
    p = with_grad(lib, [1.0])
    optimizer = lib.optim.Adam([p])
    with lib.no_grad():
        optimizer.step()
        assert not lib.is_grad_enabled()
    optimizer.step()
    assert lib.is_grad_enabled()
    assert optimizer.state[p]["exp_avg"].grad_fn is None


def test_a_closure_is_run_with_recording_and_its_loss_returned(lib):
    p = leaf(lib, [2.0])
    optimizer = lib.optim.SGD([p], lr=0.1)

    def closure():
        optimizer.zero_grad()
        assert lib.is_grad_enabled()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with lib.no_grad():
        loss = optimizer.step(closure)
    assert loss.item() == 4.0
    assert close(p, [1.6])


def test_a_closure_that_raises_leaves_the_mode_as_it_was(lib):
    optimizer = lib.optim.SGD([with_grad(lib, [1.0])], lr=0.1)

    def closure():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        optimizer.step(closure)
    assert lib.is_grad_enabled()


def test_zero_grad_forgets_or_zeroes(lib):
    p = with_grad(lib, [1.0])
    grad = p.grad
    optimizer = lib.optim.SGD([p], lr=0.1)
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is grad
    assert exact(grad, [0.0])
    optimizer.zero_grad()
    assert p.grad is None


def test_zero_grad_cuts_gradients_that_have_a_graph(lib):
    p = leaf(lib, [1.0])
    (p ** 3).sum().backward(create_graph=True)
    assert p.grad.requires_grad
    lib.optim.SGD([p], lr=0.1).zero_grad(set_to_none=False)
    assert not p.grad.requires_grad
    assert exact(p.grad, [0.0])


def test_groups_have_options_of_their_own(lib):
    a, b = with_grad(lib, [1.0]), with_grad(lib, [1.0])
    optimizer = lib.optim.SGD([{"params": [a]}, {"params": b, "lr": 0.5}], lr=0.1)
    optimizer.step()
    assert close(a, [0.9])
    assert close(b, [0.5])
    c = with_grad(lib, [1.0])
    optimizer.add_param_group({"params": c, "lr": 1.0})
    optimizer.step()
    assert close(c, [0.0])
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.5, 1.0]
    assert optimizer.param_groups[2]["momentum"] == 0


def test_named_parameters(lib):
    a, b = with_grad(lib, [1.0]), with_grad(lib, [2.0])
    optimizer = lib.optim.SGD([("a", a), ("b", b)], lr=0.1)
    assert optimizer.param_groups[0]["param_names"] == ["a", "b"]
    assert optimizer.param_groups[0]["params"] == [a, b]
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["a", "b"]
    other = lib.optim.SGD([a, b], lr=0.1)
    other.load_state_dict(optimizer.state_dict())
    assert other.param_groups[0]["param_names"] == ["a", "b"]


def test_what_is_not_a_group_is_refused(lib):
    p = leaf(lib, [1.0])
    sgd = lambda params: lib.optim.SGD(params, lr=0.1)
    with raises(lib, TypeError, "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                                "torch.FloatTensor"):
        sgd(p)
    with raises(lib, ValueError, "optimizer got an empty parameter list"):
        sgd([])
    with raises(lib, TypeError, "optimizer can only optimize Tensors, but one of the params is int"):
        sgd([3])
    with raises(lib, ValueError, "can't optimize a non-leaf Tensor"):
        sgd([p * 2])
    with raises(lib, TypeError, "optimizer parameters need to be organized in ordered collections, but the ordering of tensors "
                                "in sets will change between runs. Please use a list instead."):
        sgd([{"params": {p}}])
    with raises(lib, TypeError, "param_group must be a dict, but got <class 'list'>"):
        sgd([p]).add_param_group([p])
    with raises(lib, ValueError, "some parameters appear in more than one parameter group"):
        sgd([{"params": p}, {"params": p}])
    with raises(lib, ValueError, "all optimizer params should be with/without names. Some param names are missing"):
        sgd([("a", p), leaf(lib, [1.0])])
    with raises(lib, ValueError, "all optimizer param groups should be with/without names. cannot add param group without names "
                                 "to the optimizer"):
        sgd([("a", p)]).add_param_group({"params": leaf(lib, [1.0])})
    with raises(lib, ValueError, "parameter group didn't specify a value of required optimization parameter lr"):
        required = importlib.import_module(f"{lib.__name__}.optim.optimizer").required
        lib.optim.Optimizer([p], {"lr": required})
    with warns(lib, "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see "
                    "github.com/pytorch/pytorch/issues/40967 for more information"):
        sgd([p, p])


def test_repr(lib):
    optimizer = lib.optim.SGD([{"params": leaf(lib, [1.0]), "lr": 0.5}, {"params": leaf(lib, [1.0])}], lr=0.1)
    assert repr(optimizer) == """SGD (
Parameter Group 0
    dampening: 0
    differentiable: False
    foreach: None
    fused: None
    lr: 0.5
    maximize: False
    momentum: 0
    nesterov: False
    weight_decay: 0

Parameter Group 1
    dampening: 0
    differentiable: False
    foreach: None
    fused: None
    lr: 0.1
    maximize: False
    momentum: 0
    nesterov: False
    weight_decay: 0
)"""


def test_state_dict_names_parameters_by_place_and_loads_again(lib):
    a, b = with_grad(lib, [1.0, 2.0]), with_grad(lib, [3.0])
    optimizer = lib.optim.Adam([{"params": [a], "lr": 0.1}, {"params": [b]}])
    optimizer.step()
    saved = optimizer.state_dict()
    assert list(saved) == ["state", "param_groups"]
    assert [group["params"] for group in saved["param_groups"]] == [[0], [1]]
    assert list(saved["state"]) == [0, 1]
    assert list(saved["state"][0]) == ["step", "exp_avg", "exp_avg_sq"]
    assert saved["state"][0]["step"].dtype is lib.float32
    assert saved["state"][0]["exp_avg"] is optimizer.state[a]["exp_avg"]
    x, y = with_grad(lib, [1.0, 2.0]), with_grad(lib, [3.0])
    other = lib.optim.Adam([{"params": [x]}, {"params": [y]}])
    other.load_state_dict(copy.deepcopy(saved))
    assert other.param_groups[0]["lr"] == 0.1
    for p, q in ((a, x), (b, y)):
        q.data.copy_(p.data)
    optimizer.step()
    other.step()
    assert exact(x, a.tolist())
    assert exact(y, b.tolist())


def test_loading_casts_to_the_parameter_but_not_the_count(lib):
    p, q = with_grad(lib, [1.0]), lib.tensor([1.0], dtype=lib.float64, requires_grad=True)
    optimizer, other = lib.optim.Adam([p]), lib.optim.Adam([q])
    optimizer.step()
    other.load_state_dict(optimizer.state_dict())
    assert other.state[q]["exp_avg"].dtype is lib.float64
    assert other.state[q]["step"].dtype is lib.float32


def test_loading_what_does_not_fit_is_refused(lib):
    a, b = leaf(lib, [1.0]), leaf(lib, [1.0])
    one, two = lib.optim.SGD([a], lr=0.1), lib.optim.SGD([{"params": a}, {"params": b}], lr=0.1)
    with raises(lib, ValueError, "loaded state dict has a different number of parameter groups"):
        one.load_state_dict(two.state_dict())
    with raises(lib, ValueError, "loaded state dict contains a parameter group that doesn't match the size of optimizer's "
                                 "group"):
        one.load_state_dict(lib.optim.SGD([a, b], lr=0.1).state_dict())


def test_checkpoints_of_old_hold_counts_as_numbers(lib):
    p = with_grad(lib, [1.0])
    optimizer = lib.optim.Adam([p])
    optimizer.step()
    saved = optimizer.state_dict()
    saved["state"][0]["step"] = 7
    del saved["param_groups"][0]["maximize"]
    optimizer.load_state_dict(saved)
    assert optimizer.state[p]["step"].item() == 7.0
    assert optimizer.param_groups[0]["maximize"] is False


def test_copies_and_pickles(lib):
    p = with_grad(lib, [1.0])
    optimizer = lib.optim.Adam([p], lr=0.1)
    optimizer.step()
    for other in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        q = other.param_groups[0]["params"][0]
        assert q is not p
        assert exact(other.state[q]["exp_avg"], optimizer.state[p]["exp_avg"].tolist())
        q.grad = lib.ones(1)
        other.step()
        assert other.state[q]["step"].item() == 2.0
    assert optimizer.state[p]["step"].item() == 1.0


def test_step_hooks_run_around_steps_and_may_change_the_arguments(lib):
    calls = []
    p = with_grad(lib, [1.0])
    optimizer = lib.optim.SGD([p], lr=0.1)
    of_all = importlib.import_module(f"{lib.__name__}.optim.optimizer")

    def before(o, args, kwargs):
        calls.append(("before", o is optimizer, len(args), kwargs))
        return (args[0], lambda: 42), kwargs

    handles = [optimizer.register_step_pre_hook(before),
               optimizer.register_step_post_hook(lambda o, args, kwargs: calls.append(("after", len(args)))),
               of_all.register_optimizer_step_pre_hook(lambda o, a, k: calls.append("first")),
               of_all.register_optimizer_step_post_hook(lambda o, a, k: calls.append("last"))]
    assert optimizer.step() == 42
    assert calls == ["first", ("before", True, 1, {}), ("after", 2), "last"]
    for handle in handles:
        handle.remove()
    assert optimizer.step() is None
    assert len(calls) == 4


def test_hooks_of_saving_and_loading(lib):
    p = leaf(lib, [1.0])
    optimizer = lib.optim.SGD([p], lr=0.1)
    calls = []
    optimizer.register_state_dict_pre_hook(lambda o: calls.append("pre"))
    optimizer.register_state_dict_pre_hook(lambda o: calls.append("earlier"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
    saved = optimizer.state_dict()
    assert calls == ["earlier", "pre"]
    assert saved["more"] == 1

    def other_rate(o, state):
        state["param_groups"] = [{**state["param_groups"][0], "lr": 5.0}]

    optimizer.register_load_state_dict_pre_hook(other_rate)
    optimizer.register_load_state_dict_post_hook(lambda o: calls.append(o.param_groups[0]["lr"]))
    optimizer.load_state_dict(saved)
    assert calls[-1] == 5.0
    assert saved["param_groups"][0]["lr"] == 0.1


def test_a_subclass_of_ones_own(lib):
    class Half(lib.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"by": 0.5})

        @lib.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    p.mul_(group["by"])
                    self.state[p]["steps"] = self.state[p].get("steps", 0) + 1

    p = leaf(lib, [8.0])
    optimizer = Half([p])
    seen = []
    optimizer.register_step_post_hook(lambda *a: seen.append(1))
    optimizer.step()
    optimizer.step()
    assert exact(p, [2.0])
    assert optimizer.state[p]["steps"] == 2
    assert seen == [1, 1]
    with raises(lib, NotImplementedError, ""):
        lib.optim.Optimizer([p], {}).step()


def test_other_parameters_for_a_while(lib):
    p, q = with_grad(lib, [1.0]), with_grad(lib, [5.0])
    optimizer = lib.optim.Adam([p], lr=0.1)
    optimizer.step()
    was = p.item()
    saved = copy.deepcopy(optimizer.state_dict())
    with lib.optim.swap_in_optimizer_params_and_state(optimizer, {"q": q}, saved):
        optimizer.step()
    assert q.item() != 5.0
    assert p.item() == was
    assert optimizer.state[p]["step"].item() == 1.0
    assert saved["state"][0]["step"].item() == 2.0
    swap = lib.optim.swap_in_optimizer_params_and_state(optimizer, {}, {"state": {}, "param_groups": []})
    with raises(lib, RuntimeError, "swapin_optim_state has a different number of parameter groups than the live optimizer."):
        swap.__enter__()


# Gradients of the forward that was, whatever the optimizer did since

def test_a_step_between_two_backwards_does_not_change_the_second(lib):
    w = leaf(lib, [2.0, 3.0])
    optimizer = lib.optim.SGD([w], lr=0.1)
    loss = (w * w).sum()
    loss.backward(retain_graph=True)
    optimizer.step()
    optimizer.zero_grad()
    if lib.__name__ == "torch":
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()
    else:
        loss.backward()
        assert close(w.grad, [4.0, 6.0])


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_differentiating_through_a_step(lib, name):
    x = leaf(lib, [1.0, -2.0], dtype=lib.float64)
    scale = leaf(lib, 0.7, dtype=lib.float64)

    def stepped(scale):
        p = (x * scale).clone()
        p.retain_grad()
        p.grad = x.detach() * 3.0 * scale ** 2
        optimizer = getattr(lib.optim, name)([p], lr=0.1, differentiable=True)
        optimizer.step()
        optimizer.step()
        return (p * p).sum()

    grad, = lib.autograd.grad(stepped(scale), scale)
    h = 1e-6
    up, down = stepped(leaf(lib, 0.7 + h, dtype=lib.float64)), stepped(leaf(lib, 0.7 - h, dtype=lib.float64))
    numeric = (up.item() - down.item()) / (2 * h)
    assert abs(grad.item() - numeric) < 1e-5 * max(1, abs(numeric))


def test_zero_grad_asks_parameters_that_stand_for_others(lib):
    class Standing(lib.nn.Parameter):
        """Stands for another parameter, as those of manifolds do: the gradient that is asked for is the other's."""

        def __new__(cls, inner):
            return super().__new__(cls, lib.empty(0))

        def __init__(self, inner):
            self.inner = inner

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func(*(x.inner if isinstance(x, Standing) else x for x in args), **(kwargs or {}))

    inner = lib.nn.Parameter(lib.ones(2))
    optimizer = lib.optim.SGD([Standing(inner)], 0.1)
    inner.sum().backward()
    assert inner.grad is not None
    optimizer.zero_grad()
    assert inner.grad is None
