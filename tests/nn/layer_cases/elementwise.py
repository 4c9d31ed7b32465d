"""Activations, dropout, linear maps, embeddings, distances and layers that only move elements."""

from __future__ import annotations

from tests.nn.layer_cases.specs import Values, index, layer, normal, uniform

X = normal(3, 4)
PLAIN = ["Sigmoid", "Tanh", "LogSigmoid", "Softsign", "Tanhshrink", "ReLU", "ReLU6", "SiLU", "Mish", "SELU",
         "Hardsigmoid", "Hardswish", "Hardtanh", "ELU", "CELU", "LeakyReLU", "Softplus", "GELU", "Hardshrink",
         "Softshrink", "PReLU", "GLU"]
IN_PLACE = ["ReLU", "ReLU6", "SiLU", "Mish", "SELU", "Hardsigmoid", "Hardswish"]

activations = [
    *[layer(name).on(X) for name in PLAIN],
    *[layer(name, inplace=True).on(normal(3, 4, grad=False)) for name in IN_PLACE],
    layer("Threshold", 0.1, -2.0).on(X),
    layer("Threshold", 0.1, 20, inplace=True).on(normal(3, 4, grad=False)),
    layer("Hardtanh", -0.5, 0.7).on(X),
    layer("Hardtanh", -2, 3, True).on(normal(3, 4, grad=False)),
    layer("ELU", 0.5).on(X), layer("ELU", 0.5, True).on(normal(3, 4, grad=False)),
    layer("CELU", 2.0).on(X), layer("CELU", 0.5, True).on(normal(3, 4, grad=False)),
    layer("LeakyReLU", 0.2).on(X), layer("LeakyReLU", 0.2, True).on(normal(3, 4, grad=False)),
    layer("Softplus", 2, 1).on(X),
    layer("GELU", approximate="tanh").on(X),
    layer("Hardshrink", 0.3).on(X), layer("Softshrink", 0.3).on(X),
    layer("PReLU", 4, 0.1).on(normal(2, 4, 3)), layer("PReLU", num_parameters=4).on(X),
    layer("RReLU", random=True).on(X), layer("RReLU", 0.1, 0.3, random=True).on(normal(2, 3, 4)),
    layer("GLU", 0).on(normal(4, 3)),
    *[layer(name, dim).on(normal(2, 3, 4)) for name in ("Softmin", "Softmax", "LogSoftmax") for dim in (1, -1)],
    layer("Softmax2d").on(normal(2, 3, 2, 2)), layer("Softmax2d").on(normal(3, 2, 2)),
]

dropouts = [
    layer("Dropout", random=True).on(normal(4, 5)),
    layer("Dropout", 0.3, True, random=True).on(normal(4, 5, grad=False)),
    layer("Dropout", 0.0).on(X), layer("Dropout", 1.0).on(X),
    layer("Dropout1d", 0.4, random=True).on(normal(3, 4, 5)), layer("Dropout1d", random=True).on(normal(4, 5)),
    layer("Dropout2d", 0.4, random=True).on(normal(3, 4, 2, 2)),
    layer("Dropout3d", 0.4, random=True).on(normal(3, 4, 2, 2, 2)),
    layer("AlphaDropout", 0.3, random=True).on(normal(4, 5)),
    layer("FeatureAlphaDropout", 0.3, random=True).on(normal(4, 5, 2)),
]

linears = [
    layer("Identity", 3, some="thing").on(X),
    layer("Linear", 4, 3).on(X), layer("Linear", 4, 3, bias=False).on(normal(2, 3, 4)),
    layer("Linear", 4, 3).on(normal(4)), layer("LazyLinear", 3).on(X), layer("LazyLinear", 3, bias=False).on(X),
    layer("Bilinear", 4, 3, 2).on(X, normal(3, 3)), layer("Bilinear", 4, 3, 2, False).on(X, normal(3, 3)),
]

embeddings = [
    layer("Embedding", 7, 3).on(index(2, 4, high=7)),
    layer("Embedding", 7, 3, padding_idx=2).on(index(2, 4, high=7)),
    layer("Embedding", 7, 3, -1).on(index(6, high=7)),
    layer("Embedding", 7, 3, max_norm=1.0).on(index(6, high=7)),
    layer("Embedding", 7, 3, max_norm=1.0, norm_type=1.0, scale_grad_by_freq=True).on(index(9, high=7)),
    *[layer("EmbeddingBag", 7, 3, mode=mode).on(index(3, 4, high=7)) for mode in ("sum", "mean", "max")],
    *[layer("EmbeddingBag", 7, 3, mode=mode).on(index(8, high=7), Values([0, 3, 5], "int64"))
      for mode in ("sum", "mean", "max")],
    layer("EmbeddingBag", 7, 3, mode="sum").on(index(3, 4, high=7), per_sample_weights=normal(3, 4)),
    layer("EmbeddingBag", 7, 3, include_last_offset=True).on(index(8, high=7), Values([0, 3, 5, 8], "int64")),
    layer("EmbeddingBag", 7, 3, padding_idx=1, mode="sum").on(index(3, 4, high=7)),
    # PyTorch divides by how often another row is named.
    layer("EmbeddingBag", 7, 3, max_norm=1.0, norm_type=1.0, scale_grad_by_freq=True, gradient=False).on(index(3, 4, high=7)),
]

distances = [
    layer("PairwiseDistance").on(X, normal(3, 4)), layer("PairwiseDistance", 1.0, 1e-3, True).on(X, normal(3, 4)),
    layer("CosineSimilarity").on(X, normal(3, 4)), layer("CosineSimilarity", 0, 1e-3).on(X, normal(3, 4)),
]

moves = [
    layer("Flatten").on(normal(2, 3, 4)), layer("Flatten", 0, 1).on(normal(2, 3, 4)),
    layer("Unflatten", 1, (2, 3)).on(normal(2, 6)), layer("Unflatten", -1, [3, 2]).on(normal(2, 6)),
    layer("ChannelShuffle", 2).on(normal(1, 6, 2, 2)),
    layer("PixelShuffle", 2).on(normal(2, 8, 3, 2)), layer("PixelUnshuffle", 2).on(normal(2, 3, 4, 6)),
    layer("Fold", (4, 5), (2, 3)).on(normal(2, 12, 9)), layer("Fold", 5, 2, 1, 1, 2).on(normal(2, 8, 9)),
    layer("Unfold", (2, 3)).on(normal(2, 2, 4, 5)), layer("Unfold", 3, 1, 1, 2).on(normal(2, 2, 4, 5)),
    layer("Upsample", scale_factor=2).on(normal(1, 2, 3)), layer("Upsample", 5, mode="linear").on(normal(1, 2, 3)),
    layer("Upsample", (5, 4), mode="bilinear", align_corners=True).on(normal(1, 2, 3, 3)),
    layer("Upsample", scale_factor=(2.0, 1.5), mode="bicubic").on(normal(1, 2, 3, 4)),
    layer("Upsample", scale_factor=2, mode="trilinear").on(normal(1, 2, 2, 3, 2)),
    layer("Upsample", scale_factor=1.7, recompute_scale_factor=True).on(normal(1, 2, 4, 4)),
    layer("UpsamplingNearest2d", scale_factor=2).on(normal(1, 2, 3, 3)),
    layer("UpsamplingBilinear2d", (5, 4)).on(normal(1, 2, 3, 3)),
]

CASES = [*activations, *dropouts, *linears, *embeddings, *distances, *moves,
         layer("Softplus").on(uniform(3, low=18, high=25))]
