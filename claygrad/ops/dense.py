"""Questions about layouts: what dense tensors answer where a tensor might be sparse or quantized."""
from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from claygrad.core import DTYPES, UPCALLS, default_dtype, empty_strided
from claygrad.core.dispatch.determinism import initial
from claygrad.ops._formats import (
    channels_last,
    memory_format,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from claygrad.ops._geometry import sizes, text
from claygrad.ops._registry import composite, op
from claygrad.ops.creation import check_layout, checked_device, checked_dtype, leaf, refuse_pinning

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor, device, dtype
    from claygrad.ops._formats import layout

    Device = device | str | None
    ints = int | tuple[int, ...] | list[int]


# --- shapes and layouts ------------------------------------------------------------------------------------------
@composite(native="empty_permuted", method=False, raw=True, samples=lambda t: [t.args((2, 0, 4), (0, 2, 1))],
           errors=lambda t: [(t.args((2, 3), (0, 0)), RuntimeError, "Duplicate dim not allowed"),
                             (t.args((2, 3), (0,)), RuntimeError,
                              "Number of dimensions in size does not match the length of the physical_layout")])
def empty_permuted(size: ints, physical_layout: ints, *, dtype: dtype | None = None, layout: layout | None = strided,
                   device: Device = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    "Uninitialised memory without gaps, whose axes lie in memory in the order `physical_layout`, the slowest first."
    size, order = sizes(size), sizes(physical_layout)
    if len(size) != len(order):
        raise RuntimeError("Number of dimensions in size does not match the length of the physical_layout; i.e. "
                           f"len(size) = {len(size)} is not equal to len(physical_layout) = {len(order)}")
    if any(n < 0 for n in size):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {text(size)}")
    for i, d in enumerate(order):
        if not 0 <= d < len(size):
            raise RuntimeError(f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {d} at "
                               f"index {i}).  NB: negative dims not currently supported; file an issue if you want it.")
        if d in order[:i]:
            raise RuntimeError("Duplicate dim not allowed")
    refuse_pinning("empty_permuted", pin_memory)
    check_layout("empty_permuted", layout)
    strides, step = [0] * len(size), 1
    for d in reversed(order):
        strides[d] = step
        step *= max(size[d], 1)
    out = empty_strided(size, tuple(strides), checked_dtype("empty_permuted", dtype) or default_dtype(),
                         checked_device("empty_permuted", device))
    return leaf("empty_permuted", initial(out), requires_grad)


@composite(function=False, varargs="size", samples=lambda t: [t.args(t(3, 4), 3, 1), t.args(t(2, 3, 4), (4,)),
                                                              t.args(t(3, 4), (3, 4)), t.args(t(3), ())],
           errors=lambda t: [(t.args(t(4, 5), 3, 1), RuntimeError,
                              "size {[3, 1]} is not expandable to size {[4, 5]}.")])
def sum_to_size(input: Tensor, size: ints) -> Tensor:
    "Summed over all that broadcasting would have expanded a tensor of `size` along."
    size, shape = sizes(size), tuple(input.shape)
    lead = len(shape) - len(size)
    if lead < 0 or any(n not in (1, have) for n, have in zip(size, shape[lead:])):
        raise RuntimeError(f"size {{{text(size)}}} is not expandable to size {{{text(shape)}}}.")
    if not size:
        return input.sum()
    dims = [*range(lead), *(lead + i for i, n in enumerate(size) if n == 1 and shape[lead + i] != 1)]
    out = input.sum(dims, True) if dims else input
    return out.view(size) if lead else out


def _check_static(size: int) -> None:
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")


def _check_long(out: Tensor, result: Tensor) -> None:
    if out.dtype != result.dtype:
        raise RuntimeError("nonzero_static: Expected out tensor to have scalar type Long but got scalar "
                           f"type{out.dtype.legacy}")


@op(kernel="nonzero_static", check=_check_static, check_out=_check_long,
    meta=lambda input, size: ((size, input.ndim), DTYPES["int64"]),
    samples=lambda t: [t.args(t(3, 4, dtype="bool"), size=4), t.args(t(5), size=7, fill_value=9), t.args(t(), size=2)],
    errors=lambda t: [(t.args(t(3), size=-1), RuntimeError, "nonzero_static: 'size' must be an non-negative integer")])
def nonzero_static(xp, input: Tensor, *, size: int, fill_value: int = -1):
    "The indices of elements that are not zero, cut or filled up with `fill_value` to `size` rows."
    out = xp.full((size, input.ndim), fill_value, "int64")
    found = xp.argwhere(input)[:size]
    out[:len(found)] = found
    return out


@composite(function=False, raw=True)
def dim_order(self: Tensor, *, ambiguity_check: bool | list = False) -> tuple[int, ...]:
    "The axes in the order in which they lie in memory, the slowest first."
    if self.layout is not strided:
        raise AttributeError(f"Can't get dim order on sparse type: {self.type()} Use Tensor.to_dense() to convert to a "
                             "dense tensor first.")
    strides, shape = self.stride(), self.shape
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if not isinstance(ambiguity_check, (bool, list)) or not all(isinstance(form, memory_format) for form in formats):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    if (ambiguity_check is not False and (1 in shape or any(a == b for a, b in pairwise(strides)))
            and sum(self.is_contiguous(memory_format=form) for form in formats) != 1):
        raise RuntimeError("The tensor does not have unique dim order, or cannot map to exact one of the given memory "
                           "formats.")
    if self.ndim < 2 or self.is_contiguous() != self.is_contiguous(memory_format=channels_last):
        last = self.ndim > 1 and not self.is_contiguous()
        return (0, *range(2, self.ndim), 1) if last else tuple(range(self.ndim))
    order = list(reversed(range(self.ndim)))            # the quickest first
    for i in range(1, self.ndim):
        for j in reversed(range(i)):
            side = _side(strides, shape, order[j], order[i])
            if side < 0:
                break
            if side > 0:
                order[j], order[i], i = order[i], order[j], j
    if ambiguity_check is not False and any(_side(strides, shape, a, b) >= 0 for a, b in pairwise(order)):
        raise RuntimeError("The tensor does not have unique dim order.")
    return tuple(reversed(order))


def _side(strides: tuple[int, ...], shape: tuple[int, ...], a: int, b: int) -> int:
    """-1 if axis a is the quicker of the two in memory, 1 if b is, 0 if strides and sizes do not tell."""
    if strides[a] == 0 or strides[b] == 0 or (strides[a] == strides[b] and shape[b] >= shape[a]):
        return 0
    return 1 if strides[a] >= strides[b] else -1


# --- sparse tensors ----------------------------------------------------------------------------------------------
# What sparse tensors answer is in claygrad.sparse (Note [Sparse tensors]); here is what dense ones do.
def _of_sparse(name: str, kind: str, returns: str = "Tensor") -> None:
    """Declare a method that only sparse tensors answer."""
    def method(input: Tensor) -> None:
        raise RuntimeError(f"{name} expected {kind} tensor layout but got Strided")
    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"The {name.replace('_', ' ').strip()} of a sparse tensor; dense ones have none."
    method.__annotations__ = {"input": "Tensor", "return": returns}
    composite(function=False)(method)


for _name in ("coalesce", "indices"):
    _of_sparse(_name, "sparse coordinate")
_of_sparse("is_coalesced", "sparse coordinate", "bool")
for _name in ("crow_indices", "col_indices"):
    _of_sparse(_name, "sparse row compressed")
for _name in ("ccol_indices", "row_indices"):
    _of_sparse(_name, "sparse column compressed")
_of_sparse("values", "sparse")


def _no_kernel(name: str) -> NotImplementedError:
    return NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the 'CPU' backend. This could be because the operator "
        "doesn't exist for this backend, or was omitted during the selective/custom build process (if using custom "
        "build).\n  It is of sparse tensors alone.")


def _private(name: str, returns: str) -> None:
    def method(input: Tensor) -> None:
        raise _no_kernel(name)
    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"Of sparse tensors alone: {name.strip('_')}, without looking whether they are coalesced."
    method.__annotations__ = {"input": "Tensor", "return": returns}
    composite(function=False)(method)


for _name, _returns in (("_indices", "Tensor"), ("_values", "Tensor"), ("_nnz", "int"), ("_dimI", "int"),
                        ("_dimV", "int")):
    _private(_name, _returns)


@composite(function=False)
def _coalesced_(input: Tensor, coalesced: bool) -> Tensor:
    "Say of a sparse tensor whether its entries are in order, each of a place of its own."
    raise _no_kernel("_coalesced_")


@composite(function=False)
def sparse_dim(input: Tensor) -> int:
    "How many axes are kept as indices; none of a dense tensor."
    return 0


@composite(function=False)
def dense_dim(input: Tensor) -> int:
    "How many axes are kept as elements; all of a dense tensor."
    return input.ndim


@composite(function=False, samples=lambda t: [t.args(t(3, 4))])
def to_dense(input: Tensor, dtype: dtype | None = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor with all its zeros: itself if it is dense; in another dtype if asked.

    The gradient of a sparse tensor has its entries alone, unless `masked_grad=False`.
    """
    return input if dtype is None else input.to(dtype)


@composite(function=False, raw=True)
def to_sparse(self: Tensor, *args: Any, layout: layout | None = None, blocksize: ints | None = None,
              dense_dim: int | None = None) -> Tensor:
    """The tensor as a sparse one: `to_sparse()`, `to_sparse(sparse_dims)` or in a layout."""
    return UPCALLS["sparse_module"]().to_sparse(self, *args, layout=layout, blocksize=blocksize, dense_dim=dense_dim)


def _to_layout(name: str, kind: layout, blocks: bool) -> None:
    def method(self: Tensor, blocksize: ints | None = None, dense_dim: int | None = None) -> Tensor:
        return UPCALLS["sparse_module"]().to_sparse(self, layout=kind, blocksize=blocksize, dense_dim=dense_dim)

    def plain(self: Tensor, dense_dim: int | None = None) -> Tensor:
        return UPCALLS["sparse_module"]().to_sparse(self, layout=kind, dense_dim=dense_dim)
    out = method if blocks else plain
    out.__name__ = out.__qualname__ = name
    out.__doc__ = f"The tensor in the layout {kind.name}."
    composite(function=False, raw=True)(out)


for _name, _kind in (("to_sparse_coo", sparse_coo), ("to_sparse_csr", sparse_csr), ("to_sparse_csc", sparse_csc)):
    _to_layout(_name, _kind, False)
for _name, _kind in (("to_sparse_bsr", sparse_bsr), ("to_sparse_bsc", sparse_bsc)):
    _to_layout(_name, _kind, True)


@composite(function=False)
def sparse_mask(input: Tensor, mask: Tensor) -> Tensor:
    "The elements of the tensor where a sparse one has entries, as a sparse tensor."
    raise RuntimeError("sparse_mask: expected the mask to be sparse")


@composite(function=False)
def sparse_resize_(input: Tensor, size: ints, sparse_dim: int, dense_dim: int) -> Tensor:
    "Another shape for the entries of a sparse tensor."
    raise _no_kernel("sparse_resize_")


@composite(function=False)
def sparse_resize_and_clear_(input: Tensor, size: ints, sparse_dim: int, dense_dim: int) -> Tensor:
    "Another shape for a sparse tensor, without entries."
    raise _no_kernel("sparse_resize_and_clear_")


@composite()
def resize_as_sparse_(input: Tensor, the_template: Tensor) -> Tensor:
    "The shape of another sparse tensor, in place."
    raise _no_kernel("resize_as_sparse_")


@composite()
def smm(input: Tensor, mat2: Tensor) -> Tensor:
    "The product of a sparse and a dense matrix, as a sparse tensor."
    raise _no_kernel("sspaddmm")


@composite()
def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    "beta * input + alpha * (mat1 @ mat2) of a sparse input and mat1, as a sparse tensor."
    raise _no_kernel("sspaddmm")


# --- quantized tensors -------------------------------------------------------------------------------------------
def _no_quantized(name: str) -> None:
    def method(self: Tensor) -> None:
        raise NotImplementedError(f"Could not run 'aten::{name}' with arguments from the 'CPU' backend: it is of "
                                  "quantized tensors alone, which claygrad does not have")
    method.__name__ = method.__qualname__ = name
    method.__doc__ = "Refused: there are no quantized tensors."
    composite(function=False, raw=True)(method)


for _name in ("int_repr", "q_scale", "q_zero_point", "qscheme", "q_per_channel_scales", "q_per_channel_zero_points",
              "q_per_channel_axis"):
    _no_quantized(_name)


@composite(samples=lambda t: [t.args(t(3, requires_grad=False))])
def dequantize(input: Tensor) -> Tensor:
    "The tensor as float32; it is not quantized."
    return input.to(DTYPES["float32"])


# --- what is not there -------------------------------------------------------------------------------------------
def _no_device(name: str, error: type[Exception], text: str) -> None:
    def method(self: Tensor, *args: object, **kwargs: object) -> None:
        raise error(text)
    method.__name__ = method.__qualname__ = name
    method.__doc__ = "Refused: there is no such device."
    composite(function=False)(method)


_no_device("ipu", RuntimeError, "PyTorch is not linked with support for ipu devices")
_no_device("mtia", AssertionError, "Torch not compiled with MTIA enabled.")
_no_device("to_mkldnn", RuntimeError, "to_mkldnn: claygrad has no tensors in oneDNN's layout")


@composite(function=False)
def record_stream(input: Tensor, s: Any) -> None:
    "Have the memory live until a stream has done what was asked of it, should the tensor be gone before."
    table = input.device.table
    if table is None:
        raise RuntimeError("record_stream: tensors on the CPU have no streams")
    if not hasattr(s, "raw"):
        raise TypeError(f"record_stream(): argument 's' (position 1) must be Stream, not {type(s).__name__}")
    table.hold(s.raw, input.detach())


def _removed(name: str, since: str) -> None:
    def method(self: Tensor, *args: object, **kwargs: object) -> None:
        raise RuntimeError(f"This function was deprecated since version {since} and is now removed.")
    method.__name__ = method.__qualname__ = name
    method.__doc__ = "Refused: PyTorch has removed it; torch.linalg has what it did."
    composite(function=False)(method)


for _name in ("eig", "symeig", "solve", "lstsq"):
    _removed(_name, "1.9")
