"""First values: the same numbers as torch's for the same seed, and the same state of the generator after them."""

from __future__ import annotations

from typing import Any

import pytest

import claygrad

torch = pytest.importorskip("torch")

CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("uniform_", (-2, 3), {}), ("normal_", (1.0, 2.0), {}), ("trunc_normal_", (), {}),
    ("trunc_normal_", (0.5, 0.3, -0.5, 0.5), {}), ("trunc_normal_", (0.0, 1.0, 1.0, 1.5), {}),
    ("trunc_normal_", (0.0, 1.0, 2.0, 4.0), {}), ("constant_", (3.5,), {}), ("ones_", (), {}), ("zeros_", (), {}),
    ("eye_", (), {}), ("xavier_uniform_", (), {}), ("xavier_normal_", (2.0,), {}), ("kaiming_uniform_", (), {"a": 5**0.5}),
    ("kaiming_normal_", (), {"mode": "fan_out", "nonlinearity": "relu"}), ("sparse_", (0.4,), {}),
    ("orthogonal_", (), {}), ("orthogonal_", (0.5,), {}),
]
DTYPES = ["float32", "float64", "bfloat16", "float16"]


def filled(lib: Any, name: str, shape: tuple[int, ...], args: tuple[Any, ...], kwargs: dict[str, Any], dtype: str) -> Any:
    lib.manual_seed(7)
    tensor = lib.nn.Parameter(lib.empty(shape, dtype=getattr(lib, dtype)))
    result = getattr(lib.nn.init, name)(tensor, *args, **kwargs)
    assert result is tensor
    assert tensor.requires_grad
    assert tensor.is_leaf
    return tensor.detach().double().tolist(), lib.rand(2).tolist()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 5), (8, 4), (20, 30)])
@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS)
def test_the_same_numbers(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], shape: tuple[int, ...], dtype: str):
    if name == "orthogonal_" and dtype in ("bfloat16", "float16"):
        with pytest.raises(RuntimeError):
            filled(torch, name, shape, args, kwargs, dtype)
        with pytest.raises(RuntimeError):
            filled(claygrad, name, shape, args, kwargs, dtype)
        return
    ours, after = filled(claygrad, name, shape, args, kwargs, dtype)
    theirs, then = filled(torch, name, shape, args, kwargs, dtype)
    assert claygrad.allclose(claygrad.tensor(ours), claygrad.tensor(theirs), rtol=1e-5, atol=1e-6)
    assert after == then


@pytest.mark.parametrize(("name", "shape", "args"), [
    ("dirac_", (4, 2, 3), ()), ("dirac_", (4, 2, 3, 3), (2,)), ("dirac_", (2, 3, 3, 2, 3), ()),
    ("orthogonal_", (3, 4, 2), ()), ("kaiming_uniform_", (4, 3, 2, 2), ()), ("xavier_normal_", (4, 3, 5), ())])
def test_the_same_numbers_of_more_axes(name: str, shape: tuple[int, ...], args: tuple[Any, ...]):
    ours, theirs = (filled(lib, name, shape, args, {}, "float32") for lib in (claygrad, torch))
    assert claygrad.allclose(claygrad.tensor(ours[0]), claygrad.tensor(theirs[0]), rtol=1e-5, atol=1e-6)
    assert ours[1] == theirs[1]


@pytest.mark.parametrize("name", ["uniform_", "normal_", "trunc_normal_", "xavier_uniform_", "xavier_normal_",
                                  "kaiming_uniform_", "kaiming_normal_", "orthogonal_"])
def test_a_generator_of_your_own(name: str):
    values = []
    for lib in (claygrad, torch):
        generator = lib.Generator().manual_seed(3)
        values.append(filled(lib, name, (4, 4), (), {"generator": generator}, "float32"))
    assert claygrad.allclose(claygrad.tensor(values[0][0]), claygrad.tensor(values[1][0]), rtol=1e-5, atol=1e-6)
    assert values[0][1] == values[1][1]


MAPS = [(shape, how, trivial) for shape in ((4, 4), (5, 3), (3, 5)) for how in ("matrix_exp", "cayley", "householder")
        for trivial in (True, False)]


@pytest.mark.parametrize(("shape", "how", "trivial"), MAPS)
def test_orthogonal_weights_and_their_gradients(shape: tuple[int, int], how: str, trivial: bool):
    found = []
    for lib in (claygrad, torch):
        lib.manual_seed(1)
        m = lib.nn.Linear(shape[1], shape[0]).double()
        lib.nn.utils.parametrizations.orthogonal(m, orthogonal_map=how, use_trivialization=trivial)
        weight = m.weight
        (weight * lib.arange(float(weight.numel()), dtype=lib.float64).view(shape)).sum().backward()
        found.append((weight.tolist(), m.parametrizations.weight.original.grad.tolist(), sorted(m.state_dict())))
    for ours, theirs in zip(found[0][:2], found[1][:2]):
        assert claygrad.allclose(claygrad.tensor(ours), claygrad.tensor(theirs), atol=1e-6)
    assert found[0][2] == found[1][2]
