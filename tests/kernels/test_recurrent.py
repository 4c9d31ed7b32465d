"""The native loops of recurrent layers against the plain ones that say what they compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from claygrad.core import recurrent as native
from claygrad.ops import recurrent_layer
from claygrad.ops._registry import REGISTRY

GATES = {"rnn": 1, "gru": 3, "lstm": 4}
SIZES = [(1,), (3, 3, 3), (4, 2, 1), (5,) * 4, (40,) * 3]


def call(name: str, sizes: tuple[int, ...], reverse: bool, width: int, dtype: str, bias: bool, **options: Any) -> list[Any]:
    """A layer's results and gradients, on arrays."""
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> Any:
        return rng.standard_normal(shape).astype(dtype)
    gates, batch, rows = GATES[name], sizes[0], sum(sizes)
    states = [draw(batch, width) for _ in range(2 if name == "lstm" else 1)]
    weights = [draw(gates * width, 5), draw(gates * width, width) / width]
    biases = [draw(gates * width), draw(gates * width)] if bias else [None, None]
    input = draw(rows, 5)
    extra = [None] if name == "lstm" else []
    forward, backward = REGISTRY[f"{name}_layer"].fn, REGISTRY[f"{name}_layer_backward"].fn
    outs = forward(np, input, *states, *weights, *biases, *extra, sizes, reverse, *options.values())
    g = [draw(rows, width), *(draw(batch, width) for _ in states)]
    if name == "rnn":
        g[0] = np.broadcast_to(g[0][:1], (rows, width))         # not contiguous
    kept = (outs[0], *outs[1 + len(states):])
    needs = (True,) * (len(states) + 1 + 2) + (bias, bias) + (False,) * len(extra)
    grads = backward(np, *g, *kept, input, *states, *weights, *extra, sizes, reverse, *options.values(), needs)
    return [*outs, *grads[:len(states) + 5 if bias else len(states) + 3]]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("width", [1, 7, 16, 33])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("name", ["rnn", "rnn relu", "gru", "lstm", "lstm without bias"])
def test_the_native_loop_does_what_the_plain_one_does(name: str, sizes: tuple[int, ...], reverse: bool, width: int,
                                                     dtype: str, monkeypatch: pytest.MonkeyPatch):
    kind = name.split()[0]
    options = {"relu": "relu" in name} if kind == "rnn" else {}
    fast = call(kind, sizes, reverse, width, dtype, "without" not in name, **options)
    monkeypatch.setattr(native, "takes", lambda *arrays: False)
    plain = call(kind, sizes, reverse, width, dtype, "without" not in name, **options)
    tolerance = {"rtol": 2e-4, "atol": 2e-5} if dtype == "float32" else {"rtol": 1e-10, "atol": 1e-12}
    for k, (got, want) in enumerate(zip(fast, plain, strict=True)):
        np.testing.assert_allclose(got, want, err_msg=f"result {k}", **tolerance)


def test_values_at_the_edges_pass_through():
    for value in (np.nan, np.inf, -np.inf, 1e30, -1e30):
        x = np.full((2, 3), value, "float32")
        for name in ("rnn", "gru", "lstm"):
            gates, states = GATES[name], 2 if name == "lstm" else 1
            forward = REGISTRY[f"{name}_layer"].fn
            rest = {"rnn": ((1, 1), False, False), "gru": ((1, 1), False), "lstm": (None, (1, 1), False)}[name]
            weights = [np.ones((gates * 4, 3), "float32"), np.ones((gates * 4, 4), "float32"), None, None]
            out = forward(np, x, *(np.zeros((1, 4), "float32") for _ in range(states)), *weights, *rest)[0]
            assert np.isnan(out).all() == np.isnan(value)
            assert np.isnan(out).any() == np.isnan(value)


def test_what_has_no_native_loop_is_left_to_the_plain_one():
    a = np.ones((2, 2), "float32")
    assert native.takes(a, None, a)
    assert not native.takes(a, a.astype("float64"))
    assert not native.takes(a.astype("int64"))
    assert not native.takes([1.0])


@pytest.mark.parametrize("wrong", [
    {"steps": [(0, 3)]}, {"steps": [(1, 2)]}, {"steps": [(-1, 2)]}, {"out": np.ones((2, 4), "float32")[:, ::2]},
    {"out": np.ones((3, 2), "float32")}, {"out": np.ones((2, 2))}, {"weight": np.ones((2, 3), "float32")},
])
def test_blocks_that_do_not_fit_are_refused(wrong: dict[str, Any]):
    given = {"steps": [(0, 2)], "out": np.ones((2, 2), "float32"), "weight": np.ones((2, 2), "float32")} | wrong
    with pytest.raises(ValueError, match=r"expected|step|rows"):
        native.run("rnn", given["steps"], 1, np.ones((2, 2), "float32"), given["weight"], out=given["out"])


def test_the_layers_use_the_native_loops():
    assert recurrent_layer.native is native


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("a_turned", [False, True])
@pytest.mark.parametrize("b_turned", [False, True])
def test_products_and_sums_of_columns(dtype, a_turned, b_turned):
    rng = np.random.default_rng(1)
    for m, k, n in ((1, 1, 1), (3, 5, 2), (17, 33, 40), (0, 3, 2), (2, 0, 3)):
        a, b = (rng.integers(-9, 9, shape).astype(dtype) for shape in ((m, k), (k, n)))      # exact in every order
        a, b = np.asfortranarray(a) if a_turned else a, np.asfortranarray(b) if b_turned else b
        np.testing.assert_array_equal(native.product(a, b), a @ b)
        np.testing.assert_array_equal(native.product(a[:, ::-1], b[::-1]), a @ b)
        np.testing.assert_array_equal(native.column_sums(a), a.sum(axis=0))
    with pytest.raises(ValueError, match="mismatch"):
        native.product(np.ones((2, 3), dtype), np.ones((2, 3), dtype))
