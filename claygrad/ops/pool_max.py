"""Max pooling, with the indices of the maxima, and its inverse, which puts values back at such indices."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import int64
from claygrad.core.dispatch.determinism import alert
from claygrad.core.graph.intercept import differentiated
from claygrad.ops import _pool
from claygrad.ops._conv import same_format
from claygrad.ops._formats import product
from claygrad.ops._registry import composite, constant, op

if TYPE_CHECKING:
    from claygrad.core import Tensor

    ints = int | tuple[int, ...] | list[int]

hidden = {"function": False, "method": False, "out": False}
functional = {"namespace": "nn.functional", "method": False}
plain = {"namespace": "torch", "method": False}


# Note [Places of maxima]
# An index counts the elements of one channel of the input, flattened. Equal values: the first one has it.
# NaN counts as the largest, and of several the last one has it.

def check_max(input, kernel, stride, padding, dilation, ceil) -> None:
    dims, have = len(kernel), input.dtype
    _pool.check_pool(input, f"max_pool{dims}d", dims, kernel, stride, padding, dilation, ceil)
    if have.is_complex or have.name == "bool":
        raise NotImplementedError(f"\"max_pool{dims}d\" not implemented for '{have.legacy}'")


def pooled_shape(input, kernel, stride, padding, dilation, ceil) -> tuple[int, ...]:
    dims = len(kernel)
    return (*input.shape[:-dims], *_pool.out_sizes(input.shape[-dims:], kernel, stride, padding, dilation, ceil))


@op(kernel="max_pool", name="_max_pool", **hidden, check=check_max, meta=pooled_shape,
    samples=lambda t: [t.args(t(2, 5, 4), (3, 2), (2, 1), (1, 0), (1, 2), True)])
def maxima(xp, input: Tensor, kernel: ints, stride: ints, padding: ints, dilation: ints, ceil: bool):
    """The largest elements of windows over the last axes, if neither indices nor gradients are needed."""
    size = input.shape[-len(kernel):]
    out = _pool.out_sizes(size, kernel, stride, padding, dilation, ceil)
    return same_format(xp, _pool.largest(xp, input, kernel, stride, padding, dilation, out), input)


def pooled_shapes(input, kernel, stride, padding, dilation, ceil) -> list:
    shape = pooled_shape(input, kernel, stride, padding, dilation, ceil)
    return [(shape, input.dtype), (shape, int64)]


@op(kernel="max_pool_with_indices", name="_max_pool_with_indices",
    node=lambda kernel: f"MaxPool{len(kernel)}DWithIndicesBackward0", **hidden,
    check=check_max, meta=pooled_shapes, differentiable=(0,),
    samples=lambda t: [t.args(t(2, 5, 4), (3, 2), (2, 1), (1, 0), (1, 2), True)])
def maxima_at(xp, input: Tensor, kernel: ints, stride: ints, padding: ints, dilation: ints, ceil: bool):
    """The largest elements of windows over the last axes, and their indices."""
    size = input.shape[-len(kernel):]
    out = _pool.out_sizes(size, kernel, stride, padding, dilation, ceil)
    result = _pool.largest_at(xp, input, kernel, stride, padding, dilation, out)
    return tuple([same_format(xp, x, input) for x in result])


@op(kernel="max_pool_backward", name="_max_pool_backward",
    node=lambda dims: f"MaxPool{dims}DWithIndicesBackwardBackward0", **hidden,
    meta=lambda shape: shape, samples=lambda t: [t.args(t(2, 3), t.index((2, 3), 5), (2, 5), 1),
                                                 t.args(t(2, 2, 3), t.index((2, 2, 3), 12), (2, 3, 4), 2)])
def maxima_back(xp, grad_output: Tensor, indices: Tensor, shape: ints, dims: int):
    """The gradient of the maxima: each at its place."""
    size, out = shape[-dims:], grad_output.shape[-dims:]
    flat = xp.zeros((product(shape[:-dims]), product(size)), grad_output.dtype)
    lines, line = xp.arange(flat.shape[0])[:, None], (flat.shape[0], product(out))
    xp.add.at(flat, (lines, indices.reshape(line)), grad_output.reshape(line))
    return flat.reshape(shape)


def picked(g: Tensor, indices: Tensor, dims: int) -> Tensor:
    """The elements at these indices."""
    line = (*indices.shape[:-dims], product(indices.shape[-dims:]))
    whole = g.reshape((*g.shape[:-dims], product(g.shape[-dims:])))
    return whole.gather(-1, indices.reshape(line)).view(indices.shape)


maxima_back.rule(grad_output=lambda g, indices, dims: picked(g, indices, dims), indices=constant)
maxima_at.rule(input=lambda g, outs, input_shape, kernel: maxima_back(g, outs[1], tuple(input_shape), len(kernel)))


# The public forms

native_form = {"native": "max_pool", "parts": (maxima, maxima_at)}

def run(dims: int, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices: bool):
    name = f"max_pool{dims}d"
    if input.ndim not in (dims + 1, dims + 2) and dims > 1:
        raise RuntimeError(f"non-empty {dims + 1}D or {dims + 2}D (batch mode) tensor expected for input")
    kernel, stride, padding, dilation = _pool.arguments(name, dims, kernel_size, stride, padding, dilation)
    if return_indices:
        return maxima_at(input, kernel, stride, padding, dilation, ceil_mode)
    if differentiated(input):
        return maxima_at(input, kernel, stride, padding, dilation, ceil_mode)[0]
    return maxima(input, kernel, stride, padding, dilation, ceil_mode)


def one_int(word: str, value, optional: bool = False) -> int:
    if isinstance(value, int):
        return value
    if len(value) != 1:
        kinds = "None, an int, list of ints, or" if optional else "an int, list of ints or" if word == "kernel_size" \
            else "an int, list of ints, or"
        raise RuntimeError(f"max_pool1d() {word} must be {kinds} tuple of ints of size 1 but got size {len(value)}")
    return value[0]


def run_line(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices: bool):
    """One dimension runs as two, the first of them of one element."""
    if input.ndim not in (2, 3) or 0 in input.shape[input.ndim - 2:]:
        raise RuntimeError("max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for "
                           f"input, but got:{list(input.shape)}")
    if return_indices:
        return line_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    k = one_int("kernel_size", kernel_size)
    s = k if stride is None or stride == [] or stride == () else one_int("stride", stride, True)
    p, d = one_int("padding", padding), one_int("dilation", dilation)
    for wrong, said in ((k <= 0, f"kernel_size must be greater than zero, but got {k}"),
                        (s <= 0, f"stride must be greater than zero, but got {s}"),
                        (p < 0, f"padding must be non-negative, but got {p}"),
                        (p > k // 2, (f"padding should be at most half of kernel size, but got padding={p} and "
                                     f"kernel_size={k}")),
                        (d <= 0, f"dilation must be greater than zero, but got {d}")):
        if wrong:
            raise RuntimeError("max_pool1d() " + said)
    count = _pool.out_size(input.shape[-1], k, s, p, d, ceil_mode)
    if count <= 0:
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {count}")
    if input.requires_grad or differentiated(input):
        return run(2, input.unsqueeze(-2), (1, k), (1, s), (0, p), (1, d), ceil_mode, False).squeeze(-2)
    if not input.is_floating_point():
        raise NotImplementedError(f"\"max_pool1d_impl\" not implemented for '{input.dtype.legacy}'")
    return maxima(input, (k,), (s,), (p,), (d,), ceil_mode)


def line_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode) -> tuple[Tensor, Tensor]:
    stride = kernel_size if stride is None or stride == [] or stride == () else stride
    values = []
    for word, value in (("kernel_size", kernel_size), ("stride", stride), ("padding", padding), ("dilation", dilation)):
        if not isinstance(value, int) and len(value) != 1:
            raise RuntimeError(f"max_pool1d() argument '{word}' should contain one int (got {len(value)})")
        values.append(value if isinstance(value, int) else value[0])
    k, s, p, d = values
    out = run(2, input.unsqueeze(-2), (1, k), (1, s), (0, p), (1, d), ceil_mode, True)
    return tuple([x.squeeze(-2) for x in out])


def samples_of(dims: int):
    size = (6, 5, 4)[:dims]

    def samples(t) -> list:
        return [t.args(t(2, 3, *size), 2), t.args(t(2, *size), 3, 2, 1), t.args(t(1, 2, *size), 3, 2, 1, 1, True),
                t.args(t(1, 2, *size), 2, 1, 1, 2), t.args(t(0, 2, *size), 2)]
    return samples


def with_indices(samples):
    def more(t) -> list:
        return [*samples(t), t.args(*samples(t)[1].args, return_indices=True)]
    return more


def mistakes(t) -> list:
    return [(t.args(t(1, 2, 5, 5), 2, 0), RuntimeError, "stride should not be zero"),
            (t.args(t(1, 2, 5, 5), 2, -1), RuntimeError, "stride should be greater than zero, but got dH: -1 dW: -1"),
            (t.args(t(1, 2, 5, 5), 2, padding=2), RuntimeError, "pad should be at most half of effective kernel size"),
            (t.args(t(1, 2, 5, 5), 2, dilation=0), RuntimeError, "dilation should be greater than zero, but got"),
            (t.args(t(1, 2, 5, 5), 7), RuntimeError, "Given input size: (2x5x5). Calculated output size: (2x0x0)."),
            (t.args(t(5, 5), 2), RuntimeError, "non-empty 3D or 4D (batch mode) tensor expected for input"),
            (t.args(t(1, 2, 5, 5), (2, 2, 2)), RuntimeError, "max_pool2d: kernel_size must either be a single int")]


def line_mistakes(t) -> list:
    return [(t.args(t(1, 2, 5), 2, 0), RuntimeError, "max_pool1d() stride must be greater than zero, but got 0"),
            (t.args(t(1, 2, 5), 2, padding=2), RuntimeError, "max_pool1d() padding should be at most half"),
            (t.args(t(1, 2, 5), 7), RuntimeError, "max_pool1d() Invalid computed output size: 0"),
            (t.args(t(5), 2), RuntimeError, "max_pool1d: Expected 2D or 3D (batch mode) tensor"),
            (t.args(t(1, 2, 5), (2, 2)), RuntimeError, "max_pool1d() kernel_size must be an int, list of ints or")]


@composite(**functional, **native_form, samples=with_indices(samples_of(1)), errors=line_mistakes)
def max_pool1d(input: Tensor, kernel_size: ints, stride: ints | None = None, padding: ints = 0, dilation: ints = 1,
               ceil_mode: bool = False, return_indices: bool = False) -> Tensor:
    """Max pooling over sequences (N, C, L) or (C, L); with `return_indices` also the indices of the maxima."""
    return run_line(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@composite(**functional, **native_form, samples=with_indices(samples_of(2)), errors=mistakes)
def max_pool2d(input: Tensor, kernel_size: ints, stride: ints | None = None, padding: ints = 0, dilation: ints = 1,
               ceil_mode: bool = False, return_indices: bool = False) -> Tensor:
    """Max pooling over images (N, C, H, W) or (C, H, W); with `return_indices` also the indices of the maxima."""
    return run(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@composite(**functional, **native_form, samples=with_indices(samples_of(3)))
def max_pool3d(input: Tensor, kernel_size: ints, stride: ints | None = None, padding: ints = 0, dilation: ints = 1,
               ceil_mode: bool = False, return_indices: bool = False) -> Tensor:
    """Max pooling over volumes (N, C, D, H, W) or (C, D, H, W); with `return_indices` also the indices of the maxima.
    """
    return run(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@composite(**plain, **native_form, name="max_pool1d", samples=samples_of(1), errors=line_mistakes)
def plain_max_pool1d(input: Tensor, kernel_size: ints, stride: ints = (), padding: ints = 0, dilation: ints = 1,
                     ceil_mode: bool = False) -> Tensor:
    """The largest elements of windows of (N, C, L) or (C, L)."""
    return run_line(input, kernel_size, stride, padding, dilation, ceil_mode, False)


@composite(**plain, **native_form, name="max_pool2d", samples=samples_of(2), errors=mistakes)
def plain_max_pool2d(input: Tensor, kernel_size: ints, stride: ints = (), padding: ints = 0, dilation: ints = 1,
                     ceil_mode: bool = False) -> Tensor:
    """The largest elements of windows of (N, C, H, W) or (C, H, W)."""
    return run(2, input, kernel_size, stride, padding, dilation, ceil_mode, False)


@composite(**plain, **native_form, name="max_pool3d", samples=samples_of(3))
def plain_max_pool3d(input: Tensor, kernel_size: ints, stride: ints = (), padding: ints = 0, dilation: ints = 1,
                     ceil_mode: bool = False) -> Tensor:
    """The largest elements of windows of (N, C, D, H, W) or (C, D, H, W)."""
    return run(3, input, kernel_size, stride, padding, dilation, ceil_mode, False)


@composite(**plain, **native_form, samples=samples_of(1))
def max_pool1d_with_indices(input: Tensor, kernel_size: ints, stride: ints = (), padding: ints = 0, dilation: ints = 1,
                            ceil_mode: bool = False) -> tuple[Tensor, Tensor]:
    """The largest elements of windows of (N, C, L) or (C, L), and their indices."""
    return run_line(input, kernel_size, stride, padding, dilation, ceil_mode, True)


@composite(**functional, **native_form, name="max_pool1d_with_indices", samples=samples_of(1))
def functional_max_pool1d_at(input: Tensor, kernel_size: ints, stride: ints | None = None, padding: ints = 0,
                             dilation: ints = 1, ceil_mode: bool = False,
                             return_indices: bool = False) -> tuple[Tensor, Tensor]:
    """The largest elements of windows of (N, C, L) or (C, L), and always their indices."""
    return run_line(input, kernel_size, stride, padding, dilation, ceil_mode, True)


@composite(**functional, **native_form, name="max_pool2d_with_indices", samples=samples_of(2))
def functional_max_pool2d_at(input: Tensor, kernel_size: ints, stride: ints | None = None, padding: ints = 0,
                             dilation: ints = 1, ceil_mode: bool = False,
                             return_indices: bool = False) -> tuple[Tensor, Tensor]:
    """The largest elements of windows of (N, C, H, W) or (C, H, W), and always their indices."""
    return run(2, input, kernel_size, stride, padding, dilation, ceil_mode, True)


@composite(**functional, **native_form, name="max_pool3d_with_indices", samples=samples_of(3))
def functional_max_pool3d_at(input: Tensor, kernel_size: ints, stride: ints | None = None, padding: ints = 0,
                             dilation: ints = 1, ceil_mode: bool = False,
                             return_indices: bool = False) -> tuple[Tensor, Tensor]:
    """The largest elements of windows of (N, C, D, H, W) or (C, D, H, W), and always their indices."""
    return run(3, input, kernel_size, stride, padding, dilation, ceil_mode, True)


@composite(function=False, method=False,
           samples=lambda t: [t.args(t(2, 3, 3), t(2, 6, 6, requires_grad=False), 2, 2, 0, 1, False,
                                     t.index((2, 3, 3), 36))])
def max_pool2d_with_indices_backward(grad_output: Tensor, input: Tensor, kernel_size: ints, stride: ints,
                                     padding: ints, dilation: ints, ceil_mode: bool, indices: Tensor) -> Tensor:
    """The gradient of max_pool2d in its input: what arrived for each window, added up at the place of its maximum."""
    return maxima_back(grad_output, indices, tuple(input.shape), 2)


# The inverse

def check_unpool(input: Tensor, indices: Tensor, size: ints) -> None:
    dims, shape = len(size), list(input.shape)
    if indices.dtype != int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype.legacy}")
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"Input to max_unpooling{dims}d should be a {dims + 1}d or {dims + 2}d Tensor, but got a "
                           f"tensor with {input.ndim} dimensions.")
    if input.shape != indices.shape:
        raise RuntimeError(f"Expected shape of indices to be same as that of the input tensor ({shape}) but got "
                           f"indices tensor with shape: {list(indices.shape)}")
    for i in range(1, input.ndim):
        if shape[i] == 0:
            raise RuntimeError(f"max_unpooling{dims}d_forward_out_cpu(): Expected input to have non-zero size for "
                               f"non-batch dimensions, but got {shape} with dimension {i} being empty.")
    if not input.is_floating_point():
        raise NotImplementedError(f"\"max_unpool{dims}d\" not implemented for '{input.dtype.legacy}'")


@op(kernel="max_unpool", name="_max_unpool", node=lambda size: f"MaxUnpool{len(size)}DBackward0", half="raw",
    **hidden, check=check_unpool,
    meta=lambda input, size: (*input.shape[:-len(size)], *size),
    samples=lambda t: [t.args(t(1, 2, 2, 2), apart(t, 2), (4, 4))])
def unpool(xp, input: Tensor, indices: Tensor, size: ints):
    """Zeros, but for the values at their indices."""
    dims, lead = len(size), input.shape[:-len(size)]
    count = product(size)
    wrong = (indices < 0) | (indices >= count)
    if wrong.any():
        raise RuntimeError(f"Found an invalid max index: {int(indices[wrong][0])} (output volumes are of size "
                           f"{'x'.join(map(str, size))})")
    out = xp.zeros((*lead, count), input.dtype)
    if input.size:
        xp.put_along_axis(out, indices.reshape(*lead, -1), input.reshape(*lead, -1), dims and -1)
    return same_format(xp, out.reshape(*lead, *size), input)


def gathered(g, indices, size):
    lead, dims = tuple(g.shape[:-len(size)]), len(size)
    line = indices.reshape((*lead, product(indices.shape[-dims:])))
    return g.reshape((*lead, product(size))).gather(-1, line).view(tuple(indices.shape))


unpool.rule(input=gathered, indices=constant)


def unpooled(dims: int, input, indices, kernel_size, stride, padding, output_size) -> Tensor:
    kernel = (kernel_size,) * dims if isinstance(kernel_size, int) else tuple(kernel_size)
    stride = kernel if stride is None else (stride,) * dims if isinstance(stride, int) else tuple(stride)
    padding = (padding,) * dims if isinstance(padding, int) else tuple(padding)
    size = unpooled_size(input, kernel, stride, padding, output_size)
    alert(f"max_unpooling{max(dims, 2)}d_forward_out")
    if dims == 1:
        check_line(input, indices)
        return unpool(input.unsqueeze(-1), indices.unsqueeze(-1), (*size, 1)).squeeze(-1)
    if dims == 3 and min(stride) <= 0:
        raise RuntimeError(f"strides should be greater than zero, but got stride: {list(stride)}")
    return unpool(input, indices, tuple(size))


def check_line(input: Tensor, indices: Tensor) -> None:
    if input.shape != indices.shape and indices.dtype == int64:
        raise RuntimeError("Expected shape of indices to be same as that of the input tensor "
                           f"({[*input.shape, 1]}) but got indices tensor with shape: {[*indices.shape, 1]}")


def unpooled_size(input, kernel, stride, padding, output_size) -> list[int]:
    dims = len(kernel)
    natural = [(input.shape[d - dims] - 1) * stride[d] + kernel[d] - 2 * padding[d] for d in range(dims)]
    if output_size is None:
        return natural
    wanted = output_size[2:] if len(output_size) == dims + 2 else output_size
    if len(wanted) != dims:
        raise ValueError(f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a "
                         f"length of '{len(wanted)}'")
    for d in range(dims):
        low, high = natural[d] - stride[d], natural[d] + stride[d]
        if not low < wanted[d] < high:
            raise ValueError(f"invalid output_size \"{output_size}\" (dim {d} must be between {low} and {high})")
    return list(wanted)


def apart(t, dims: int):
    """Places of which no two are alike."""
    return t.index((1, 2, 2 ** dims), 4 ** dims, unique=2).reshape(1, 2, *[2] * dims)


@composite(**functional, samples=lambda t: [t.args(t(1, 2, 2), apart(t, 1), 2)],
           errors=lambda t: [(t.args(t(1, 2, 2), t.index((1, 2, 2), 1).add(9), 2), RuntimeError,
                              "Found an invalid max index: 9 (output volumes are of size 4x1)")])
def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: ints, stride: ints | None = None, padding: ints = 0,
                 output_size: ints | None = None) -> Tensor:
    """Values put at the indices that max_pool1d gave, zeros elsewhere."""
    return unpooled(1, input, indices, kernel_size, stride, padding, output_size)


@composite(**functional, samples=lambda t: [t.args(t(1, 2, 2, 2), apart(t, 2), 2),
                                            t.args(t(1, 2, 2, 2), apart(t, 2), 2, output_size=(5, 5))],
           errors=lambda t: [(t.args(t(1, 2, 2, 2), t.index((1, 2, 2, 2), 1).add(99), 2), RuntimeError,
                              "Found an invalid max index: 99 (output volumes are of size 4x4)"),
                             (t.args(t(1, 2, 2, 2), t.index((1, 2, 2, 2), 4), 2, output_size=(9, 9)), ValueError,
                              "invalid output_size \"(9, 9)\" (dim 0 must be between 2 and 6)")])
def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: ints, stride: ints | None = None, padding: ints = 0,
                 output_size: ints | None = None) -> Tensor:
    """Values put at the indices that max_pool2d gave, zeros elsewhere."""
    return unpooled(2, input, indices, kernel_size, stride, padding, output_size)


@composite(**functional, samples=lambda t: [t.args(t(1, 2, 2, 2, 2), apart(t, 3), 2)])
def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: ints, stride: ints | None = None, padding: ints = 0,
                 output_size: ints | None = None) -> Tensor:
    """Values put at the indices that max_pool3d gave, zeros elsewhere."""
    return unpooled(3, input, indices, kernel_size, stride, padding, output_size)
