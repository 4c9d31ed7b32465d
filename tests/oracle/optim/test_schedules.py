"""Every schedule for 60 epochs: rates, momenta, groups and states are torch's."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

import claygrad

torch = pytest.importorskip("torch")


class Falling:
    """A callable with a state."""

    def __init__(self) -> None:
        self.base = 0.97

    def __call__(self, epoch: float) -> float:
        return self.base ** epoch


MAKERS: dict[str, Callable[[Any, Any], Any]] = {
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda e: 0.95 ** e),
    "LambdaLR-list": lambda s, o: s.LambdaLR(o, [lambda e: 0.95 ** e, Falling()]),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda e: 0.95),
    "StepLR": lambda s, o: s.StepLR(o, 7, gamma=0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [3, 10, 10, 30]),
    "ConstantLR": lambda s, o: s.ConstantLR(o, 0.25, 7),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.1, 0.9, 13),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.9),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, 20, 2.0),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 10, 1e-4),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 5, 2, 1e-3),
    "CosineAnnealingWarmRestarts-same": lambda s, o: s.CosineAnnealingWarmRestarts(o, 7),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 5, 7),
    "CyclicLR-triangular2": lambda s, o: s.CyclicLR(o, [0.01, 0.02], [0.1, 0.3], 5, mode="triangular2"),
    "CyclicLR-exp_range": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 5, mode="exp_range", gamma=0.97, cycle_momentum=False),
    "CyclicLR-own": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 5, scale_fn=Falling(), scale_mode="iterations"),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, 0.1, total_steps=61),
    "OneCycleLR-three": lambda s, o: s.OneCycleLR(o, [0.1, 0.2], epochs=7, steps_per_epoch=9, three_phase=True,
                                                  anneal_strategy="linear"),
    "SequentialLR": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9), s.StepLR(o, 3)], [5, 20]),
    "SequentialLR-warm": lambda s, o: s.SequentialLR(o, [s.LinearLR(o, 0.1, 1, 5), s.CosineAnnealingLR(o, 30)], [5]),
    "SequentialLR-nested": lambda s, o: s.SequentialLR(
        o, [s.SequentialLR(o, [s.ConstantLR(o, 0.5, 3), s.StepLR(o, 4)], [3]), s.ExponentialLR(o, 0.9)], [15]),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)]),
    "SWALR": lambda s, o: s.SWALR(o, 0.05, 5),
    "SWALR-linear": lambda s, o: s.SWALR(o, [0.05, 0.01], 5, "linear"),
    "SWALR-at-once": lambda s, o: s.SWALR(o, 0.05, 0),
}
by_closed_form = [name for name in MAKERS
                  if name.split("-")[0] not in ("SequentialLR", "ChainedScheduler", "OneCycleLR", "SWALR")]
each_optimizer = pytest.mark.parametrize("kind", ["SGD", "Adam"])


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Names:
    """Schedules of both modules under one roof."""

    def __init__(self, lib: ModuleType) -> None:
        self.modules = lib.optim.lr_scheduler, lib.optim.swa_utils

    def __getattr__(self, name: str) -> Any:
        return next(getattr(module, name) for module in self.modules if hasattr(module, name))


def started(lib: ModuleType, name: str, kind: str, rate: Callable[[float], Any] = float) -> tuple[Any, Any]:
    a, b = lib.ones(2, requires_grad=True), lib.ones(1, requires_grad=True)
    options = {"momentum": 0.9} if kind == "SGD" else {}
    groups = [{"params": [a]}, {"params": [b], "lr": rate(0.5)}]
    optimizer = getattr(lib.optim, kind)(groups, lr=rate(0.1), **options)
    return optimizer, MAKERS[name](Names(lib), optimizer)


def plain(value: Any) -> Any:
    """Tensors as numbers, so that both libraries' values compare."""
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    return value.item() if isinstance(value, (claygrad.Tensor, torch.Tensor)) else value


def groups_of(optimizer: Any) -> list[dict[str, Any]]:
    return [plain({key: value for key, value in group.items() if key != "params"}) for group in optimizer.param_groups]


def history(lib: ModuleType, name: str, kind: str, epochs: int = 60, closed: bool = False,
            rate: Callable[[float], Any] = float) -> list[Any]:
    optimizer, schedule = started(lib, name, kind, rate)
    seen = []
    for epoch in range(epochs):
        seen.append((groups_of(optimizer), plain(schedule.get_last_lr())))
        optimizer.step()
        schedule.step(epoch * 2) if closed else schedule.step()
    state = plain(schedule.state_dict())
    state.pop("_get_lr_called_within_step", None)
    return [*seen, state]


@pytest.mark.parametrize("name", MAKERS)
@each_optimizer
def test_sixty_epochs(name: str, kind: str) -> None:
    ours, theirs = (history(lib, name, kind) for lib in (claygrad, torch))
    assert ours == theirs


@pytest.mark.parametrize("name", by_closed_form)
def test_epochs_by_number(name: str) -> None:
    ours, theirs = (history(lib, name, "SGD", 20, closed=True) for lib in (claygrad, torch))
    assert ours == theirs


@pytest.mark.parametrize("name", MAKERS)
def test_rates_that_are_tensors_stay_the_same_tensors(name: str) -> None:
    ours, theirs = (history(lib, name, "SGD", 20, rate=lib.tensor) for lib in (claygrad, torch))
    for a, b in zip(ours[:-1], theirs[:-1], strict=True):
        assert a[1] == pytest.approx(b[1], rel=1e-5)
    optimizer, schedule = started(claygrad, name, "SGD", claygrad.tensor)
    rate = optimizer.param_groups[0]["lr"]
    optimizer.step()
    schedule.step()
    assert optimizer.param_groups[0]["lr"] is rate


@pytest.mark.parametrize("name", MAKERS)
@each_optimizer
def test_a_state_goes_on_where_it_was(name: str, kind: str) -> None:
    straight, half = started(claygrad, name, kind), started(claygrad, name, kind)
    rates = []
    for epoch in range(40):
        for optimizer, schedule in (straight, half):
            optimizer.step()
            schedule.step()
        if epoch == 17:
            saved = copy.deepcopy((half[0].state_dict(), half[1].state_dict()))
            half = started(claygrad, name, kind)
            half[0].load_state_dict(saved[0])
            half[1].load_state_dict(saved[1])
        rates.append((groups_of(straight[0]), groups_of(half[0])))
    for one, other in rates:
        assert one == other


@pytest.mark.parametrize("options", [{}, {"mode": "max"}, {"threshold_mode": "abs", "threshold": 0.5}, {"cooldown": 3},
                                     {"patience": 1, "min_lr": [0.05, 0.001]}, {"factor": 0.5, "patience": 0, "eps": 0.02}])
def test_plateaus(options: dict[str, Any]) -> None:
    metrics = [5.0, 4.0, 4.0, 4.1, 3.9999, 4.0, 3.0, 3.0, 3.0, 3.2, 3.1, 3.0, 2.0, 2.5, 2.4, 2.6, 2.7, float("nan"), 1.0] * 3
    results = []
    for lib in (claygrad, torch):
        a, b = lib.ones(2, requires_grad=True), lib.ones(1, requires_grad=True)
        optimizer = lib.optim.SGD([{"params": [a]}, {"params": [b], "lr": 0.5}], lr=0.1)
        schedule = lib.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **{"patience": 3, **options})
        seen = []
        for i, metric in enumerate(metrics):
            schedule.step(lib.tensor(metric) if i % 2 else metric)
            seen.append((schedule.get_last_lr(), schedule.num_bad_epochs, schedule.in_cooldown))
        results.append((seen, schedule.state_dict()))
    assert repr(results[0]) == repr(results[1])
