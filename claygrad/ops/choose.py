"""Selection by masks and flat indices, and the indices of nonzero elements."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import Tensor as TensorType
from claygrad.core import into
from claygrad.core.dispatch.determinism import alert
from claygrad.core.dispatch.wrong_arguments import type_name
from claygrad.ops._formats import empty_array, empty_array_like
from claygrad.ops._geometry import broadcast
from claygrad.ops._indices import add_at, legacy, out_of_bounds, widened
from claygrad.ops._registry import composite, constant, op

if TYPE_CHECKING:
    from claygrad.core import Tensor


def _check_selected(out: Tensor, result: Tensor) -> None:
    if out.dtype != result.dtype:
        raise RuntimeError("masked_select(): self and result must have the same scalar type")


@op(kernel="masked_select", half="raw", meta="data", check_out=_check_selected, out_alias="refuse",
    samples=lambda t: [t.args(t(3, 4), t(3, 4, dtype="bool")), t.args(t(3, 1), t(4, dtype="bool")),
                       t.args(t(), t(dtype="bool"))],
    errors=lambda t: [(t.args(t(3), t(3)), RuntimeError, "masked_select: expected BoolTensor for mask")])
def masked_select(xp, input: Tensor, mask: Tensor):
    "The elements where the mask is True, as a 1-dim tensor. Input and mask are broadcast against each other."
    if mask.dtype.name != "bool":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    shape = broadcast(mask.shape, input.shape)
    input, mask = xp.broadcast_to(input, shape), xp.broadcast_to(mask, shape)
    return input[mask]
masked_select.rule(input=lambda g, input_shape, mask:
                   g.new_zeros(broadcast(input_shape, mask.shape)).masked_scatter(mask, g), mask=constant)


@op(kernel="masked_scatter",
    alias="ok", half="raw", out=False, inplace=True, meta=lambda input, mask: broadcast(input.shape, mask.shape),
    samples=lambda t: [t.args(t(3, 4), t(3, 4, dtype="bool"), t(12)), t.args(t(3, 4), t(4, dtype="bool"), t(4, 5))],
    errors=lambda t: [(t.args(t(3), t(3), t(3)), RuntimeError,
                       "masked_scatter_ only supports boolean masks, but got mask with dtype"),
                      (t.args(t(3), t(3, dtype="bool"), t(3, dtype="int64")), RuntimeError,
                       "masked_scatter: expected self and source to")])
def masked_scatter(xp, input: Tensor, mask: Tensor, source: Tensor):
    "A copy in which the elements where the mask is True are replaced by the elements of `source`, in order."
    if source.dtype != input.dtype:
        raise RuntimeError(f"masked_scatter: expected self and source to have same dtypes but got{legacy(input)} and "
                           f"{legacy(source)}")
    if mask.dtype.name != "bool":
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {legacy(mask)}")
    shape = broadcast(input.shape, mask.shape)
    mask = xp.broadcast_to(mask, shape)
    n = int(xp.count_nonzero(mask))
    if n > source.size:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    out = xp.array(xp.broadcast_to(input, shape), order="C")
    out[mask] = source.reshape(-1)[:n]
    return out


@op(half="raw", function=False, method=False, out=False, meta=lambda grad_output, mask, sizes: tuple(sizes),
    samples=lambda t: [t.args(t(3, 4), t(3, 4, dtype="bool"), (4, 5)), t.args(t(2, 3), t(3, dtype="bool"), (12,))])
def masked_scatter_backward(xp, grad_output: Tensor, mask: Tensor, sizes: tuple[int, ...]):
    "The gradient of masked_scatter for its source: what was written of it, in order, and zeros for what was not."
    out = xp.zeros(sizes, grad_output.dtype)
    selected = grad_output[xp.broadcast_to(mask, grad_output.shape)]
    out.reshape(-1)[:selected.size] = selected
    return out


masked_scatter_backward.rule(grad_output=lambda g, grad_output_shape, mask:
                             g.new_zeros(grad_output_shape).masked_scatter(mask, g), mask=constant)
masked_scatter.rule(input=lambda g, mask: g.masked_fill(mask, 0), mask=constant, source=lambda g, mask, source_shape:
                    masked_scatter_backward(g, mask, source_shape))


def _check_flat(xp, name: str, input, index) -> None:
    if index.dtype.name != "int64":
        raise RuntimeError(f"{name}: Expected a long tensor for index, but got {legacy(index)}")
    n = input.size
    bad = out_of_bounds(xp, index, n, -n)
    if bad is not None:
        raise IndexError(f"out of range: tried to access index {bad} on a tensor of {n} elements.")


def _check_take_out(out: Tensor, result: Tensor) -> None:
    if out.dtype != result.dtype:
        raise RuntimeError("take(): self and out expected to have the same dtype, but got self.dtype = "
                           f"{result.dtype.legacy} and out.dtype = {out.dtype.legacy}")


@op(kernel="take", half="raw", meta=lambda index: index.shape, check_out=_check_take_out, out_alias="refuse",
    samples=lambda t: [t.args(t(3, 4), t.index((2, 3), 12)), t.args(t(3, 4), t.index((), 12)),
                       t.args(t(0), t.index((0,), 1))],
    errors=lambda t: [(t.args(t(4), t.index((1,), 1).add(4)), IndexError,
                       "out of range: tried to access index 4 on a tensor of 4"),
                      (t.args(t(4), t(1, dtype="float32")), RuntimeError,
                       "take(): Expected a long tensor for index, but got Float")])
def take(xp, input: Tensor, index: Tensor):
    "The elements at indices into the flattened tensor, in the shape of `index`. Negative indices count from the end."
    if index.dtype.name == "int64" and input.size == 0 and index.size:
        raise IndexError("take(): tried to take from an empty tensor")
    _check_flat(xp, "take()", input, index)
    return xp.ascontiguousarray(input.reshape(-1)[index]).reshape(index.shape)
take.rule(input=lambda g, input_shape, index: g.new_zeros(input_shape).put(index, g, True), index=constant)


@op(strides="like",
    kernel="put_flat", alias="refuse", half="raw", out=False, inplace=True, meta=lambda input: input.shape,
    samples=lambda t: [t.args(t(3, 4), t.index((1,), 12), t(1)),
                       t.args(t(3, 4), t.index((2, 3), 12), t(2, 3), accumulate=True)],
    errors=lambda t: [(t.args(t(4), t.index((1,), 1).add(4), t(1)), IndexError,
                       "out of range: tried to access index 4 on a tensor of 4"),
                      (t.args(t(4), t.index((2,), 4), t(1)), IndexError,
                       "put_(): Expected source and index to have the same number of"),
                      (t.args(t(4), t.index((1,), 4), t(1, dtype="int64")), RuntimeError,
                       "put_(): self and source expected to have the")])
def put(xp, input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False):
    "A copy with `source` written to indices into the flattened tensor, or added there with `accumulate`."
    if index.dtype.name != "int64":
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {legacy(index)}")
    if source.dtype != input.dtype:
        raise RuntimeError("put_(): self and source expected to have the same dtype, but got self.dtype = "
                           f"{legacy(input)} and source.dtype = {legacy(source)}")
    if source.size != index.size:
        raise IndexError("put_(): Expected source and index to have the same number of elements, but got "
                         f"source.numel() = {source.size}, index.numel() = {index.size}")
    if not accumulate:
        alert("put_")
    _check_flat(xp, "put_()", input, index)
    flat = widened(xp, input) if accumulate else xp.array(input, order="C")
    if accumulate:
        add_at(xp, flat, index, source)
    else:
        flat.reshape(-1)[index.reshape(-1)] = source.reshape(-1)
    out = empty_array_like(xp, input)
    out[...] = flat
    return out
put.rule(input=lambda g, index, accumulate: g if accumulate else g.put(index, g.new_zeros(index.shape)), index=constant,
         source=lambda g, index, source_shape: g.take(index).reshape(source_shape))


@op(kernel="nonzero",
    name="nonzero", method=False, function=False, meta="data", samples=lambda t: [t.args(t(3, 4, dtype="bool"))])
def nonzero_positions(xp, input: Tensor):
    "Positions of the elements that are not zero, one per row."
    found = xp.nonzero(input) if input.ndim else ()
    n = len(found[0]) if found else int(input != 0)
    out = empty_array(xp, (n, input.ndim), (1, n), xp.int64)         # one axis after the other in memory
    for i, indices in enumerate(found):
        out[:, i] = indices
    return out


@composite(samples=lambda t: [t.args(t(3, 4, dtype="bool")), t.args(t(3, 4, dtype="int64"), as_tuple=True),
                              t.args(t())])
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Tensor | tuple[Tensor, ...]:
    """The indices of the nonzero elements, one per row. With `as_tuple`, a tensor of indices for each axis, which can
    be used as an index.

    >>> claygrad.nonzero(claygrad.tensor([0, 3, 0, 5]))
    tensor([[1],
            [3]])
    """
    if type(as_tuple) is not bool:
        raise TypeError(f"nonzero(): argument 'as_tuple' must be bool, not {type_name(as_tuple)}")
    if out is not None and not isinstance(out, TensorType):
        raise TypeError(f"nonzero(): argument 'out' must be Tensor, not {type_name(out)}")
    if as_tuple:
        if out is not None:
            raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
        return nonzero_positions(input if input.ndim else input.unsqueeze(0)).unbind(1)
    if out is None:
        return nonzero_positions(input)
    if out.dtype.name != "int64":
        raise RuntimeError("nonzero: Expected out tensor to have scalar type Long but got scalar "
                           f"type{out.dtype.legacy}")
    return into("nonzero", out, nonzero_positions(input))


@composite(samples=lambda t: [t.args(t(3, 4, dtype="bool")), t.args(t())])
def argwhere(input: Tensor) -> Tensor:
    "Positions of the elements that are not zero, one per row."
    return nonzero_positions(input)
