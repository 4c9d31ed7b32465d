"""The native attention against the reference, at shapes drawn at random, on every instruction set."""

from __future__ import annotations

import numpy
import pytest

import claygrad
from claygrad.ops import attention
from tests.support.forms import called, native, reference


def everything(g, q, k, v, mask, causal, scale=0.3):
    """Output, logarithms, and the gradients of query, key and value."""
    run = called if mask is not None and mask.shape[-1] != k.shape[2] else native
    outs = run(attention.fused_attention, q, k, v, mask, causal, scale)
    return *outs, *run(attention.fused_attention_backward, g, q, k, v, mask, causal, scale, *outs)


def by_reference(g, q, k, v, mask, causal, scale=0.3):
    outs = reference(attention.fused_attention, q, k, v, mask, causal, scale)
    return *outs, *reference(attention.fused_attention_backward, g, q, k, v, mask, causal, scale, *outs)


def draw(rng, dtype, trial):
    batch, heads, queries, keys, size = (int(rng.integers(1, high)) for high in (4, 4, 90, 150, 40))
    if trial % 6 == 0:
        queries = int(rng.integers(1, 9))
    shapes = (batch, heads, queries, size), (batch, heads, queries, size), (batch, heads, keys, size), (batch, heads, keys, size)
    g, q, k, v = (rng.standard_normal(shape).astype(dtype) for shape in shapes)
    if trial % 5 == 1:                                   # heads within the rows, as models have them
        q, g = (numpy.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2) for x in (q, g))
    if trial % 7 == 1:
        k = numpy.asfortranarray(k)
    masks = (None, rng.random((queries, keys)) < 0.6, rng.standard_normal((heads, queries, keys)).astype(dtype),
             rng.random((batch, 1, 1, keys)) < 0.3, rng.standard_normal((queries, 1)).astype(dtype))
    mask = masks[trial % 5]
    return g, q, k, v, mask, mask is None and trial % 3 > 0


@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float64], ids=["float32", "float64"])
def test_as_the_reference(isa, dtype):
    rng = numpy.random.default_rng(3)
    close = {"rtol": 2e-4, "atol": 2e-5} if dtype is numpy.float32 else {"rtol": 1e-9, "atol": 1e-10}
    for trial in range(40):
        case = draw(rng, dtype, trial)
        for name, a, b in zip("out log_sum query key value".split(), everything(*case), by_reference(*case)):
            assert a.dtype == b.dtype
            numpy.testing.assert_allclose(a, b, **close, err_msg=f"{name} of trial {trial}: {case[1].shape} {case[2].shape}")


@pytest.mark.parametrize("spoiled", [numpy.nan, numpy.inf, -numpy.inf, -0.0])
def test_numbers_that_are_none(isa, spoiled):
    rng = numpy.random.default_rng(4)
    g, q, k, v = (rng.standard_normal((1, 2, 70, 5)).astype("float32") for _ in range(4))
    q[0, 0, 3, 2] = k[0, 1, 65, 0] = spoiled
    case = g, q, k, v, None, False
    for a, b in zip(everything(*case), by_reference(*case)):
        numpy.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


def test_a_query_that_may_look_nowhere(isa):
    g, q, k, v = (numpy.ones((1, 1, 40, 4), "float32") for _ in range(4))
    mask = numpy.ones((40, 40), bool)
    mask[7] = False
    out, log_sum, *grads = everything(g, q, k, v, mask, False)
    assert (out[0, 0, 7] == 0).all()
    assert log_sum[0, 0, 7] == -numpy.inf
    assert all(numpy.isfinite(grad).all() for grad in grads)
    assert (grads[0][0, 0, 7] == 0).all()


def test_results_do_not_depend_on_threads(isa):
    rng = numpy.random.default_rng(5)
    case = (*(rng.standard_normal((1, 2, 300, 16)).astype("float32") for _ in range(4)), None, True)
    before = claygrad.get_num_threads()
    try:
        made = []
        for threads in (1, 2):
            claygrad.set_num_threads(threads)
            made.append(everything(*case))
    finally:
        claygrad.set_num_threads(before)
    for a, b in zip(*made):
        assert numpy.array_equal(a, b)
