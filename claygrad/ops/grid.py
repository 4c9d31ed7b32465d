"""Sampling at the points of a grid, and grids of affine maps.

Note [Orders]
A sample is a sum over neighbours of weights along each axis times values, and only the weights depend on the point. So
the derivative of a sample along an axis is the same sum with differentiated weights, and one operation, given how often
to differentiate along each axis, serves values, gradients and gradients of gradients; its transpose spreads values to
the neighbours.
"""
from __future__ import annotations

from itertools import product as every
from typing import TYPE_CHECKING

from claygrad.core.user_warnings import warn
from claygrad.ops._formats import product
from claygrad.ops._registry import composite, op

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claygrad.core import Tensor

    ints = int | tuple[int, ...] | list[int]

hidden = {"function": False, "method": False, "out": False}
MODES, PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
BILINEAR, NEAREST, BICUBIC = range(3)
ZEROS, BORDER, REFLECTION = range(3)


# From the grid to positions along an axis of n elements

def unnormalised(xp, at, n: int, align: bool):
    """Places counted in elements, given from -1 to 1: the centres of the outermost elements, or their outer edges."""
    number = at.dtype.type
    return (at + 1) * number((n - 1) / 2) if align else ((at + 1) * number(n) - 1) * number(0.5)


def reflected(xp, at, n: int, align: bool):
    """Positions reflected at both ends as often as it takes, and whether their direction was reversed."""
    low, span = (0.0, float(n - 1)) if align else (-0.5, float(n))
    if span == 0:
        return xp.zeros_like(at), xp.zeros_like(at)
    away = at - at.dtype.type(low)
    turn = xp.where(away < 0, -1, 1)
    away = xp.absolute(away)
    rest, flips = xp.fmod(away, span), xp.floor(away / span)
    odd = flips % 2 == 1
    return xp.where(odd, span - rest, rest) + at.dtype.type(low), turn * xp.where(odd, -1, 1)


def inside(xp, at, n: int, align: bool, padding: int):
    """Places moved into the input as the padding mode says, and by how much they still follow the grid."""
    slope = xp.ones_like(at)
    if padding == REFLECTION:
        at, turn = reflected(xp, at, n, align)
        slope = slope * turn
    if padding != ZEROS:
        slope = xp.where((at > 0) & (at < n - 1), slope, 0)
        at = xp.clip(xp.where(xp.isnan(at), 0, at), 0, n - 1)
    return at.astype(slope.dtype), slope


def neighbours(xp, at, n: int, mode: int, padding: int, align: bool, order: int) -> list[tuple]:
    """Index, validity and weight (differentiated `order` times by the grid) of each neighbour along an axis."""
    number = at.dtype.type
    place = unnormalised(xp, at, n, align)
    slope = number((n - 1) / 2 if align else n / 2)
    if mode != BICUBIC:
        place, follows = inside(xp, place, n, align, padding)
        slope = slope * follows
    scale = slope ** order if order else number(1)
    if mode == NEAREST:
        index = xp.rint(place)
        return [(*bounded(xp, index, n), xp.full_like(place, 0 if order else 1))]
    first = xp.floor(place)
    part = place - first
    if mode == BILINEAR:
        weights = [1 - part, part] if order == 0 else [-xp.ones_like(part), xp.ones_like(part)] if order == 1 else \
            [xp.zeros_like(part)] * 2
        return [(*bounded(xp, first + i, n), (weights[i] * scale).astype(at.dtype)) for i in range(2)]
    found = []
    for i in range(-1, 3):
        index = first + i
        if padding != ZEROS:
            index, _ = inside(xp, index, n, align, padding)
        found.append((*bounded(xp, index, n), (cubic(xp, part - i, order) * scale).astype(at.dtype)))
    return found


def bounded(xp, index, n: int):
    """An index that can be taken, and whether it was in the input."""
    valid = (index >= 0) & (index <= n - 1)
    return xp.where(valid, index, 0).astype("int64"), valid


def cubic(xp, x, order: int, a: float = -0.75):
    """The cubic convolution kernel or a derivative of it."""
    side, far = xp.where(x < 0, -1, 1), xp.absolute(x) > 1
    x = xp.absolute(x)
    if order == 0:
        return xp.where(far, ((a * x - 5 * a) * x + 8 * a) * x - 4 * a, ((a + 2) * x - (a + 3)) * x * x + 1)
    if order == 1:
        return side * xp.where(far, (3 * a * x - 10 * a) * x + 8 * a, (3 * (a + 2) * x - 2 * (a + 3)) * x)
    if order == 2:
        return xp.where(far, 6 * a * x - 10 * a, 6 * (a + 2) * x - 2 * (a + 3))
    return side * xp.where(far, 6 * a, 6 * (a + 2)) if order == 3 else xp.zeros_like(x)


def axes_of(xp, grid, size: ints, mode: int, padding: int, align: bool, orders: ints) -> list[list[tuple]]:
    """The neighbours of all points (N * P) along each axis of the input."""
    points = grid.reshape(-1, len(size))
    return [neighbours(xp, points[:, -1 - d], n, mode, padding, align, orders[d]) for d, n in enumerate(size)]


def corners(xp, axes: list[list[tuple]], size: ints, batch: int) -> Iterator[tuple]:
    """For every neighbour of the points: its row in the flattened input, whether it exists, its number on each axis."""
    points = axes[0][0][0].shape[0]
    first = xp.repeat(xp.arange(batch), points // max(batch, 1))
    for numbers in every(*[range(len(axis)) for axis in axes]):
        row, valid = first, True
        for axis, number, n in zip(axes, numbers, size):
            index, exists, _ = axis[number]
            row = row * n + index
            valid = valid & exists
        yield row, valid, numbers


def weight_of(axes: list[list[tuple]], numbers: tuple[int, ...]):
    weight = axes[0][numbers[0]][2]
    for axis, number in zip(axes[1:], numbers[1:]):
        weight = weight * axis[number][2]
    return weight


def as_rows(xp, x):
    """(N, C, *size) as rows of channels: neighbours are then taken whole."""
    n, c, *size = x.shape
    return xp.ascontiguousarray(xp.moveaxis(x, 1, -1)).reshape(n * product(size), c)


def from_rows(xp, rows, shape: ints):
    n, c, *size = shape
    return xp.ascontiguousarray(xp.moveaxis(rows.reshape(n, *size, c), -1, 1))


def rows_at(rows, row, valid):
    value = rows.take(row, axis=0)
    if not valid.all():
        value[~valid] = 0                    # even if the row that stands for it holds an infinity
    return value


# The operations

def check_sampler(input: Tensor, grid: Tensor, interpolation_mode: int) -> None:
    have, given, dims = list(input.shape), list(grid.shape), input.ndim - 2
    if have[:1] != given[:1]:
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, but got input with sizes "
                           f"{have} and grid with sizes {given}")
    if given[-1] != dims:
        raise RuntimeError(f"grid_sampler(): expected grid to have size {dims} in last dimension, but got grid with "
                           f"sizes {given}")
    for axis in range(2, input.ndim):
        if have[axis] <= 0:
            raise RuntimeError("grid_sampler(): expected input to have non-empty spatial dimensions, but input has "
                               f"sizes {have} with dimension {axis} being empty")
    if dims not in (2, 3) or input.ndim != grid.ndim:
        raise RuntimeError(f"grid_sampler(): expected {4 if dims == 2 else 5}D input and grid with same number of "
                           f"dimensions, but got input with sizes {have} and grid with sizes {given}")
    if dims == 3 and interpolation_mode == BICUBIC:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if not input.is_floating_point() and not (interpolation_mode < 0):
        name = "grid_sampler_2d_cpu_kernel_impl" if dims == 2 else "grid_sampler3d_cpu"
        raise NotImplementedError(f"\"{name}\" not implemented for '{input.dtype.legacy}'")
    if input.dtype != grid.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.legacy} but found {grid.dtype.legacy}")


def node_name(input, orders) -> str:
    return f"GridSampler{input.ndim - 2}DBackward" + "Backward" * (sum(orders) > 0) + "0"


@op(kernel="grid_sampler", name="_grid_sampler", node=node_name, **hidden, check=check_sampler,
    meta=lambda input, grid: (*input.shape[:2], *grid.shape[1:-1]),
    samples=lambda t: [t.args(t(1, 2, 3, 4), t(1, 2, 3, 2, low=-0.9, high=0.9), 0, 0, True, (0, 0))])
def sample(xp, input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool,
           orders: ints):
    """The input at the points of a grid, differentiated by each coordinate as often as `orders` says."""
    n, c, *size = input.shape
    how = (interpolation_mode, padding_mode, align_corners)
    rows = as_rows(xp, input)
    axes = axes_of(xp, grid, size, *how, orders)
    out = xp.zeros((product(grid.shape[:-1]), c), input.dtype)
    for row, valid, numbers in corners(xp, axes, size, n):
        value = rows_at(rows, row, valid)
        value *= weight_of(axes, numbers)[:, None]
        out += value
    return from_rows(xp, out, (n, c, *grid.shape[1:-1]))


@op(kernel="grid_spread", name="_grid_spread", node="GridSampler2DBackwardBackward0", **hidden,
    meta=lambda shape: shape,
    samples=lambda t: [t.args(t(1, 2, 2, 3), t(1, 2, 3, 2, low=-0.9, high=0.9), 0, 0, True, (0, 0), (1, 2, 3, 4))])
def spread(xp, grad_output: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool,
           orders: ints, shape: ints):
    """The transpose of sampling: values at the points of a grid added to the neighbours there."""
    n, c, *size = shape
    how = (interpolation_mode, padding_mode, align_corners)
    values = as_rows(xp, grad_output)
    axes = axes_of(xp, grid, size, *how, orders)
    total = xp.zeros(product(shape))
    for row, valid, numbers in corners(xp, axes, size, n):
        each = values * weight_of(axes, numbers)[:, None]
        each[~valid] = 0
        if each.size:
            indices = (row * c)[:, None] + xp.arange(c)
            total += xp.bincount(indices.reshape(-1), each.reshape(-1), minlength=product(shape))
    return from_rows(xp, total.astype(grad_output.dtype), shape)


@op(kernel="grid_slope", name="_grid_slope", node=lambda input: f"GridSampler{input.ndim - 2}DBackwardBackward0",
    **hidden,
    meta=lambda grid: grid.shape,
    samples=lambda t: [t.args(t(1, 2, 2, 3), t(1, 2, 3, 4), t(1, 2, 3, 2, low=-0.9, high=0.9), 0, 0, True, (0, 0))])
def slope(xp, grad_output: Tensor, input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int,
          align_corners: bool, orders: ints):
    """The gradient in the grid of samples weighted by grad_output."""
    n, size = input.shape[0], input.shape[2:]
    how = (interpolation_mode, padding_mode, align_corners)
    values, rows = as_rows(xp, grad_output), as_rows(xp, input)
    out = xp.zeros((product(grid.shape[:-1]), len(size)), input.dtype)
    axes = axes_of(xp, grid, size, *how, orders)
    steep = axes_of(xp, grid, size, *how, [order + 1 for order in orders])
    for row, valid, numbers in corners(xp, axes, size, n):
        along = xp.einsum("pc,pc->p", values, rows_at(rows, row, valid))
        for d in range(len(size)):
            mixed = [*axes[:d], steep[d], *axes[d + 1:]]
            out[:, -1 - d] += along * weight_of(mixed, numbers)
    return out.reshape(grid.shape)


def once_more(orders, d: int) -> tuple[int, ...]:
    """Differentiated once more along axis d of the input, which is coordinate -1 - d of the grid."""
    return tuple([order + (axis == d) for axis, order in enumerate(orders)])


def directions(g, orders):
    """The parts of a gradient in the grid, one for each axis of the input, as factors of samples."""
    return [(d, g[..., -1 - d].unsqueeze(1)) for d in range(len(orders))]


@sample.rules
def sample_rules(g, input, grid, input_shape, interpolation_mode, padding_mode, align_corners, orders, needs):
    how = (interpolation_mode, padding_mode, align_corners, orders)
    return (spread(g, grid, *how, tuple(input_shape)) if needs[0] else None,
            slope(g, input, grid, *how) if needs[1] else None)


@spread.rules
def spread_rules(g, grad_output, grid, interpolation_mode, padding_mode, align_corners, orders, needs):
    how = (interpolation_mode, padding_mode, align_corners, orders)
    return (sample(g, grid, *how) if needs[0] else None, slope(grad_output, g, grid, *how) if needs[1] else None)


@slope.rules
def slope_rules(g, grad_output, input, input_shape, grid, interpolation_mode, padding_mode, align_corners, orders,
                needs):
    how = (interpolation_mode, padding_mode, align_corners)
    out = [[], [], []]
    for d, part in directions(g, orders):
        more = once_more(orders, d)
        if needs[0]:
            out[0].append(part * sample(input, grid, *how, more))
        if needs[1]:
            out[1].append(spread(grad_output * part, grid, *how, more, tuple(input_shape)))
        if needs[2]:
            out[2].append(slope(grad_output * part, input, grid, *how, more))
    return tuple([sum(parts[1:], parts[0]) if parts else None for parts in out])


# The public forms

def sampler_samples(dims: int, modes: ints):
    def samples(t) -> list:
        x, at = t(2, 2, *(3, 4, 2)[:dims]), t(2, *(2, 3, 2)[:dims], dims, low=-0.95, high=0.95)
        return [t.args(x, at, mode, padding, align) for mode in modes for padding in range(3)
                for align in (False, True)]
    return samples


def run(input, grid, interpolation_mode, padding_mode, align_corners) -> Tensor:
    mode, padding = interpolation_mode, padding_mode
    return sample(input, grid, mode if mode in (0, 1, 2) else BICUBIC, padding if padding in (0, 1, 2) else REFLECTION,
                  align_corners, (0,) * (input.ndim - 2))


@composite(method=False, samples=sampler_samples(2, (0, 1, 2)),
           errors=lambda t: [(t.args(t(1, 2, 4, 4), t(1, 3, 3, 3), 0, 0, True), RuntimeError,
                              "grid_sampler(): expected grid to have size 2 in last dimension"),
                             (t.args(t(1, 2, 4, 4, 4), t(1, 3, 3, 3, 3), 2, 0, True), RuntimeError,
                              "grid_sampler(): bicubic interpolation only supports 4D input")])
def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int,
                 align_corners: bool) -> Tensor:
    """As grid_sample, the modes by number."""
    return run(input, grid, interpolation_mode, padding_mode, align_corners)


@composite(method=False, samples=sampler_samples(2, (0,)))
def grid_sampler_2d(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int,
                    align_corners: bool) -> Tensor:
    """As grid_sample for (N, C, H, W), the modes by number."""
    return run(input, grid, interpolation_mode, padding_mode, align_corners)


@composite(method=False, samples=sampler_samples(3, (0, 1)))
def grid_sampler_3d(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int,
                    align_corners: bool) -> Tensor:
    """As grid_sample for (N, C, D, H, W), the modes by number."""
    return run(input, grid, interpolation_mode, padding_mode, align_corners)


@composite(namespace="nn.functional", method=False,
           samples=lambda t: [t.args(t(1, 2, 4, 3), t(1, 2, 3, 2), align_corners=True),
                              t.args(t(1, 2, 4, 3), t(1, 2, 3, 2), "bicubic", "reflection", False),
                              t.args(t(1, 2, 4, 3), t(1, 2, 3, 2), "nearest", "border", False)],
           errors=lambda t: [(t.args(t(1, 2, 4, 4), t(1, 3, 3, 2), mode="odd"), ValueError,
                              "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic'"),
                             (t.args(t(1, 2, 4, 4), t(1, 3, 3, 2), padding_mode="odd"), ValueError,
                              "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or"),
                             (t.args(t(1, 2, 4, 4), t(2, 3, 3, 2), align_corners=True), RuntimeError,
                              "grid_sampler(): expected grid and input to have same batch size")])
def grid_sample(input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners: bool | None = None) -> Tensor:
    """The input (N, C, *size) at points (N, *out, x y [z]) from -1 to 1: (N, C, *out)."""
    if mode not in MODES:
        raise ValueError("nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but "
                         f"got: '{mode}'")
    if padding_mode not in PADDINGS:
        raise ValueError("nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', "
                         f"but got: '{padding_mode}'")
    if align_corners is None:
        warn("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. "
             "Please specify align_corners=True if the old behavior is desired. See the documentation of "
             "grid_sample for details.")
    return run(input, grid, MODES.index(mode), PADDINGS.index(padding_mode), bool(align_corners))


# Grids of affine maps

def base_grid(xp, size: ints, align: bool, dtype):
    """The points (*size, x y [z] 1) of an output from -1 to 1."""
    spans, kind = [], dtype if dtype.kind in "fc" else xp.dtype("float64")
    for n in size[2:]:
        line = xp.linspace(-1, 1, n, dtype=kind) if n > 1 else xp.zeros(1, kind)
        if kind != dtype:                                 # integers are cut off at every step, as PyTorch's are
            line = xp.trunc(line)
        spans.append((line if align or n <= 1 else line * kind.type(n - 1) / kind.type(n)).astype(dtype))
    mesh = xp.meshgrid(*spans, indexing="ij")
    return xp.stack([*mesh[::-1], xp.ones(size[2:], dtype)], -1)


def check_theta(theta: Tensor, size: ints) -> None:
    if len(size) not in (4, 5):
        raise RuntimeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    dims = len(size) - 2
    wanted = [size[0], dims, dims + 1]
    if list(theta.shape) != wanted:
        if theta.ndim == 3 and theta.shape[0] != size[0] and list(theta.shape[1:]) == wanted[1:]:
            raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: [{size[0]}, "
                               f"{dims + 1}] but got: [{theta.shape[0]}, {dims + 1}].")
        raise RuntimeError(f"Expected theta of shape {wanted}, but got {list(theta.shape)}")


def theta_samples(t) -> list:
    return [t.args(t(2, 2, 3), (2, 1, 3, 4), True), t.args(t(1, 2, 3), (1, 3, 1, 2), False),
            t.args(t(1, 3, 4), (1, 2, 2, 3, 2), False)]


@op(method=False, out=False, check=check_theta,
    meta=lambda theta, size: (size[0], *size[2:], len(size) - 2), samples=theta_samples)
def affine_grid_generator(xp, theta: Tensor, size: ints, align_corners: bool):
    """As affine_grid, without its checks."""
    base = base_grid(xp, size, align_corners, theta.dtype)
    out = xp.matmul(base.reshape(1, -1, base.shape[-1]), theta.swapaxes(1, 2))
    return out.reshape(size[0], *size[2:], len(size) - 2)


@op(name="_affine_grid_backward", **hidden, meta=lambda size: (size[0], len(size) - 2, len(size) - 1),
    samples=lambda t: [t.args(t(2, 3, 4, 2), (2, 1, 3, 4), True)])
def affine_back(xp, grad_output: Tensor, size: ints, align_corners: bool):
    """The gradient of a grid in the matrices it was made of."""
    base = base_grid(xp, size, align_corners, grad_output.dtype)
    rows = grad_output.reshape(size[0], -1, len(size) - 2).swapaxes(1, 2)
    return xp.matmul(rows, base.reshape(1, -1, base.shape[-1]))


affine_grid_generator.rule(theta=lambda g, size, align_corners: affine_back(g, size, align_corners))
affine_back.rule(grad_output=lambda g, size, align_corners: affine_grid_generator(g, size, align_corners))


@composite(namespace="nn.functional", method=False, samples=theta_samples,
           errors=lambda t: [(t.args(t(1, 2, 4), (1, 1, 2, 2), True), ValueError,
                              "Expected a batch of 2D affine matrices of shape Nx2x3 for size (1, 1, 2, 2)."),
                             (t.args(t(1, 2, 3), (1, 1, 2), True), NotImplementedError,
                              "affine_grid only supports 4D and 5D sizes"),
                             (t.args(t(1, 2, 3), (1, 1, 2, 0), True), ValueError,
                              "Expected non-zero, positive output size. Got (1, 1, 2, 0)")])
def affine_grid(theta: Tensor, size: ints, align_corners: bool | None = None) -> Tensor:
    """The points of an output (N, C, *size), from -1 to 1, mapped by matrices theta (N, d, d + 1)."""
    from claygrad.core import prefix
    if align_corners is None:
        warn("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. "
             "Please specify align_corners=True if the old behavior is desired. See the documentation of "
             "grid_sample for details.")
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError("affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
                                  f"respectively. Got size {size}.")
    dims = len(size) - 2
    if theta.dim() != 3 or tuple(theta.shape[-2:]) != (dims, dims + 1):
        raise ValueError(f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {size}. "
                         f"Got {prefix()}.Size({list(theta.shape)}).")
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if align_corners and 1 in size[2:]:
        warn("Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. "
             "This is not an intended use case of affine_grid. See the documentation of affine_grid for details.")
    return affine_grid_generator(theta, size, bool(align_corners))
