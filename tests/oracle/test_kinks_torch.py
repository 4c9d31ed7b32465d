"""First and second derivatives where functions have a kink: what PyTorch chose there."""
from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
import claygrad  # noqa: E402

POINTS = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 3.0, -3.0, 6.0, 20.0, float("inf"), -float("inf")]
ACTIVATIONS = ["relu", "relu6", "elu", "celu", "selu", "leaky_relu", "hardtanh", "hardswish", "hardshrink", "softshrink",
               "softplus", "silu", "mish", "gelu", "logsigmoid", "softsign", "tanhshrink"]
FUNCTIONS = {
    **{name: lambda lib, x, name=name: getattr(lib.nn.functional, name)(x) for name in ACTIVATIONS},
    **{f"{name}_": lambda lib, x, name=name: getattr(lib.nn.functional, name)(x * 1, inplace=True)
       for name in ("elu", "celu", "selu", "leaky_relu", "hardtanh", "relu6")},
    "elu(alpha)": lambda lib, x: lib.nn.functional.elu(x, 0.5),
    "celu(alpha)": lambda lib, x: lib.nn.functional.celu(x, 0.5),
    "prelu": lambda lib, x: lib.nn.functional.prelu(x, lib.tensor(0.25, dtype=lib.float64)),
    "threshold": lambda lib, x: lib.nn.functional.threshold(x, 0.5, 2.0),
    "smooth_l1_loss": lambda lib, x: lib.nn.functional.smooth_l1_loss(x, lib.zeros_like(x), reduction="none"),
    "smooth_l1_loss(beta)": lambda lib, x: lib.nn.functional.smooth_l1_loss(x, lib.zeros_like(x), reduction="none", beta=3),
    "huber_loss": lambda lib, x: lib.nn.functional.huber_loss(x, lib.zeros_like(x), reduction="none"),
    "huber_loss(delta)": lambda lib, x: lib.nn.functional.huber_loss(x, lib.zeros_like(x), reduction="none", delta=0.5),
    "l1_loss": lambda lib, x: lib.nn.functional.l1_loss(x, lib.zeros_like(x), reduction="none") * x,
    "abs": lambda lib, x: x.abs() * x,
    "clamp": lambda lib, x: x.clamp(-1, 1) * x,
    "maximum": lambda lib, x: lib.maximum(x, -x) * x,
    "pow 0": lambda lib, x: x**0 * x,
    "pow 1": lambda lib, x: x**1,
    "pow 2": lambda lib, x: x**2,
    "pow 3": lambda lib, x: x**3,
}


def derivatives(lib, name: str, points: list[float] = POINTS) -> list:
    x = lib.tensor(points, dtype=lib.float64, requires_grad=True)
    first, = lib.autograd.grad(FUNCTIONS[name](lib, x).sum(), x, create_graph=True)
    if not first.requires_grad:
        return [first.tolist(), None]
    second, = lib.autograd.grad(first.sum(), x, allow_unused=True)
    return [first.tolist(), None if second is None else second.tolist()]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_at_kinks_are_pytorchs(name: str) -> None:
    for ours, theirs in zip(derivatives(claygrad, name), derivatives(torch, name), strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert ours == pytest.approx(theirs, rel=1e-12, abs=1e-15, nan_ok=True), name


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name.endswith("loss") or "_loss(" in name])
def test_derivatives_of_losses_at_nan_are_pytorchs(name: str) -> None:
    assert repr(derivatives(claygrad, name, [float("nan")])) == repr(derivatives(torch, name, [float("nan")]))


@pytest.mark.parametrize("requires_grad", [False, True])
def test_the_least_variance_may_be_a_tensor(requires_grad: bool) -> None:
    found = []
    for lib in (claygrad, torch):
        x, var = (lib.tensor(v, dtype=lib.float64, requires_grad=True) for v in ([1.0, 2.0], [0.5, 1e-8]))
        eps = lib.tensor(1e-3, dtype=lib.float64, requires_grad=requires_grad)
        loss = lib.nn.functional.gaussian_nll_loss(x, lib.tensor([1.5, 2.5], dtype=lib.float64), var, eps=eps)
        loss.backward()
        found.append([loss.item(), *x.grad.tolist(), *var.grad.tolist(), eps.grad])
    assert found[0] == pytest.approx(found[1])
