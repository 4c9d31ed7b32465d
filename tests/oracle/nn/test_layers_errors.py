"""What layers refuse, and in which words: PyTorch's exception and the first line of its text."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

import claygrad
from tests.nn.layer_cases.specs import Case, Layer, Values, arguments, build, index, layer, mask, normal
from tests.support.library import same_text

MAKING = [
    layer("Hardtanh", 1.0, -1.0), layer("Dropout", 1.5), layer("Dropout2d", -0.1), layer("Bilinear", 0, 2, 3),
    layer("Unflatten", 1, 3), layer("Unflatten", 1, (2, "x")), layer("Conv2d", 3, 4, 3, groups=2),
    layer("Conv2d", 2, 3, 3, groups=2), layer("Conv2d", 2, 4, 3, groups=0), layer("Conv1d", 2, 3, 3, stride=2, padding="same"),
    layer("ConvTranspose2d", 2, 3, 3, padding_mode="circular"), layer("GroupNorm", 3, 4), layer("HuberLoss", delta="x"),
    layer("MultiMarginLoss", p=3), layer("MultiMarginLoss", weight=normal(2, 2)), layer("TripletMarginLoss", 0),
    layer("TripletMarginWithDistanceLoss", margin=-1.0), layer("FractionalMaxPool2d", 2),
    layer("FractionalMaxPool2d", 2, 3, 0.5), layer("FractionalMaxPool2d", 2, output_ratio=1.5),
    layer("FractionalMaxPool3d", 0, 2), layer("FractionalMaxPool3d", 2), layer("FractionalMaxPool3d", 2, output_ratio=2),
    layer("Embedding", 4, 3, 4), layer("Embedding", 4, 3, -5), layer("EmbeddingBag", 4, 3, padding_idx=4),
    layer("Embedding", 4, 3, _weight=normal(3, 3)), layer("EmbeddingBag", 4, 3, _weight=normal(3, 3)),
    layer("MultiheadAttention", 5, 2), layer("MultiheadAttention", 0, 2),
    layer("TransformerEncoderLayer", 6, 2, activation="tanh"), layer("TransformerDecoderLayer", 6, 2, activation="x"),
    layer("AdaptiveLogSoftmaxWithLoss", 8, 12, []), layer("AdaptiveLogSoftmaxWithLoss", 8, 12, [5, 3]),
    layer("AdaptiveLogSoftmaxWithLoss", 8, 12, [3, 12]), layer("AdaptiveLogSoftmaxWithLoss", 8, 12, [0, 3]),
    layer("AdaptiveLogSoftmaxWithLoss", 8, 12, [2.5]),
    layer("RNN", 3, 4, nonlinearity="gelu"), layer("RNN", 3, 4, proj_size=2), layer("GRU", 3, 4, proj_size=2),
    layer("LSTM", 3, 4, proj_size=4), layer("LSTM", 3, 4, proj_size=-1), layer("LSTM", 3, 4, dropout=1.5),
    layer("LSTM", 3, 4, dropout=True), layer("LSTM", 3, 4, bias=1), layer("LSTM", 3, 4, batch_first=1), layer("GRU", 0, 4),
    layer("GRU", 3, 0), layer("GRU", 3.0, 4), layer("GRU", 3, 4.0), layer("GRU", 3, 4, 0), layer("RNNBase", "X", 3, 4),
    layer("LinearCrossEntropyLoss", 4, 3, weight=normal(4)), layer("LinearCrossEntropyLoss", 4, 3, label_smoothing=2.0),
    layer("LinearCrossEntropyOptions", acc_policy="x"), layer("LinearCrossEntropyOptions", chunking_method="aspect_ratio:0"),
    layer("LinearCrossEntropyOptions", batch_chunk_size=0), layer("Linear", 3), layer("Linear", 3, 4, 5, 6, 7, 8),
    layer("ReLU", 1, 2), layer("Conv2d"),
]

CALLING = [
    layer("Linear", 4, 3).on(normal(2, 5)), layer("LazyLinear", 3).on(), layer("Softmax2d").on(normal(2, 3)),
    layer("BatchNorm1d", 4).on(normal(2, 4, 3, 3)), layer("BatchNorm2d", 4).on(normal(2, 4, 3)), layer("BatchNorm3d", 4).on(normal(2, 4)),
    layer("BatchNorm1d", 4).on(normal(1, 4)), layer("BatchNorm1d", 3).on(normal(2, 4)),
    layer("SyncBatchNorm", 4).on(normal(4)), layer("SyncBatchNorm", 0).on(normal(2, 0)),
    layer("InstanceNorm1d", 4).on(normal(4)), layer("InstanceNorm2d", 4, affine=True).on(normal(2, 3, 2, 2)),
    layer("InstanceNorm3d", 4).on(normal(2, 3)), layer("LazyBatchNorm1d").on(normal(2, 4, 3, 3)),
    layer("CircularPad1d", 1).on(normal(4)), layer("CircularPad2d", 1).on(normal(4, 4)), layer("CircularPad3d", 1).on(normal(4, 4, 4)),
    layer("LayerNorm", 4).on(normal(2, 3)), layer("GroupNorm", 2, 4).on(normal(2, 6)), layer("CrossMapLRN2d", 2).on(normal(2, 3, 4)),
    layer("Conv2d", 2, 3, 3).on(normal(2, 3, 5, 5)), layer("Conv2d", 2, 3, 3).on(normal(5, 5)), layer("Conv1d", 2, 3, 7).on(normal(1, 2, 5)),
    layer("LazyConv2d", 3, 2).on(normal(5, 5)), layer("LazyConv2d", 4, 2, groups=2).on(normal(1, 3, 5, 5)),
    layer("ConvTranspose2d", 2, 3, 3, 2).on(normal(1, 2, 4, 4), [5]), layer("ConvTranspose1d", 2, 3, 3, 2).on(normal(1, 2, 4), [20]),
    layer("Embedding", 4, 3).on(Values([5], "int64")), layer("PixelShuffle", 2).on(normal(1, 3, 2, 2)),
    layer("RNN", 3, 4).on(normal(3)), layer("GRU", 3, 4).on(normal(1, 2, 3, 4)), layer("LSTM", 3, 4).on(normal(3)),
    layer("RNN", 3, 4).on(normal(5, 2, 3), normal(1, 4)), layer("GRU", 3, 4).on(normal(5, 3), normal(1, 2, 4)),
    layer("LSTM", 3, 4).on(normal(5, 2, 3), (normal(1, 4), normal(1, 4))),
    layer("LSTM", 3, 4).on(normal(5, 3), (normal(1, 2, 4), normal(1, 2, 4))),
    layer("GRU", 3, 4).on(normal(5, 2, 3), normal(1, 3, 4)), layer("LSTM", 3, 4).on(normal(5, 2, 3), (normal(1, 2, 5), normal(1, 2, 4))),
    layer("LSTM", 3, 4).on(normal(5, 2, 3), (normal(1, 2, 4), normal(1, 2, 5))), layer("RNN", 3, 4).on(normal(5, 2, 4)),
    layer("LSTM", 3, 4).on(index(5, 2, 3, high=3)),
    layer("RNNCell", 3, 4).on(normal(1, 2, 3)), layer("GRUCell", 3, 4).on(normal(2, 3), normal(1, 2, 4)),
    layer("LSTMCell", 3, 4).on(normal(2, 3), (normal(1, 2, 4), normal(2, 4))),
    layer("LSTMCell", 3, 4).on(normal(1, 2, 3)), layer("RNNCell", 3, 4, nonlinearity="x").on(normal(2, 3)),
    layer("MultiheadAttention", 6, 2).on(normal(4, 2, 5), normal(4, 2, 5), normal(4, 2, 5)),
    layer("MultiheadAttention", 6, 2).on(normal(4, 2, 6), normal(4, 6), normal(4, 6)), layer("MultiheadAttention", 6, 2).on(normal(6), normal(6), normal(6)),
    layer("MultiheadAttention", 6, 2).on(normal(4, 2, 6), normal(5, 2, 6), normal(5, 2, 6), attn_mask=mask(3, 5)),
    layer("MultiheadAttention", 6, 2).on(normal(4, 2, 6), normal(5, 2, 6), normal(5, 2, 6), attn_mask=mask(3, 4, 5)),
    layer("MultiheadAttention", 6, 2).on(normal(4, 2, 6), normal(5, 2, 6), normal(5, 2, 6), attn_mask=index(4, 5, high=2)),
    layer("MultiheadAttention", 6, 2).on(normal(4, 2, 6), normal(4, 2, 6), normal(4, 2, 6), is_causal=True),
    layer("MultiheadAttention", 6, 2).on(normal(4, 2, 6), normal(5, 2, 6), normal(5, 2, 6), key_padding_mask=mask(2, 2, 5)),
    layer("TransformerEncoderLayer", 6, 2).on(normal(4, 2, 6), src_mask=index(4, 4, high=2)),
    layer("TransformerEncoder", Layer("TransformerEncoderLayer", (6, 2)), 1).on(normal(4, 2, 6), index(4, 4, high=2)),
    layer("Transformer", 6, 2, 1, 1, 5).on(normal(4, 2, 6), normal(4, 3, 6)), layer("Transformer", 6, 2, 1, 1, 5).on(normal(4, 2, 5), normal(4, 2, 6)),
    layer("Transformer", 6, 2, 1, 1, 5, batch_first=True).on(normal(4, 2, 6), normal(3, 2, 6)),
    layer("AdaptiveLogSoftmaxWithLoss", 8, 12, [3]).on(normal(2, 8), Values([1], "int64")),
    layer("AdaptiveLogSoftmaxWithLoss", 8, 12, [3]).on(normal(2, 8), Values([1, 12], "int64")),
    layer("AdaptiveLogSoftmaxWithLoss", 8, 12, [3]).on(normal(8), Values([1] * 8, "int64")),
    layer("AdaptiveLogSoftmaxWithLoss", 8, 12, [3]).on(normal(2, 8), Values(1, "int64")),
    layer("AdaptiveLogSoftmaxWithLoss", 8, 12, [3]).on(normal(2, 8), Values([[1]], "int64")),
    layer("LinearCrossEntropyLoss", 4, 3).on(normal(2, 3), index(2, high=3)), layer("L1Loss", reduction="x").on(normal(2), normal(2)),
    layer("CrossEntropyLoss").on(normal(2, 3), index(3, high=3)), layer("NLLLoss").on(normal(2, 3), Values([0, 5], "int64")),
    layer("ReLU").on(), layer("ReLU").on(normal(2), normal(2)), layer("Bilinear", 2, 3, 4).on(normal(2, 3), normal(2, 3)),
]


def refusal(lib: Any, case: Case, call: bool) -> BaseException:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            module = build(lib, case)
            if call:
                args, options = arguments(lib, case)
                (module if case.layer.startswith("Lazy") else module.double())(*args, **options)
        except Exception as error:
            return error
    raise AssertionError(f"{lib.__name__} accepts {case}")


def compare(case: Case, call: bool) -> None:
    theirs, ours = (refusal(lib, case, call) for lib in (torch, claygrad))
    assert type(ours) is type(theirs), f"{theirs!r}\n{ours!r}"
    first = str(theirs).split("\n")[0]
    assert same_text(claygrad, str(ours), first), f"{theirs}\n{ours}"


@pytest.mark.parametrize("case", MAKING, ids=str)
def test_what_cannot_be_made(case: Case):
    compare(case, False)


@pytest.mark.parametrize("case", CALLING, ids=str)
def test_what_cannot_be_called(case: Case):
    compare(case, True)


@pytest.mark.parametrize("case", [
    layer("Hardtanh", min_value=-2.0), layer("Hardtanh", max_value=3.0), layer("LSTM", 3, 4, dropout=0.5), layer("NLLLoss2d"),
    layer("L1Loss", size_average=False), layer("MSELoss", reduce=False),
    layer("TransformerEncoder", Layer("TransformerEncoderLayer", (6, 2)), 1),
    layer("TransformerEncoder", Layer("TransformerEncoderLayer", (6, 3), {"batch_first": True}), 1),
    layer("TransformerEncoder", Layer("TransformerEncoderLayer", (6, 2), {"batch_first": True, "norm_first": True}), 1),
    layer("TransformerEncoder", Layer("TransformerEncoderLayer", (6, 2), {"batch_first": True, "bias": False}), 1),
], ids=str)
def test_what_is_made_with_a_warning(case: Case):
    said = []
    for lib in (torch, claygrad):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            build(lib, case)
        said.append([(w.category, str(w.message)) for w in caught])
    assert said[0] == said[1]
    assert said[1]
