"""The native form of attention against the reference, whatever the layout."""

from __future__ import annotations

import numpy
import pytest

import claygrad
import claygrad.nn.functional as F
from claygrad.core.op import op_named
from tests.ops.test_layers_native import KINDS, precision, values
from tests.support.forms import reference

HEADS = {
    "plain": lambda t, *shape: [t(*shape) for _ in range(3)],
    "heads inside": lambda t, n, h, q, e: [t(n, q, h, e).transpose(1, 2) for _ in range(3)],
    "pieces of one": lambda t, n, h, q, e: [x.view(n, q, h, e).transpose(1, 2) for x in t(n, q, 3 * h * e).split(h * e, 2)],
    "heads outside": lambda t, n, h, q, e: [t(h, n, q, e).transpose(0, 1) for _ in range(3)],
    "turned about": lambda t, n, h, q, e: [t(e, q, h, n).permute(3, 2, 1, 0) for _ in range(3)],
    "every other": lambda t, n, h, q, e: [t(n, h, q, 2 * e)[..., ::2] for _ in range(3)],
    "other keys": lambda t, n, h, q, e: [t(n, h, q, e), t(n, h, q + 3, e), t(n, h, q + 3, e)],
    "stretched": lambda t, n, h, q, e: [t(n, h, q, e), t(1, h, q, e).expand(n, h, q, e), t(n, h, q, e)],
}


@KINDS
@pytest.mark.parametrize("lie", HEADS)
def test_attention_of_every_layout(lie, dtype):
    rng = numpy.random.default_rng(3)
    forward, back = (op_named("_scaled_dot_product_flash_attention_for_cpu" + end) for end in ("", "_backward"))
    for shape in ((2, 3, 5, 4), (1, 1, 1, 1), (1, 3, 70, 16), (2, 1, 33, 7), (3, 2, 1, 32)):
        q, k, v = HEADS[lie](lambda *sizes: values(rng, dtype, *sizes), *shape)
        for causal in (False, True):
            made = forward(q, k, v, None, causal, 0.3)
            g = values(rng, dtype, *q.shape)
            for native, name, given in ((made, forward.name, (q, k, v, None, causal, 0.3)),
                                        (back(g, q, k, v, None, causal, 0.3, *made), back.name,
                                         (g, q, k, v, None, causal, 0.3, *made))):
                for a, b in zip(native, reference(name, *given), strict=True):
                    assert tuple(a.shape) == b.shape
                    numpy.testing.assert_allclose(a.numpy(), b, rtol=precision(dtype), atol=precision(dtype))
            assert made[0].stride() == claygrad.empty_like(q).stride() or lie in ("every other", "turned about")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("lie", HEADS)
def test_attention_of_halves_is_that_of_floats_rounded_once(lie, dtype):
    rng = numpy.random.default_rng(3)
    half = getattr(claygrad, dtype)
    for n, h, q, e in ((2, 3, 5, 4), (1, 1, 1, 1), (1, 3, 70, 16), (3, 2, 1, 32)):
        given = HEADS[lie](lambda *sizes: values(rng, "float32", *sizes).to(half), n, h, q, e)
        added = values(rng, "float32", q, given[1].shape[2]).to(half)
        for mask in (None, added, added.float(), added[:1].expand(n, h, q, -1), added > 0):
            found, wide = ([t.detach().requires_grad_() for t in kind] for kind in (given, [t.float() for t in given]))
            out, wanted = (F.scaled_dot_product_attention(*x, m) for x, m in (
                (found, mask), (wide, mask.float() if mask is not None and mask.is_floating_point() else mask)))
            assert out.dtype == half
            assert out.stride() == wanted.stride()
            assert claygrad.equal(out, wanted.to(half))
            g = claygrad.ones(()).to(half).expand(out.shape)
            out.backward(g)
            wanted.backward(g.float())
            for a, b in zip(found, wide, strict=True):
                assert a.grad.dtype == half
                assert claygrad.allclose(a.grad.float(), b.grad, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("queries", [1, 3, 7, 8])
def test_few_queries_beside_many_keys_of_halves(queries, dtype):
    rng = numpy.random.default_rng(5)
    half = getattr(claygrad, dtype)
    q = values(rng, "float32", 2, 3, queries, 12).to(half)
    both = values(rng, "float32", 2, 150, 2, 3, 12).to(half)                       # keys and values that lie between each other
    for k, v in (both.permute(2, 0, 3, 1, 4).unbind(), both.permute(2, 0, 3, 1, 4).contiguous().unbind(),
                 both[..., :1].expand(both.shape).permute(2, 0, 3, 1, 4).unbind()):
        for given in ({}, {"is_causal": True}, {"attn_mask": values(rng, "float32", queries, 150) > 0}):
            found = F.scaled_dot_product_attention(q, k, v, **given)
            wanted = F.scaled_dot_product_attention(q.float(), k.float(), v.float(), **given)
            assert found.dtype == half
            assert claygrad.allclose(found.float(), wanted.to(half).float(), rtol=1e-2 if dtype == "bfloat16" else 2e-3, atol=1e-3)


def test_attention_by_the_short_way_is_the_long_one():
    rng = numpy.random.default_rng(4)
    q, k, v = (values(rng, "float64", 2, 3, 5, 4).requires_grad_() for _ in range(3))
    forms = [F.scaled_dot_product_attention(q, k, v, **given) for given in (
        {}, {"scale": 0.5}, {"dropout_p": 0}, {"scale": 1}, {"enable_gqa": True}, {"is_causal": False})]
    assert all(y.grad_fn.name() == forms[0].grad_fn.name() for y in forms)
    for y in (forms[0], *forms[2::2], forms[5]):
        expected = (q @ k.mT * (1 if y is forms[3] else 0.5)).softmax(-1) @ v
        assert claygrad.allclose(y, expected)
    for wrong, message in (((q, k[:, :2], v), "must match the size"), ((q, k.float(), v), "to have the same dtype")):
        with pytest.raises(RuntimeError, match=message):
            F.scaled_dot_product_attention(*wrong)
