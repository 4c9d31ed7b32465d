"""Views with another shape: reshaping, permuting, expanding."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import DTYPES, Size, parse_dtype
from claygrad.core import Tensor as TensorType
from claygrad.core.user_warnings import warn
from claygrad.ops import _geometry as geometry
from claygrad.ops._geometry import axes, axis, sizes, text, view_strides
from claygrad.ops._registry import composite, op
from claygrad.ops._registry import view as view_op
from claygrad.ops._words import tensor_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from claygrad.core import Tensor, dtype

    ints = int | tuple[int, ...] | list[int]
    Geometry = tuple[tuple[int, ...], tuple[int, ...], int]


def _reshaped(input: Tensor, size: ints) -> Geometry:
    shape = geometry.infer(sizes(size), input.numel())
    strides = geometry.view_strides(input.shape, input.stride(), shape)
    if strides is None:
        raise RuntimeError("view size is not compatible with input tensor's size and stride (at least one dimension "
                           "spans across two contiguous subspaces). Use .reshape(...) instead.")
    return shape, strides, input.storage_offset()


def _reordered(input: Tensor, order: tuple[int, ...]) -> Geometry:
    strides = input.stride()
    return tuple(input.shape[i] for i in order), tuple(strides[i] for i in order), input.storage_offset()


def _swapped(ndim: int, a: int, b: int) -> tuple[int, ...]:
    order = list(range(ndim))
    if ndim:
        order[a], order[b] = order[b], order[a]
    return tuple(order)


def _reinterpreted(input: Tensor, dtype: dtype) -> tuple:
    """Geometry of the same bytes read as another dtype: the last axis grows or shrinks."""
    shape, strides, offset = list(input.shape), list(input.stride()), input.storage_offset()
    old, new = input.dtype.itemsize, dtype.itemsize
    if input.is_conj() or input.is_neg():
        kind = "conjugate view tensors" if input.is_conj() else "tensors with negative bit set"
        raise RuntimeError(f"torch.Tensor.view is not supported for {kind} when converting to a different dtype.")
    if old == new:
        return tuple(shape), tuple(strides), offset, dtype
    words = f"to view {input.dtype.legacy} as {dtype.legacy} (different element sizes)"
    if not shape:
        raise RuntimeError(f"self.dim() cannot be 0 {words}")
    if old > new:
        ratio = old // new
        if strides[-1] != 1:
            raise RuntimeError(f"self.stride(-1) must be 1 {words}, but got {strides[-1]}")
        shape[-1] *= ratio
        return tuple(shape), (*(st * ratio for st in strides[:-1]), 1), offset * ratio, dtype
    ratio = new // old
    if shape[-1] % ratio:
        raise RuntimeError(f"self.size(-1) must be divisible by {ratio} {words}, but got {shape[-1]}")
    if strides[-1] != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 {words}, but got {strides[-1]}")
    if offset % ratio:
        raise RuntimeError(f"self.storage_offset() must be divisible by {ratio} {words}, but got {offset}")
    for i, stride in enumerate(strides[:-1]):
        if stride % ratio:
            raise RuntimeError(f"self.stride({i}) must be divisible by {ratio} {words}, but got {stride}")
    shape[-1] //= ratio
    return tuple(shape), (*(st // ratio for st in strides[:-1]), 1), offset // ratio, dtype


@view_op(geometry="view", function=False, varargs="size",
         samples=lambda t: [t.args(t(2, 6), 3, 4), t.args(t(2, 6), (3, -1)), t.args(t(), 1, 1), t.args(t(0, 3), -1),
                            t.args(t(2, 6, dtype="float32"), DTYPES["int32"]), t.args(t(3), dtype=DTYPES["int16"])],
         errors=lambda t: [(t.args(t(3), 2), RuntimeError, "shape '[2]' is invalid for input of size 3"),
                           (t.args(t(4), -1, -1), RuntimeError, "only one dimension can be inferred"),
                           (t.args(t(2, 3).t(), 6), RuntimeError,
                            "view size is not compatible with input tensor's size"),
                           (t.args(t(2), "a"), TypeError, "view() received an invalid combination of arguments")])
def view(input: Tensor, size: object = None, dtype: dtype | None = None):
    """A view with another shape. One size may be -1 and is then computed from the others.

    Given a dtype instead: the same bytes read as that dtype; the last axis grows or shrinks with the size of an
    element, and no gradient flows.

    >>> claygrad.arange(6).view(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    if dtype is None:
        dtype = parse_dtype(size)
    elif size is not None:
        raise _not_viewable(size, dtype)
    if dtype is not None:
        return _reinterpreted(input, dtype)
    if not isinstance(size, (tuple, list)):
        raise _not_viewable(size) if size is not None else _not_viewable()
    return _reshaped(input, size)
view.rule(input=lambda g, input_shape: g.reshape(input_shape))


def _not_viewable(*args: object) -> TypeError:
    got = ", ".join("torch.dtype" if parse_dtype(arg) is not None else type(arg).__name__ for arg in args)
    return TypeError(f"view() received an invalid combination of arguments - got ({got}), but expected one of:\n * "
                     "(torch.dtype dtype)\n * (tuple of ints size)\n")


@composite(function=False, samples=lambda t: [t.args(t(2, 6), t(3, 4))])
def view_as(input: Tensor, other: Tensor) -> Tensor:
    "`input.view(other.shape)`."
    return input.view(other.shape)


@view_op(geometry="view", method=False, function=False, node="ReshapeAliasBackward0",
         samples=lambda t: [t.args(t(2, 3).t(), (3, 1, 2))])
def reshape_alias(input: Tensor, size: ints):
    "What `reshape` makes of a tensor that is not contiguous but needs no copy."
    return _reshaped(input, size)
reshape_alias.rule(input=lambda g, input_shape: g.reshape(input_shape))


@op(geometry="view",
    method=False, function=False, half="raw", meta=lambda input, size: size, samples=lambda t: [t.args(t(2, 3), (6,))],
    strides=lambda input, size: view_strides(input.shape, input.stride(), size))
def unsafe_view(xp, input: Tensor, size: ints):
    "A fresh copy in another shape; nobody else knows its memory, so it is no view."
    return input.reshape(size)
unsafe_view.rule(input=lambda g, input_shape: g.reshape(input_shape))


@composite(native="reshape", varargs="shape",
           samples=lambda t: [t.args(t(2, 6), (3, 4)), t.args(t(2, 6).t(), (4, 3)), t.args(t(2, 3).t(), (3, 2)),
                              t.args(t(), (1,))],
           errors=lambda t: [(t.args(t(3), (2,)), RuntimeError, "shape '[2]' is invalid for input of size 3")])
def reshape(input: Tensor, shape: ints) -> Tensor:
    """The same elements with another shape: a view if possible, otherwise a copy. One size may be -1.

    >>> claygrad.arange(6).view(2, 3).t().reshape(6)
    tensor([0, 3, 1, 4, 2, 5])
    """
    if input.is_contiguous():
        return view(input, shape)
    shape = geometry.infer(sizes(shape), input.numel())
    if geometry.view_strides(input.shape, input.stride(), shape) is not None:
        return reshape_alias(input, shape)
    return unsafe_view(input.contiguous(), shape)


@composite(function=False, samples=lambda t: [t.args(t(2, 6), t(3, 4))])
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    "`input.reshape(other.shape)`."
    return input.reshape(other.shape)


@view_op(geometry="permute",
         varargs="dims", samples=lambda t: [t.args(t(2, 3, 4), (2, 0, 1)), t.args(t(2, 3), (-1, 0)), t.args(t(), ())],
         errors=lambda t: [(t.args(t(2, 3), (0, 0)), RuntimeError, "permute(): duplicate dims are not allowed."),
                           (t.args(t(2, 3), (0, 2)), IndexError,
                            "Dimension out of range (expected to be in range of [-2, 1], but got 2)")])
def permute(input: Tensor, dims: ints):
    "A view with permuted axes: axis i of the result is axis `dims[i]` of the input."
    dims = sizes(dims)
    if len(dims) != input.ndim:
        raise RuntimeError("permute(): number of dimensions in the tensor input does not match the length "
                           f"of the desired ordering of dimensions i.e. input.dim() = {input.ndim} is not equal to "
                           f"len(dims) = {len(dims)}")
    order = tuple(axis(dim, input.ndim) for dim in dims)
    if len(set(order)) < len(order):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return _reordered(input, order)


def _unpermute(g: Tensor, dims: ints) -> Tensor:
    dims = sizes(dims)
    back = [0] * len(dims)
    for i, dim in enumerate(dims):
        back[dim] = i
    return g.permute(back)


permute.rule(input=_unpermute)


@view_op(geometry="transpose", samples=lambda t: [t.args(t(2, 3, 4), 0, 2), t.args(t(2, 3), -1, 0), t.args(t(), 0, -1)],
         errors=lambda t: [(t.args(t(2, 3), 0, 2), IndexError,
                            "Dimension out of range (expected to be in range of [-2, 1], but got 2)")])
def transpose(input: Tensor, dim0: int, dim1: int):
    "A view with two axes exchanged."
    ndim = input.ndim
    return _reordered(input, _swapped(ndim, axis(dim0, ndim), axis(dim1, ndim)))
transpose.rule(input=lambda g, dim0, dim1: g.transpose(dim0, dim1))


@composite(native="swap", samples=lambda t: [t.args(t(2, 3, 4), 0, 2)])
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    "Another name of `transpose`."
    return transpose(input, axis0, axis1)


@composite(native="swap", samples=lambda t: [t.args(t(2, 3, 4), 0, 2)])
def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    "Another name of `transpose`."
    return transpose(input, dim0, dim1)


@view_op(geometry="t", samples=lambda t: [t.args(t(2, 3)), t.args(t(3)), t.args(t())],
         errors=lambda t: [(t.args(t(2, 3, 4)), RuntimeError,
                            "t() expects a tensor with <= 2 dimensions, but self is 3D")])
def t(input: Tensor):
    "A view of the transpose of a matrix; 0-dim and 1-dim tensors are returned as they are."
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return _reordered(input, tuple(range(input.ndim))[::-1])
t.rule(input=lambda g: g.t())


@composite(property=True, samples=lambda t: [t.args(t(2, 3))])
def T(input: Tensor) -> Tensor:
    "A view with all axes in reverse order: the transpose of a matrix."
    if input.ndim == 0:
        warn("Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases.")
    elif input.ndim != 2:
        warn("The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and "
             "it will throw an error in a future release. Consider `x.mT` to transpose batches of matrices "
             "or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor.")
    return permute(input, tuple(range(input.ndim))[::-1])


def _last_two(input: Tensor, name: str, scalar: str) -> Tensor:
    if input.ndim == 0:
        warn(scalar)
        return input
    if input.ndim == 1:
        raise RuntimeError(f"tensor.{name} is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return transpose(input, -2, -1)


@composite(property=True, samples=lambda t: [t.args(t(2, 3)), t.args(t(2, 3, 4))],
           errors=lambda t: [(t.args(t(3)), RuntimeError,
                              "tensor.mT is only supported on matrices or batches of matrices.")])
def mT(input: Tensor) -> Tensor:
    "A view with the last two axes exchanged: the transpose of each matrix of a batch."
    return _last_two(input, "mT",
                     "Tensor.mT is deprecated on 0-D tensors. This function is the identity in these cases.")


def _conjugate(input: Tensor) -> Tensor:
    return input.conj()


@composite(property=True, samples=lambda t: [t.args(t(2, 3))],
           errors=lambda t: [(t.args(t(3)), RuntimeError,
                              "tensor.H is only supported on matrices (2-D tensors). Got 1-D tensor.")])
def H(input: Tensor) -> Tensor:
    "The conjugate transpose of a matrix."
    if input.ndim == 2:
        return _conjugate(transpose(input, 0, 1))
    if input.ndim:
        batch = " For batches of matrices, consider using tensor.mH" if input.ndim > 2 else ""
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {input.ndim}-D tensor.{batch}")
    warn("Tensor.H is deprecated on 0-D tensors. Consider using x.conj().")
    return _conjugate(input)


@composite(property=True, samples=lambda t: [t.args(t(2, 3)), t.args(t(2, 3, 4))])
def mH(input: Tensor) -> Tensor:
    "The conjugate transpose of each matrix of a batch."
    return _conjugate(_last_two(input, "mH", "Tensor.mH is deprecated on 0-D tensors. Consider using x.conj()."))


@composite(samples=lambda t: [t.args(t(2, 3)), t.args(t(2, 3, 4))])
def adjoint(input: Tensor) -> Tensor:
    "The conjugate transpose of each matrix of a batch."
    return _conjugate(_last_two(input, "adjoint()", "adjoint() is deprecated on 0-D tensors. Consider using x.conj()."))


@view_op(geometry="expand", function=False, varargs="size",
         samples=lambda t: [t.args(t(3), 2, 3), t.args(t(2, 1), (2, 4)), t.args(t(1, 2), 3, -1), t.args(t(), 2)],
         errors=lambda t: [(t.args(t(2), 3), RuntimeError,
                            "The expanded size of the tensor (3) must match the existing size (2)")])
def expand(input: Tensor, size: ints, *, implicit: bool = False):
    """A view expanded to a larger shape by repeating axes of size 1. No memory is copied; -1 keeps the size of an axis.

    `implicit` changes nothing.
    """
    shape, strides = geometry.expanded(input.shape, input.stride(), sizes(size), tensor_type(input.dtype))
    return shape, strides, input.storage_offset()
expand.rule(input=lambda g: g)


@composite(function=False, samples=lambda t: [t.args(t(3), t(2, 3))])
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    "`input.expand(other.shape)`."
    return expand(input, other.shape)


@composite(varargs="size", samples=lambda t: [t.args(t(3), (2, 3))])
def broadcast_to(input: Tensor, size: ints) -> Tensor:
    "Another name of `expand`."
    return expand(input, size)


@view_op(geometry="squeeze",
         node=lambda dim: f"SqueezeBackward{0 if dim is None else 1 if isinstance(dim, int) else 2}",
         samples=lambda t: [t.args(t(2, 1, 3, 1)), t.args(t(2, 1), 1), t.args(t(2, 1), -2), t.args(t(1, 2, 1), (0, 1)),
                            t.args(t(), 0)],
         errors=lambda t: [(t.args(t(2, 1), 2), IndexError,
                            "Dimension out of range (expected to be in range of [-2, 1], but got 2)"),
                           (t.args(t(2, 1), (1, 1)), RuntimeError, "dim 1 appears multiple times in the list of dims")])
def squeeze(input: Tensor, dim: ints | None = None):
    "A view without axes of size 1: all of them, or those named by `dim`."
    selected = range(input.ndim) if dim is None else axes(dim, input.ndim)
    order = tuple(i for i in range(input.ndim) if i not in selected or input.shape[i] != 1)
    return _reordered(input, order)
squeeze.rule(input=lambda g, input_shape: g.reshape(input_shape))


@view_op(geometry="unsqueeze",
         samples=lambda t: [t.args(t(2, 3), 0), t.args(t(2, 3), 1), t.args(t(2, 3), -1), t.args(t(), 0)],
         errors=lambda t: [(t.args(t(2), 2), IndexError,
                            "Dimension out of range (expected to be in range of [-2, 1], but got 2)")])
def unsqueeze(input: Tensor, dim: int):
    "A view with a new axis of size 1 at position `dim`."
    shape, strides = tuple(input.shape), input.stride()
    dim = axis(dim, len(shape) + 1)
    step = shape[dim] * strides[dim] if dim < len(shape) else 1
    return (*shape[:dim], 1, *shape[dim:]), (*strides[:dim], step, *strides[dim:]), input.storage_offset()
unsqueeze.rule(input=lambda g, dim: g.squeeze(dim))


@composite(native="flatten",
           samples=lambda t: [t.args(t(2, 3, 4)), t.args(t(2, 3, 4), 1), t.args(t(2, 3, 4), 0, 1), t.args(t()),
                              t.args(t(2, 3).t())],
           errors=lambda t: [(t.args(t(2, 3), 1, 0), RuntimeError,
                              "flatten() has invalid args: start_dim cannot come after end_dim")])
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    "Merges the axes from `start_dim` to `end_dim` into one; a view if possible."
    if start_dim == 0 and end_dim == -1 and input.ndim > 1:
        return reshape(input, (-1,))
    start, end = axis(start_dim, input.ndim), axis(end_dim, input.ndim)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if input.ndim == 0:
        return reshape(input, (1,))
    if start == end:
        return input
    shape = tuple(input.shape)
    return reshape(input, (*shape[:start], geometry.product(shape[start:end + 1]), *shape[end + 1:]))


@composite(native="unflatten", samples=lambda t: [t.args(t(2, 6), 1, (2, 3)), t.args(t(2, 6), -1, (-1, 3))],
           errors=lambda t: [(t.args(t(2, 6), 1, (2, 4)), RuntimeError,
                              "unflatten: Provided sizes [2, 4] don't multiply up"),
                             (t.args(t(2, 6), 1, ()), RuntimeError, "unflatten: sizes must be non-empty")])
def unflatten(input: Tensor, dim: int, sizes: ints) -> Tensor:
    "A view with axis `dim` split into several axes of the given sizes, one of which may be -1."
    if isinstance(sizes, int):
        raise TypeError("unflatten(): argument 'sizes' (position 2) must be tuple of ints, not int")
    if input.ndim == 0:
        axis(dim, 0)
        raise RuntimeError(f"unflatten got an unexpected error:\nDimension specified as {dim} but tensor has no "
                           "dimensions")
    dim, wanted = axis(dim, input.ndim), geometry.sizes(sizes)
    if not wanted:
        raise RuntimeError("unflatten: sizes must be non-empty")
    length = input.shape[dim]
    try:
        found = geometry.infer(wanted, length)
    except RuntimeError as reason:
        if str(reason).startswith("shape '"):
            raise RuntimeError(f"unflatten: Provided sizes {text(wanted)} don't multiply up to the size of dim {dim} "
                               f"({length}) in the input tensor") from None
        raise RuntimeError(f"unflatten got an unexpected error:\n{reason}") from None
    return view(input, (*input.shape[:dim], *found, *input.shape[dim + 1:]))


@composite(samples=lambda t: [t.args(t(2, 3)), t.args(t(2, 3).t()), t.args(t())])
def ravel(input: Tensor) -> Tensor:
    "All elements as a 1-dim tensor; a view if the tensor is contiguous."
    return view(input.contiguous(), (-1,))


@view_op(method=False, function=False, node="AliasBackward0", samples=lambda t: [t.args(t(2, 3))])
def alias(input: Tensor):
    "The tensor itself as a view: `x[...]`."
    return tuple(input.shape), input.stride(), input.storage_offset()
alias.rule(input=lambda g: g)


@composite(method=False, samples=lambda t: [t.args(t(2, 3))])
def detach(input: Tensor) -> Tensor:
    "A tensor that shares this one's memory and has no history."
    return input.detach()


@composite(native="movedim", names=("moveaxis",),
           samples=lambda t: [t.args(t(2, 3, 4), 0, 2), t.args(t(2, 3, 4), (0, 1), (-1, 0)), t.args(t(), 0, 0)],
           errors=lambda t: [(t.args(t(2, 3), (0, 0), (0, 1)), RuntimeError,
                              "movedim: repeated dim in `source` ([0, 0])")])
def movedim(input: Tensor, source: ints, destination: ints) -> Tensor:
    "A view with the axes `source` moved to the positions `destination`; the others keep their order."
    if isinstance(source, int) != isinstance(destination, int):
        got = ", ".join(type(dims).__name__ for dims in (source, destination))
        raise TypeError(f"movedim() received an invalid combination of arguments - got ({got}), but expected one of:\n"
                        " * (int source, int destination)\n * (tuple of ints source, tuple of ints destination)\n")
    source, destination = sizes(source), sizes(destination)
    if len(source) != len(destination):
        raise RuntimeError(f"movedim: Invalid source or destination dims: source ({text(source)} dims) should contain "
                           f"the same number of dims as destination ({text(destination)} dims)")
    here, there = ([axis(dim, input.ndim) for dim in dims] for dims in (source, destination))
    for name, found, given in (("source", here, source), ("destination", there, destination)):
        if len(set(found)) < len(found):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({text(given)})")
    if input.ndim == 0:
        return alias(input)
    rest = iter(i for i in range(input.ndim) if i not in here)
    moved = dict(zip(there, here))
    return permute(input, tuple(moved[i] if i in moved else next(rest) for i in range(input.ndim)))


def check_tensors(tensors: Iterable, argument: int = 0) -> None:
    """Refuse what is not a tensor among the tensors of an argument."""
    for i, tensor in enumerate(tensors):
        if not isinstance(tensor, TensorType):
            raise TypeError(f"expected Tensor as element {i} in argument {argument}, but got {type(tensor).__name__}")


@composite(native="broadcast_tensors", method=False, samples=lambda t: [t.args(t(3), t(2, 1))],
           errors=lambda t: [(t.args(t(2), t(3)), RuntimeError,
                              "The size of tensor a (2) must match the size of tensor b (3)")])
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    "Views of the tensors, all broadcast to their common shape."
    check_tensors(tensors)
    shape = geometry.broadcast(*(tensor.shape for tensor in tensors))
    return tuple(tensor if tuple(tensor.shape) == shape else expand(tensor, shape) for tensor in tensors)


def _each(name: str, grow: Callable[[Tensor], Tensor], tensors: tuple) -> Tensor | tuple[Tensor, ...]:
    """`grow` applied to one tensor, to several, or to a sequence of them."""
    if len(tensors) == 1:
        if isinstance(tensors[0], TensorType):
            return grow(tensors[0])
        tensors = tensors[0]
        if not isinstance(tensors, (tuple, list)):
            raise TypeError(f"{name}() received an invalid combination of arguments - got ({type(tensors).__name__}), "
                            "but expected one of:\n * (Tensor input)\n * (tuple of Tensors tensors)\n")
    check_tensors(tensors)
    return tuple(map(grow, tensors))


def _to_2d(tensor: Tensor) -> Tensor:
    return tensor.reshape(1, 1) if tensor.ndim == 0 else tensor.unsqueeze(0) if tensor.ndim == 1 else tensor


def _to_3d(tensor: Tensor) -> Tensor:
    if tensor.ndim == 0:
        return tensor.reshape(1, 1, 1)
    if tensor.ndim == 1:
        return tensor.unsqueeze(0).unsqueeze(-1)
    return tensor.unsqueeze(-1) if tensor.ndim == 2 else tensor


@composite(method=False, samples=lambda t: [t.args(t()), t.args(t(3)), t.args(t(), t(2, 3))])
def atleast_1d(*tensors: Tensor) -> Tensor | tuple[Tensor, ...]:
    "Views with at least one axis."
    return _each("atleast_1d", lambda tensor: tensor.reshape(1) if tensor.ndim == 0 else tensor, tensors)


@composite(method=False, samples=lambda t: [t.args(t()), t.args(t(3)), t.args(t(), t(2, 3))])
def atleast_2d(*tensors: Tensor) -> Tensor | tuple[Tensor, ...]:
    "Views with at least two axes: scalars and vectors become matrices of one row."
    return _each("atleast_2d", _to_2d, tensors)


@composite(method=False, samples=lambda t: [t.args(t()), t.args(t(3)), t.args(t(), t(2, 3))])
def atleast_3d(*tensors: Tensor) -> Tensor | tuple[Tensor, ...]:
    "Views with at least three axes: a vector becomes (1, n, 1), a matrix (n, m, 1)."
    return _each("atleast_3d", _to_3d, tensors)


@composite(method=False, samples=lambda t: [t.args((2, 1), (3,)), t.args(), t.args(4, (1,))])
def broadcast_shapes(*shapes: ints) -> Size:
    "The shape to which tensors of these shapes are broadcast."
    for shape in shapes:
        if not isinstance(shape, (int, tuple, list)):
            raise RuntimeError(f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {shape}")
    shapes = [sizes(shape) for shape in shapes]
    out: list[int] = []
    for number, shape in enumerate(shapes):
        out[:0] = [1] * (len(shape) - len(out))
        for i in range(-1, -len(shape) - 1, -1):
            if shape[i] < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if out[i] == 1:
                out[i] = shape[i]
            elif shape[i] not in (1, out[i]):
                raise RuntimeError(f"Attempting to broadcast a dimension of length {shape[i]} at {i}! Mismatching "
                                   f"argument at index {number} had {shape}; but expected shape should be "
                                   f"broadcastable to {out}")
    return Size(out)
