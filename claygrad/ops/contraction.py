"""Tensor contractions: einsum, tensordot and the Kronecker product."""
from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from claygrad.core import Tensor as TensorType
from claygrad.native import einsum as native
from claygrad.ops._geometry import axis as axis_of
from claygrad.ops._geometry import product
from claygrad.ops._out import TENSORDOT
from claygrad.ops._registry import composite
from claygrad.ops.matmul import reshaped
from claygrad.ops.view import check_tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claygrad.core import Tensor

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


# Einstein's summation

def read(equation: str, at: int, where: str) -> list[str]:
    """The labels of one operand: letters, and "..." at most once. `at` is where it starts in the whole equation."""
    labels, i = [], 0
    while i < len(equation):
        letter = equation[i]
        if letter == ".":
            if equation[i:i + 3] != "..." or "..." in labels:
                raise RuntimeError(f"einsum(): found '.' for {where} that is not part of any ellipsis"
                                   if equation[i:i + 3] != "..." else
                                   f"einsum(): found '.' for {where} for which an ellipsis was already found")
            labels.append("...")
            i += 2
        elif letter in LETTERS:
            labels.append(letter)
        elif letter != " ":
            raise RuntimeError(f"einsum(): invalid subscript given at index {at + i} in the equation string, "
                               "subscripts must be in [a-zA-Z]")
        i += 1
    return labels


def parsed(equation: str, count: int) -> tuple[list[list[str]], list[str] | None]:
    """The labels of every operand and of the result (None: not given)."""
    left, arrow, right = equation.partition("->")
    inputs, at = [], 0
    for i, part in enumerate(left.split(",")):
        inputs.append(read(part, at, f"operand {i}"))
        at += len(part) + 1
    if len(inputs) != count:
        raise RuntimeError(f"einsum(): {'fewer' if count < len(inputs) else 'more'} operands were provided than "
                           "specified in the equation")
    return inputs, read(right, len(left) + 2, "the output") if arrow else None


def spelled(arguments: Sequence) -> tuple[list[Tensor], list[list[str]], list[str] | None]:
    """Operands and labels of the form einsum(a, [0, 1], b, [1, 2], [0, 2])."""
    def letters(numbers: Sequence) -> list[str]:
        return ["..." if n is Ellipsis else LETTERS[n] for n in numbers]

    output = letters(arguments[-1]) if len(arguments) % 2 else None
    pairs = arguments[:len(arguments) - len(arguments) % 2]
    return list(pairs[::2]), [letters(labels) for labels in pairs[1::2]], output


def named(inputs: list[list[str]], ranks: tuple[int, ...]) -> tuple[list[list[str]], list[str]]:
    """The labels with every "..." replaced by names of its axes, and those names."""
    lengths = []
    for i, (labels, rank) in enumerate(zip(inputs, ranks)):
        given = len(labels) - ("..." in labels)
        lengths.append(rank - given)
        if lengths[-1] < 0 or (lengths[-1] and "..." not in labels):
            words = "is more than" if "..." in labels else "does not match"
            tail = "" if "..." in labels else " and no ellipsis was given"
            raise RuntimeError(f"einsum(): the number of subscripts in the equation ({given}) {words} the number of "
                               f"dimensions ({rank}) for operand {i}{tail}")
    names = [f".{k}" for k in range(max(lengths, default=0), 0, -1)]        # axes of ellipses align at their ends
    out = []
    for labels, n in zip(inputs, lengths):
        own = names[len(names) - n:] if n else []
        out.append([name for label in labels for name in (own if label == "..." else [label])])
    return out, names


def diagonals(operand: Tensor, labels: list[str], number: int) -> tuple[Tensor, list[str]]:
    """A label that occurs twice in one operand stands for its diagonal."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if operand.shape[first] != operand.shape[second]:
                raise RuntimeError(f"einsum(): subscript {label} is repeated for operand {number} but the sizes don't "
                                   f"match, {operand.shape[second]} != {operand.shape[first]}")
            operand = operand.diagonal(0, first, second)
            labels = [other for k, other in enumerate(labels) if k not in (first, second)] + [label]
    return operand, labels


def check_sizes(inputs: list[list[str]], operands: list[Tensor]) -> None:
    sizes: dict[str, int] = {}
    for i, (labels, operand) in enumerate(zip(inputs, operands)):
        for label, size in zip(labels, operand.shape):
            seen = sizes.get(label, 1)
            if size != 1 and seen != 1 and size != seen and label[0] == ".":
                raise RuntimeError(f"einsum(): dimension {labels.index(label)} covered by ellipsis in operand {i}has "
                                   f"size {size} which does not broadcast with previously seen ellipsis with size "
                                   f"{seen} for the respective dimension")
            if size != 1 and seen != 1 and size != seen:
                raise RuntimeError(f"einsum(): subscript {label} has size {size} for operand {i} which does not "
                                   f"broadcast with previously seen size {seen}")
            sizes[label] = max(size, seen) if size and seen else 0


def contracted(a: Tensor, b: Tensor, over: list[int]) -> Tensor:
    """The sum over some axes of a product of two tensors of one rank; the axes stay, with one element."""
    both = [i for i in over if a.shape[i] != 1 and b.shape[i] != 1]
    if alone := [i for i in over if a.shape[i] != 1 and b.shape[i] == 1]:
        a = a.sum(alone, keepdim=True)
    if alone := [i for i in over if b.shape[i] != 1 and a.shape[i] == 1]:
        b = b.sum(alone, keepdim=True)
    if not over:
        return a * b
    rest = [i for i in range(a.ndim) if i not in both]
    shared = [i for i in rest if a.shape[i] != 1 and b.shape[i] != 1]
    left = [i for i in rest if i not in shared and b.shape[i] == 1]
    right = [i for i in rest if i not in shared and i not in left]

    def length(t: Tensor, axes: list[int]) -> int:
        return product(t.shape[i] for i in axes)

    batch, inner = length(a, shared), length(a, both)
    rows = ordered(a, [*shared, *left, *both, *right]).reshape((batch, length(a, left), inner))
    columns = ordered(b, [*shared, *both, *right, *left]).reshape((batch, inner, length(b, right)))
    order = [*shared, *left, *right, *both]
    shape = [a.shape[i] for i in (*shared, *left)] + [b.shape[i] for i in right] + [1] * len(both)
    return ordered(rows.bmm(columns).view(shape), [order.index(i) for i in range(a.ndim)])


def ordered(t: Tensor, order: list[int]) -> Tensor:
    return t if order == list(range(t.ndim)) else t.permute(order)


def one_by_one(equation: str, *operands) -> tuple:
    """The arguments of einsum, operands that came as one list taken out of it, as overrides and traces get them."""
    return (equation, *(operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands))


@composite(method=False, handed=one_by_one,
           samples=lambda t: [t.args("ij,jk->ik", t(2, 3), t(3, 4)), t.args("ii", t(3, 3)), t.args("ij->ji", t(2, 3)),
                              t.args("i,j", t(3), t(4)), t.args("...ij,...jk->...ik", t(2, 2, 3), t(2, 3, 2)),
                              t.args("bn,anm,bm->ba", t(2, 3), t(4, 3, 5), t(2, 5)),
                              t.args("ij,ij->", t(2, 3), t(2, 3))],
           errors=lambda t: [(t.args("ij,jk", t(2, 3), t(2, 3)), RuntimeError,
                              "einsum(): subscript j has size 2 for operand 1 which does not broadcast"),
                             (t.args("ij->ik", t(2, 3)), RuntimeError,
                              "einsum(): output subscript k does not appear in the equation for any input operand")])
def einsum(equation: str, *operands) -> Tensor:
    """Sums of products, written with a letter for each axis: letters not in the result are summed over.

    >>> a, b = claygrad.ones(2, 3), claygrad.ones(3, 4)
    >>> claygrad.einsum("ij,jk->ik", a, b).shape
    claygrad.Size([2, 4])
    """
    out = native.einsum(equation, operands)
    if out is not None:
        return out
    if isinstance(equation, TensorType):
        tensors, labels, output = spelled((equation, *operands))
        inputs, output = completed(labels, output, tuple(tensor.ndim for tensor in tensors))
    elif isinstance(equation, str):
        tensors = list(one_by_one(equation, *operands)[1:])
        if not tensors:
            raise ValueError("einsum(): must provide at least one operand")
        check_tensors(tensors, argument=1)
        inputs, output = understood(equation, tuple(tensor.ndim for tensor in tensors))
    else:
        raise TypeError(f"einsum(): argument 'equation' (position 1) must be str, not {type(equation).__name__}")
    inputs = list(inputs)
    for i, (tensor, labels) in enumerate(zip(tensors, inputs)):
        if len(set(labels)) < len(labels):
            tensors[i], inputs[i] = diagonals(tensor, labels, i)
    check_sizes(inputs, tensors)
    return summed(tensors, inputs, output)


@lru_cache(maxsize=256)
def understood(equation: str, ranks: tuple[int, ...]) -> tuple[list[list[str]], list[str]]:
    """The labels of operands of these ranks and of the result. Kept: a program uses few equations, over and over."""
    return completed(*parsed(equation, len(ranks)), ranks)


def completed(inputs: list[list[str]], output: list[str] | None, ranks: tuple[int, ...]) -> tuple[list, list[str]]:
    inputs, dots = named(inputs, ranks)
    return inputs, results(inputs, output, dots)


def results(inputs: list[list[str]], output: list[str] | None, dots: list[str]) -> list[str]:
    """The labels of the result; without "->": the ellipsis, then all letters that occur once, in alphabetical order."""
    every = [label for labels in inputs for label in labels]
    if output is None:
        return dots + sorted(label for label in every if every.count(label) == 1 and label not in dots)
    for label in output:
        if label != "..." and label not in every:
            raise RuntimeError(f"einsum(): output subscript {label} does not appear in the equation for any input "
                               "operand")
        if output.count(label) > 1:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
    return [name for label in output for name in (dots if label == "..." else [label])]


def summed(tensors: list[Tensor], inputs: list[list[str]], output: list[str]) -> Tensor:
    """All tensors brought to one order of axes, then contracted from left to right."""
    order = output + sorted({label for labels in inputs for label in labels} - set(output))
    for i, (tensor, labels) in enumerate(zip(tensors, inputs)):
        if len(tensors) == 1 or labels != order:
            tensor = tensor.permute([labels.index(label) for label in order if label in labels])
        for axis, label in enumerate(order):
            if label not in labels:
                tensor = tensor.unsqueeze(axis)
        tensors[i] = tensor
    keep, out = len(output), tensors[0]
    if len(tensors) == 1:
        return out.sum(tuple(range(keep, len(order)))) if len(order) > keep else out
    for i, tensor in enumerate(tensors[1:], 1):
        later = {label for labels in inputs[i + 1:] for label in labels}
        out = contracted(out, tensor, [axis for axis in range(keep, len(order)) if order[axis] not in later])
    return out if len(order) == keep else out.view(out.shape[:keep])


# Contraction by numbers

@composite(native="tensordot", method=False, out=TENSORDOT,
           samples=lambda t: [t.args(t(2, 3), t(3, 4), 1), t.args(t(2, 3), t(2, 3)),
                              t.args(t(2, 3, 4), t(4, 5, 2), ([0, 2], [2, 0])), t.args(t(2), t(3), 0)],
           errors=lambda t: [(t.args(t(2, 3), t(3, 4), ([0], [0])), RuntimeError,
                              "contracted dimensions need to match, but first has size 2 in dim 0"),
                             (t.args(t(2, 3), t(3, 4), -1), RuntimeError,
                              "tensordot expects dims >= 0, but got dims=-1")])
def tensordot(a: Tensor, b: Tensor, dims: int | tuple | Tensor = 2) -> Tensor:
    """The sum of products over pairs of axes: the last `dims` of a with the first of b, or those in two lists."""
    if isinstance(dims, TensorType):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims = range(-dims, 0), range(dims)
    of_a, of_b = ([d] if isinstance(d, int) else list(d) for d in dims)
    if len(of_a) != len(of_b):
        raise RuntimeError("both dimension lists should have same length")
    if a.dtype != b.dtype:
        raise RuntimeError("both inputs should have same dtype")
    for i, j in zip(of_a, of_b):
        n, m = a.shape[axis_of(i, a.ndim)], b.shape[axis_of(j, b.ndim)]
        if n != m and n != 1 and m != 1:
            raise RuntimeError(f"contracted dimensions need to match, but first has size {n} in dim {i} and second "
                               f"has size {m} in dim {j}")
        if n != m:                              # one element stands for all
            a, b = (a, b.sum(j, keepdim=True)) if n == 1 else (a.sum(i, keepdim=True), b)
    of_a, of_b = [axis_of(i, a.ndim) for i in of_a], [axis_of(j, b.ndim) for j in of_b]
    left, right = [i for i in range(a.ndim) if i not in of_a], [j for j in range(b.ndim) if j not in of_b]
    inner = product(a.shape[i] for i in of_a)
    rows = a.permute((*left, *of_a)).reshape((product(a.shape[i] for i in left), inner))
    columns = b.permute((*of_b, *right)).reshape((inner, product(b.shape[j] for j in right)))
    return rows.mm(columns).reshape([a.shape[i] for i in left] + [b.shape[j] for j in right])


@composite(native="kron", out=True, samples=lambda t: [t.args(t(2, 3), t(2, 2)), t.args(t(3), t(2)),
                                                      t.args(t(2, 3), t(2)), t.args(t(), t(2))])
def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: every element of `input` times the whole of `other`."""
    n = max(input.ndim, other.ndim)
    a = (1,) * (n - input.ndim) + tuple(input.shape)
    b = (1,) * (n - other.ndim) + tuple(other.shape)
    left = input.reshape([size for length in a for size in (length, 1)])
    right = other.reshape([size for length in b for size in (1, length)])
    return reshaped(left * right, tuple(i * j for i, j in zip(a, b)))
