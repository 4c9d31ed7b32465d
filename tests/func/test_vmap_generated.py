"""Every declared operation under vmap, over its samples: what a loop over the examples gives, stacked.

Values with all tensors mapped over and with each alone; and gradients of several cotangents at once, which run the derivative
rules on batches.
"""
from __future__ import annotations

import warnings
from functools import cache

import pytest

from tests.ops.cases import declared, difference, flat, is_property, is_tensor, only_in_place, ours, samples
from tests.ops.factory import Build, Call

import claygrad  # isort: skip
from claygrad.utils.pytree import tree_flatten, tree_unflatten  # isort: skip

SAID = declared()
SIZE = 3
# Their result has no shape that is known before the values are, or is no tensor: as in PyTorch, they are refused.
REFUSED = ("vmap: We do not support batching operators that can output dynamic shape", "vmap: called random operation",
           "Vmap does not currently support same randomness", "one_hot: a class count",
           "Cannot access data pointer", "vmap: Cannot ask for different inplace randomness", "vmap: aten::")

# A gradient has the shape of what it is for, whatever the operation reads.
REFUSED_OF_GRADIENTS = REFUSED[1:]

# They look at numbers: to refuse them, to count them, or (eig) because the test does.
BY_VALUE = {"embedding_renorm_", "histogram", "histogramdd", "cov", "gaussian_nll_loss", "index", "istft", "linalg.eig"}


@cache
def _samples(key: str) -> list[Call]:
    return samples(key, SAID[key])


def _examples(x, k: int):
    """The k-th of several tensors that may stand in one place of a call."""
    if x.is_floating_point() or x.is_complex():
        return x * (1 - 0.015625 * k)
    return x.flip(0) if k == 1 and x.dim() == 1 and x.dtype == claygrad.int64 and x.numel() > 1 else x


def _calls(key: str):
    for n, call in enumerate(_samples(key)):
        args, kwargs = call.build(Build(claygrad))
        leaves, spec = tree_flatten((list(args), kwargs))
        at = [i for i, x in enumerate(leaves) if is_tensor(x)]
        if at:
            yield n, leaves, spec, at


def _function(key: str, leaves, spec, at):
    said = SAID[key]
    operation = ours(claygrad, said)

    def function(*tensors):
        given = list(leaves)
        for i, x in zip(at, tensors, strict=True):
            given[i] = x
        args, kwargs = tree_unflatten(given, spec)
        if only_in_place(said):
            args[0] = args[0].clone()
        claygrad.manual_seed(0)
        result = operation(*args, **kwargs)
        return tuple(x for x in flat(result) if is_tensor(x))

    return function


def _looped(function, given, mapped):
    """Examples one by one, stacked; None where an example is refused, or none is a tensor."""
    rows = []
    for k in range(SIZE):
        try:
            rows.append(function(*(x[k].clone() if many else x for x, many in zip(given, mapped, strict=True))))
        except Exception:
            return None
    if not rows[0] or any(len({tuple(x.shape) for x in column}) > 1 for column in zip(*rows, strict=True)):
        return None
    if any(x.layout.name != "strided" for x in rows[0]):
        return None
    return tuple(claygrad.stack(column) for column in zip(*rows, strict=True))


def _problem(key, function, given, mapped, refused=REFUSED):
    wanted = _looped(function, given, mapped)
    if wanted is None:
        return None
    if key == "rows_loss":                     # what it keeps for its derivative belongs to the whole batch
        wanted = wanted[:1]
    dims = tuple(0 if many else None for many in mapped)
    try:
        found = claygrad.vmap(function, dims, randomness="same")(*given)[:len(wanted)]
    except Exception as error:
        if str(error).startswith(refused) or (key in BY_VALUE and str(error).startswith("vmap: It looks like you're")):
            return None
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    return difference(found, wanted, 10)


@pytest.mark.parametrize("key", list(SAID))
def test_equals_a_loop_over_the_examples(key: str) -> None:
    problems = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n, leaves, spec, at in _calls(key):
            function = _function(key, leaves, spec, at)
            batches = [claygrad.stack([_examples(leaves[i], k) for k in range(SIZE)]) for i in at]
            choices = [[True] * len(at)]
            if len(at) > 1:
                choices += [[i == k for k in range(len(at))] for i in range(len(at))]
            for mapped in choices:
                given = [batch if many else leaves[i] for batch, i, many in zip(batches, at, mapped, strict=True)]
                problem = _problem(key, function, given, mapped)
                if problem is not None:
                    problems.append(f"sample {n} {_samples(key)[n]} mapped {mapped}: {problem}")
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("key", [key for key, said in SAID.items() if said.differentiable and not is_property(said)])
def test_many_gradients_at_once(key: str) -> None:
    problems = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n, leaves, spec, at in _calls(key):
            floating = [i for i in at if leaves[i].is_floating_point()]
            function = _function(key, leaves, spec, floating)
            try:
                outs, pull = claygrad.func.vjp(function, *(leaves[i] for i in floating))
            except Exception:
                continue
            claygrad.manual_seed(1)
            rows = tuple(claygrad.randn(SIZE, *x.shape, dtype=x.dtype) for x in outs)
            problem = _problem(key, lambda *g, pull=pull: pull(tuple(g)), rows, [True] * len(rows), REFUSED_OF_GRADIENTS)
            if problem is not None:
                problems.append(f"sample {n} {_samples(key)[n]}: {problem}")
    assert not problems, "\n".join(problems)
