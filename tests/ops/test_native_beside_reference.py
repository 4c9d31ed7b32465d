"""Native forms beside the references they stand for, in dtypes and layouts that no sample has."""

from __future__ import annotations

import itertools

import pytest

import claygrad as torch
from claygrad.core.dispatch import reference_only
from claygrad.nn import functional as F

HALF_DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


def _both(call):
    native = call()
    with reference_only():
        return zip(native, call())


@pytest.mark.parametrize("half", HALF_DTYPES)
@pytest.mark.parametrize("parameters", ["half", "float32", "none"])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(8, 4, 5, 5), (6, 4), (3, 4, 7), (1, 4, 300)], ids=str)
def test_batch_norm_of_halves(half, parameters, training, shape):
    def call():
        torch.manual_seed(1)
        kind = torch.float32 if parameters == "float32" else HALF_DTYPES[half]
        x = torch.randn(*shape).mul_(3).add_(1).to(HALF_DTYPES[half]).requires_grad_()
        weight, bias, mean, variance = (torch.rand(4).add_(0.5).to(kind) for _ in range(4))
        given = [x]
        if parameters == "none":
            weight = bias = None
        else:
            given += [weight.requires_grad_(), bias.requires_grad_()]
        y = F.batch_norm(x, mean, variance, weight, bias, training, 0.3)
        return [y, mean, variance, *torch.autograd.grad((y.float() * torch.arange(y.numel()).view(shape).sin()).sum(), given)]

    for got, expected in _both(call):
        assert (got.dtype, got.shape, got.stride()) == (expected.dtype, expected.shape, expected.stride())
        scale = expected.float().abs().max().item()
        assert (got.float() - expected.float()).abs().max().item() <= scale * (1e-6 if got.dtype is torch.float32 else 0.01)


def test_batch_norm_of_halves_in_channels_last_and_in_views():
    x = torch.randn(4, 3, 5, 5).to(torch.bfloat16)
    for view in (x.contiguous(memory_format=torch.channels_last), x.transpose(2, 3), x[:, :, ::2], x[:1].expand(4, 3, 5, 5)):
        for got, expected in _both(lambda view=view: [F.batch_norm(view, None, None, training=True)]):
            assert got.stride() == expected.stride()
            assert torch.equal(got, expected)


@pytest.mark.parametrize("wrong", ["mixed halves", "float64", "sizes"])
def test_parameters_that_do_not_fit_are_refused_beside_halves(wrong):
    x = torch.randn(4, 3, 5).to(torch.bfloat16)
    kind = {"mixed halves": torch.float16, "float64": torch.float64, "sizes": torch.bfloat16}[wrong]
    vector = torch.ones(4 if wrong == "sizes" else 3, dtype=kind)
    with pytest.raises(RuntimeError):
        F.batch_norm(x, vector, vector, vector, vector, True)
    if wrong != "sizes":
        half = torch.ones(3, dtype=torch.bfloat16)
        with pytest.raises(RuntimeError):
            F.batch_norm(x, half, half, vector, half, True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("shape", [(3, 3), (5, 2), (2, 5), (2, 3, 4, 3), (0, 2, 3), (1, 1), (40, 40)], ids=str)
def test_pinv(dtype, shape):
    torch.manual_seed(0)
    a = torch.randn(*shape, dtype=dtype)
    low = a.clone()
    if low.numel():
        low[..., -1, :] = low[..., 0, :]                             # of lower rank
    for x, options in itertools.product((a, low, a.mT, a * 0), ({}, {"rtol": 0.5}, {"atol": 1.0}, {"rcond": 0.1})):
        for got, expected in _both(lambda x=x, options=options: [torch.linalg.pinv(x, **options)]):
            assert (got.shape, got.stride()) == (expected.shape, expected.stride())
            torch.testing.assert_close(got, expected, rtol=1e-3 if dtype is torch.float32 else 1e-9, atol=1e-3 if dtype is torch.float32 else 1e-9)


@pytest.mark.parametrize("shape", [(300, 4), (4, 300), (2, 90, 3), (5000, 2), (3, 2, 40), (70, 0)], ids=str)
def test_singular_values_of_long_matrices(shape):
    torch.manual_seed(0)
    x = torch.randn(*shape, dtype=torch.float64)
    for view in (x, x.mT, x.clone().mT.contiguous().mT):
        for got, expected in _both(lambda view=view: [torch.linalg.svdvals(view)]):
            torch.testing.assert_close(got, expected)
    if x.numel():
        x[..., 0, 0] = float("nan")
        with pytest.raises(RuntimeError, match="non-finite"):
            torch.linalg.svdvals(x)


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, float("inf")])
@pytest.mark.parametrize(("first", "second"), [((4, 1, 5, 3), (1, 3, 6, 3)), ((5, 3), (2, 6, 3)), ((2, 4, 1, 5, 3), (3, 6, 3)), ((0, 5, 3), (1, 4, 3)),
                                           ((3, 2, 30, 3), (2, 31, 3))], ids=str)
def test_cdist_of_broadcast_batches(first, second, p):
    torch.manual_seed(0)
    x, y = torch.randn(*first), torch.randn(*second)
    for got, expected in _both(lambda: [torch.cdist(x, y, p), torch.cdist(y, x, p)]):
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)
    with pytest.raises(RuntimeError):
        torch.cdist(torch.ones(2, 5, 3), torch.ones(3, 5, 3))


@pytest.mark.parametrize(("shape", "dim"), [((1000,), 0), ((7, 90), 1), ((7, 90), 0), ((3, 4, 50), 2), ((3, 40, 5), 1)], ids=str)
def test_gather_and_scatter_add(shape, dim):
    torch.manual_seed(0)
    x, source = torch.randn(*shape), torch.randn(*shape)
    index = torch.randint(0, shape[dim], shape)
    for got, expected in _both(lambda: [x.gather(dim, index), x.scatter_add(dim, index, source), x.clone().scatter_add_(dim, index, source)]):
        torch.testing.assert_close(got, expected)


def test_ranges_are_read_at_once():
    assert torch.tensor(range(5)).tolist() == [0, 1, 2, 3, 4]
    assert torch.tensor(range(9, 0, -4)).tolist() == [9, 5, 1]
    assert torch.tensor(range(0)).dtype is torch.get_default_dtype()
    assert torch.tensor(range(2**62, 2**62 + 2)).tolist() == [2**62, 2**62 + 1]
    assert torch.tensor(range(3), dtype=torch.float64).dtype is torch.float64
    assert torch.arange(10)[range(1, 9, 3)].tolist() == [1, 4, 7]
    with pytest.raises((RuntimeError, ValueError)):
        torch.tensor(range(2**63, 2**63 + 2))
    with pytest.raises(RuntimeError, match="can't allocate memory"):
        torch.tensor(range(2**61))


@pytest.mark.parametrize("half", HALF_DTYPES)
@pytest.mark.parametrize("weighted", [True, False])
def test_rms_norm_of_halves(half, weighted):
    torch.manual_seed(0)
    x = torch.randn(6, 4, 10).to(HALF_DTYPES[half])
    weight = torch.randn(10).to(HALF_DTYPES[half]) if weighted else None
    for view in (x, x.transpose(0, 1), x[::2], x[:1].expand(6, 4, 10), x[:, :, :0], x.contiguous().requires_grad_()):
        if view.shape[-1] != 10:
            continue
        for got, expected in _both(lambda view=view: [F.rms_norm(view, (10,), weight), F.rms_norm(view, (10,), weight, 0.5)]):
            assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
            torch.testing.assert_close(got, expected, rtol=0.01, atol=0.01)


# --- layouts that are copied once, or read as they are ---------------------------------------------------------------------------
def _images(kind: str, dtype) -> list:
    """Images or volumes of the same sizes in several layouts; among them those that are channels last by their strides alone."""
    torch.manual_seed(3)
    x = (torch.randn(2, 6, 5, 7) if kind == "images" else torch.randn(2, 3, 4, 5, 6)).to(dtype)
    last = torch.channels_last if kind == "images" else torch.channels_last_3d
    first = x.contiguous(memory_format=last)
    return [x, first, first[:1], first[:, :1], first[:, 1:4], first[..., ::2], first[:, :, :1], x.transpose(0, 1), x.transpose(-1, -2),
            x[..., 1:], x[:1].expand(*x.shape), x[:, :1].expand(*x.shape), x.movedim(0, -1), x[:0]]


_POOLS = {
    "max": lambda x, n: F.max_pool2d(x, 3, 2, 1) if n == 2 else F.max_pool3d(x, 2, 2, 1),
    "max with indices": lambda x, n: (F.max_pool2d(x, 2, 1, 1, ceil_mode=True, return_indices=True) if n == 2 else
                                      F.max_pool3d(x, 2, return_indices=True)),
    "max dilated": lambda x, n: F.max_pool2d(x, 2, 1, 0, (1, 2), return_indices=True) if n == 2 else F.max_pool3d(x, 2, 1, 1, 1, True, True),
    "mean": lambda x, n: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False) if n == 2 else F.avg_pool3d(x, 2, 1, 1),
    "mean of all": lambda x, n: F.avg_pool2d(x, (2, 3), ceil_mode=True) if n == 2 else F.avg_pool3d(x, 2, divisor_override=3),
    "adaptive mean": lambda x, n: F.adaptive_avg_pool2d(x, (2, 3)) if n == 2 else F.adaptive_avg_pool3d(x, 2),
    "adaptive mean, whole": lambda x, n: F.adaptive_avg_pool2d(x, 1) if n == 2 else F.adaptive_avg_pool3d(x, 1),
    "adaptive max": lambda x, n: (F.adaptive_max_pool2d(x, (3, 2), return_indices=True) if n == 2 else
                                  F.adaptive_max_pool3d(x, 2, return_indices=True)),
    "nearest": lambda x, n: F.interpolate(x, scale_factor=2),
    "linear": lambda x, n: F.interpolate(x, size=(7, 3, 9)[:n], mode="bilinear" if n == 2 else "trilinear"),
    "cubic": lambda x, n: F.interpolate(x, size=(9, 4), mode="bicubic", align_corners=True) if n == 2 else x.clone(),
    "smooth": lambda x, n: F.interpolate(x, size=(3, 3), mode="bilinear", antialias=True) if n == 2 else x.clone(),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("kind", ["images", "volumes"])
@pytest.mark.parametrize("pool", _POOLS)
def test_pooling_and_resampling_of_any_layout(pool, kind, dtype):
    for number, x in enumerate(_images(kind, getattr(torch, dtype))):
        if dtype == "bfloat16" and (pool == "smooth" or (kind == "volumes" and "mean" in pool) or 0 in x.stride()):
            continue                                          # torch has none; the reference casts what is broadcast to other strides
        if pool.startswith(("max", "mean")) and min(x.shape[2:]) < 3:
            continue                                          # windows that do not fit
        if x.numel() == 0 and pool in ("nearest", "linear", "cubic", "smooth"):
            continue

        def call(x=x):
            x = x.detach().requires_grad_()
            results = _POOLS[pool](x, x.ndim - 2)
            results = list(results) if isinstance(results, tuple) else [results]
            weight = torch.arange(results[0].numel()).reshape(results[0].shape).remainder(13).sub(6).to(x.dtype)
            last = torch.channels_last if x.ndim == 4 else torch.channels_last_3d
            directions = [weight, weight.contiguous(memory_format=last), weight.transpose(-1, -2).contiguous().transpose(-1, -2),
                          weight.sum().expand(weight.shape)]
            return [*results, *[torch.autograd.grad(results[0], x, d, retain_graph=True)[0] for d in directions]]

        for got, expected in _both(call):
            assert (got.dtype, got.shape) == (expected.dtype, expected.shape), number
            if got.numel():                                   # an axis of size 1 may have any stride
                assert not [n for n, a, b in zip(got.shape, got.stride(), expected.stride()) if n > 1 and a != b], number
            close = {"float32": 1e-5, "float64": 1e-12, "bfloat16": 0.02}[dtype]
            assert torch.allclose(got.double(), expected.double(), rtol=close, atol=close), number


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("loss", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "cross_entropy"])
def test_losses_of_any_layout(loss, reduction):
    torch.manual_seed(4)
    a, b, target = torch.randn(6, 8), torch.randn(6, 8), torch.arange(32)
    views = [lambda x: x, lambda x: x[:, ::2], lambda x: x[::2], lambda x: x.t().contiguous().t(), lambda x: x[:1].expand(6, 8),
             lambda x: x[:, :1].expand(6, 8)]
    for i, j in itertools.product(range(len(views)), repeat=2):
        x = views[i](a)
        y = target[:2 * len(x):2].remainder(x.shape[1]) if loss == "cross_entropy" else views[j](b)
        if y.shape not in (x.shape, x.shape[:1]):
            continue

        def call(x=x, y=y):
            x = x.detach().requires_grad_()
            out = getattr(F, loss)(x, y, reduction=reduction)
            return [out, *torch.autograd.grad(out, x, torch.ones_like(out))]

        for got, expected in _both(call):
            assert got.is_contiguous() if loss == "cross_entropy" else got.stride() == expected.stride(), (i, j)
            assert torch.allclose(got, expected, rtol=1e-5, atol=1e-6), (i, j)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "bfloat16", "uint8"])
def test_where_of_large_operands_that_are_broadcast(dtype):
    kind = getattr(torch, dtype)
    x = torch.arange(300 * 200).reshape(300, 200).remainder(251).to(kind)
    mask = torch.arange(300 * 200).reshape(300, 200).remainder(7) < 3
    one = torch.tensor(3, dtype=kind)
    masks = [mask, mask[:1], mask[:, :1], mask[0], mask[0, 0]]
    operands = [x, x[:1], x[:, :1], x[0], one, one.reshape(1), one.reshape(1, 1, 1)]
    for m, a, b in itertools.product(masks, operands, operands):
        for got, expected in _both(lambda m=m, a=a, b=b: [torch.where(m, a, b)]):
            assert (got.shape, got.stride(), got.dtype) == (expected.shape, expected.stride(), expected.dtype)
            assert torch.equal(got, expected)
    for m in masks:
        for got, expected in _both(lambda m=m: [x.masked_fill(m, 2), x.masked_fill(m, one)]):
            assert torch.equal(got, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "float16", "complex64"])
def test_running_sums_in_the_dtype_that_they_have_already(dtype):
    kind = getattr(torch, dtype)
    x = torch.arange(24).reshape(4, 6).remainder(5).to(kind)
    for got, expected in _both(lambda: [f(d, dtype=to) for f in (x.cumsum, x.cumprod) for d in (0, 1) for to in (None, kind, torch.float64)]):
        assert got.dtype == expected.dtype
        assert torch.equal(got, expected)
