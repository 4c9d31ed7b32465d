"""Attention by functions of the place, against PyTorch: values, blocks, pictures and refusals.

PyTorch has no gradients of it on the CPU; the gradients are compared with those of a product written out.
"""
from __future__ import annotations

import pytest
import torch
from torch.nn.attention import flex_attention as theirs

import claygrad
from claygrad.nn.attention import flex_attention as ours

B, H, Q, K, E = 2, 4, 10, 12, 8


def score_mods(lib):
    """Changes of scores, by name; some mean a single place and cannot be broadcast."""
    slopes = lib.arange(1, H + 1) / H
    table = lib.arange(B * H * Q).view(B, H, Q) / 50
    square = lib.arange(Q * K).view(Q, K) / 50
    return {
        "nothing": None,
        "alibi": lambda s, b, h, q, k: s + slopes[h] * (k - q),
        "capped": lambda s, b, h, q, k: lib.tanh(s / 2) * 2,
        "causal": lambda s, b, h, q, k: lib.where(q >= k, s, -float("inf")),
        "table": lambda s, b, h, q, k: s + table[b, h, q],
        "chained table": lambda s, b, h, q, k: s + table[b][h][q],
        "rows then columns": lambda s, b, h, q, k: s + square[q][k],
        "a constant": lambda s, b, h, q, k: s * 0 + 1,
        "nothing but the place": lambda s, b, h, q, k: (b + h + q + k).float() / 10,
        "a sum over one place": lambda s, b, h, q, k: s.sum(),
    }


def mask_mods(lib):
    """Masks, by name."""
    documents = lib.tensor([0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 3])
    lengths = lib.tensor([5, 9])
    flex = theirs if lib is torch else ours
    causal = lambda b, h, q, k: q >= k
    window = lambda b, h, q, k: (q - k).abs() <= 2
    return {
        "causal": causal, "window": window,
        "and": flex.and_masks(causal, window), "or": flex.or_masks(causal, window), "none": flex.noop_mask,
        "documents": lambda b, h, q, k: documents[q] == documents[k],
        "lengths": lambda b, h, q, k: k < lengths[b],
        "heads": lambda b, h, q, k: (k + h) % 2 == 0,
        "a dead row": lambda b, h, q, k: (q != 3) & (k >= 0),
        "all places of a reduction": lambda b, h, q, k: (q >= k).any(),
    }


def inputs(lib, dtype="float32", heads=H):
    made = torch.Generator().manual_seed(0)
    values = [torch.randn(shape, generator=made, dtype=torch.float64)
              for shape in ((B, H, Q, E), (B, heads, K, E), (B, heads, K, 5))]
    return [lib.tensor(x.tolist(), dtype=getattr(lib, dtype)) for x in values]


@pytest.fixture(autouse=True)
def plainly(monkeypatch):
    """PyTorch runs the functions without its compiler."""
    monkeypatch.setattr(theirs, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)


@pytest.mark.parametrize("name", score_mods(torch))
def test_scores(name):
    wanted = theirs.flex_attention(*inputs(torch), score_mod=score_mods(torch)[name], return_aux=theirs.AuxRequest(lse=True))
    got = ours.flex_attention(*inputs(claygrad), score_mod=score_mods(claygrad)[name], return_aux=ours.AuxRequest(lse=True))
    torch.testing.assert_close(torch.from_numpy(got[0].numpy()), wanted[0])
    torch.testing.assert_close(torch.from_numpy(got[1].lse.numpy()), wanted[1].lse)
    assert got[1].max_scores is None


@pytest.mark.parametrize("name", mask_mods(torch))
@pytest.mark.parametrize("size", [128, 4, (2, 3)], ids=str)
def test_masks(name, size):
    masks = {}
    for lib, flex in ((torch, theirs), (claygrad, ours)):
        mod = mask_mods(lib)[name]
        mask = flex.create_block_mask(mod, B, H, Q, K, device="cpu", BLOCK_SIZE=size)
        masks[lib] = mask, flex.flex_attention(*inputs(lib), block_mask=mask), flex.create_mask(mod, B, H, Q, K, "cpu")
    (wanted, out, dense), (got, our_out, our_dense) = masks[torch], masks[claygrad]
    assert our_dense.tolist() == dense.tolist()
    torch.testing.assert_close(torch.from_numpy(our_out.numpy()), out)
    assert got.shape == wanted.shape
    assert got.sparsity() == wanted.sparsity()
    assert str(got) == str(wanted)
    assert repr(got).replace("claygrad", "torch") == repr(wanted)
    assert got.to_dense().tolist() == wanted.to_dense().tolist()
    for part in ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks", "q_indices",
                 "full_q_num_blocks", "full_q_indices"):
        assert getattr(got, part).tolist() == getattr(wanted, part).tolist(), part
    assert got[0].kv_indices.tolist() == wanted[0].kv_indices.tolist()
    assert got[:, 1:2].to_dense().tolist() == wanted[:, 1:2].to_dense().tolist()
    assert got._adjust(7, 7).kv_num_blocks.tolist() == wanted._adjust(7, 7).kv_num_blocks.tolist()


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "float16"])
def test_dtypes_and_groups(dtype):
    wanted = theirs.flex_attention(*inputs(torch, dtype, 2), score_mods(torch)["alibi"], scale=0.3, enable_gqa=True)
    got = ours.flex_attention(*inputs(claygrad, dtype, 2), score_mods(claygrad)["alibi"], scale=0.3, enable_gqa=True)
    assert str(got.dtype).split(".")[1] == dtype
    torch.testing.assert_close(torch.tensor(got.tolist(), dtype=wanted.dtype), wanted)


@pytest.mark.parametrize("call", [
    "flex.flex_attention(q, k[..., :3], v)", "flex.flex_attention(q, k[:, :2], v[:, :2])", "flex.flex_attention(q, k[:1], v[:1])",
    "flex.flex_attention(q, k[:, :3], v[:, :3], enable_gqa=True)", "flex.flex_attention(q[0], k[0], v[0])",
    "flex.flex_attention(q, k, v, block_mask=flex.create_block_mask(lambda b, h, q, k: q > k, 2, 4, 6, 6, 'cpu', BLOCK_SIZE=2))",
    "flex.flex_attention(q, k, v, block_mask=flex.create_block_mask(lambda b, h, q, k: q > k, 2, 4, 16, 16, 'cpu', BLOCK_SIZE=2))",
    "flex.flex_attention(q, k, v, block_mask=flex.create_block_mask(lambda b, h, q, k: q >= k, 2, 4, 10, 12, 'cpu')[0])",
    "flex.flex_attention(q, k, v, return_lse=True, return_aux=flex.AuxRequest(lse=True))",
    "flex.flex_attention(q, k, v, kernel_options={'BACKEND': 'x'})", "flex.and_masks(1)",
    "flex.create_block_mask(lambda a: a, 1, 1, 2, 2)", "flex.create_block_mask(lambda s, b, h, q, k: s, 1, 1, 2, 2).shape",
])
def test_refusals(call):
    said = []
    for lib, flex in ((torch, theirs), (claygrad, ours)):
        q, k, v = inputs(lib)
        with pytest.raises(Exception) as refused:
            eval(call, {"flex": flex, "q": q, "k": k, "v": v})
        text = str(refused.value).split("\n  at ")[0]          # below it claygrad says where
        said.append((refused.type, text.split(" at 0x")[0].replace("test_flex_attention_torch.", "")))
    assert said[0] == said[1]


def test_gradients():
    q, k, v = (x.requires_grad_() for x in inputs(claygrad, "float64"))
    slopes = claygrad.linspace(0.1, 1, H, dtype=claygrad.float64, requires_grad=True)
    mask = ours.create_block_mask(lambda b, h, q, k: (q >= k) & (q != 3), None, None, Q, K)
    out = ours.flex_attention(q, k, v, lambda s, b, h, i, j: s.tanh() + slopes[h] * (j - i), mask)
    weight = claygrad.linspace(-1, 1, out.numel(), dtype=claygrad.float64).view_as(out)
    got = claygrad.autograd.grad((out * weight).sum(), (q, k, v, slopes))
    tq, tk, tv = (x.requires_grad_() for x in inputs(torch, "float64"))
    ts = torch.linspace(0.1, 1, H, dtype=torch.float64, requires_grad=True)
    far = torch.arange(K) - torch.arange(Q)[:, None]
    scores = (tq @ tk.mT / E ** 0.5).tanh() + ts.view(-1, 1, 1) * far
    kept = (far <= 0) & (torch.arange(Q) != 3)[:, None]
    weights = scores.masked_fill(~kept, -1e300).softmax(-1) * kept.any(-1, keepdim=True)
    wanted = torch.autograd.grad(((weights @ tv) * torch.from_numpy(weight.numpy())).sum(), (tq, tk, tv, ts))
    for a, b in zip(got, wanted, strict=True):
        torch.testing.assert_close(torch.from_numpy(a.numpy()), b)
