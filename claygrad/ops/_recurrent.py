"""What recurrent layers share: steps over rows of data, and the tensor form of each cell.

The data of all steps lie one after the other, one row for each sequence that is still running, longest first: a
packed sequence, of which a padded one is the case that all run to the end. A step is (first row, number of rows).
A state has one row for each sequence; a step changes the rows that run.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad.core.graph.engine import run_backward
from claygrad.ops.join import cat

if TYPE_CHECKING:
    from collections.abc import Callable

    from claygrad.core import Tensor


def steps_of(sizes: tuple[int, ...], reverse: bool) -> list[tuple[int, int]]:
    """The steps in the order they are taken."""
    steps, start = [], 0
    for size in sizes:
        steps.append((start, size))
        start += size
    return steps[::-1] if reverse else steps


def sequence_check(name: str, tensors: tuple[Tensor | None, ...], sizes: tuple[int, ...]) -> None:
    """All of one floating dtype; as many rows as the steps have."""
    input = tensors[0]
    if not input.dtype.is_floating_point:
        raise RuntimeError(f"{name}: expected a floating point input, but got {input.dtype.legacy}")
    for other in tensors[1:]:
        if other is not None and other.dtype is not input.dtype:
            raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {input.dtype.legacy} and "
                               f"{other.dtype.legacy}")
    rows = tensors[1].shape[0]
    if sizes.count(rows) == len(sizes) and rows * len(sizes) == input.shape[0]:     # padded: nothing more to see
        return
    running = [rows, *sizes]
    if sum(sizes) != input.shape[0] or running != sorted(running, reverse=True):
        raise RuntimeError(f"{name}: batch_sizes must not rise and must sum to the rows of the input, but got "
                           f"{list(sizes)} for {input.shape[0]} rows of {rows} sequences")


# --- on arrays ---------------------------------------------------------------------------------------------------
def before(xp, after, start, steps: list[tuple[int, int]]):
    """The rows of a state before each step, given those after it and the state at the start."""
    if len({size for _, size in steps}) == 1 and steps[0] == (0, len(start)):       # padded: the rows one step earlier
        return xp.concatenate([start, after[:-steps[0][1]]])
    out = xp.empty_like(after)
    at, rows = None, 0
    for first, size in steps:
        kept = min(rows, size)
        if kept:
            out[first:first + kept] = after[at:at + kept]
        if kept < size:
            out[first + kept:first + size] = start[kept:size]
        at, rows = first, size
    return out


def sigmoid_(xp, x):
    """1 / (1 + exp(-x)), written into x; far below zero exp overflows to the inf that 0 comes from."""
    x *= -1             # NumPy 2.4's negative is wrong in place on some columns
    xp.exp(x, out=x)
    x += 1
    return xp.reciprocal(x, out=x)


def both(first, second):
    """The sum of two biases, or None."""
    return first if second is None else second if first is None else first + second


# --- on tensors --------------------------------------------------------------------------------------------------
def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    out = x @ weight.t()
    return out if bias is None else out + bias


def stepwise(step: Callable, input: Tensor, states: tuple[Tensor, ...], sizes: tuple[int, ...],
             reverse: bool) -> tuple[Tensor, ...]:
    """The outputs of all steps and the last states, by tensor operations that autograd can follow twice."""
    outputs: dict[int, Tensor] = {}
    for first, size in steps_of(sizes, reverse):
        out = step(input[first:first + size], *(state[:size] for state in states))
        outputs[first] = out[0]
        states = tuple(new if size == old.shape[0] else cat([new, old[size:]]) for new, old in zip(out, states))
    return cat([outputs[first] for first in sorted(outputs)]), *states


def gradients_again(forward: Callable, tensors: tuple[Tensor | None, ...], needs: tuple[bool, ...],
                    gs: tuple[Tensor | None, ...], *options: Any) -> tuple[Tensor | None, ...]:
    """Gradients that can be differentiated: the forward is recorded anew and its gradients are taken with a graph.

    Views stand for the tensors, since one tensor may be given twice, and each time has a gradient of its own.
    """
    inputs = tuple(x if x is None else x.view(x.shape) for x in tensors)
    outs = forward(*inputs, *options)
    roots = [(out, g) for out, g in zip(outs, gs) if g is not None and out.requires_grad]
    needs = tuple(need and x is not None and x.requires_grad for x, need in zip(inputs, needs))     # or detached since
    wanted = [x for x, need in zip(inputs, needs) if need]
    if not roots or not wanted:
        return (None,) * len(needs)
    found = iter(run_backward(tuple(out for out, _ in roots), [g for _, g in roots], True, True, wanted, True, False))
    return tuple(next(found) if need else None for need in needs)
