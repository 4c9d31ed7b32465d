"""Recurrent networks over sequences: several layers, one or two directions, padded or packed."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad.core.python_api import settled
from claygrad.ops._registry import composite
from claygrad.ops.dropout import dropout_if
from claygrad.ops.join import cat, stack
from claygrad.ops.recurrent_layer import gru_layer, gru_steps, lstm_layer, lstm_steps, rnn_layer, rnn_steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from claygrad.core import Tensor

    Layer = Callable[[Tensor, tuple[Tensor, ...], list[Tensor | None], tuple[int, ...], bool], tuple[Tensor, ...]]

# --- one layer in one direction, given states and parameters; the states it ends in follow the outputs -----------


def rnn_tanh_one(x, states, params, sizes, reverse):
    return fused(rnn_layer, rnn_steps, x)(x, *states, *params[:4], sizes, reverse, False)


def rnn_relu_one(x, states, params, sizes, reverse):
    return fused(rnn_layer, rnn_steps, x)(x, *states, *params[:4], sizes, reverse, True)


def gru_one(x, states, params, sizes, reverse):
    return fused(gru_layer, gru_steps, x)(x, *states, *params[:4], sizes, reverse)[:2]


def lstm_one(x, states, params, sizes, reverse):
    return fused(lstm_layer, lstm_steps, x)(x, *states, *params, sizes, reverse)[:3]


def fused(layer: Callable, steps: Callable, x: Tensor) -> Callable:
    """The loop over arrays knows real numbers only."""
    return steps if x.dtype.is_complex else layer


# --- all layers --------------------------------------------------------------------------------------------------
def grouped(params: list[Tensor], has_biases: bool, projects: bool, count: int) -> list[list[Tensor | None]]:
    """Five entries for each layer and direction: two weights, two biases or None, the projection or None."""
    each = 2 + 2 * has_biases + projects
    if len(params) != each * count:
        raise RuntimeError("got an incorrect number of RNN parameters")
    out = []
    for at in range(0, len(params), each):
        own = params[at:at + each]
        out.append([*own[:2], *(own[2:4] if has_biases else (None, None)), own[-1] if projects else None])
    return out


def run(one: Layer, data: Tensor, sizes: tuple[int, ...], states: tuple[Tensor, ...], params: list[Tensor],
        has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool) -> tuple[Tensor, ...]:
    """Outputs of the last layer, row by row, and for each kind of state those of all layers and directions."""
    directions = 2 if bidirectional else 1
    projects = len(states) == 2 and states[0].shape[2] != states[1].shape[2]
    weights = grouped(params, has_biases, projects, num_layers * directions)
    if len(weights) == 1 and states[0].shape[0] == states[-1].shape[0] == 1:    # nothing to take apart and to join
        data, *last = one(data, tuple([state.squeeze(0) for state in states]), weights[0], sizes, False)
        return data, *[state.unsqueeze(0) for state in last]
    starts = [state.unbind(0) for state in states]
    ends: list[list[Tensor]] = [[] for _ in states]
    for layer in range(num_layers):
        outs = []
        for reverse in range(directions):
            k = layer * directions + reverse
            out, *last = one(data, tuple([start[k] for start in starts]), weights[k], sizes, bool(reverse))
            outs.append(out)
            for end, state in zip(ends, last):
                end.append(state)
        data = outs[0] if directions == 1 else cat(outs, 1)
        if dropout and train and layer < num_layers - 1:
            data = dropout_if(data, dropout, True)
    return data, *[stack(end) for end in ends]


def padded(one: Layer, input: Tensor, states: tuple[Tensor, ...], params: list[Tensor], has_biases: bool,
           num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool) -> tuple[Tensor, ...]:
    if batch_first:
        input = input.transpose(0, 1)
    length, batch, width = input.shape
    if length == 0:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    data, *ends = run(one, input.reshape(length * batch, width), (batch,) * length, states, params, has_biases,
                      num_layers, dropout, train, bidirectional)
    output = settled(data.view(length, batch, data.shape[1]), "CatBackward0" if bidirectional else "StackBackward0")
    return output.transpose(0, 1) if batch_first else output, *ends


def packed(one: Layer, data: Tensor, batch_sizes: Tensor, states: tuple[Tensor, ...], *rest: Any) -> tuple[Tensor, ...]:
    return run(one, data, tuple(batch_sizes.tolist()), states, *rest)


def either(one: Layer, name: str, count: int, args: tuple, kwargs: dict[str, Any]) -> tuple[Tensor, ...]:
    """The two forms of the public functions: (input, hx, ..., batch_first) and (data, batch_sizes, hx, ...)."""
    shared = ("params", "has_biases", "num_layers", "dropout", "train", "bidirectional")
    second = args[1] if len(args) > 1 else kwargs.get("hx")
    is_packed = "batch_sizes" in kwargs or (len(args) > 2 and hasattr(second, "dtype")
                                            and not second.dtype.is_floating_point)
    names = ("data", "batch_sizes", "hx", *shared) if is_packed else ("input", "hx", *shared, "batch_first")
    given = dict(zip(names, args)) | kwargs
    if len(args) > len(names) or set(given) != set(names):
        raise TypeError(f"{name}() received an invalid combination of arguments: expected ({', '.join(names)})")
    first, *middle, hx = (given[key] for key in names[:3 if is_packed else 2])
    states = tuple(hx) if count == 2 else (hx,)
    if len(states) != count:
        raise RuntimeError(f"{name} expects two hidden states")
    rest = [given[key] for key in names[3 if is_packed else 2:]]
    return (packed if is_packed else padded)(one, first, *middle, states, *rest)


# --- the public names --------------------------------------------------------------------------------------------
@composite(method=False)
def rnn_tanh(*args, **kwargs) -> tuple[Tensor, ...]:
    "Layers of h' = tanh(w_ih x + b_ih + w_hh h + b_hh): the outputs of the last one, and the last h of each."
    return either(rnn_tanh_one, "rnn_tanh", 1, args, kwargs)


@composite(method=False)
def rnn_relu(*args, **kwargs) -> tuple[Tensor, ...]:
    "Layers of h' = relu(w_ih x + b_ih + w_hh h + b_hh): the outputs of the last one, and the last h of each."
    return either(rnn_relu_one, "rnn_relu", 1, args, kwargs)


@composite(method=False)
def gru(*args, **kwargs) -> tuple[Tensor, ...]:
    "Layers of gated recurrent units: the outputs of the last one, and the last h of each."
    return either(gru_one, "gru", 1, args, kwargs)


@composite(method=False)
def lstm(*args, **kwargs) -> tuple[Tensor, ...]:
    "Layers of long short-term memory: the outputs of the last one, and the last h and c of each."
    return either(lstm_one, "lstm", 2, args, kwargs)
