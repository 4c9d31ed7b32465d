"""Every layer by itself: gradients against finite differences, copies, states and dtypes."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import pytest

import claygrad
from claygrad.autograd import gradcheck
from tests.nn.layer_cases import CASES, Case
from tests.nn.layer_cases.specs import arguments, build, leaves, tensors_in


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def ready(case: Case) -> tuple[Any, list[Any], dict[str, Any]]:
    """A layer in double precision that knows its sizes, and what it is called with."""
    module = build(claygrad, case).double()
    args, call = arguments(claygrad, case)
    if case.layer.startswith("Lazy"):
        module(*args, **call)
    return module.eval(), args, call


def results(module: Any, args: list[Any], call: dict[str, Any]) -> list[Any]:
    claygrad.manual_seed(3)
    return tensors_in(module(*args, **call))


def check_same(first: list[Any], second: list[Any]) -> None:
    for a, b in zip(first, second, strict=True):
        assert claygrad.equal(a, b)


# CTC's gradient is that of scores before their log_softmax, as PyTorch's is: right in a model, not by itself.
STILL = [case for case in CASES if not case.options.get("inplace") and case.layer != "CTCLoss"
         and leaves(*arguments(claygrad, case))]


@pytest.mark.parametrize("case", STILL, ids=str)
def test_gradients_are_those_of_finite_differences(case: Case):
    module, args, call = ready(case)
    inputs = leaves(args, call)

    def run(*_: Any) -> Any:
        return tuple(out for out in results(module, args, call) if out.requires_grad)
    assert gradcheck(run, tuple(inputs), fast_mode=True, nondet_tol=1e-12)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_copy_and_a_state_give_the_same(case: Case):
    module, _, _ = ready(case)

    def again(other: Any) -> list[Any]:
        fresh, call = arguments(claygrad, case)
        return results(other, fresh, call)
    expected = again(module)
    check_same(expected, again(copy.deepcopy(module)))
    if not any(callable(value) for value in vars(module).values()) and case.layer != "TransformerEncoder":
        check_same(expected, again(pickle.loads(pickle.dumps(module))))
    other = copy.deepcopy(module)
    for parameter in other.parameters():
        parameter.data.zero_()
    other.load_state_dict(module.state_dict())
    check_same(expected, again(other))


@pytest.mark.parametrize("case", [case for case in CASES if case.layer.startswith("Lazy")], ids=str)
def test_a_lazy_layer_becomes_its_model(case: Case):
    module = build(claygrad, case)
    args, call = arguments(claygrad, case)
    assert any(claygrad.nn.parameter.is_lazy(t) for t in (*module.parameters(), *module.buffers())) or \
        not list(module.parameters())
    module.double()(*args, **call)
    assert type(module).__name__ == case.layer.removeprefix("Lazy")


@pytest.mark.parametrize(("name", "args", "inputs"), [
    ("Linear", (4, 3), [(2, 4)]), ("Conv2d", (2, 3, 3), [(1, 2, 5, 5)]), ("ConvTranspose1d", (2, 3, 3), [(1, 2, 5)]),
    ("BatchNorm1d", (4,), [(3, 4)]), ("LayerNorm", (4,), [(3, 4)]), ("Embedding", (5, 3), []), ("GRU", (3, 4), [(5, 2, 3)]),
    ("LSTM", (3, 4), [(5, 2, 3)]), ("MultiheadAttention", (6, 2), [(4, 2, 6)] * 3), ("PReLU", (), [(3,)]),
    ("Bilinear", (4, 3, 2), [(2, 4), (2, 3)]), ("GroupNorm", (2, 4), [(2, 4, 3)]),
])
def test_device_and_dtype_are_those_asked_for(name: str, args: tuple[int, ...], inputs: list[tuple[int, ...]]):
    layer = getattr(claygrad.nn, name)
    assert {p.dtype for p in layer(*args, dtype=claygrad.float64).parameters()} == {claygrad.float64}
    assert {p.device.type for p in layer(*args, device="meta").parameters()} == {"meta"}
    wide = layer(*args, dtype=claygrad.float64)
    given = [claygrad.ones(shape, dtype=claygrad.float64) for shape in inputs] or [claygrad.tensor([1, 2])]
    assert tensors_in(wide(*given))[0].dtype is claygrad.float64
    if inputs:
        half = layer(*args, dtype=claygrad.bfloat16)
        assert tensors_in(half(*(x.to(claygrad.bfloat16) for x in given)))[0].dtype is claygrad.bfloat16


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_a_recurrent_layers_own_checks_are_made_with_and_without_a_state(name: str):
    seen = []

    class Checked(getattr(claygrad.nn, name)):
        def check_forward_args(self, input, hidden, batch_sizes):
            seen.append(batch_sizes)
            super().check_forward_args(input, hidden, batch_sizes)
    layer, x = Checked(3, 2), claygrad.zeros(4, 1, 3)
    _, state = layer(x)
    layer(x, state)
    assert seen == [None, None]
