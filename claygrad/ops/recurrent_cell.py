"""Recurrent cells: one step of RNN, LSTM or GRU."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.ops._registry import composite
from claygrad.ops.matmul import linear

if TYPE_CHECKING:
    from claygrad.core import Tensor


def check_cell(input: Tensor, states: tuple[Tensor, ...], w_ih: Tensor, w_hh: Tensor, gates: int) -> None:
    features, size = w_ih.size(1), w_hh.size(1)
    if input.size(1) != features:
        raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)} expected {features}")
    for name, weight in (("weight_ih", w_ih), ("weight_hh", w_hh)):
        if weight.size(0) != gates * size:
            raise RuntimeError(f"{name} first dim must be {gates} * hidden_size = {gates * size}, but got "
                               f"{weight.size(0)}")
    for number, state in enumerate(states):
        if input.size(0) != state.size(0):
            raise RuntimeError(f"Input batch size {input.size(0)} doesn't match hidden{number} batch size "
                               f"{state.size(0)}")
        if state.size(1) != size:
            raise RuntimeError(f"hidden{number} has inconsistent hidden_size: got {state.size(1)}, expected {size}")


def gated(sums: Tensor) -> Tensor:
    """The gates are computed where their sums are, which integers cannot hold."""
    if not (sums.dtype.is_floating_point or sums.dtype.is_complex):
        raise RuntimeError(f"result type Float can't be cast to the desired output type {sums.dtype.legacy}")
    return sums


def cell_samples(gates: int):
    """Samples with and without biases."""
    def samples(t) -> list:
        weights = lambda: (t(2 * gates, 3), t(2 * gates, 2))
        return [t.args(t(4, 3), t(4, 2), *weights(), t(2 * gates), t(2 * gates)), t.args(t(4, 3), t(4, 2), *weights())]
    return samples


def cell_mistakes(gates: int):
    def mistakes(t) -> list:
        weights = t(2 * gates, 3), t(2 * gates, 2)
        return [(t.args(t(4, 5), t(4, 2), *weights), RuntimeError,
                 "input has inconsistent input_size: got 5 expected 3"),
                (t.args(t(4, 3), t(5, 2), *weights), RuntimeError,
                 "Input batch size 4 doesn't match hidden0 batch size 5"),
                (t.args(t(4, 3), t(4, 3), *weights), RuntimeError,
                 "hidden0 has inconsistent hidden_size: got 3, expected 2")]
    return mistakes


def summed(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None) -> Tensor:
    check_cell(input, (hx,), w_ih, w_hh, 1)
    return linear(input, w_ih, b_ih) + linear(hx, w_hh, b_hh)


@composite(method=False, samples=cell_samples(1), errors=cell_mistakes(1))
def rnn_tanh_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
                  b_hh: Tensor | None = None) -> Tensor:
    "tanh(w_ih @ input + b_ih + w_hh @ hx + b_hh) for every example."
    return summed(input, hx, w_ih, w_hh, b_ih, b_hh).tanh()


@composite(method=False, samples=cell_samples(1), errors=cell_mistakes(1))
def rnn_relu_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
                  b_hh: Tensor | None = None) -> Tensor:
    "relu(w_ih @ input + b_ih + w_hh @ hx + b_hh) for every example."
    return summed(input, hx, w_ih, w_hh, b_ih, b_hh).relu()


@composite(method=False, samples=cell_samples(3), errors=cell_mistakes(3))
def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
             b_hh: Tensor | None = None) -> Tensor:
    "(1 - z) * n + z * hx with gates r, z = sigmoid(...) and n = tanh(input's part + r * hx's part)."
    check_cell(input, (hx,), w_ih, w_hh, 3)
    from_input, from_state = gated(linear(input, w_ih, b_ih)).chunk(3, 1), linear(hx, w_hh, b_hh).chunk(3, 1)
    reset, update = ((a + b).sigmoid() for a, b in zip(from_input[:2], from_state[:2]))
    new = (from_input[2] + from_state[2] * reset).tanh()
    return (hx - new) * update + new


def lstm_samples(t) -> list:
    return [t.args(t(4, 3), (t(4, 2), t(4, 2)), t(8, 3), t(8, 2), t(8), t(8)),
            t.args(t(4, 3), (t(4, 2), t(4, 2)), t(8, 3), t(8, 2))]


@composite(method=False, samples=lstm_samples,
           errors=lambda t: [(t.args(t(4, 3), (t(4, 2),), t(8, 3), t(8, 2)), RuntimeError,
                              "lstm_cell expects two hidden states"),
                             (t.args(t(4, 3), (t(4, 2), t(5, 2)), t(8, 3), t(8, 2)), RuntimeError,
                              "Input batch size 4 doesn't match hidden1 batch size 5"),
                             (t.args(t(4, 3), (t(4, 2), t(4, 2)), t(7, 3), t(8, 2)), RuntimeError,
                              "weight_ih first dim must be 4 * hidden_size = 8, but got 7")])
def lstm_cell(input: Tensor, hx: list[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
              b_hh: Tensor | None = None) -> tuple[Tensor, Tensor]:
    "(h, c) with c = f * c0 + i * tanh(g) and h = o * tanh(c), for gates i, f, o and the candidate g of (input, h0)."
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    h, c = hx
    check_cell(input, (h, c), w_ih, w_hh, 4)
    enter, forget, candidate, leave = gated(linear(h, w_hh, b_hh) + linear(input, w_ih, b_ih)).chunk(4, 1)
    c = forget.sigmoid() * c + enter.sigmoid() * candidate.tanh()
    return leave.sigmoid() * c.tanh(), c
