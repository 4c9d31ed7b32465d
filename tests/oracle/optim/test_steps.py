"""Every optimizer with its options: 50 steps from the same start give torch's parameters and torch's state."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import claygrad

torch = pytest.importorskip("torch")

OPTIONS: dict[str, list[dict[str, Any]]] = {
    "SGD": [{}, {"momentum": 0.9}, {"momentum": 0.9, "nesterov": True}, {"momentum": 0.9, "dampening": 0.5},
            {"weight_decay": 0.1}, {"maximize": True, "lr": 0.001}, {"foreach": True, "momentum": 0.5},
            {"foreach": False, "momentum": 0.5}, {"fused": True, "momentum": 0.9, "nesterov": True}],
    "Adam": [{}, {"amsgrad": True}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "decoupled_weight_decay": True},
             {"maximize": True}, {"foreach": True}, {"foreach": True, "amsgrad": True, "weight_decay": 0.1}, {"fused": True},
             {"fused": True, "amsgrad": True, "weight_decay": 0.1}, {"betas": (0.5, 0.9), "eps": 1e-3}],
    "AdamW": [{}, {"amsgrad": True, "weight_decay": 0.3}, {"maximize": True}, {"foreach": True}, {"fused": True}],
    "Adamax": [{}, {"weight_decay": 0.1}, {"maximize": True}, {"foreach": True}],
    "NAdam": [{}, {"weight_decay": 0.01}, {"weight_decay": 0.1, "decoupled_weight_decay": True},
              {"momentum_decay": 0.1, "maximize": True}, {"foreach": True}],
    "RAdam": [{}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "decoupled_weight_decay": True},
              {"betas": (0.9, 0.9), "maximize": True}, {"foreach": True}],
    "Adagrad": [{}, {"lr_decay": 0.1, "weight_decay": 0.1}, {"initial_accumulator_value": 0.3, "maximize": True},
                {"fused": True}, {"foreach": True}],
    "Adadelta": [{}, {"rho": 0.5, "weight_decay": 0.1}, {"maximize": True}, {"foreach": True}],
    "RMSprop": [{}, {"momentum": 0.9}, {"centered": True}, {"centered": True, "momentum": 0.5, "weight_decay": 0.1},
                {"maximize": True}, {"foreach": True, "centered": True}],
    "Rprop": [{}, {"etas": (0.3, 1.5), "step_sizes": (1e-3, 1.0)}, {"maximize": True}, {"foreach": True}],
    "ASGD": [{}, {"t0": 5, "weight_decay": 0.1, "lambd": 0.01}, {"maximize": True}, {"foreach": True, "t0": 5}],
    "Adafactor": [{}, {"weight_decay": 0.1}, {"beta2_decay": -0.5, "eps": (1e-3, 1e-2), "maximize": True}],
    "LBFGS": [{"lr": 0.1}, {"line_search_fn": "strong_wolfe"}, {"lr": 0.5, "max_iter": 4, "history_size": 3}],
}
CASES = [(name, options) for name, listed in OPTIONS.items() for options in listed]
each_case = pytest.mark.parametrize(("name", "options"), CASES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(CASES)])
each_dtype = pytest.mark.parametrize("dtype", ["float32", "float64"])
SHAPES = [(4, 3), (5,), (2, 3, 4), ()]


class Training:
    """A problem with a valley per parameter, and an optimizer on it."""

    def __init__(self, lib: ModuleType, name: str, options: dict[str, Any], dtype: str,
                 shapes: list[tuple[int, ...]] = SHAPES) -> None:
        numbers = np.random.default_rng(1)
        kind = getattr(lib, dtype)
        draw = lambda shape: lib.tensor(numbers.standard_normal(shape).tolist(), dtype=kind)
        self.params = [draw(shape).requires_grad_(True) for shape in shapes]
        self.goals = [draw(shape) for shape in shapes]
        if name not in ("Rprop", "Adadelta", "LBFGS"):
            options = {"lr": 0.01, **options}
        self.optimizer = getattr(lib.optim, name)(self.params, **options)

    def loss(self) -> Any:
        self.optimizer.zero_grad()
        parts = [((p - goal) ** 2 * (1 + 0.1 * (p * p.conj()).real)).abs().sum() if p.is_complex()
                 else ((p - goal) ** 2 * (1 + 0.1 * p * p)).sum() for p, goal in zip(self.params, self.goals, strict=True)]
        loss = sum(parts)
        loss.backward()
        return loss

    def run(self, steps: int) -> Training:
        for _ in range(steps):
            if type(self.optimizer).__name__ == "LBFGS":
                self.optimizer.step(self.loss)
            else:
                self.loss()
                self.optimizer.step()
        return self


def same(ours: Any, theirs: Any, rtol: float, where: str = "") -> None:
    """Equal trees: keys in order, kinds, dtypes, shapes and, within rounding, values."""
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs), where
        for key in theirs:
            same(ours[key], theirs[key], rtol, f"{where}.{key}")
    elif isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs), where
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            same(a, b, rtol, f"{where}[{i}]")
    elif isinstance(theirs, torch.Tensor):
        assert isinstance(ours, claygrad.Tensor), where
        assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1], where
        assert tuple(ours.shape) == tuple(theirs.shape), where
        np.testing.assert_allclose(np.array(ours.tolist()), np.array(theirs.tolist()), rtol=rtol, atol=rtol, err_msg=where)
    else:
        assert type(ours) is type(theirs), where
        if isinstance(theirs, float):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, err_msg=where)
        else:
            assert ours == theirs, where


TOLERANCE = {"float32": 2e-4, "float64": 1e-9}


@each_case
@each_dtype
def test_fifty_steps_and_the_state_after_them(name: str, options: dict[str, Any], dtype: str) -> None:
    steps = 2 if name == "LBFGS" else 50              # its state is compared on the way: at the end it is all rounding
    ours, theirs = (Training(lib, name, options, dtype).run(steps) for lib in (claygrad, torch))
    tolerance = TOLERANCE["float32" if name == "ASGD" and "foreach" in options else dtype]      # its rates are float32
    same(ours.params, theirs.params, tolerance / 10)
    same(ours.optimizer.state_dict(), theirs.optimizer.state_dict(), tolerance)
    if steps < 50:
        same(ours.run(50 - steps).params, theirs.run(50 - steps).params, tolerance / 10)


@each_dtype
@pytest.mark.parametrize("options", [{}, {"nesterov": False, "adjust_lr_fn": "match_rms_adamw", "weight_decay": 0.0}],
                         ids=["default", "options"])
def test_muon_within_the_precision_of_bfloat16(options: dict[str, Any], dtype: str) -> None:
    ours, theirs = (Training(lib, "Muon", options, dtype, [(4, 3), (5, 8)]).run(50) for lib in (claygrad, torch))
    same(ours.params, theirs.params, 1e-2)


@pytest.mark.parametrize("name", ["SGD", "Adam", "Adagrad", "RMSprop", "Rprop", "Adadelta", "ASGD", "NAdam", "RAdam", "Adamax",
                                  "AdamW"])
def test_complex_parameters(name: str) -> None:
    results = []
    for lib in (claygrad, torch):
        p = lib.tensor([1 + 2j, -0.5 + 0.25j, 3j], dtype=lib.complex128, requires_grad=True)
        optimizer = getattr(lib.optim, name)([p], lr=0.1)
        for _ in range(5):
            optimizer.zero_grad()
            (p * p.conj()).real.sum().backward()
            optimizer.step()
        results.append((p, optimizer.state_dict()))
    same(results[0][0], results[1][0], 1e-9)
    same(results[0][1], results[1][1], 1e-9)


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision(name: str, dtype: str) -> None:
    ours, theirs = (Training(lib, name, {}, dtype).run(5) for lib in (claygrad, torch))
    same(ours.params, theirs.params, 0.05)
    same(ours.optimizer.state_dict(), theirs.optimizer.state_dict(), 0.05)


def test_rates_and_betas_as_tensors() -> None:
    for options in ({"lr": 0.01}, {"lr": 0.01, "betas": (0.8, 0.95)}):
        results = []
        for lib in (claygrad, torch):
            given = {key: tuple(map(lib.tensor, value)) if isinstance(value, tuple) else lib.tensor(value)
                     for key, value in options.items()}
            results.append(Training(lib, "Adam", given, "float64").run(20))
        same(results[0].params, results[1].params, 1e-6)


def test_parameters_join_and_pause() -> None:
    """A parameter without a gradient keeps its state; counts differ from one parameter to the next."""
    results = []
    for lib in (claygrad, torch):
        a, b = (lib.ones(3, requires_grad=True) for _ in range(2))
        histories = []
        for name, options in (("Adam", {}), ("SGD", {"momentum": 0.9})):
            optimizer = getattr(lib.optim, name)([a, b], lr=0.1, **options)
            for step in range(6):
                a.grad = lib.full((3,), 0.5 + step) if step != 2 else None
                b.grad = lib.full((3,), 1.0 - step) if step > 2 else None
                optimizer.step()
            histories.append(optimizer.state_dict())
        results.append((a, b, histories))
    same(results[0], results[1], 1e-5)


def as_library(lib: ModuleType, value: Any) -> Any:
    """A state with tensors of the other library."""
    if isinstance(value, (claygrad.Tensor, torch.Tensor)):
        return lib.tensor(value.tolist(), dtype=getattr(lib, str(value.dtype).split(".")[1]))
    if isinstance(value, dict):
        return {key: as_library(lib, entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(as_library(lib, entry) for entry in value)
    return value


@pytest.mark.parametrize("name", OPTIONS)
def test_a_state_saved_by_one_library_is_gone_on_with_by_the_other(name: str) -> None:
    options = {key: value for key, value in OPTIONS[name][-1].items() if key != "foreach"}
    for source, target in ((torch, claygrad), (claygrad, torch)):
        begun = Training(source, name, options, "float64").run(5)
        taken = Training(target, name, options, "float64")
        taken.optimizer.load_state_dict(as_library(target, begun.optimizer.state_dict()))
        for p, q in zip(taken.params, begun.params, strict=True):
            p.data.copy_(target.tensor(q.tolist(), dtype=target.float64))
        begun.run(5)
        taken.run(5)
        for p, q in zip(taken.params, begun.params, strict=True):
            np.testing.assert_allclose(np.array(p.tolist()), np.array(q.tolist()), rtol=1e-7, atol=1e-7)
