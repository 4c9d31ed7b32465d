"""Native loops over masks, ranks and running results give what NumPy gives, whatever the layout and the length."""
from __future__ import annotations

import numpy as np
import pytest

import claygrad
from tests.support.forms import called, native

SHAPES = [(5,), (3, 4), (2, 3, 5), (70000,), (130, 257), (16384 * 2 + 1,)]


def numbers(shape, dtype="float32", seed=0):
    x = np.random.default_rng(seed).standard_normal(shape) * 3
    return np.round(x).astype(dtype)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "float64", "complex128"])
def test_masks(shape, share, dtype):
    x = numbers(shape, dtype)
    mask = np.random.default_rng(1).random(shape) < share
    picked = native(claygrad.masked_select, x, mask)
    np.testing.assert_array_equal(picked, x[mask])
    want = x.copy()
    want[mask] = picked[::-1]
    scattered = native if picked.size else called
    np.testing.assert_array_equal(scattered(claygrad.Tensor.masked_scatter, x, mask, np.ascontiguousarray(picked[::-1])), want)
    np.testing.assert_array_equal(native("nonzero", mask).T, np.array(np.nonzero(mask)))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(3, 7, 5), (2, 300, 70), (129, 3, 1)])
def test_running_extremes(dtype, axis, shape):
    x = numbers(shape, dtype)
    if dtype.startswith("f"):
        x[1, 2], x[0, 1] = np.nan, -np.inf
    for largest, accumulate in ((True, np.maximum.accumulate), (False, np.minimum.accumulate)):
        values, places = native(claygrad.cummax if largest else claygrad.cummin, x, axis)
        np.testing.assert_array_equal(values, accumulate(x, axis))
        np.testing.assert_array_equal(np.take_along_axis(x, places, axis), values)
        later = np.where((x == values) | (x != x), np.arange(x.shape[axis]).reshape([-1 if i == axis else 1 for i in range(3)]),
                         0)
        np.testing.assert_array_equal(places, np.maximum.accumulate(later, axis))


@pytest.mark.parametrize("shape", [(5, 9), (6, 1000), (1, 3), (7, 0)])
def test_running_products(shape):
    x = np.random.default_rng(0).uniform(0.5, 1.5, shape).astype("float32")
    for axis in (0, 1):
        np.testing.assert_allclose(called(claygrad.cumprod, x, axis), np.cumprod(x, axis, dtype="float64"), rtol=1e-6)
    whole = numbers(shape, "int64")
    np.testing.assert_array_equal(called(claygrad.cumprod, whole, 1), np.cumprod(whole, 1))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_ranks_count_equals_in_order(dtype):
    x = numbers((20, 33), dtype)
    if dtype.startswith("f"):
        x[3, 4:9] = np.nan
    order = np.argsort(x, axis=-1, kind="stable")
    for k in (1, 2, 17, 33):
        values, places = claygrad.tensor(x).kthvalue(k, 1, keepdim=True)
        np.testing.assert_array_equal(places.numpy(), order[:, k - 1:k])
        np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, order[:, k - 1:k], 1))


@pytest.mark.parametrize("n", [1, 2, 3, 16, 1000])
def test_searches(n):
    rows, values = np.sort(numbers(n)), np.concatenate([numbers(5000, seed=2), [np.nan, np.inf, -np.inf]]).astype("float32")
    for right, side in ((False, "left"), (True, "right")):
        np.testing.assert_array_equal(native(claygrad.searchsorted, rows, values, right=right), np.searchsorted(rows, values, side))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_entries(axis):
    x = numbers((4, 30, 70), "float64")
    index = np.random.default_rng(0).integers(0, x.shape[axis], 50)
    np.testing.assert_array_equal(native(claygrad.index_select, x, axis, index), np.take(x, index, axis))
    source, out, want = np.take(x, index, axis), x.copy(), x.copy()
    np.add.at(want, (slice(None),) * axis + (index,), source)
    np.testing.assert_array_equal(native(claygrad.index_add, out, axis, index, source), want)


def test_logs_of_sums():
    x = numbers((40, 333)) * 20
    want = np.logaddexp.accumulate(x, axis=1, dtype="float64")
    np.testing.assert_allclose(native(claygrad.logcumsumexp, x, 1), want, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(native(claygrad.logsumexp, x, 1), want[:, -1], rtol=1e-6)
    far = np.array([[0, -1000, 3], [-1000, 0, -np.inf]], "float32")
    np.testing.assert_allclose(native(claygrad.logcumsumexp, far, 1), np.logaddexp.accumulate(far, axis=1, dtype="float64"), rtol=1e-6)


@pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 3.0, float("inf")])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_distances(p, dtype):
    x, y = numbers((2, 5, 19), dtype), numbers((2, 7, 19), dtype, seed=1)
    want = np.linalg.norm((x[:, :, None] - y[:, None]).astype("float64"), p, axis=-1)
    np.testing.assert_allclose(native("_cdist_forward", x, y, p), want, rtol=1e-5)


def test_distances_of_close_rows_are_exact():
    x = claygrad.randn(40, 8) + 1000
    out = claygrad.cdist(x, x)
    assert bool((out.diagonal() == 0).all())
    np.testing.assert_allclose(out.numpy(), claygrad.cdist(x, x, compute_mode="donot_use_mm_for_euclid_dist").numpy(), rtol=1e-4)


@pytest.mark.parametrize("order", [1.0, 2.0, float("inf"), 3.0])
@pytest.mark.parametrize("dtype", [claygrad.float32, claygrad.float64])
def test_clipping(order, dtype):
    weights = [claygrad.zeros(*shape, dtype=dtype, requires_grad=True) for shape in ((3, 4), (100, 301), (1,), (20000,))]
    for w in weights:
        w.grad = claygrad.randn(*w.shape, dtype=dtype)
    weights[1].grad = weights[1].grad.t().contiguous().t()
    flat = np.concatenate([w.grad.numpy().reshape(-1) for w in weights]).astype("float64")
    before = [w.grad._version for w in weights]
    total = claygrad.nn.utils.clip_grad_norm_(weights, 0.5, order)
    np.testing.assert_allclose(float(total), np.linalg.norm(flat, order), rtol=1e-5)
    clipped = np.concatenate([w.grad.numpy().reshape(-1) for w in weights])
    np.testing.assert_allclose(clipped, flat * 0.5 / (float(total) + 1e-6), rtol=1e-5)
    assert all(w.grad._version > old for w, old in zip(weights, before))
    claygrad.nn.utils.clip_grad_value_(weights, 1e-4)
    np.testing.assert_allclose(np.concatenate([w.grad.numpy().reshape(-1) for w in weights]), clipped.clip(-1e-4, 1e-4))


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_places_stretched_over_the_other_axes(dim):
    x, index = claygrad.randn(6, 5, 4), claygrad.tensor([1, 3, 1, 0])
    shape = [4 if i == dim % 3 else n for i, n in enumerate(x.shape)]
    stretched = index.view([-1 if i == dim % 3 else 1 for i in range(3)]).expand(shape)
    src = claygrad.randn(*shape)
    full = stretched.contiguous()
    assert claygrad.equal(x.gather(dim, stretched), x.gather(dim, full))
    assert claygrad.equal(x.scatter_add(dim, stretched, src), x.scatter_add(dim, full, src))
    changed = x.clone()
    assert changed.scatter_add_(dim, stretched, src) is changed
    assert claygrad.equal(changed, x.scatter_add(dim, full, src))
    with pytest.raises(RuntimeError, match="index 9 is out of bounds"):
        x.gather(dim, claygrad.full((1,), 9).view(1, 1, 1).expand(shape))
    with pytest.raises(RuntimeError, match="index 9 is out of bounds"):
        x.scatter_add_(dim, claygrad.full((1,), 9).view(1, 1, 1).expand(shape), src)
