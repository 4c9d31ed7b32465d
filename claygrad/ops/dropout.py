"""Dropout: elements set to zero at random, the others scaled so that the mean stays."""
from __future__ import annotations

from claygrad.core import Tensor
from claygrad.ops._drawing import empty_like, wrong
from claygrad.ops._registry import composite
from claygrad.ops.random_fill import bernoulli_

_RANGE = "dropout probability has to be between 0 and 1, but got {}"


def _dropped(input: Tensor, p: float, inplace: bool) -> Tensor:
    """The mask is drawn in the order of the input's memory."""
    if p == 0 or not input.numel():
        return input
    if p == 1:
        nothing = input.new_zeros(())
        return input.mul_(nothing) if inplace else input * nothing
    mask = bernoulli_(empty_like(input), 1 - p).div_(1 - p)
    return input.mul_(mask) if inplace else input * mask


# The cases that no chance enters; masks are compared with PyTorch's in tests/oracle/test_random_streams.py.
@composite(method=False, raw=True, namespace="nn.functional",
           samples=lambda t: [t.args(t(3, 4), 0.0), t.args(t(3, 4), 1.0), t.args(t(3, 4), 0.5, False)])
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Each element is zero with probability p while training, the others are scaled by 1 / (1 - p).

    The same seed gives the masks that PyTorch draws on the CPU.
    """
    if not 0 <= p <= 1:
        raise ValueError(_RANGE.format(p))
    if not isinstance(input, Tensor):
        raise wrong("dropout", "input", 1, "Tensor", input)
    return _dropped(input, p, inplace) if training else input


@composite(method=False, name="dropout",
           samples=lambda t: [t.args(t(3, 4), 0.0, True), t.args(t(3, 4), 1.0, True), t.args(t(3, 4), 0.5, False)])
def dropout_if(input: Tensor, p: float, train: bool) -> Tensor:
    "As `nn.functional.dropout`, with all its arguments said."
    if not 0 <= p <= 1:
        raise RuntimeError(_RANGE.format(p))
    return _dropped(input, p, False) if train else input


@composite(method=False, name="dropout_",
           samples=lambda t: [t.args(t(3, 4, requires_grad=False), 0.5, False)])
def dropout_if_(input: Tensor, p: float, train: bool) -> Tensor:
    "As `dropout`, in place."
    if not 0 <= p <= 1:
        raise RuntimeError(_RANGE.format(p))
    return _dropped(input, p, True) if train else input
