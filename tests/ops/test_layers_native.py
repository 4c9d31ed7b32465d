"""The native forms of what networks are made of against the references."""

from __future__ import annotations

import numpy
import pytest

import claygrad
import claygrad.nn.functional as F
from claygrad.core.op import op_named
from claygrad.ops import _conv
from tests.support.forms import reference

KINDS = pytest.mark.parametrize("dtype", ["float32", "float64"])


def compare(name: str, *given, loose: float = 0) -> None:
    made = op_named(name)(*given)
    made = made if isinstance(made, tuple) else (made,)
    wanted = reference(name, *given)
    for a, b in zip(made, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        b = numpy.asarray(b)
        assert tuple(a.shape) == b.shape, name
        assert a.is_contiguous()
        numpy.testing.assert_allclose(a.numpy(), b, rtol=loose, atol=loose, err_msg=f"{name} {given[1:]}")


def values(rng, dtype: str, *shape: int, odd: bool = False):
    x = rng.integers(-4, 5, shape).astype(dtype) if odd else rng.standard_normal(shape).astype(dtype)
    if odd and x.size:
        spoiled = rng.random(x.shape)
        x[spoiled < 0.05], x[spoiled > 0.9], x[(spoiled > 0.4) & (spoiled < 0.45)] = numpy.nan, -numpy.inf, -0.0
    return claygrad.tensor(x)


def precision(dtype: str) -> float:
    return 3e-5 if dtype == "float32" else 1e-12


# Pooling

@KINDS
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_windows_that_slide(dims, dtype):
    rng = numpy.random.default_rng(dims)
    for trial in range(30):
        kernel, stride = (tuple(map(int, rng.integers(1, high, dims))) for high in (4, 3))
        padding = tuple(int(rng.integers(0, k // 2 + 1)) for k in kernel)
        dilation = tuple(map(int, rng.integers(1, 3, dims)))
        size = [d * (k - 1) + 1 + int(rng.integers(0, 6)) for k, d in zip(kernel, dilation)]
        lead = ((2, 3), (3,), (0, 2))[trial % 3]
        how, ceil = (kernel, stride, padding), bool(trial % 2)
        x = values(rng, dtype, *lead, *size, odd=True)
        compare("_max_pool", x, *how, dilation, ceil)
        compare("_max_pool_with_indices", x, *how, dilation, ceil)
        _, places = op_named("_max_pool_with_indices")(x, *how, dilation, ceil)
        compare("_max_pool_backward", values(rng, dtype, *places.shape), places, tuple(x.shape), dims,
                loose=precision(dtype))
        more = ceil, bool(trial % 3), (None, 3, -2)[trial % 3]
        plain = values(rng, dtype, *lead, *size)
        compare("_avg_pool", plain, *how, *more, loose=precision(dtype))
        g = values(rng, dtype, *op_named("_avg_pool")(plain, *how, *more).shape)
        compare("_avg_pool_backward", g, tuple(plain.shape), *how, *more, loose=precision(dtype))


@KINDS
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_windows_that_share_out(dims, dtype):
    rng = numpy.random.default_rng(dims)
    for trial in range(20):
        size, out = (tuple(map(int, rng.integers(1, 8, dims))) for _ in range(2))
        lead = ((2, 3), (3,), (0, 2))[trial % 3]
        compare("_adaptive_max_pool", values(rng, dtype, *lead, *size, odd=True), out)
        x = values(rng, dtype, *lead, *size)
        compare("_adaptive_avg_pool", x, out, loose=precision(dtype))
        compare("_adaptive_avg_pool_backward", values(rng, dtype, *lead, *out), tuple(x.shape), dims,
                loose=precision(dtype))


@KINDS
def test_values_put_back(dtype):
    rng = numpy.random.default_rng(1)
    for size in ((6,), (3, 4), (2, 3, 2)):
        count, small = int(numpy.prod(size)), tuple(max(1, n // 2) for n in size)
        places = claygrad.tensor(rng.integers(0, count, (2, 3, *small)))
        compare("_max_unpool", values(rng, dtype, 2, 3, *small), places, size)


# Normalisation

@KINDS
@pytest.mark.parametrize("affine", ["neither", "weight", "both"])
def test_norms(affine, dtype):
    rng, loose = numpy.random.default_rng(3), 2e-4 if dtype == "float32" else 1e-11

    def parameters(*shape):
        return (values(rng, dtype, *shape) if affine != "neither" else None,
                values(rng, dtype, *shape) if affine == "both" else None)

    for shape in ((3, 4), (2, 3, 5), (2, 6, 3, 2), (5, 4, 33)):
        x, g = values(rng, dtype, *shape), values(rng, dtype, *shape)
        for last in (1, 2):
            weight, bias = parameters(*shape[-last:])
            compare("native_layer_norm", x, shape[-last:], weight, bias, 1e-5, loose=loose)
            _, mean, rstd = op_named("native_layer_norm")(x, shape[-last:], weight, bias, 1e-5)
            for mask in ((True, True, True), (False, True, False), (True, False, False)):
                compare("native_layer_norm_backward", g, x, shape[-last:], mean, rstd, weight, 1e-5, mask, loose=loose)
            compare("_rms_norm", x, shape[-last:], weight, 1e-5, loose=loose)
            rstd = op_named("_rms_norm")(x, shape[-last:], weight, 1e-5)[1]
            compare("rms_backward", g, x, shape[-last:], rstd, weight, 1e-5, (True, True), loose=loose)
        weight, bias = parameters(shape[1])
        sizes = (*shape[:2], int(numpy.prod(shape[2:])))
        for group in (1, shape[1]):
            compare("native_group_norm", x, weight, bias, *sizes, group, 1e-5, loose=loose)
            _, mean, rstd = op_named("native_group_norm")(x, weight, bias, *sizes, group, 1e-5)
            if sizes[2] * shape[1] // group > 1:
                compare("group_norm_backward", g, x, mean, rstd, weight, *sizes, group, 1e-5, (True, True), loose=loose * 10)
        moments = values(rng, dtype, shape[1]), values(rng, dtype, shape[1]).abs() + 0.5
        for training in (True, False):
            compare("_batch_norm", x, weight, bias, *moments, training, 1e-5, loose=loose)
        _, mean, rstd, _ = op_named("_batch_norm")(x, weight, bias, None, None, True, 1e-5)
        for training in (True, False):
            compare("batch_norm_backward", g, x, mean, rstd, weight, training, 1e-5, (True, True, True), loose=loose * 10)


@KINDS
def test_windows_at_random_steps(dtype):
    rng = numpy.random.default_rng(19)
    for shape, kernel, size in (((2, 3, 9, 11), (2, 3), (4, 5)), ((3, 7, 8), (2, 2), (1, 7)), ((2, 2, 6, 7, 9), (2, 1, 3), (3, 4, 5)),
                                ((2, 5, 6, 7), (3, 2, 2), (2, 1, 4)), ((4, 2, 30, 31), (1, 1), (30, 31))):
        dims = len(kernel)
        x = values(rng, dtype, *shape, odd=True)
        samples = claygrad.tensor(rng.random((shape[0] if len(shape) == dims + 2 else 1, shape[-dims - 1], dims)).astype(dtype))
        compare("_fractional_max_pool", x, kernel, size, samples)


# Convolution and other sizes

@KINDS
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_convolution(dims, dtype):
    rng, loose = numpy.random.default_rng(dims), 2e-4 if dtype == "float32" else 1e-10
    for trial in range(25):
        kernel, stride = (tuple(map(int, rng.integers(1, 4, dims))) for _ in range(2))
        padding, dilation = (tuple(map(int, rng.integers(low, low + 2, dims))) for low in (0, 1))
        size = [d * (k - 1) + 1 + int(rng.integers(0, 5)) for k, d in zip(kernel, dilation)]
        groups = (1, 2, 3)[trial % 3]
        x = values(rng, dtype, 2, 2 * groups, *size)
        w, bias = values(rng, dtype, 3 * groups, 2, *kernel), values(rng, dtype, 3 * groups) if trial % 2 else None
        how = stride, padding, dilation
        compare("convolution", x, w, bias, *how, False, 0, groups, loose=loose)
        g = values(rng, dtype, *op_named("convolution")(x, w, bias, *how, False, 0, groups).shape)
        compare("_conv_weight", g, x, kernel, *how, groups, loose=loose)
        least = _conv.transposed_sizes(g.shape[2:], kernel, *how, (0,) * dims)
        spare = tuple(n - m for n, m in zip(size, least))
        compare("_conv_input", g, w, *how, spare, groups, loose=loose)
        bias = values(rng, dtype, 2 * groups) if trial % 2 else None
        if min(_conv.transposed_sizes(g.shape[2:], kernel, *how, (0,) * dims)) > 0:
            compare("convolution", g, w, bias, *how, True, 0, groups, loose=loose)


@KINDS
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear", "cubic"])
def test_other_sizes(mode, dtype):
    rng, loose = numpy.random.default_rng(5), 2e-5 if dtype == "float32" else 1e-12
    for trial in range(40):
        dims = 2 if mode == "cubic" else trial % 3 + 1
        size, out = (tuple(map(int, rng.integers(1, 9, dims))) for _ in range(2))
        if trial % 5 == 0:
            out = tuple(2 * n for n in size)
        name = {"linear": ("linear", "bilinear", "trilinear")[dims - 1], "cubic": "bicubic"}.get(mode, mode)
        scales = [o / n + 0.01 for o, n in zip(out, size)] if trial % 4 == 1 else None
        how = name, mode in ("linear", "cubic") and trial % 2 == 1, False, scales
        x, g = values(rng, dtype, 2, 3, *size), values(rng, dtype, 2, 3, *out)
        compare("_upsample", x, list(out), *how, loose=loose)
        compare("_upsample_backward", g, tuple(x.shape), *how, loose=loose)


@KINDS
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_other_sizes_smoothly(mode, dtype):
    rng, loose = numpy.random.default_rng(15), 2e-5 if dtype == "float32" else 1e-12
    for trial in range(60):
        size, out = (tuple(map(int, rng.integers(1, 40, 2))) for _ in range(2))
        if trial % 5 == 0:
            out = (size[0], max(size[1] // 2, 1))
        scales = [o / n + 0.01 for o, n in zip(out, size)] if trial % 4 == 1 else None
        how = mode, trial % 2 == 1, True, scales
        x, g = values(rng, dtype, 2, 3, *size), values(rng, dtype, 2, 3, *out)
        compare("_upsample", x, list(out), *how, loose=loose)
        compare("_upsample_backward", g, tuple(x.shape), *how, loose=loose)
    x = values(rng, dtype, 1, 2, 9, 8)
    x[0, 0, 3, 3], x[0, 1, 0, 0] = float("inf"), float("nan")
    compare("_upsample", x, [4, 5], mode, False, True, None, loose=loose)


# Along any axis

@KINDS
def test_softmax_along_every_axis(dtype):
    rng, loose = numpy.random.default_rng(13), precision(dtype)
    for shape in ((3, 4), (2, 5, 3), (2, 1, 7), (3, 130, 17), (2, 10, 4, 33), (5, 3, 16), (1, 2, 1)):
        x, g = values(rng, dtype, *shape), values(rng, dtype, *shape)
        for dim in range(-len(shape), len(shape)):
            for name in ("softmax", "log_softmax"):
                compare(f"_{name}", x, dim, loose=loose)
                compare(f"_{name}_backward_data", g, op_named(f"_{name}")(x, dim), dim, loose=loose)


@KINDS
def test_softmax_of_columns_with_nothing_finite(dtype):
    x = numpy.zeros((2, 3, 18), dtype)
    x[0, :, 0], x[0, 1, 1], x[1, 2, 17], x[0, 0, 16] = -numpy.inf, numpy.nan, numpy.inf, -numpy.inf
    for name in ("_softmax", "_log_softmax"):
        compare(name, claygrad.tensor(x), 1, loose=precision(dtype))


# Losses

@KINDS
def test_wide_bags(dtype):
    rng = numpy.random.default_rng(17)
    weights = values(rng, dtype, 300)
    for width in (1, 15, 16, 64, 79, 130, 300, 515):
        table = values(rng, dtype, 50, width, odd=True)
        index, offsets = claygrad.tensor(rng.integers(0, 50, 300)), claygrad.tensor([0, 0, 7, 7, 120, 121, 299, 300])
        for mode in (0, 1, 2):
            for padding in (-1, 3):
                if mode == 0:
                    compare("_embedding_bag", table, index, offsets, mode, weights, False, padding, False, False,
                            loose=precision(dtype))
                compare("_embedding_bag", table, index, offsets, mode, None, False, padding, False, False, loose=precision(dtype))


@KINDS
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses_of_classes(reduction, dtype):
    rng, loose = numpy.random.default_rng(7), precision(dtype)
    for shape in ((5, 4), (4,), (2, 4, 3), (2, 4, 3, 2), (70, 9)):
        classes, rest = shape[0 if len(shape) == 1 else 1], (*shape[:1], *shape[2:]) if len(shape) > 1 else ()
        x, target = values(rng, dtype, *shape), claygrad.tensor(rng.integers(0, classes, rest))
        g = values(rng, dtype, *(rest if reduction == "none" else ()))
        for weight in (None, values(rng, dtype, classes).abs()):
            for ignored in (-100, 1):
                compare("_nll_loss", x, target, weight, reduction, ignored, loose=loose)
                compare("_nll_loss_backward", g, target, weight, reduction, ignored, shape, loose=loose)
        if len(shape) == 2:
            for ignored in (-100, 1):
                compare("_cross_entropy", x, target, reduction, ignored, loose=loose)
                kept = op_named("_cross_entropy")(x, target, reduction, ignored)[1]
                each = g.numpy() if reduction == "none" else numpy.full(rest, g.numpy())
                made = op_named("_cross_entropy_backward")(g, x, target, kept, reduction, ignored).numpy()
                score, right = x.numpy() - x.numpy().max(1, keepdims=True), target.numpy()
                wanted = numpy.exp(score) / numpy.exp(score).sum(1, keepdims=True) - numpy.eye(classes)[right]
                wanted *= (each * (right != ignored) / ((right != ignored).sum() if reduction == "mean" else 1))[:, None]
                numpy.testing.assert_allclose(made, wanted, rtol=10 * loose, atol=10 * loose)


@KINDS
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses_with_margins(reduction, dtype):
    rng, loose = numpy.random.default_rng(8), precision(dtype)
    for shape in ((5, 4), (4,), (1,), (), (3, 101)):
        x, count = values(rng, dtype, *shape), shape[0] if len(shape) == 2 else 1
        classes = shape[-1] if shape else 1
        rest = (count,) if len(shape) == 2 else ()
        target, g = claygrad.tensor(rng.integers(0, classes, rest)), values(rng, dtype, *(rest if reduction == "none" else ()))
        for p in (1, 2):
            for weight in (None, values(rng, dtype, classes)):
                compare("_multi_margin_loss", x, target, p, 0.7, weight, reduction, loose=loose)
                compare("multi_margin_loss_backward", g, x, target, p, 0.7, weight, reduction, loose=loose)
        lists = claygrad.tensor(rng.integers(-1, classes, shape))
        compare("_multilabel_margin_loss", x, lists, reduction, loose=loose)
        compare("multilabel_margin_loss_backward", g, x, lists, reduction, loose=loose)


@KINDS
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses_of_probabilities(reduction, dtype):
    rng, loose = numpy.random.default_rng(9), precision(dtype)
    for n in (1, 7, 70):
        x, y = (claygrad.tensor(rng.random(n).astype(dtype)) for _ in range(2))
        x[0], y[-1] = 0, 1
        compare("_binary_cross_entropy", x, y, None, reduction, loose=loose)
        compare("bce_backward", values(rng, dtype, n), x, y, loose=loose)
        compare("_soft_margin_loss", values(rng, dtype, n) * 50, values(rng, dtype, n).sign(), reduction, loose=loose)
    with pytest.raises(RuntimeError, match="all elements of input should be between 0 and 1"):
        F.binary_cross_entropy(claygrad.tensor([0.5, float("nan")]), claygrad.tensor([0.5, 0.5]))


# Bags and blocks

@KINDS
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_bags(mode, dtype):
    rng, loose = numpy.random.default_rng(4), precision(dtype)
    for trial in range(12):
        table, index = values(rng, dtype, 6, 3, odd=mode == 2 and trial % 2 == 1), claygrad.tensor(rng.integers(0, 6, 9))
        last = trial % 3 == 0
        offsets = claygrad.tensor([0, *sorted(rng.integers(0, 10, 3)), *([9] if last else [])])
        weights = values(rng, dtype, 9) if mode == 0 and trial % 2 else None
        padding = 2 if trial % 4 == 3 else -1
        compare("_embedding_bag", table, index, offsets, mode, weights, last, padding, False, False, loose=loose)
        out, bag, sizes, best = op_named("_embedding_bag")(table, index, offsets, mode, weights, last, padding, False, False)
        compare("_embedding_bag_dense_backward", values(rng, dtype, *out.shape), index, bag, sizes, best, weights, 6, mode,
                padding, False, loose=loose)


@KINDS
def test_blocks(dtype):
    rng, loose = numpy.random.default_rng(6), precision(dtype)
    for trial in range(30):
        kernel, stride, dilation = (tuple(map(int, rng.integers(1, 4, 2))) for _ in range(3))
        padding = tuple(map(int, rng.integers(0, 3, 2)))
        size = tuple(d * (k - 1) + 1 + int(rng.integers(0, 5)) for k, d in zip(kernel, dilation))
        lead = ((2, 3), (3,), (0, 2))[trial % 3]
        x = values(rng, dtype, *lead, *size)
        compare("im2col", x, kernel, dilation, padding, stride)
        columns = values(rng, dtype, *op_named("im2col")(x, kernel, dilation, padding, stride).shape)
        compare("col2im", columns, size, kernel, dilation, padding, stride, loose=loose)


@KINDS
@pytest.mark.parametrize(("size", "out"), [((7, 9), (2, 1)), ((7, 7), (1, 1)), ((3, 5, 40), (2, 3, 1)), ((50,), (1,))])
def test_largest_of_whole_rows(size, out, dtype):
    rng = numpy.random.default_rng(len(size))
    for _ in range(5):
        compare("_adaptive_max_pool", values(rng, dtype, 2, 3, *size, odd=True), out)


# Distances and alignments

@KINDS
@pytest.mark.parametrize("p", [0.0, 1.0])
def test_distances_of_odd_numbers(p, dtype):
    rng = numpy.random.default_rng(4)
    for m, n, k in ((5, 20, 3), (66, 300, 24), (3, 17, 40)):
        x, y = (values(rng, dtype, 2, rows, k, odd=True) for rows in (m, n))
        compare("_cdist_forward", x, y, p, loose=2e-5)

@KINDS
def test_distances(dtype):
    rng, loose = numpy.random.default_rng(2), 2e-5 if dtype == "float32" else 1e-11
    for lead, m, n, k in (((), 3, 4, 5), ((2,), 1, 7, 3), ((2, 3), 5, 5, 1), ((), 70, 9, 17)):
        x, y = values(rng, dtype, *lead, m, k), values(rng, dtype, *lead, n, k)
        for p in (0.0, 1.0, 2.0, 3.0, float("inf")):
            compare("_cdist_forward", x, y, p, loose=loose)
        compare("_euclidean_dist", x, y, loose=50 * loose)
        y[..., 0, :] = x[..., 0, :]
        for p in (1.0, 2.0):
            out, g = op_named("_cdist_forward")(x, y, p), values(rng, dtype, *lead, m, n)
            for needs in ((True, True), (True, False), (False, True)):
                compare("_cdist_backward", g, x, y, out, p, needs, loose=10 * loose)
    for count in (1, 2, 5, 70):
        x = values(rng, dtype, count, 4)
        for p in (0.0, 1.0, 2.0, 2.5):
            compare("pdist", x, p, loose=loose)
        for p in (1.0, 2.0):
            out = op_named("pdist")(x, p)
            compare("_pdist_backward", values(rng, dtype, *out.shape), x, out, p, loose=10 * loose)
    for shape in ((4, 5), (2, 3, 4), (7,)):
        for dim in range(-len(shape), len(shape)):
            compare("_cosine_similarity", values(rng, dtype, *shape), values(rng, dtype, *shape), dim, 1e-8, loose=loose)


@KINDS
def test_alignments(dtype):
    rng, loose = numpy.random.default_rng(3), 2e-4 if dtype == "float32" else 1e-10
    for trial in range(12):
        frames, examples, classes = (int(n) for n in rng.integers((2, 1, 2), (12, 4, 7)))
        spans = tuple(int(n) for n in rng.integers(0 if trial % 3 == 0 else 1, frames + 1, examples))
        lengths = tuple(int(n) for n in rng.integers(0 if trial % 2 else 1, 5, examples))
        scores = values(rng, dtype, frames, examples, classes).log_softmax(2)
        matrix = claygrad.tensor(rng.integers(0, classes, (examples, max(lengths) + 1)))
        for targets in (matrix, claygrad.tensor(rng.integers(0, classes, sum(lengths)))):
            given = scores, targets, spans, lengths, trial % classes, bool(trial % 2)
            compare("_ctc_loss", *given, loose=loose)
            loss, alpha = op_named("_ctc_loss")(*given)
            compare("_ctc_loss_backward", values(rng, dtype, examples), scores, targets, loss, alpha, *given[2:],
                    loose=loose)


# The short ways of composites: what their Python functions do

def calls(t) -> list:
    image, line, volume = t(2, 3, 6, 5), t(2, 3, 7), t(1, 2, 4, 4, 4)
    classes, vectors = t.index((4,), 3), (t(3), t(3))
    return [
        (F.max_pool1d, line, 2), (F.max_pool1d, line, 3, 2, 1, 1, True, True), (F.max_pool2d, image, 2),
        (F.max_pool2d, image, (3, 2), (2, 1), (1, 0), 1, True, True), (F.max_pool2d, image[0], 2, None, [1, 1]),
        (F.max_pool3d, volume, 2, 1, 0, 2), (F.avg_pool1d, line, 3, 2, 1, True, False), (F.avg_pool2d, image, [3], 2, 1, True, False, 5),
        (F.avg_pool3d, volume, 2), (F.adaptive_avg_pool1d, line, 3), (F.adaptive_avg_pool1d, line, 1),
        (F.adaptive_avg_pool2d, image, (None, 2)), (F.adaptive_avg_pool2d, image, 1), (F.adaptive_avg_pool3d, volume, (3, 1, 2)),
        (F.adaptive_max_pool1d, line, 3, True), (F.adaptive_max_pool2d, image, [2, None]), (F.adaptive_max_pool3d, volume, 2),
        (F.layer_norm, image, (6, 5), t(6, 5), t(6, 5)), (F.rms_norm, image, (5,), t(5)), (F.rms_norm, image, [6, 5], None, 0.1),
        (F.group_norm, t(2, 4, 3), 2, t(4), None, 0.1), (F.batch_norm, image, None, None, *vectors, True),
        (F.batch_norm, image, t(3, requires_grad=False), t(3, requires_grad=False).abs(), None, t(3)),
        (F.instance_norm, image, None, None, *vectors), (F.conv1d, line, t(4, 3, 2), t(4), 2, 1), (F.conv2d, image, t(4, 3, 3, 3)),
        (F.conv2d, image, t(6, 1, 3, 3), t(6), (1, 2), [1, 0], 1, 3), (F.conv2d, image, t(4, 3, 3, 3), None, 1, "same"),
        (F.conv2d, image, t(4, 3, 2, 2), None, 1, "valid"), (F.conv3d, volume, t(3, 2, 2, 2, 2), t(3), 1, 1),
        (F.conv_transpose1d, line, t(3, 2, 3), t(2), 2, 1, 1), (F.conv_transpose2d, image, t(3, 2, 2, 2), None, (2, 1)),
        (F.conv_transpose3d, volume, t(2, 2, 2, 2, 2), t(2)), (F.interpolate, line, 9), (F.interpolate, image, None, 1.7, "bilinear"),
        (F.interpolate, image, (4, 9), None, "bicubic", True), (F.interpolate, image, None, (2, 1.5), "nearest-exact"),
        (F.interpolate, image, None, 1.7, "bilinear", None, True), (F.interpolate, volume, 3, None, "area"),
        (F.interpolate, line, 1, None, "area"), (F.interpolate, volume, (3, 5, 2), None, "trilinear", False),
        (F.mse_loss, image, image * 2), (F.smooth_l1_loss, line, line * 2, None, None, "sum", 0.5), (F.huber_loss, line, line * 2, "none"),
        (F.binary_cross_entropy, line.sigmoid(), line.sigmoid() * 0.9), (F.binary_cross_entropy_with_logits, line, line.sigmoid()),
        (F.nll_loss, t(4, 3), classes, None, None, 1, None, "sum"), (F.nll_loss, t(4, 3), classes, t(3, requires_grad=False).abs()),
        (F.cross_entropy, t(4, 3), classes), (F.cross_entropy, t(4, 3), classes, None, None, 2, None, "none"),
        (F.multi_margin_loss, t(4, 3), classes, 2, 0.5), (F.multilabel_margin_loss, t(4, 3), t.index((4, 3), 3), None, None, "none"),
        (F.soft_margin_loss, line, line.detach().sign()), (F.embedding_bag, t.index((2, 3), 5), t(5, 4)),
        (F.embedding_bag, t.index((5,), 5), t(5, 4), t.index((1,), 1), None, 2.0, False, "sum", False, t(5), False, -2),
        (F.unfold, image, (2, 3), 1, [1]), (F.fold, t(2, 12, 20), (6, 5), 2), (claygrad.cdist, t(3, 4), t(5, 4), 1.0),
        (F.cosine_similarity, image, image * 2 + 1, -1), (F.ctc_loss, line.log_softmax(2), t.index((3, 2), 5), (2, 2, 2), (2, 1, 0), 6),
    ]


class Draw:
    """What `calls` makes its tensors with."""

    def __init__(self, recorded: bool) -> None:
        self.rng, self.recorded = numpy.random.default_rng(11), recorded

    def __call__(self, *shape: int, requires_grad: bool | None = None):
        made = claygrad.tensor(self.rng.standard_normal(shape))
        return made.requires_grad_(self.recorded if requires_grad is None else requires_grad)

    def index(self, shape: tuple, high: int):
        return claygrad.tensor(self.rng.integers(0, high, shape))


@pytest.mark.parametrize("recorded", [False, True], ids=["plain", "recorded"])
def test_short_ways(recorded):
    for (function, *given), (_, *again) in zip(calls(Draw(recorded)), calls(Draw(recorded)), strict=True):
        short, long = function(*given), function.forward(*again)
        pairs = zip(short, long, strict=True) if isinstance(short, tuple) else [(short, long)]
        for a, b in pairs:
            said = f"{function.__name__} {given[1:]}"
            assert (a.shape, a.stride(), a.dtype, a._is_view()) == (b.shape, b.stride(), b.dtype, b._is_view()), said
            assert (a.grad_fn and a.grad_fn.name()) == (b.grad_fn and b.grad_fn.name()), said
            numpy.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-10, atol=1e-12, err_msg=said)


def test_running_moments_move_as_declared():
    rng = numpy.random.default_rng(12)
    for function in (F.batch_norm, F.instance_norm):
        for dtype in ("float32", "float64"):
            x = values(rng, dtype, 4, 3, 5)
            start = values(rng, dtype, 3), values(rng, dtype, 3).abs()
            moved, wanted = ([v.clone() for v in start] for _ in range(2))
            versions = [v._version for v in moved]
            function(x, *moved, None, None, True, 0.3)
            function.forward(x, *wanted, None, None, True, 0.3)
            for a, b, version in zip(moved, wanted, versions):
                numpy.testing.assert_allclose(a.numpy(), b.numpy(), rtol=precision(dtype), atol=precision(dtype))
                assert a._version == version + 1


def test_gradients_of_sums():
    """A gradient that is one number stretched over the result does as one in row-major order."""
    for (function, *given), (_, *again) in zip(calls(Draw(True)), calls(Draw(True)), strict=True):
        found = []
        for arguments, stretched in ((given, True), (again, False)):
            leaves = [x for x in arguments if isinstance(x, claygrad.Tensor) and x.requires_grad]
            out = function(*arguments)
            out = out[0] if isinstance(out, tuple) else out
            g = claygrad.ones((), dtype=out.dtype).expand(out.shape) if stretched else claygrad.ones_like(out)
            found.append(claygrad.autograd.grad(out, leaves, g))
        for a, b in zip(*found, strict=True):
            assert a.stride() == b.stride(), function.__name__
            numpy.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-10, atol=1e-12, err_msg=function.__name__)
