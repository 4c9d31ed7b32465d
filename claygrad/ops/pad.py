"""Padding: elements before and after those of an axis, constant or taken from the axis itself."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import recast_array
from claygrad.ops._conv import same_format
from claygrad.ops._geometry import text
from claygrad.ops._numbers import refuse_overflow
from claygrad.ops._registry import composite, op

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor

    ints = int | tuple[int, ...] | list[int]


# Note [Pads]
# A list of pads names the last axis first: (before, after) of the last axis, then of the one before it, and so on.
# A negative pad cuts elements off.

def by_axis(pad: ints, ndim: int) -> list[tuple[int, int]]:
    """The pads of every axis from the first to the last."""
    pairs = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)][::-1]
    return [(0, 0)] * (ndim - len(pairs)) + pairs


def padded_shape(input, pad: ints) -> tuple[int, ...]:
    return tuple([n + before + after for n, (before, after) in zip(input.shape, by_axis(pad, input.ndim))])


def check_constant(input: Tensor, pad: ints, value: float) -> None:
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * input.ndim:
        raise RuntimeError("Length of pad should be no more than twice the number of dimensions of the input. "
                           f"Pad length is {len(pad)}while the input has {input.ndim}dimensions.")
    for n, (before, after) in zip(input.shape, by_axis(pad, input.ndim)):
        if n + min(before, 0) + min(after, 0) < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
    refuse_overflow(value, input.dtype)


@op(strides=lambda pad: None if pad else "like",
    kernel="constant_pad", method=False, out=False, half="raw", check=check_constant, meta=padded_shape,
    samples=lambda t: [t.args(t(2, 3), [1, 2]), t.args(t(2, 3), [1, 0, 0, 2], 1.5), t.args(t(3, 4), [-1, 2, 1, -1], 2),
                       t.args(t(2, 3), []), t.args(t(2, 0), [1, 1])],
    errors=lambda t: [(t.args(t(2, 3), [1]), RuntimeError, "Length of pad must be even but instead it equals 1"),
                      (t.args(t(3), [1, 1, 1, 1]), RuntimeError, "Length of pad should be no more than twice")])
def constant_pad_nd(xp, input: Tensor, pad: ints, value: Number = 0):
    """The input with `value` before and after it along its last axes; negative pads cut elements off."""
    pads = by_axis(pad, input.ndim)
    if all(p <= 0 for p in pad):
        return input[tuple([slice(-before, n + after) for n, (before, after) in zip(input.shape, pads)])].copy("K")
    out = xp.full(padded_shape(input, pad), recast_array(xp.asarray(value), input.dtype))
    inner = tuple([slice(max(before, 0), n + before + after - max(after, 0))
                   for n, (before, after) in zip(input.shape, pads)])
    out[inner] = input[tuple([slice(max(-before, 0), n - max(-after, 0))
                              for n, (before, after) in zip(input.shape, pads)])]
    return same_format(xp, out, input)
constant_pad_nd.rule(input=lambda g, pad: constant_pad_nd(g, [-p for p in pad]))


# Padding with the elements of the axis

def sources(xp, mode: str, n: int, before: int, after: int):
    """Where the elements of a padded axis come from."""
    at = xp.arange(-before, n + after)
    if mode == "reflect":
        at = xp.where(at < 0, -at, at)
        return xp.where(at < n, at, 2 * (n - 1) - at)
    if mode == "replicate":
        return xp.clip(at, 0, n - 1)
    first, kept = max(-before, 0), n - max(-before, 0) - max(-after, 0)       # what the cuts leave is repeated
    return first + (at - first) % max(kept, 1)


def check_by_elements(input: Tensor, pad: ints, mode: str) -> None:
    ndim, shape, count = input.ndim, list(input.shape), len(pad) // 2
    if input.is_floating_point() and 0 not in shape and all(0 <= p < shape[-1 - i // 2] for i, p in enumerate(pad)):
        return                                             # by less than there is: right in every mode
    name = f"{ {'reflect': 'reflection', 'replicate': 'replication'}.get(mode)}_pad{count}d"
    if mode != "circular" and input.dtype.name == "bool":
        raise NotImplementedError(f"\"{name}\" not implemented for '{input.dtype.legacy}'")
    if mode == "circular":
        axes = list(zip(shape[-count:], by_axis(pad, ndim)[-count:]))
        for n, (before, after) in axes:
            if before > n or after > n:
                raise RuntimeError("Padding value causes wrapping around more than once.")
            if n + before + after < 0:
                raise RuntimeError("Negative padding value is resulting in an empty dimension")
        if any(n + before + after > 0 >= n + min(before, 0) + min(after, 0) for n, (before, after) in axes):
            raise RuntimeError("Padding value causes wrapping around more than once.")     # PyTorch writes nothing
        return
    batch = ndim == count + 2
    if 0 in shape[1 if batch else 0:]:
        raise RuntimeError(f"Expected {count + 1}D or {count + 2}D (batch mode) tensor with possibly 0 batch size and "
                           f"other non-zero dimensions for input, but got: {shape}")
    for i in range(count):
        before, after = pad[2 * i], pad[2 * i + 1]
        axis = ndim - 1 - i
        if mode == "reflect" and (before >= shape[axis] or after >= shape[axis]):
            raise RuntimeError(f"Argument #{4 + 2 * i}: Padding size should be less than the corresponding input "
                               f"dimension, but got: padding ({before}, {after}) at dimension {axis} of input {shape}")
    check_not_cut(shape, pad, mode, count)


def check_not_cut(shape: list[int], pad: ints, mode: str, count: int) -> None:
    out = [n + pad[2 * i] + pad[2 * i + 1] for i, n in enumerate(shape[::-1][:count])][::-1]
    if count == 1 and out[0] < 1:
        raise RuntimeError(f"input (W: {shape[-1]}) is too small. Calculated output W: {out[0]}")
    if max(out) < 1:
        names, end = ("D: ", "H: ", "W: ")[-count:], " " if count == 2 and mode == "replicate" else ""
        given = " ".join([w + str(n) for w, n in zip(names, shape[-count:])]).replace(" W", ", W")
        left = " ".join([w + str(n) for w, n in zip(names, out)])
        raise RuntimeError(f"input ({given}{end}) is too small. Calculated output {left}")
    if min(out) < 0:
        raise RuntimeError("numel: integer multiplication overflow" if mode == "reflect" and count < 3 else
                           f"Trying to create tensor with negative dimension {next(n for n in out if n < 0)}: "
                           f"{text([*shape[:-count], *out])}")


def node_of_pad(pad: ints, mode: str) -> str:
    word = {"reflect": "ReflectionPad", "replicate": "ReplicationPad"}.get(mode)
    return "torch::autograd::CopySlices" if word is None else f"{word}{len(pad) // 2}DBackward0"


@op(kernel="reflect_pad",
    name="_pad_enum", node=node_of_pad, function=False, method=False, out=False, half="raw", check=check_by_elements,
    meta=padded_shape, samples=lambda t: [t.args(t(2, 3, 4), [1, 2], "reflect")])
def pad_by_elements(xp, input: Tensor, pad: ints, mode: str):
    """The input continued at both ends of its last axes by its own elements."""
    if min(pad) >= 0 and input.size:
        return same_format(xp, continued(xp, input, by_axis(pad, input.ndim), mode), input)
    out = input
    for axis, (before, after) in enumerate(by_axis(pad, input.ndim)):
        if before or after:
            out = xp.take(out, sources(xp, mode, input.shape[axis], before, after), axis=axis)
    return same_format(xp, out, input) if out is not input else input.copy()


def continued(xp, x, pads, mode: str):
    """Padding without cuts: the input put in the middle, then an axis at a time filled from what is there."""
    out = xp.empty([n + before + after for n, (before, after) in zip(x.shape, pads)], x.dtype)
    out[tuple([slice(before, before + n) for n, (before, _) in zip(x.shape, pads)])] = x
    for axis, (n, (before, after)) in enumerate(zip(x.shape, pads)):
        rest, end = (slice(None),) * axis, before + n
        stop = end - 2 - after
        first, last = {"reflect": (slice(2 * before, before, -1), slice(end - 2, stop if stop >= 0 else None, -1)),
                       "replicate": (slice(before, before + 1), slice(end - 1, end)),
                       "circular": (slice(n, end), slice(before, before + after))}[mode]
        if before:
            out[(*rest, slice(0, before))] = out[(*rest, first)]
        if after:
            out[(*rest, slice(end, None))] = out[(*rest, last)]
    return out


@op(kernel="reflect_pad_backward", name="_pad_enum_backward", function=False, method=False, out=False,
    meta=lambda shape: shape, samples=lambda t: [t.args(t(2, 3, 7), [1, 2], "reflect", (2, 3, 4))])
def pad_backward(xp, grad_output: Tensor, pad: ints, mode: str, shape: ints):
    """The transpose of such padding: what was taken from an element returns to it."""
    out = grad_output
    for axis, (before, after) in enumerate(by_axis(pad, len(shape))):
        if before or after:
            out = folded(xp, out, sources(xp, mode, shape[axis], before, after), axis, shape[axis], before)
    return out


def add_unique(out, g, at, rest: tuple) -> None:
    """Add at indices of an axis, none of which comes twice, unless a circle was cut shorter than its pad."""
    if len(set(at.tolist())) == at.size:
        out[(*rest, at)] += g
        return
    for i, place in enumerate(at):
        out[(*rest, place)] += g[(*rest, i)]


def folded(xp, g, index, axis: int, n: int, before: int):
    """The sums along an axis of what came from each of its n elements."""
    out = xp.zeros((*g.shape[:axis], n, *g.shape[axis + 1:]), g.dtype)
    rest = (slice(None),) * axis
    first, last = max(before, 0), max(min(n + before, g.shape[axis]), 0)         # where the elements themselves stand
    if last > first:
        out[(*rest, slice(first - before, last - before))] = g[(*rest, slice(first, last))]
    else:
        first = last = min(first, g.shape[axis])
    for part in (slice(0, first), slice(last, g.shape[axis])):
        at = index[part]
        if not at.size:
            continue
        if at.size == 1 or at[0] != at[-1]:
            add_unique(out, g[(*rest, part)], at, rest)
        else:                                              # all from one
            out[(*rest, slice(at[0], at[0] + 1))] += g[(*rest, part)].sum(axis, keepdims=True)
    return out


pad_by_elements.rule(input=lambda g, pad, mode, input_shape: pad_backward(g, pad, mode, tuple(input_shape)))
pad_backward.rule(grad_output=lambda g, pad, mode: pad_by_elements(g, pad, mode))

SIZES = {2: (2, 3), 4: (3, 4), 6: (4, 5)}           # numbers of pads, and of axes that go with them


@composite(namespace="nn.functional", method=False,
           samples=lambda t: [t.args(t(2, 3), (1, 2)), t.args(t(2, 3), (1, -1, 0, 2), "constant", 1.5),
                              t.args(t(2, 2, 4), (2, 3), "reflect"), t.args(t(1, 3, 4), (2, 1, 1, 2), "reflect"),
                              t.args(t(1, 2, 3, 3, 2), (1, 1, 2, 1, 0, 2), "reflect"),
                              t.args(t(2, 2, 4), (2, 5), "replicate"),
                              t.args(t(2, 2, 3, 4), (-1, 2, 2, 1), "replicate"),
                              t.args(t(2, 3, 3, 2), (1, 1, 0, 1, 1, 3), "replicate"),
                              t.args(t(2, 2, 4), (3, 4), "circular"), t.args(t(2, 3, 4), (1, 2, 2, -1), "circular"),
                              t.args(t(0, 2, 3), (1, 1), "reflect")],
           errors=lambda t: [(t.args(t(2, 3), (1, 1, 1)), RuntimeError, "Padding length must be divisible by 2"),
                             (t.args(t(3), (1, 1, 1, 1)), RuntimeError, "Padding length should be less than or equal"),
                             (t.args(t(2, 3), (1, 1), "odd"), NotImplementedError, "Unrecognised padding mode odd"),
                             (t.args(t(2, 3), (3, 1), "reflect"), RuntimeError,
                              "Argument #4: Padding size should be less than the corresponding input dimension"),
                             (t.args(t(2, 3), (1, 1), "reflect", 1.0), RuntimeError,
                              "Padding mode \"reflect\" doesn't take in value argument"),
                             (t.args(t(3), (1, 1), "circular"), NotImplementedError,
                              "Padding size 2 is not supported for 1D input tensor."),
                             (t.args(t(2, 3), (4, 1), "circular"), RuntimeError,
                              "Padding value causes wrapping around more than once.")])
def pad(input: Tensor, pad: ints, mode: str = "constant", value: float | None = None) -> Tensor:
    """The input with elements added at both ends of its last axes (the last axis first): constant, or its own mirrored
    ('reflect'), its outermost one repeated ('replicate'), or its own from the other end ('circular')."""
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * input.ndim:
        raise RuntimeError("Padding length should be less than or equal to two times the input dimension but got "
                           f"padding length {len(pad)} and input of dimension {input.ndim}")
    if mode == "constant":
        return constant_pad_nd(input, pad, 0 if value is None else float(value))
    if value:
        raise RuntimeError(f"Padding mode \"{mode}\" doesn't take in value argument")
    if input.ndim not in SIZES.get(len(pad), ()) or mode not in ("reflect", "replicate", "circular"):
        if mode not in ("reflect", "replicate", "circular"):
            raise NotImplementedError(f"Unrecognised padding mode {mode}")
        raise NotImplementedError(f"Padding size {len(pad)} is not supported for {input.ndim}D input tensor.")
    return pad_by_elements(input, pad, mode)
