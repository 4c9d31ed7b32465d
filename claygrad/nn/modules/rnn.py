"""Recurrent layers over whole sequences: RNN, LSTM and GRU."""
from __future__ import annotations

import math
from numbers import Number
from typing import TYPE_CHECKING, Any

from claygrad.core.user_warnings import warn
from claygrad.nn import init
from claygrad.nn.modules.module import Module
from claygrad.nn.modules.rnn_cell import GRUCell, LSTMCell, RNNCell, RNNCellBase
from claygrad.nn.modules.utils import new_parameter
from claygrad.nn.utils.rnn import PackedSequence
from claygrad.ops.fill import zeros
from claygrad.ops.recurrent_sequence import gru_one, lstm_one, packed, padded, rnn_relu_one, rnn_tanh_one

if TYPE_CHECKING:
    from collections.abc import Callable

    from claygrad.core import Tensor
    from claygrad.nn.parameter import Parameter

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

_LAYERS = {"RNN_TANH": rnn_tanh_one, "RNN_RELU": rnn_relu_one, "LSTM": lstm_one, "GRU": gru_one}
_GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "LSTM": 4, "GRU": 3}


class RNNBase(Module):
    """The base of RNN, GRU and LSTM: parameters of all layers and directions, and the checks of the inputs."""

    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
                 device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._check_arguments(dropout)
        self._flat_weights_names: list[str] = []
        self._all_weights: list[list[str]] = []
        gates, out = _GATES[mode] * hidden_size, proj_size or hidden_size
        directions = ("", "_reverse") if bidirectional else ("",)
        for layer in range(num_layers):
            width = out * len(directions) if layer else input_size
            shapes: dict[str, Any] = {"weight_ih": (gates, width), "weight_hh": (gates, out)}
            if bias:
                shapes |= {"bias_ih": gates, "bias_hh": gates}
            if proj_size:
                shapes["weight_hr"] = (proj_size, hidden_size)
            for suffix in directions:
                names = [f"{name}_l{layer}{suffix}" for name in shapes]
                for name, shape in zip(names, shapes.values()):
                    setattr(self, name, new_parameter(shape, device, dtype))
                self._flat_weights_names += names
                self._all_weights.append(names)
        self.reset_parameters()

    def _check_arguments(self, dropout: Any) -> None:
        if not isinstance(dropout, Number) or not 0 <= self.dropout <= 1 or isinstance(dropout, bool):
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element "
                             "being zeroed")
        if self.dropout > 0 and self.num_layers == 1:
            warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                 f"num_layers greater than 1, but got dropout={dropout} and num_layers={self.num_layers}")
        for name, kind in (("bias", bool), ("batch_first", bool), ("input_size", int), ("hidden_size", int)):
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
            if kind is int and value <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + self.mode)

    # Parameters: by name, and as the list that the functions take

    @property
    def _flat_weights(self) -> list[Any]:
        own = self._parameters
        return [own[name] if name in own else getattr(self, name, None) for name in self._flat_weights_names]

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_flat_weights": self._flat_weights}      # torch reads them from pickles

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({name: value for name, value in state.items() if name != "_flat_weights"})

    def flatten_parameters(self) -> None:
        """Does nothing; in PyTorch it concerns the memory of GPUs."""

    def reset_parameters(self) -> None:
        """Initialize all parameters again, uniformly between -k and k, k = 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def extra_repr(self) -> str:
        said = f"{self.input_size}, {self.hidden_size}"
        for name, usual in (("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False),
                            ("dropout", 0), ("bidirectional", False)):
            if getattr(self, name) != usual:
                said += f", {name}={getattr(self, name)}"
        return said

    # What comes in

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise an error for an input of another dtype, number of axes or size."""
        own = getattr(self, self._flat_weights_names[0]).dtype
        if input.dtype != own:
            raise ValueError(f"RNN input dtype ({input.dtype}) does not match weight dtype ({own}). Convert input: "
                             f"input.to({own}), or convert model: model.to({input.dtype})")
        rank = 3 if batch_sizes is None else 2
        if input.dim() != rank:
            raise RuntimeError(f"input must have {rank} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                               f"{input.size(-1)}")

    def _state_size(self, input: Tensor, batch_sizes: Tensor | None, width: int) -> tuple[int, int, int]:
        batch = int(batch_sizes[0]) if batch_sizes is not None else input.size(0 if self.batch_first else 1)
        return self.num_layers * (2 if self.bidirectional else 1), batch, width

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of h for this input."""
        return self._state_size(input, batch_sizes, self.proj_size or self.hidden_size)

    def check_hidden_size(self, hx: Tensor, expected_hidden_size: tuple[int, int, int],
                          msg: str = "Expected hidden size {}, got {}") -> None:
        """Raise an error for a state of another shape."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise an error for inputs and states whose shapes do not match."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The state with its sequences permuted."""
        return hx if permutation is None else hx.index_select(1, permutation)

    # Running. A state is one tensor here, and a pair in LSTM

    def _zero_state(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        return zeros(self.get_expected_hidden_size(input, batch_sizes), dtype=input.dtype, device=input.device)

    def _batched_state(self, hx: Any, batched: bool) -> Any:
        rank, word = (3, "batched") if batched else (2, "unbatched")
        if hx.dim() != rank:
            raise RuntimeError(f"For {word} {rank}-D input, hx should also be {rank}-D but got {hx.dim()}-D tensor")
        return hx if batched else hx.unsqueeze(1)

    def _unbatched_state(self, hx: Any) -> Any:
        return hx.squeeze(1)

    def _ended(self, states: tuple[Tensor, ...]) -> Any:
        return states[0]

    def _run(self, form: Callable, *input: Any, hx: Any, last: tuple[Any, ...]) -> tuple[Tensor, Any]:
        states = tuple(hx) if self.mode == "LSTM" else (hx,)
        output, *ends = form(_LAYERS[self.mode], *input, states, self._flat_weights, self.bias, self.num_layers,
                             self.dropout, self.training, self.bidirectional, *last)
        return output, self._ended(tuple(ends))

    def _forward_packed(self, input: PackedSequence, hx: Any) -> tuple[PackedSequence, Any]:
        data, batch_sizes, order, back = input
        hx = self._zero_state(data, batch_sizes) if hx is None else self.permute_hidden(hx, order)
        self.check_forward_args(data, hx, batch_sizes)
        output, hidden = self._run(packed, data, batch_sizes, hx=hx, last=())
        return PackedSequence(output, batch_sizes, order, back), self.permute_hidden(hidden, back)

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.dim() not in (2, 3):
            name = type(self).__name__ if self.mode in ("LSTM", "GRU") else "RNN"
            kind = " tensor" if name == "RNN" else ""
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}D{kind} instead")
        batched, axis = input.dim() == 3, 0 if self.batch_first else 1
        if not batched:
            input = input.unsqueeze(axis)
        hx = self._zero_state(input, None) if hx is None else self._batched_state(hx, batched)
        self.check_forward_args(input, hx, None)
        output, hidden = self._run(padded, input, hx=hx, last=(self.batch_first,))
        return (output, hidden) if batched else (output.squeeze(axis), self._unbatched_state(hidden))


def _no_projection(kwargs: dict[str, Any]) -> None:
    if "proj_size" in kwargs:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(RNNBase):
    """A recurrent network over sequences: h' = tanh(w_ih x + b_ih + w_hh h + b_hh), or relu in place of tanh.

    RNN(input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False, dropout=0.0,
    bidirectional=False, device=None, dtype=None)

    Inputs have the shape (L, N, E), with `batch_first` (N, L, E), without a batch (L, E); or they are a PackedSequence.
    Returns the outputs of the last layer at all steps, and the last state of every layer and direction. `dropout`
    applies between layers.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _no_projection(kwargs)
        if len(args) > 3:
            nonlinearity, args = args[3], args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__("RNN_" + nonlinearity.upper(), *args, **kwargs)
        self.nonlinearity = nonlinearity


class GRU(RNNBase):
    """A network of gated recurrent units over sequences: h' = (1 - z) * n + z * h.

    GRU(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
    device=None, dtype=None)

    The gates are r = σ(w_ir x + b_ir + w_hr h + b_hr), z likewise, and n = tanh(w_in x + b_in + r * (w_hn h + b_hn)).
    Inputs and results are those of RNN.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _no_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)


class LSTM(RNNBase):
    """A long short-term memory network over sequences: c' = σ(f) * c + σ(i) * tanh(g), h' = σ(o) * tanh(c').

    LSTM(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
    proj_size=0, device=None, dtype=None)

    Each of i, f, g and o is w_i x + b_i + w_h h + b_h with weights of its own. Inputs are those of RNN. Returns the
    outputs of the last layer at all steps, and the last (h, c) of every layer and direction. With `proj_size`, h is
    projected to that size.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of c for this input."""
        return self._state_size(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Tensor, hidden: tuple[Tensor, Tensor], batch_sizes: Tensor | None) -> None:
        """Raise an error for inputs and states whose shapes do not match."""
        self.check_input(input, batch_sizes)
        for k, expected in enumerate((self.get_expected_hidden_size, self.get_expected_cell_size)):
            self.check_hidden_size(hidden[k], expected(input, batch_sizes), f"Expected hidden[{k}] size {{}}, got {{}}")

    def permute_hidden(self, hx: tuple[Tensor, Tensor], permutation: Tensor | None) -> tuple[Tensor, Tensor]:
        """Both states with their sequences permuted."""
        return hx if permutation is None else (hx[0].index_select(1, permutation), hx[1].index_select(1, permutation))

    def _zero_state(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[Tensor, Tensor]:
        h = super()._zero_state(input, batch_sizes)
        if not self.proj_size:                       # nobody sees that both are the same zeros
            return h, h
        return h, zeros(self.get_expected_cell_size(input, batch_sizes), dtype=input.dtype, device=input.device)

    def _batched_state(self, hx: tuple[Tensor, Tensor], batched: bool) -> tuple[Tensor, Tensor]:
        rank, word = (3, "batched") if batched else (2, "unbatched")
        if hx[0].dim() != rank or hx[1].dim() != rank:
            raise RuntimeError(f"For {word} {rank}-D input, hx and cx should also be {rank}-D but got "
                               f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors")
        return (hx[0], hx[1]) if batched else (hx[0].unsqueeze(1), hx[1].unsqueeze(1))

    def _unbatched_state(self, hx: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        return hx[0].squeeze(1), hx[1].squeeze(1)

    def _ended(self, states: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return states
