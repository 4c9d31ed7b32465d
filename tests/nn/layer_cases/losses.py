"""Losses, each with its reductions."""

from __future__ import annotations

from tests.nn.layer_cases.specs import Case, Data, Layer, Named, Values, index, layer, normal, signs, uniform

P, T = normal(3, 4), normal(3, 4, grad=False)
CLASSES, PROBABLE = index(3, high=4), uniform(3, 4)
WEIGHT = uniform(4, grad=False)


def three(name: str, *inputs: Data, **options) -> list[Case]:
    return [layer(name, reduction=r, **options).on(*inputs) for r in ("mean", "sum", "none")]


CASES = [
    *three("L1Loss", P, T), *three("MSELoss", P, normal(3, 4)), *three("SmoothL1Loss", P, T, beta=0.5),
    *three("HuberLoss", P, T, delta=0.7), *three("SoftMarginLoss", P, signs(3, 4)),
    *three("PoissonNLLLoss", P, uniform(3, 4, high=5, grad=False), full=True),
    *three("PoissonNLLLoss", uniform(3, 4), uniform(3, 4, grad=False), log_input=False),
    *three("GaussianNLLLoss", P, T, uniform(3, 4), full=True), layer("GaussianNLLLoss").on(P, T, 0.5),
    *three("NLLLoss", P, CLASSES), layer("NLLLoss", WEIGHT, ignore_index=1).on(P, CLASSES),
    layer("NLLLoss").on(normal(2, 4, 3), index(2, 3, high=4)), layer("NLLLoss2d").on(normal(2, 4, 3, 2), index(2, 3, 2, high=4)),
    *three("KLDivLoss", P, PROBABLE), layer("KLDivLoss", reduction="batchmean", log_target=True).on(P, normal(3, 4)),
    *three("BCELoss", PROBABLE, uniform(3, 4, grad=False)), layer("BCELoss", WEIGHT).on(PROBABLE, uniform(3, 4, grad=False)),
    *three("BCEWithLogitsLoss", P, uniform(3, 4, grad=False)),
    layer("BCEWithLogitsLoss", WEIGHT, pos_weight=uniform(4, grad=False)).on(P, uniform(3, 4, grad=False)),
    *three("CrossEntropyLoss", P, CLASSES), layer("CrossEntropyLoss", WEIGHT, label_smoothing=0.1).on(P, CLASSES),
    layer("CrossEntropyLoss", ignore_index=2).on(normal(2, 4, 3), index(2, 3, high=4)),
    layer("CrossEntropyLoss", label_smoothing=0.2).on(P, PROBABLE), layer("CrossEntropyLoss").on(normal(4), index(high=4)),
    *three("LinearCrossEntropyLoss", P, CLASSES, in_features=4, num_classes=4),
    layer("LinearCrossEntropyLoss", 4, 3, bias=True, label_smoothing=0.1).on(P, index(3, high=3)),
    layer("LinearCrossEntropyLoss", 4, 3, out_features=(2,), bias=True).on(P, index(3, 2, high=3)),
    layer("LinearCrossEntropyLoss", 4, 3, ignore_index=1, weight=uniform(3, grad=False)).on(P, index(3, high=3)),
    *three("LinearCrossEntropyLoss", P, CLASSES, in_features=4, num_classes=4, bias=True,
           options=Layer("LinearCrossEntropyOptions", (), {"batch_chunk_size": 2, "allow_retain_graph": True})),
    layer("LinearCrossEntropyLoss", 4, 3, ignore_index=1, weight=uniform(3, grad=False), bias=True,
          options=Layer("LinearCrossEntropyOptions")).on(P, index(3, high=3)),
    layer("LinearCrossEntropyLoss", 4, 3, reduction="none", options=Layer("LinearCrossEntropyOptions")).on(
        normal(4), index(high=3)),
    *three("HingeEmbeddingLoss", P, signs(3, 4), margin=0.5), *three("MultiLabelMarginLoss", P, Values([[1, 3, -1, 0]] * 3, "int64")),
    *three("MultiLabelSoftMarginLoss", P, uniform(3, 4, grad=False)), layer("MultiLabelSoftMarginLoss", WEIGHT).on(P, PROBABLE),
    *three("MultiMarginLoss", P, CLASSES, p=2, margin=0.6), layer("MultiMarginLoss", 1, 1.0, WEIGHT).on(P, CLASSES),
    *three("CosineEmbeddingLoss", P, normal(3, 4), signs(3), margin=0.2),
    *three("MarginRankingLoss", normal(5), normal(5), signs(5), margin=0.3),
    *three("TripletMarginLoss", P, normal(3, 4), normal(3, 4), margin=0.7, p=1.5),
    layer("TripletMarginLoss", swap=True).on(P, normal(3, 4), normal(3, 4)),
    *three("TripletMarginWithDistanceLoss", P, normal(3, 4), normal(3, 4)),
    layer("TripletMarginWithDistanceLoss", distance_function=Named("nn.functional.l1_loss"), margin=2.0, swap=True).on(
        P, normal(3, 4), normal(3, 4)),
    layer("TripletMarginWithDistanceLoss", distance_function=Layer("CosineSimilarity")).on(P, normal(3, 4), normal(3, 4)),
    *[layer("CTCLoss", reduction=r, zero_infinity=True).on(normal(7, 2, 5), Values([[1, 2, 2], [3, 4, 1]], "int64"),
                                                            Values([7, 6], "int64"), Values([3, 2], "int64"))
      for r in ("mean", "sum", "none")],
    layer("AdaptiveLogSoftmaxWithLoss", 8, 12, [3, 7], div_value=2.0).on(normal(5, 8), Values([0, 4, 11, 2, 8], "int64")),
    layer("AdaptiveLogSoftmaxWithLoss", 8, 12, [4], head_bias=True).on(normal(8), Values(5, "int64")),
]
