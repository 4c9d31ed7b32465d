"""The compiled steps against the tensor operations that say what they mean; and what they must leave alone."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import claygrad
from claygrad.native import optim as optimize

CASES = [
    ("SGD", {}), ("SGD", {"momentum": 0.9}), ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"momentum": 0.5, "dampening": 0.3, "maximize": True}),
    ("Adam", {}), ("Adam", {"amsgrad": True}), ("Adam", {"weight_decay": 0.1, "maximize": True}),
    ("Adam", {"betas": (0.3, 0.99)}), ("AdamW", {}), ("AdamW", {"amsgrad": True, "weight_decay": 0.2}),
    ("RMSprop", {}), ("RMSprop", {"centered": True}), ("RMSprop", {"momentum": 0.9, "weight_decay": 0.1}),
    ("RMSprop", {"momentum": 0.9, "centered": True, "maximize": True, "alpha": 0.4}),
    ("Adagrad", {}), ("Adagrad", {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.2}),
    ("Adadelta", {}), ("Adadelta", {"rho": 0.5, "weight_decay": 0.1, "maximize": True}),
    ("Adamax", {}), ("Adamax", {"betas": (0.3, 0.6), "weight_decay": 0.1, "maximize": True}),
    ("NAdam", {}), ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True, "momentum_decay": 0.1}),
    ("NAdam", {"weight_decay": 0.1, "maximize": True}),
    ("RAdam", {}), ("RAdam", {"betas": (0.9, 0.5)}), ("RAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"weight_decay": 0.1, "maximize": True}),
    ("ASGD", {}), ("ASGD", {"t0": 1, "lambd": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("Rprop", {}), ("Rprop", {"etas": (0.3, 1.7), "step_sizes": (0.01, 0.06), "maximize": True}),
]
COMPILED = ("sgd", "adam", "rmsprop", "adagrad", "adadelta", "adamax", "nadam", "radam", "asgd", "rprop")
each_case = pytest.mark.parametrize(("name", "options"), CASES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(CASES)])
each_dtype = pytest.mark.parametrize("dtype", [claygrad.float32, claygrad.float64], ids=str)


class Compiled:
    """Counts how often a compiled step was taken."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.taken: list[bool] = []
        for name in COMPILED:
            monkeypatch.setattr(optimize, name, self.watched(getattr(optimize, name)))

    def watched(self, step):
        def watch(*args):
            self.taken.append(step(*args))
            return self.taken[-1]
        return watch


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Compiled:
    return Compiled(monkeypatch)


def numbers(shape, seed, dtype):
    values = np.random.default_rng(seed).standard_normal(shape)
    return claygrad.tensor(values.tolist(), dtype=dtype).reshape(shape)


def trained(name, options, dtype, shapes, steps=5, turn=lambda p: p):
    """The parameters and states after some steps; the gradient has an exact 0, a large and a tiny number in it."""
    params = [turn(numbers(shape, i, dtype)).requires_grad_(True) for i, shape in enumerate(shapes)]
    optimizer = getattr(claygrad.optim, name)(params, lr=0.05, **options)
    for step in range(steps):
        for i, p in enumerate(params):
            grad = numbers(p.shape, 100 * step + i, dtype)
            if p.numel() > 4:
                grad.view(-1)[:3] = claygrad.tensor([0.0, 1e4, 1e-30], dtype=dtype)
            p.grad = turn(grad)
        optimizer.step()
    return params, [optimizer.state[p] for p in params]


def plainly(monkeypatch, *args, **kwargs):
    with monkeypatch.context() as patch:
        for name in COMPILED:
            patch.setattr(optimize, name, lambda *args: False)
        return trained(*args, **kwargs)


def same(a, b, dtype, isa=None):
    """Up to a few roundings. The plain steps run on the instruction set that was chosen at import, which multiplies and
    adds with one rounding; base has two, and the quotients of RMSprop enlarge the difference."""
    tolerance = (64 if isa == "base" else 4) * claygrad.finfo(dtype).eps
    return claygrad.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)


@each_case
@each_dtype
def test_compiled_steps_are_the_plain_ones(monkeypatch, compiled, isa, name, options, dtype):
    shapes = [(), (1,), (7,), (8,), (31,), (3, 5), (65,), (0,), (2, 3, 4)]
    plain, states = plainly(monkeypatch, name, options, dtype, shapes)
    fast, fast_states = trained(name, options, dtype, shapes)
    assert compiled.taken[-1] is True
    for p, q, state, fast_state in zip(plain, fast, states, fast_states, strict=True):
        assert same(p, q, dtype, isa)
        assert list(state) == list(fast_state)
        for key in state:
            assert same(state[key], fast_state[key], dtype, isa), key


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Adagrad"])
def test_many_elements_are_shared_among_threads(monkeypatch, name):
    shapes = [(100_003,), (3,), (257, 129)]
    plain, _ = plainly(monkeypatch, name, {}, claygrad.float32, shapes, steps=2)
    fast, _ = trained(name, {}, claygrad.float32, shapes, steps=2)
    for p, q in zip(plain, fast, strict=True):
        assert same(p, q, claygrad.float32)


def test_nan_and_infinity_go_where_they_go_plainly(monkeypatch):
    for name, options in CASES:
        results = []
        for run in (plainly, lambda m, *args: trained(*args)):
            params, _ = run(monkeypatch, name, options, claygrad.float32, [(9,)], 1)
            optimizer = getattr(claygrad.optim, name)(params, lr=0.1, **options)
            params[0].grad = claygrad.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1e38, 1e-45, 1.0, -1.0])
            with monkeypatch.context() as patch:
                if run is plainly:
                    for step in ("sgd", "adam", "rmsprop", "adagrad"):
                        patch.setattr(optimize, step, lambda *args: False)
                optimizer.step()
                optimizer.step()
            results.append(params[0].detach())
        assert same(*results, claygrad.float32), name


def test_layouts(monkeypatch, compiled):
    turned = lambda p: p.t().contiguous().t() if p.dim() == 2 else p
    shapes = [(5, 7), (3, 2)]
    plain, _ = plainly(monkeypatch, "Adam", {}, claygrad.float32, shapes, turn=turned)
    fast, _ = trained("Adam", {}, claygrad.float32, shapes, turn=turned)
    assert not fast[0].is_contiguous()
    for p, q in zip(plain, fast, strict=True):
        assert same(p, q, claygrad.float32)
    p = claygrad.ones(3, 4, requires_grad=True)            # its gradient is one element, stretched
    p.sum().backward()
    claygrad.optim.SGD([p], lr=0.5).step()
    assert compiled.taken[-1] is True
    assert p.tolist() == [[0.5] * 4] * 3
    holey = claygrad.ones(4, 4)[:, ::2].detach().requires_grad_(True)
    holey.grad = claygrad.ones(4, 2)
    claygrad.optim.SGD([holey], lr=0.5).step()
    assert compiled.taken[-1] is False
    assert holey.tolist() == [[0.5] * 2] * 4


def test_other_dtypes_take_the_plain_path(compiled):
    for dtype in (claygrad.bfloat16, claygrad.float16, claygrad.complex64):
        p = claygrad.ones(3, dtype=dtype, requires_grad=True)
        p.grad = claygrad.ones(3, dtype=dtype)
        claygrad.optim.Adam([p], lr=0.5).step()
        assert compiled.taken[-1] is False
        assert not claygrad.equal(p.detach(), claygrad.ones(3, dtype=dtype))
    a, b = claygrad.ones(2, requires_grad=True), claygrad.ones(2, dtype=claygrad.float64, requires_grad=True)
    for p in (a, b):
        p.grad = claygrad.ones_like(p)
    claygrad.optim.Adam([a, b], lr=0.5).step()
    assert compiled.taken[-1] is False
    assert a.tolist() == pytest.approx(b.tolist())


def test_the_same_parameter_twice_is_stepped_twice(monkeypatch):
    results = []
    for n in (5, 200_000):
        p = claygrad.zeros(n, requires_grad=True)
        p.grad = claygrad.ones(n)
        with pytest.warns(UserWarning, match="duplicate"):
            optimizer = claygrad.optim.SGD([p, p], lr=0.5)
        optimizer.step()
        results.append(set(p.tolist()))
    assert results == [{-1.0}, {-1.0}]


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_what_was_saved_before_a_step_stays(name):
    w = claygrad.tensor([2.0, 3.0], requires_grad=True)
    optimizer = getattr(claygrad.optim, name)([w], lr=0.1)
    for p in (w,):
        p.grad = claygrad.ones(2)
    optimizer.step()                                       # the next one is compiled
    version, values = w._version, w.tolist()
    loss = (w ** 3).sum()
    loss.backward(retain_graph=True)
    first = w.grad.tolist()
    optimizer.step()
    assert w._version > version
    assert w.tolist() != values
    optimizer.zero_grad()
    loss.backward()
    assert w.grad.tolist() == pytest.approx([3 * v * v for v in values])
    assert first != w.grad.tolist()                        # the first held the gradient from before


def test_states_that_a_graph_holds_stay_too():
    w = claygrad.ones(2, requires_grad=True)
    w.grad = claygrad.ones(2)
    optimizer = claygrad.optim.Adam([w], lr=0.1)
    optimizer.step()
    x = claygrad.ones(2, requires_grad=True)
    average, count = optimizer.state[w]["exp_avg"], optimizer.state[w]["step"]
    was, counted = average.tolist(), count.item()
    out = (x * average * count).sum()
    optimizer.step()
    out.backward()
    assert x.grad.tolist() == pytest.approx([v * counted for v in was])
    assert count.item() == counted + 1


def test_inference_tensors_are_refused_as_any_write_is():
    with claygrad.inference_mode():
        p = claygrad.ones(2)
    optimizer = claygrad.optim.SGD([p], lr=0.1)
    p.grad = claygrad.ones(2)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode is not allowed"):
        optimizer.step()


def test_a_step_that_cannot_be_taken_changes_nothing():
    a, b = claygrad.ones(2, requires_grad=True), claygrad.ones(2, requires_grad=True)
    a.grad, b.grad = claygrad.ones(2), claygrad.ones(2)
    optimizer = claygrad.optim.Adam([a, b], lr=0.1)
    optimizer.step()
    before = a.tolist()
    del optimizer.state[b]["exp_avg_sq"]
    with pytest.raises(KeyError, match="exp_avg_sq"):
        optimizer.step()
    assert a.tolist() == before
    assert optimizer.state[a]["step"].item() == 1.0


def test_several_threads_may_step_their_own_parameters():
    def work(out):
        p = claygrad.zeros(70_000, requires_grad=True)
        optimizer = claygrad.optim.SGD([p], lr=1.0)
        for _ in range(20):
            p.grad = claygrad.ones(70_000)
            optimizer.step()
        out.append(set(p.tolist()))

    out: list[set[float]] = []
    threads = [threading.Thread(target=work, args=(out,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert out == [{-20.0}] * 4
