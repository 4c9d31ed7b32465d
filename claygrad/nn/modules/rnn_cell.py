"""Recurrent cells: one step of RNN, LSTM or GRU."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from claygrad.nn import init
from claygrad.nn.modules.module import Module
from claygrad.nn.modules.utils import new_parameter
from claygrad.ops.fill import zeros
from claygrad.ops.recurrent_cell import gru_cell, lstm_cell, rnn_relu_cell, rnn_tanh_cell

if TYPE_CHECKING:
    from claygrad.core import Tensor

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]


class RNNCellBase(Module):
    """The base of recurrent cells: the parameters of `num_chunks` gates. Inputs are (N, E) or (E)."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        gates = num_chunks * hidden_size
        self.weight_ih = new_parameter((gates, input_size), device, dtype)
        self.weight_hh = new_parameter((gates, hidden_size), device, dtype)
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, new_parameter(gates, device, dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize all parameters again, uniformly between -k and k, k = 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        said = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            said += f", bias={self.bias}"
        return said

    def _check(self, word: str, value: Tensor) -> None:
        if value.dim() not in (1, 2):
            raise ValueError(f"{type(self).__name__}: Expected {word} to be 1D or 2D, got {value.dim()}D instead")

    def _start(self, input: Tensor) -> Tensor:
        return zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)

    def _parameters_in_order(self) -> tuple[Any, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _step(self, cell: Any, input: Tensor, hx: Tensor | None) -> Tensor:
        """One step of a cell with one state, with a batch of one where there is none."""
        self._check("input", input)
        if hx is not None:
            self._check("hidden", hx)
        if input.dim() == 2:
            return cell(input, self._start(input) if hx is None else hx, *self._parameters_in_order())
        input = input.unsqueeze(0)
        hx = self._start(input) if hx is None else hx.unsqueeze(0)
        return cell(input, hx, *self._parameters_in_order()).squeeze(0)


class RNNCell(RNNCellBase):
    """One step of an RNN: h' = tanh(w_ih x + b_ih + w_hh h + b_hh), or relu in place of tanh."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
                 device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(rnn_tanh_cell if self.nonlinearity == "tanh" else rnn_relu_cell, input, hx)

    def extra_repr(self) -> str:
        said = super().extra_repr()
        return said if self.nonlinearity == "tanh" else f"{said}, nonlinearity={self.nonlinearity}"


class LSTMCell(RNNCellBase):
    """One step of an LSTM: c' = σ(f) * c + σ(i) * tanh(g), h' = σ(o) * tanh(c'). Returns (h', c')."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        self._check("input", input)
        for k, state in enumerate(hx or ()):
            self._check(f"hx[{k}]", state)
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            start = self._start(input)
            hx = start, start
        elif not batched:
            hx = hx[0].unsqueeze(0), hx[1].unsqueeze(0)
        h, c = lstm_cell(input, hx, *self._parameters_in_order())
        return (h, c) if batched else (h.squeeze(0), c.squeeze(0))


class GRUCell(RNNCellBase):
    """One step of a GRU: h' = (1 - z) * n + z * h, with gates r, z and n as in GRU."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(gru_cell, input, hx)
