"""Softmax over very many classes, rare ones in clusters."""
from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from claygrad.nn import functional as F
from claygrad.nn.modules.container import ModuleList, Sequential
from claygrad.nn.modules.linear import Linear
from claygrad.nn.modules.module import Module

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claygrad.core import Tensor

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    output: Any
    loss: Any


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of classes sorted by frequency, and their mean loss.

    The head scores the classes below `cutoffs[0]` and one entry for each cluster between two cutoffs; a cluster's own
    classes are scored by a map through fewer features, `div_value` times fewer with every cluster.
    """

    def __init__(self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0,
                 head_bias: bool = False, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        rising = all(low < high for low, high in pairwise(cutoffs))
        whole = all(int(cutoff) == cutoff for cutoff in cutoffs)
        if not rising or not whole or min(cutoffs) <= 0 or max(cutoffs) > n_classes - 1:
            raise ValueError("cutoffs should be a sequence of unique, positive integers sorted in an increasing "
                             "order, where each value is between 1 and n_classes-1")
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, device=device, dtype=dtype)
        self.tail = ModuleList()
        for number, (low, high) in enumerate(pairwise(self.cutoffs), 1):
            hidden = int(in_features // div_value ** number)
            self.tail.append(Sequential(Linear(in_features, hidden, bias=False, device=device, dtype=dtype),
                                        Linear(hidden, high - low, bias=False, device=device, dtype=dtype)))

    def reset_parameters(self) -> None:
        """Draws all maps anew."""
        self.head.reset_parameters()
        for maps in self.tail:
            for linear in maps:
                linear.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        _check_shapes(input_, target_)
        batched = target_.dim() > 0
        input = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)
        output = input.new_zeros(target.size(0))
        entry = target.new_empty(target.size(0))            # of the head: the class itself or its cluster
        seen = 0
        for number, (low, high) in enumerate(pairwise([0, *self.cutoffs])):
            rows = ((target >= low) & (target < high)).nonzero().flatten()
            seen += rows.numel()
            if rows.numel() == 0:
                continue
            wanted = target.index_select(0, rows)
            if number == 0:
                entry.index_copy_(0, rows, wanted)
                continue
            entry.index_fill_(0, rows, self.shortlist_size + number - 1)
            scores = F.log_softmax(self.tail[number - 1](input.index_select(0, rows)), dim=1)
            output.index_copy_(0, rows, scores.gather(1, (wanted - low).unsqueeze(1)).squeeze(1))
        if seen != target.size(0):
            raise RuntimeError(f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                               f"[{target.min().item()}, {target.max().item()}] were found. ")
        head = F.log_softmax(self.head(input), dim=1)
        output = output + head.gather(1, entry.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _all_log_probs(self, input: Tensor, head_output: Tensor) -> Tensor:
        out = input.new_empty((head_output.size(0), self.n_classes))
        head = F.log_softmax(head_output, dim=1)
        out[:, :self.shortlist_size] = head[:, :self.shortlist_size]
        for number, (low, high) in enumerate(pairwise(self.cutoffs)):
            inside = F.log_softmax(self.tail[number](input), dim=1)
            out[:, low:high] = inside + head[:, self.shortlist_size + number].unsqueeze(1)
        return out

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probability of every class, (N, n_classes)."""
        return self._all_log_probs(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of every row; clusters are looked into only where the head points at one."""
        head_output = self.head(input)
        output = head_output.argmax(dim=1)
        inside = output >= self.shortlist_size
        if not inside.any():
            return output
        if inside.all():
            return self._all_log_probs(input, head_output).argmax(dim=1)
        output[inside] = self._all_log_probs(input[inside], head_output[inside]).argmax(dim=1)
        return output


def _check_shapes(input: Tensor, target: Tensor) -> None:
    if target.dim() > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if target.dim() == 1 and input.size(0) != target.size(0):
        raise RuntimeError("Input and target should have the same size in the batch dimension.")
    if input.dim() != target.dim() + 1:
        raise RuntimeError(f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, but found "
                           f"inputs with size {input.size()}")
