"""Convolutions, pooling and padding."""

from __future__ import annotations

from tests.nn.layer_cases.specs import Case, layer, normal, places, uniform

SIDES = {1: (7,), 2: (6, 5), 3: (4, 5, 4)}


def image(axes: int, channels: int = 2, batch: tuple[int, ...] = (2,)):
    return normal(*batch, channels, *SIDES[axes])


def by_axes(axes: int) -> list[Case]:
    d, x, alone = f"{axes}d", image(axes), image(axes, batch=())
    four = image(axes, 4)
    conv, back, lazy = f"Conv{d}", f"ConvTranspose{d}", f"LazyConv{d}"
    made = [
        layer(conv, 2, 3, 3).on(x), layer(conv, 2, 3, 2, bias=False).on(alone),
        layer(conv, 2, 3, 3, stride=2, padding=1).on(x), layer(conv, 2, 3, 2, dilation=2, padding="same").on(x),
        layer(conv, 2, 3, 3, padding="valid").on(x), layer(conv, 4, 6, 2, groups=2).on(four),
        layer(conv, 4, 4, 3, groups=4, padding=1).on(four),
        *[layer(conv, 2, 3, 3, padding=1, padding_mode=mode).on(x) for mode in ("reflect", "replicate", "circular")],
        layer(conv, 2, 3, 2, padding="same", padding_mode="circular").on(x),
        layer(back, 2, 3, 3).on(x), layer(back, 2, 3, 3, 2, 1, 1).on(x), layer(back, 4, 6, 2, groups=2).on(four),
        layer(back, 2, 3, 3, dilation=2, bias=False).on(alone),
        layer(back, 2, 3, 3, stride=2, padding=1).on(x, [2 * n for n in SIDES[axes]]),
        layer(lazy, 3, 3, padding=1).on(x), layer(lazy, 3, 2, bias=False).on(alone),
        layer("LazyConvTranspose" + d, 3, 3, stride=2).on(x),
        layer("MaxPool" + d, 2).on(x), layer("MaxPool" + d, 3, 2, 1, ceil_mode=True).on(x),
        layer("MaxPool" + d, 2, 1, dilation=2, return_indices=True).on(alone),
        layer("AvgPool" + d, 2).on(x), layer("AvgPool" + d, 3, 2, 1, True, False).on(alone),
        layer("LPPool" + d, 2, 2).on(uniform(2, 2, *SIDES[axes])),
        layer("LPPool" + d, 3, 2, 1, True).on(uniform(2, 2, *SIDES[axes])),
        layer("AdaptiveAvgPool" + d, 2).on(x), layer("AdaptiveMaxPool" + d, 3).on(alone),
        layer("AdaptiveMaxPool" + d, 2, return_indices=True).on(x),
        layer("ZeroPad" + d, 1).on(x), layer("ConstantPad" + d, 2, 3.5).on(x),
        layer("ReflectionPad" + d, 1).on(x), layer("ReplicationPad" + d, 2).on(alone),
        layer("CircularPad" + d, 1).on(x),
        layer("ConstantPad" + d, tuple(range(2 * axes)), 0.5).on(x),
        layer("ReflectionPad" + d, tuple(k % 3 for k in range(2 * axes))).on(x),
        layer("CircularPad" + d, tuple(k % 3 for k in range(2 * axes))).on(x),
    ]
    small = tuple(n // 2 for n in SIDES[axes])
    made.append(layer("MaxUnpool" + d, 2).on(normal(1, 2, *small), unpooled(small)))
    return made


def unpooled(small: tuple[int, ...]):
    """Indices into an image of twice the size."""
    high = 1
    for n in small:
        high *= 2 * n
    return places(1, 2, *small, high=high)


CASES = [
    *by_axes(1), *by_axes(2), *by_axes(3),
    layer("Conv2d", 2, 3, (3, 2), (2, 1), (1, 0), (1, 2)).on(image(2)),
    layer("AvgPool2d", 2, divisor_override=3).on(image(2)), layer("AvgPool3d", 2, divisor_override=3).on(image(3)),
    layer("AvgPool2d", (2, 3), (1, 2)).on(image(2)),
    layer("AdaptiveAvgPool2d", (3, None)).on(image(2)), layer("AdaptiveMaxPool3d", (2, None, 3)).on(image(3)),
    layer("FractionalMaxPool2d", 2, output_size=(3, 2), random=True).on(image(2)),
    layer("FractionalMaxPool2d", 2, output_ratio=0.6, return_indices=True, random=True).on(image(2)),
    layer("FractionalMaxPool2d", 2, 3, _random_samples=uniform(2, 2, 2)).on(image(2)),
    layer("FractionalMaxPool3d", 2, output_size=2, random=True).on(image(3)),
    layer("FractionalMaxPool3d", 2, output_ratio=(0.6, 0.5, 0.6), random=True).on(image(3)),
]
