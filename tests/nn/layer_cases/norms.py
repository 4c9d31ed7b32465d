"""Normalisations."""

from __future__ import annotations

from tests.nn.layer_cases.specs import Case, layer, normal

SIDES = {1: (5,), 2: (3, 4), 3: (2, 3, 2)}


def by_axes(axes: int) -> list[Case]:
    d, x, alone = f"{axes}d", normal(3, 4, *SIDES[axes]), normal(4, *SIDES[axes])
    batch, instance = "BatchNorm" + d, "InstanceNorm" + d
    return [
        layer(batch, 4).on(x), layer(batch, 4, 1e-3, 0.3).on(x), layer(batch, 4, momentum=None).on(x),
        layer(batch, 4, affine=False).on(x), layer(batch, 4, track_running_stats=False).on(x),
        layer(batch, 4, bias=False).on(x),
        layer("Lazy" + batch).on(x), layer("Lazy" + batch, affine=False, momentum=None).on(x),
        layer("Lazy" + batch, track_running_stats=False, bias=False).on(x),
        layer(instance, 4).on(x), layer(instance, 4, affine=True).on(alone), layer(instance, 4, affine=True, bias=False).on(x),
        layer(instance, 4, track_running_stats=True).on(x), layer(instance, 4, momentum=None, track_running_stats=True).on(x),
        layer("Lazy" + instance, affine=True, track_running_stats=True).on(x),
        layer("Lazy" + instance, affine=True, track_running_stats=False).on(x),
    ]


CASES = [
    *by_axes(1), *by_axes(2), *by_axes(3),
    layer("BatchNorm1d", 4).on(normal(6, 4)),
    layer("SyncBatchNorm", 4).on(normal(3, 4, 5)), layer("SyncBatchNorm", 4, momentum=None, affine=False).on(normal(6, 4)),
    layer("LayerNorm", 4).on(normal(3, 4)), layer("LayerNorm", (3, 4), eps=1e-3).on(normal(2, 3, 4)),
    layer("LayerNorm", [4], elementwise_affine=False).on(normal(3, 4)), layer("LayerNorm", 4, bias=False).on(normal(3, 4)),
    layer("RMSNorm", 4).on(normal(3, 4)), layer("RMSNorm", (3, 4), eps=1e-3).on(normal(2, 3, 4)),
    layer("RMSNorm", 4, elementwise_affine=False).on(normal(3, 4)),
    layer("GroupNorm", 2, 4).on(normal(3, 4, 5)), layer("GroupNorm", 4, 4, affine=False).on(normal(3, 4, 2, 2)),
    layer("GroupNorm", 1, 4, 1e-3, bias=False).on(normal(3, 4)),
    layer("LocalResponseNorm", 2).on(normal(2, 5, 3)), layer("LocalResponseNorm", 3, 0.1, 0.5, 2.0).on(normal(2, 5, 3, 2)),
    # PyTorch's gradient of this one takes other windows than its forward.
    *[layer("CrossMapLRN2d", size, 0.3, 0.75, 1, gradient=False).on(normal(2, 6, 3, 2)) for size in (3, 4, 5)],
]
