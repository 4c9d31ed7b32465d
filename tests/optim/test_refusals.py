"""Options that optimizers refuse, in torch's words."""

from __future__ import annotations

import importlib

import pytest

from tests.support import leaf, raises

BETAS = [({"betas": (1.5, 0.9)}, "Invalid beta parameter at index 0: 1.5"),
         ({"betas": (0.5, -0.1)}, "Invalid beta parameter at index 1: -0.1")]
RATE = [({"lr": -0.1}, "Invalid learning rate: -0.1")]
DECAY = [({"weight_decay": -1}, "Invalid weight_decay value: -1")]
EPS = [({"eps": -1e-3}, "Invalid epsilon value: -0.001")]

CASES = {
    "SGD": [*RATE, *DECAY, ({"momentum": -1}, "Invalid momentum value: -1"),
            ({"nesterov": True}, "Nesterov momentum requires a momentum and zero dampening"),
            ({"nesterov": True, "momentum": 0.9, "dampening": 0.1},
             "Nesterov momentum requires a momentum and zero dampening")],
    "Adam": [*RATE, *DECAY, *EPS, *BETAS, ({"betas": (0, 0.9)}, "betas must be either both floats or both Tensors")],
    "AdamW": [*RATE, *DECAY, *EPS, *BETAS],
    "Adamax": [*RATE, *DECAY, *EPS, *BETAS],
    "NAdam": [*RATE, *DECAY, *EPS, *BETAS, ({"momentum_decay": -1}, "Invalid momentum_decay value: -1")],
    "RAdam": [*RATE, *DECAY, *EPS, *BETAS],
    "Adagrad": [*RATE, *DECAY, *EPS, ({"lr_decay": -1}, "Invalid lr_decay value: -1"),
                ({"initial_accumulator_value": -1}, "Invalid initial_accumulator_value value: -1")],
    "Adadelta": [*RATE, *DECAY, *EPS, ({"rho": 2}, "Invalid rho value: 2")],
    "RMSprop": [*RATE, *DECAY, *EPS, ({"momentum": -1}, "Invalid momentum value: -1"),
                ({"alpha": -1}, "Invalid alpha value: -1")],
    "Rprop": [*RATE, ({"etas": (1.5, 2.0)}, "Invalid eta values: 1.5, 2.0")],
    "ASGD": [*RATE, *DECAY],
    "LBFGS": RATE,
    "SparseAdam": [({"lr": 0.0}, "Invalid learning rate: 0.0"), ({"eps": 0.0}, "Invalid epsilon value: 0.0"), *BETAS],
    "Adafactor": [({"lr": -1}, "Learning rate should be >= 0 but is: -1"),
                  ({"beta2_decay": 1}, "beta2_decay should be <= 0 but is: 1"),
                  ({"eps": (-1, 1)}, "epsilon1 should be >= 0 but is: -1"),
                  ({"eps": (None, -1)}, "epsilon2 should be >= 0 but is: -1"),
                  ({"d": 0.5}, "Clipping threshold d should be >= 1 but is: 0.5"),
                  ({"weight_decay": -1}, "weight_decay should be >= 0 but is: -1")],
    "Muon": [({"lr": -1}, "Learning rate should be >= 0 but is: -1"),
             ({"momentum": -1}, "momentum should be >= 0 but is: -1"),
             ({"weight_decay": -1}, "weight decay should be >= 0 but is: -1"),
             ({"adjust_lr_fn": "x"}, "Adjust learning rate function x is not supported")],
}


@pytest.mark.parametrize("name", CASES)
def test_options_out_of_range(lib, name):
    p = leaf(lib, [[1.0]])
    for options, text in CASES[name]:
        with raises(lib, ValueError, text):
            getattr(lib.optim, name)([p], **options)
    with raises(lib, ValueError, "Tensor lr must be 1-element"):
        getattr(lib.optim, name)([p], lr=lib.ones(2))


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_fused_stands_alone(lib, name):
    p = leaf(lib, [1.0])
    make = getattr(lib.optim, name)
    with raises(lib, RuntimeError, "`fused` does not support `differentiable`"):
        make([p], lr=0.1, fused=True, differentiable=True)
    with raises(lib, RuntimeError, "`fused` and `foreach` cannot be `True` together."):
        make([p], lr=0.1, fused=True, foreach=True)
    c = lib.ones(1, dtype=lib.complex64, requires_grad=True)
    c.grad = lib.ones_like(c)
    with raises(lib, RuntimeError, "`fused=True` requires all the params to be floating point Tensors of supported devices: "
                                   "['mps', 'cuda', 'xpu', 'hpu', 'cpu', 'mtia', 'privateuseone'] but torch.complex64 and "
                                   "cpu"):
        make([c], lr=0.1, fused=True).step()


SUPPORTED = "must be on supported devices: ['cuda', 'xpu', 'hpu', 'privateuseone'"
ALL, FEW = SUPPORTED + ", 'xla'].", SUPPORTED + "]."
CAPTURABLE = {
    "Adam": ("params and state_steps " + ALL, "params and state_steps " + FEW),
    "AdamW": ("params and state_steps " + ALL, "params and state_steps " + FEW),
    "Adamax": ("params and state_steps " + ALL, "params and state_steps " + FEW),
    "NAdam": ("params, mu_products and state_steps " + ALL, "params, mu_products, and state_steps " + FEW),
    "RAdam": ("params and state_steps " + ALL, "params and state_steps " + FEW),
    "Adadelta": ("params and state_steps " + FEW, "params and state_steps " + FEW),
    "RMSprop": ("params and state_steps " + ALL, "params and state_steps " + ALL),
    "Rprop": ("params and state_steps " + ALL, "params and state_steps " + ALL),
    "ASGD": ("params, mus, etas, and state_steps " + ALL, "params, mus, etas, and state_steps " + FEW),
}


@pytest.mark.parametrize("name", CAPTURABLE)
def test_graphs_of_a_gpu_cannot_be_captured_on_a_cpu(lib, name):
    p = leaf(lib, [1.0])
    p.grad = lib.ones(1)
    for foreach, text in zip((False, True), CAPTURABLE[name], strict=True):
        with raises(lib, AssertionError, "If capturable=True, " + text):
            getattr(lib.optim, name)([p], lr=0.1, capturable=True, foreach=foreach).step()


@pytest.mark.parametrize("name", ["Adam", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "RMSprop", "Rprop", "ASGD"])
def test_foreach_cannot_be_differentiated(lib, name):
    p = leaf(lib, [1.0])
    p.grad = lib.ones(1)
    with raises(lib, AssertionError, "_foreach ops don't support autograd"):
        getattr(lib.optim, name)([p], lr=0.1, foreach=True, differentiable=True).step()


def test_tensors_as_rates_where_adam_takes_none(lib):
    p = leaf(lib, [1.0])
    with raises(lib, ValueError, "lr as a Tensor is not supported for capturable=False and foreach=True"):
        lib.optim.Adam([p], lr=lib.tensor(0.1), foreach=True)
    with raises(lib, ValueError, "betas[0] as a Tensor is not supported for capturable=False and foreach=True"):
        lib.optim.Adam([p], betas=(lib.tensor(0.1), lib.tensor(0.2)), foreach=True)


def test_what_some_optimizers_cannot_take(lib):
    vector, square = leaf(lib, [1.0]), leaf(lib, [[1.0]])
    with raises(lib, ValueError, "Muon only supports 2D parameters whereas we found a parameter with size: torch.Size([1])"):
        lib.optim.Muon([vector])
    with raises(lib, ValueError, "LBFGS doesn't support per-parameter options (parameter groups)"):
        lib.optim.LBFGS([{"params": vector}, {"params": square}])
    vector.grad = lib.ones(1)
    with raises(lib, RuntimeError, "SparseAdam does not support dense gradients, please consider Adam instead"):
        lib.optim.SparseAdam([vector]).step()
    c = lib.ones(1, 1, dtype=lib.complex64, requires_grad=True)
    c.grad = lib.ones_like(c)
    sparse = lib.zeros(3, layout=lib.sparse_coo)
    with raises(lib, ValueError, "Sparse params at indices [[1, 0]]: SparseAdam requires dense parameter tensors"):
        lib.optim.SparseAdam([{"params": [vector]}, {"params": [sparse]}])
    with raises(lib, ValueError, "Complex params at indices [[0, 0]]: SparseAdam does not support complex parameters"):
        lib.optim.SparseAdam([c])
    with raises(lib, RuntimeError, "Adafactor does not support complex parameters"):
        lib.optim.Adafactor([c]).step()
    with raises(lib, RuntimeError, "Muon does not support complex parameters"):
        lib.optim.Muon([c]).step()
    with raises(lib, RuntimeError, "only 'strong_wolfe' is supported"):
        optimizer = lib.optim.LBFGS([vector], line_search_fn="armijo")

        def closure():
            vector.grad = lib.ones(1)
            return lib.tensor(1.0)

        optimizer.step(closure)


def test_the_functions_want_counts_as_tensors(lib):
    adam = importlib.import_module(f"{lib.__name__}.optim.adam").adam
    p = lib.ones(1)
    with raises(lib, RuntimeError, "API has changed, `state_steps` argument must contain a list of singleton tensors"):
        adam([p], [p], [p], [p], [], [1], amsgrad=False, beta1=0.9, beta2=0.99, lr=0.1, weight_decay=0.0, eps=1e-8,
             maximize=False)
