"""One layer of a recurrent network over a whole sequence, in one direction: one product for all inputs, then a loop.

The backward loop finds the gradients of the gates, step by step; those of weights and inputs are products over all
steps at once. The gates that forward computed are kept as further outputs. What is written here says what is computed;
float32 and float64 have native forms of all of it.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core.graph.intercept import differentiated
from claygrad.ops._recurrent import (
    before,
    both,
    gradients_again,
    linear,
    sequence_check,
    sigmoid_,
    steps_of,
    stepwise,
)
from claygrad.ops._registry import constant, op

if TYPE_CHECKING:
    from claygrad.core import Tensor

inner = {"function": False, "method": False, "out": False}


def weight_grads(xp, g_ih, g_hh, input, previous, needs: tuple[bool, ...]):
    """Gradients of the two weights and the two biases from those of the gates, over all steps at once."""
    nothing = input[:0, :0]
    return (g_ih.T @ input if needs[0] else nothing, g_hh.T @ previous if needs[1] else nothing,
            g_ih.sum(axis=0) if needs[2] else nothing, g_hh.sum(axis=0) if needs[3] else nothing)


def begun(xp, state, g):
    """The gradient of the last state, to be carried back."""
    return xp.zeros_like(state) if g is None else g.copy()


def only(out: tuple, needs: tuple[bool, ...]) -> tuple:
    return tuple(x if need else None for x, need in zip(out, needs))


# --- the plain one: out = act(w_ih x + b_ih + w_hh h + b_hh) -----------------------------------------------------
def rnn_check(input, hx, w_ih, w_hh, b_ih, b_hh, sizes) -> None:
    sequence_check("rnn", (input, hx, w_ih, w_hh, b_ih, b_hh), sizes)


def rnn_samples(t):
    def one(sizes, reverse, relu=False, bias=True):
        return t.args(t(sum(sizes), 2), t(sizes[0], 3), t(3, 2), t(3, 3), *(t(3), t(3)) if bias else (None, None),
                      sizes, reverse, relu)
    return [one((2, 2, 2), False), one((3, 1), True), one((2, 2), False, True), one((2, 1, 1), False, bias=False)]


@op(name="_rnn_layer", kernel="rnn_layer", node="RnnLayerBackward0", **inner, check=rnn_check, samples=rnn_samples,
    meta=lambda input, hx: [((input.shape[0], hx.shape[1]), input.dtype), (hx.shape, hx.dtype)])
def rnn_layer(xp, input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None,
              sizes: tuple, reverse: bool, relu: bool):
    out, bias, h = input @ w_ih.T, both(b_ih, b_hh), hx.copy()
    if bias is not None:
        out += bias
    for first, size in steps_of(sizes, reverse):
        new = out[first:first + size]
        new += h[:size] @ w_hh.T
        if relu:
            xp.maximum(new, 0, out=new)
        else:
            xp.tanh(new, out=new)
        h[:size] = new
    return out, h


def rnn_steps(input, hx, w_ih, w_hh, b_ih, b_hh, sizes, reverse, relu):
    "The same by tensor operations."
    def step(x, h):
        new = linear(x, w_ih, b_ih) + linear(h, w_hh, b_hh)
        return (new.relu() if relu else new.tanh(),)
    return stepwise(step, input, (hx,), sizes, reverse)


@rnn_layer.rules
def rnn_layer_grads(gs, outs, input, hx, w_ih, w_hh, b_ih, b_hh, sizes, reverse, relu, needs):
    if differentiated():
        return gradients_again(rnn_steps, (input, hx, w_ih, w_hh, b_ih, b_hh), needs, gs, sizes, reverse, relu)
    return only(rnn_layer_backward(*gs, outs[0], input, hx, w_ih, w_hh, sizes, reverse, relu, needs), needs)


@op(name="_rnn_layer_backward", kernel="rnn_layer_backward", **inner, meta="data")
def rnn_layer_backward(xp, g_out: Tensor | None, g_h: Tensor | None, out: Tensor, input: Tensor, hx: Tensor,
                       w_ih: Tensor, w_hh: Tensor, sizes: tuple, reverse: bool, relu: bool, needs: tuple):
    h, steps = begun(xp, hx, g_h), steps_of(sizes, reverse)
    gates = rnn_loop_back(xp, g_out, h, out, w_hh, steps, relu)
    return (gates @ w_ih if needs[0] else input[:0], h,
            *weight_grads(xp, gates, gates, input, before(xp, out, hx, steps) if needs[3] else None, needs[2:]))


def rnn_loop_back(xp, g_out, h, out, w_hh, steps, relu: bool):
    """The gradient of the gates; h becomes that of the first state."""
    gates = (out > 0).astype(out.dtype) if relu else 1 - out * out
    for first, size in steps[::-1]:
        if g_out is not None:
            h[:size] += g_out[first:first + size]
        gate = gates[first:first + size]
        gate *= h[:size]
        h[:size] = gate @ w_hh
    return gates


rnn_layer_backward.rule(**dict.fromkeys(("g_out", "g_h", "out", "input", "hx", "w_ih", "w_hh"), constant))


# --- GRU: r, z = σ(...), n = tanh(x_n + r * h_n), out = n + z * (h - n) ------------------------------------------
def gru_check(input, hx, w_ih, w_hh, b_ih, b_hh, sizes) -> None:
    sequence_check("gru", (input, hx, w_ih, w_hh, b_ih, b_hh), sizes)


def gru_samples(t):
    def one(sizes, reverse, bias=True):
        return t.args(t(sum(sizes), 2), t(sizes[0], 3), t(9, 2), t(9, 3), *(t(9), t(9)) if bias else (None, None),
                      sizes, reverse)
    return [one((2, 2, 2), False), one((3, 1), True), one((2, 1, 1), False, bias=False)]


def gru_results(input, hx) -> list:
    rows, width = input.shape[0], hx.shape[1]
    return [((rows, width), input.dtype), (hx.shape, hx.dtype), ((rows, 4 * width), input.dtype)]


@op(name="_gru_layer", kernel="gru_layer", node="GruLayerBackward0", **inner, check=gru_check, samples=gru_samples,
    differentiable=(0, 1), meta=gru_results)
def gru_layer(xp, input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None,
              sizes: tuple, reverse: bool):
    width, h = hx.shape[1], hx.copy()
    kept = xp.empty((input.shape[0], 4 * width), dtype=input.dtype)         # r, z, n, and the h part of n
    kept[:, :3 * width] = input @ w_ih.T if b_ih is None else input @ w_ih.T + b_ih
    out = xp.empty((input.shape[0], width), dtype=input.dtype)
    with xp.errstate(over="ignore"):
        for first, size in steps_of(sizes, reverse):
            rows, old = kept[first:first + size], h[:size]
            of_h = old @ w_hh.T
            if b_hh is not None:
                of_h += b_hh
            rows[:, 3 * width:] = of_h[:, 2 * width:]
            rows[:, :2 * width] += of_h[:, :2 * width]
            sigmoid_(xp, rows[:, :2 * width])
            r, z, n = rows[:, :width], rows[:, width:2 * width], rows[:, 2 * width:3 * width]
            n += r * rows[:, 3 * width:]
            xp.tanh(n, out=n)
            old -= n
            old *= z
            old += n
            out[first:first + size] = old
    return out, h, kept


def gru_steps(input, hx, w_ih, w_hh, b_ih, b_hh, sizes, reverse):
    "The same by tensor operations."
    def step(x, h):
        x_r, x_z, x_n = linear(x, w_ih, b_ih).chunk(3, 1)
        h_r, h_z, h_n = linear(h, w_hh, b_hh).chunk(3, 1)
        n = (x_n + (x_r + h_r).sigmoid() * h_n).tanh()
        return (n + (x_z + h_z).sigmoid() * (h - n),)
    return stepwise(step, input, (hx,), sizes, reverse)


@gru_layer.rules
def gru_layer_grads(gs, outs, input, hx, w_ih, w_hh, b_ih, b_hh, sizes, reverse, needs):
    if differentiated():
        return gradients_again(gru_steps, (input, hx, w_ih, w_hh, b_ih, b_hh), needs, gs, sizes, reverse)
    out = gru_layer_backward(*gs[:2], outs[0], outs[2], input, hx, w_ih, w_hh, sizes, reverse, needs)
    return only(out, needs)


@op(name="_gru_layer_backward", kernel="gru_layer_backward", **inner, meta="data")
def gru_layer_backward(xp, g_out: Tensor | None, g_h: Tensor | None, out: Tensor, kept: Tensor, input: Tensor,
                       hx: Tensor, w_ih: Tensor, w_hh: Tensor, sizes: tuple, reverse: bool, needs: tuple):
    width, steps, h = hx.shape[1], steps_of(sizes, reverse), begun(xp, hx, g_h)
    previous = before(xp, out, hx, steps)
    gates, to_n = gru_loop_back(xp, g_out, h, kept, previous, w_hh, steps)
    of_input = gates.copy()
    of_input[:, 2 * width:] = to_n
    return (of_input @ w_ih if needs[0] else input[:0], h,
            *weight_grads(xp, of_input, gates, input, previous, needs[2:]))


def gru_loop_back(xp, g_out, h, kept, previous, w_hh, steps):
    """The gradients of the h part of the gates, and of the x part of n; h becomes that of the first state."""
    width = h.shape[1]
    r, z, n, h_n = (kept[:, k * width:(k + 1) * width] for k in range(4))
    to_n = (1 - z) * (1 - n * n)                        # what a gradient of h is multiplied by, for every gate
    gates = xp.empty((len(kept), 3 * width), dtype=kept.dtype)
    gates[:, :width] = to_n * h_n * r * (1 - r)
    gates[:, width:2 * width] = (previous - n) * z * (1 - z)
    gates[:, 2 * width:] = to_n * r
    by_gate = gates.reshape(-1, 3, width)
    for first, size in steps[::-1]:
        rows = h[:size]
        if g_out is not None:
            rows += g_out[first:first + size]
        by_gate[first:first + size] *= rows[:, None]
        to_n[first:first + size] *= rows
        rows *= z[first:first + size]
        rows += gates[first:first + size] @ w_hh
    return gates, to_n


gru_layer_backward.rule(**dict.fromkeys(("g_out", "g_h", "out", "kept", "input", "hx", "w_ih", "w_hh"), constant))


# --- LSTM: c' = σ(f) * c + σ(i) * tanh(g), h = σ(o) * tanh(c'), or a projection of that --------------------------
def lstm_check(input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, sizes) -> None:
    sequence_check("lstm", (input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr), sizes)


def lstm_samples(t):
    def one(sizes, reverse, bias=True, project=0):
        return t.args(t(sum(sizes), 2), t(sizes[0], project or 3), t(sizes[0], 3), t(12, 2), t(12, project or 3),
                      *(t(12), t(12)) if bias else (None, None), t(project, 3) if project else None, sizes, reverse)
    return [one((2, 2, 2), False), one((3, 1), True), one((2, 1, 1), False, bias=False), one((2, 2), False, project=2)]


def lstm_results(input, hx, cx) -> list:
    rows, kind, width = input.shape[0], input.dtype, cx.shape[1]
    return [((rows, hx.shape[1]), kind), (hx.shape, kind), (cx.shape, kind), ((rows, 4 * width), kind),
            ((rows, width), kind)]


@op(name="_lstm_layer", kernel="lstm_layer", node="LstmLayerBackward0", **inner, check=lstm_check, samples=lstm_samples,
    differentiable=(0, 1, 2), meta=lstm_results)
def lstm_layer(xp, input: Tensor, hx: Tensor, cx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None,
               b_hh: Tensor | None, w_hr: Tensor | None, sizes: tuple, reverse: bool):
    width, h, c = cx.shape[1], hx.copy(), cx.copy()
    gates, bias = input @ w_ih.T, both(b_ih, b_hh)
    out = xp.empty((input.shape[0], hx.shape[1]), dtype=input.dtype)
    cells = xp.empty((input.shape[0], width), dtype=input.dtype)
    if bias is not None:
        gates += bias
    with xp.errstate(over="ignore"):
        for first, size in steps_of(sizes, reverse):
            rows, cell = gates[first:first + size], c[:size]
            rows += h[:size] @ w_hh.T
            i, f, g, o = (rows[:, k * width:(k + 1) * width] for k in range(4))
            sigmoid_(xp, rows[:, :2 * width])
            xp.tanh(g, out=g)
            sigmoid_(xp, o)
            cell *= f
            cell += i * g
            cells[first:first + size] = cell
            new = xp.tanh(cell)
            new *= o
            h[:size] = new if w_hr is None else new @ w_hr.T
            out[first:first + size] = h[:size]
    return out, h, c, gates, cells


def lstm_steps(input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, sizes, reverse):
    "The same by tensor operations."
    def step(x, h, c):
        i, f, g, o = (linear(x, w_ih, b_ih) + linear(h, w_hh, b_hh)).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        return h if w_hr is None else h @ w_hr.t(), c
    return stepwise(step, input, (hx, cx), sizes, reverse)


@lstm_layer.rules
def lstm_layer_grads(gs, outs, input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, sizes, reverse, needs):
    if differentiated():
        return gradients_again(lstm_steps, (input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr), needs, gs, sizes, reverse)
    out = lstm_layer_backward(*gs[:3], outs[0], *outs[3:], input, hx, cx, w_ih, w_hh, w_hr, sizes, reverse, needs)
    return only(out, needs)


@op(name="_lstm_layer_backward", kernel="lstm_layer_backward", **inner, meta="data")
def lstm_layer_backward(xp, g_out: Tensor | None, g_h: Tensor | None, g_c: Tensor | None, out: Tensor, gates: Tensor,
                        cells: Tensor, input: Tensor, hx: Tensor, cx: Tensor, w_ih: Tensor, w_hh: Tensor,
                        w_hr: Tensor | None, sizes: tuple, reverse: bool, needs: tuple):
    steps, h, c = steps_of(sizes, reverse), begun(xp, hx, g_h), begun(xp, cx, g_c)
    of_out = None if w_hr is None else xp.empty_like(out)
    result = lstm_loop_back(xp, g_out, h, c, gates, cells, before(xp, cells, cx, steps), w_hh, w_hr, of_out, steps)
    previous = before(xp, out, hx, steps) if needs[4] else None
    return (result @ w_ih if needs[0] else input[:0], h, c,
            *weight_grads(xp, result, result, input, previous, needs[3:7]),
            of_out.T @ (gates[:, 3 * cx.shape[1]:] * xp.tanh(cells)) if needs[7] else input[:0])


def lstm_loop_back(xp, g_out, h, c, gates, cells, previous, w_hh, w_hr, of_out, steps):
    """The gradient of the gates; h and c become those of the first states, of_out that of the projected outputs."""
    width = c.shape[1]
    i, f, g, o = (gates[:, k * width:(k + 1) * width] for k in range(4))
    curved = xp.tanh(cells)
    out = xp.empty_like(gates)             # first what a gradient of c or h is multiplied by, then the gradient itself
    out[:, :width] = g * i * (1 - i)
    out[:, width:2 * width] = previous * f * (1 - f)
    out[:, 2 * width:3 * width] = i * (1 - g * g)
    out[:, 3 * width:] = curved * o * (1 - o)
    to_c = o * (1 - curved * curved)
    by_gate = out.reshape(-1, 4, width)
    for first, size in steps[::-1]:
        rows, cell = h[:size], c[:size]
        if g_out is not None:
            rows += g_out[first:first + size]
        if of_out is not None:
            of_out[first:first + size] = rows
        of_new = rows if w_hr is None else rows @ w_hr
        cell += to_c[first:first + size] * of_new
        by_gate[first:first + size, :3] *= cell[:, None]
        by_gate[first:first + size, 3] *= of_new
        cell *= f[first:first + size]
        h[:size] = out[first:first + size] @ w_hh
    return out


lstm_layer_backward.rule(**dict.fromkeys(("g_out", "g_h", "g_c", "out", "gates", "cells", "input", "hx", "cx", "w_ih",
                                          "w_hh", "w_hr"), constant))
