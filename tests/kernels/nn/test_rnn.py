"""The native forms of recurrent layers against the plain ones that say what they compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import claygrad
from claygrad.ops._registry import REGISTRY
from tests.support.forms import called, native, reference, refused

GATES = {"rnn": 1, "gru": 3, "lstm": 4}
SIZES = [(1,), (3, 3, 3), (4, 2, 1), (5,) * 4, (40,) * 3]


def call(name: str, sizes: tuple[int, ...], reverse: bool, width: int, dtype: str, bias: bool, run: Any = native,
         **options: Any) -> list[Any]:
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
    forward, backward = REGISTRY[f"{name}_layer"].op, REGISTRY[f"{name}_layer_backward"].op
    outs = run(forward, input, *states, *weights, *biases, *extra, sizes, reverse, *options.values())
    g = [draw(rows, width), *(draw(batch, width) for _ in states)]
    if name == "rnn":
        g[0] = np.broadcast_to(g[0][:1], (rows, width))         # not contiguous
    kept = (outs[0], *outs[1 + len(states):])
    needs = (True,) * (len(states) + 1 + 2) + (bias, bias) + (False,) * len(extra)
    grads = run(backward, *g, *kept, input, *states, *weights, *extra, sizes, reverse, *options.values(), needs)
    return [*outs, *grads[:len(states) + 5 if bias else len(states) + 3]]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("width", [1, 7, 16, 33])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("name", ["rnn", "rnn relu", "gru", "lstm", "lstm without bias"])
def test_the_native_loop_does_what_the_plain_one_does(name: str, sizes: tuple[int, ...], reverse: bool, width: int,
                                                     dtype: str):
    kind = name.split()[0]
    options = {"relu": "relu" in name} if kind == "rnn" else {}
    fast = call(kind, sizes, reverse, width, dtype, "without" not in name, **options)
    plain = call(kind, sizes, reverse, width, dtype, "without" not in name, reference, **options)
    tolerance = {"rtol": 2e-4, "atol": 2e-5} if dtype == "float32" else {"rtol": 1e-10, "atol": 1e-12}
    for k, (got, want) in enumerate(zip(fast, plain, strict=True)):
        np.testing.assert_allclose(got, want, err_msg=f"result {k}", **tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", [(9,) * 3, (12, 7), (3,) * 2], ids=str)
@pytest.mark.parametrize("name", ["rnn", "gru", "lstm"])
def test_weights_too_large_to_stay_near_are_multiplied_all_the_same(name: str, sizes: tuple[int, ...], dtype: str):
    options = {"relu": False} if name == "rnn" else {}
    width = 400 if name == "rnn" else 200
    fast = call(name, sizes, False, width, dtype, True, **options)
    plain = call(name, sizes, False, width, dtype, True, reference, **options)
    tolerance = {"rtol": 2e-4, "atol": 2e-5} if dtype == "float32" else {"rtol": 1e-10, "atol": 1e-12}
    for k, (got, want) in enumerate(zip(fast, plain, strict=True)):
        np.testing.assert_allclose(got, want, err_msg=f"result {k}", **tolerance)


@pytest.mark.parametrize("wanted", [(True, False), (False, True), (True, True), (False, False)], ids=str)
@pytest.mark.parametrize("name", ["rnn", "gru", "lstm"])
def test_only_the_gradients_that_are_needed_are_made(name: str, wanted: tuple[bool, bool]):
    rng = np.random.default_rng(1)
    gates, states, width, sizes = GATES[name], 2 if name == "lstm" else 1, 80, (9,) * 4
    x, w, u, b = (rng.standard_normal(shape).astype("float32") for shape in ((36, 6), (gates * 80, 6), (gates * 80, 80), (gates * 80,)))
    start = tuple(rng.standard_normal((9, width)).astype("float32") for _ in range(states))
    extra = [None] if name == "lstm" else []
    relu = [False] if name == "rnn" else []
    outs = native(f"_{name}_layer", x, *start, w, u / 9, b, b, *extra, sizes, False, *relu)
    kept, g = (outs[0], *outs[1 + states:]), rng.standard_normal((36, width)).astype("float32")

    def grads(*needs: bool) -> Any:
        return native(f"_{name}_layer_backward", g, *(None,) * states, *kept, x, *start, w, u / 9, *extra, sizes, False, *relu,
                      (False,) * (1 + states) + needs + (False,))
    every, some = grads(True, True, True, True), grads(False, True, *wanted)
    assert some[1 + states].size == 0
    np.testing.assert_array_equal(some[2 + states], every[2 + states])
    for k, need in enumerate(wanted, 3 + states):
        np.testing.assert_array_equal(some[k], every[k] if need else every[k][:0])


@pytest.mark.parametrize("sizes", [(24,) * 40, (24,) * 30 + (9,) * 10 + (1,) * 3], ids=["padded", "packed"])
@pytest.mark.parametrize("name", ["rnn", "gru", "lstm"])
def test_threads_share_the_sequences_and_change_nothing(name: str, sizes: tuple[int, ...]):
    options = {"relu": False} if name == "rnn" else {}
    before = claygrad.get_num_threads()
    made = {}
    for threads in (1, 2, 3):
        claygrad.set_num_threads(threads)
        made[threads] = call(name, sizes, True, 64, "float32", True, **options)
    claygrad.set_num_threads(before)
    for threads in (2, 3):
        for k, (got, want) in enumerate(zip(made[threads], made[1], strict=True)):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5, err_msg=f"result {k}")


def test_values_at_the_edges_pass_through():
    for value in (np.nan, np.inf, -np.inf, 1e30, -1e30):
        x = np.full((2, 3), value, "float32")
        for name in ("rnn", "gru", "lstm"):
            gates, states = GATES[name], 2 if name == "lstm" else 1
            rest = {"rnn": ((1, 1), False, False), "gru": ((1, 1), False), "lstm": (None, (1, 1), False)}[name]
            weights = [np.ones((gates * 4, 3), "float32"), np.ones((gates * 4, 4), "float32"), None, None]
            out = native(f"_{name}_layer", x, *(np.zeros((1, 4), "float32") for _ in range(states)), *weights, *rest)[0]
            assert np.isnan(out).all() == np.isnan(value)
            assert np.isnan(out).any() == np.isnan(value)


def given(**other: Any) -> list[Any]:
    """What the native form of a GRU takes."""
    def ones(*shape: int) -> Any:
        return np.ones(shape, "float32")
    return list(({"input": ones(5, 3), "hx": ones(2, 4), "w_ih": ones(12, 3), "w_hh": ones(12, 4), "b_ih": ones(12),
                  "b_hh": ones(12), "sizes": (2, 2, 1), "reverse": False} | other).values())


def test_nothing_is_left_to_the_reference():
    assert not refused("_gru_layer", *given())
    assert refused("_gru_layer", *given(input=np.ones((0, 3), "float32"), sizes=(0,), hx=np.ones((0, 4), "float32")))


@pytest.mark.parametrize("other", [
    {"sizes": (2, 2, 2)}, {"sizes": (3, 1, 1)}, {"hx": np.ones((2, 5), "float32")}, {"w_ih": np.ones((12, 4), "float32")},
    {"w_hh": np.ones((4, 12), "float32")}, {"b_hh": np.ones((4,), "float32")}, {"input": np.ones((5, 3, 1), "float32")}], ids=str)
def test_sizes_that_do_not_fit_are_refused(other: dict[str, Any]):
    with pytest.raises((RuntimeError, ValueError, IndexError)):
        called("_gru_layer", *given(**other))


def test_blocks_with_gaps_are_taken():
    rng = np.random.default_rng(3)
    apart = [rng.standard_normal((2 * x.shape[0], *x.shape[1:])).astype("float32")[::2] if isinstance(x, np.ndarray) else x
             for x in given()]
    whole = [np.ascontiguousarray(x) if isinstance(x, np.ndarray) else x for x in apart]
    for got, want in zip(native("_gru_layer", *apart), native("_gru_layer", *whole), strict=True):
        np.testing.assert_array_equal(got, want)
