"""What normalisations, embeddings and attention do besides their result, next to PyTorch's: running statistics, rows
shortened in place, gradients left out, queries that may look nowhere, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import claygrad

DTYPES = ["float32", "float64", "bfloat16", "float16"]


def both(program: Callable[[Any], Any]) -> tuple[Any, Any]:
    """What a program gives with each library: nested lists, or the exception and its first line."""
    found = []
    for lib in (claygrad, torch):
        lib.manual_seed(0)
        try:
            found.append(plain(program(lib)))
        except Exception as error:
            found.append((type(error).__name__, str(error).splitlines()[0].replace("claygrad.", "torch.")))
    return found[0], found[1]


def plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return (str(value.dtype).rpartition(".")[2], value.detach().double().tolist()) if hasattr(value, "dtype") else value


def close(a: Any, b: Any, tolerance: float) -> bool:
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(close(x, y, tolerance) for x, y in zip(a, b))
    if isinstance(a, float) and isinstance(b, float):
        return a == pytest.approx(b, rel=tolerance, abs=tolerance, nan_ok=True)
    return a == b


def agree(program: Callable[[Any], Any], tolerance: float = 1e-5) -> None:
    mine, theirs = both(program)
    assert close(mine, theirs, tolerance), f"claygrad {mine}\n  torch {theirs}"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("momentum", [0.1, 1.0, 0.0])
def test_batch_norm_moves_the_running_statistics(dtype, momentum):
    def program(t):
        kind = getattr(t, dtype)
        x = t.randn(6, 3, 2).to(kind)
        mean, var = t.zeros(3, dtype=kind), t.ones(3, dtype=kind)
        out = t.nn.functional.batch_norm(x, mean, var, training=True, momentum=momentum)
        return out, mean, var

    agree(program, 0.02 if "16" in dtype else 1e-5)


def test_batch_norm_in_evaluation_leaves_the_statistics():
    def program(t):
        mean, var = t.full((3,), 0.5), t.full((3,), 2.0)
        return t.nn.functional.batch_norm(t.randn(6, 3), mean, var), mean, var

    agree(program)


def test_one_value_per_channel_has_no_unbiased_variance():
    def program(t):
        mean, var = t.zeros(3), t.ones(3)
        t.batch_norm(t.ones(1, 3), None, None, mean, var, True, 0.1, 1e-5, False)
        return mean, var

    agree(program)


def test_instance_norm_moves_the_statistics_by_the_mean_of_the_examples():
    def program(t):
        mean, var = t.zeros(3), t.ones(3)
        return t.nn.functional.instance_norm(t.randn(4, 3, 5), mean, var), mean, var

    agree(program)


@pytest.mark.parametrize("options", [{"padding_idx": 1}, {"padding_idx": -3}, {"scale_grad_by_freq": True},
                                     {"max_norm": 0.5}, {"max_norm": 0.5, "norm_type": 1.0},
                                     {"padding_idx": 9}, {"padding_idx": -9}])
def test_embedding_options(options):
    def program(t):
        weight = t.randn(4, 3, requires_grad=True)
        out = t.nn.functional.embedding(t.tensor([1, 0, 1, 3]), weight, **options)
        out.pow(2).sum().backward()
        return out, weight, weight.grad

    agree(program)


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("padding", [None, 1, -1])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("grad", [False, True])
def test_the_four_outputs_of_embedding_bag(mode, last, padding, dtype, grad):
    def program(t):
        weight = (t.arange(12.0).view(4, 3) * 1.5).to(getattr(t, dtype)).requires_grad_(grad)
        indices, offsets = t.tensor([1, 0, 1, 3]), t.tensor([0, 2, 4])
        found = t.embedding_bag(weight, indices, offsets, False, mode, False, None, last, padding)
        if grad:
            found[0].sum().backward()
        return (*found, *([weight.grad] if grad else []))

    agree(program)


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 4, 5), (4, 5)])
@pytest.mark.parametrize("kind", ["bool", "float"])
def test_a_query_that_may_look_nowhere_gets_zeros(shape, kind):
    def program(t):
        q, k, v = (t.randn(shape, requires_grad=True) for _ in range(3))
        mask = t.ones(4, 4, dtype=t.bool)
        mask[1] = False
        mask = mask if kind == "bool" else t.zeros(4, 4).masked_fill(~mask, float("-inf"))
        out = t.nn.functional.scaled_dot_product_attention(q, k, v, mask)
        return out, t.autograd.grad(out.pow(2).sum(), (q, k, v))

    agree(program)


REFUSED = [
    lambda t: t.nn.functional.batch_norm(t.randn(1, 4), None, None, training=True),
    lambda t: t.nn.functional.batch_norm(t.randn(3, 4), t.ones(5), t.ones(5)),
    lambda t: t.nn.functional.batch_norm(t.randn(3, 4), t.ones(4), None, training=True),
    lambda t: t.nn.functional.batch_norm(t.randn(3, 4), None, None, momentum=None, training=True),
    lambda t: t.nn.functional.batch_norm(t.randn(3, 4).double(), None, None, t.ones(4), training=True),
    lambda t: t.native_batch_norm(t.randn(0, 4), None, None, None, None, True, 0.1, 1e-5),
    lambda t: t.nn.functional.layer_norm(t.randn(3, 4), 4),
    lambda t: t.nn.functional.layer_norm(t.randn(3, 4), (4,), t.ones(4), t.ones(4).double()),
    lambda t: t.nn.functional.layer_norm(t.randn(3, 4).half(), (4,), t.ones(4)),
    lambda t: t.nn.functional.group_norm(t.randn(3, 4), 2, None, t.ones(3)),
    lambda t: t.nn.functional.group_norm(t.randn(3, 4), 0),
    lambda t: t.nn.functional.embedding(t.tensor([4]), t.randn(4, 3)),
    lambda t: t.nn.functional.embedding(t.tensor([1.0]), t.randn(4, 3)),
    lambda t: t.nn.functional.embedding_bag(t.tensor([1, 2]), t.randn(4, 3), t.tensor([1])),
    lambda t: t.nn.functional.embedding_bag(t.tensor([1, 2]), t.randn(4, 3), t.tensor([0, 5])),
    lambda t: t.nn.functional.embedding_bag(t.tensor([1, 7]), t.randn(4, 3), t.tensor([0])),
    lambda t: t.nn.functional.embedding_bag(t.tensor([1, 7]), t.randn(4, 3), t.tensor([0]), mode="max"),
    lambda t: t.nn.functional.scaled_dot_product_attention(*[t.randn(2, 3, 4)] * 3, t.ones(4, 4)),
    lambda t: t.nn.functional.scaled_dot_product_attention(*[t.randn(2, 3, 4)] * 2, t.randn(2, 3, 4).double()),
    lambda t: t.nn.functional.scaled_dot_product_attention(*[t.randn(2, 3, 4)] * 3, t.ones(3, 3), is_causal=True),
    lambda t: t.nn.functional.scaled_dot_product_attention(t.randn(5, 2, 3), *[t.randn(2, 2, 3)] * 2, enable_gqa=True),
    lambda t: t.nn.functional.ctc_loss(t.randn(5, 2, 4), t.ones(2, 3), t.tensor([5, 5]), (3, 3)),
    lambda t: t.nn.functional.ctc_loss(t.randn(5, 2, 4), t.ones(2, 3), t.tensor([5.0, 5]), t.tensor([3, 3])),
    lambda t: t.nn.functional.ctc_loss(t.randn(5, 2, 4), t.ones(2, 3), (5, 5), (4, 3)),
    lambda t: t.nn.functional.multi_margin_loss(t.randn(3, 4), t.tensor([1, 2, 3]), weight=t.ones(3)),
    lambda t: t.lstm_cell(t.randn(2, 3), t.randn(2, 4), t.randn(16, 3), t.randn(16, 4)),
    lambda t: t.nn.functional.one_hot(t.tensor([-1])),
    lambda t: t.nn.functional.one_hot(t.tensor([], dtype=t.int64)),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refusals(number):
    agree(REFUSED[number])
