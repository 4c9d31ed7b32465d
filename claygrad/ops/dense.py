"""What programs ask of tensors that might be sparse, quantized or laid out in an unusual order; ours are dense."""
from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from claygrad.core import DTYPES, default_dtype, empty_strided
from claygrad.core.determinism import initial
from claygrad.ops._formats import memory_format, strided
from claygrad.ops._geometry import sizes, text
from claygrad.ops._registry import composite, op
from claygrad.ops.creation import check_layout, chosen_device, chosen_dtype, leaf, refuse_pinning

if TYPE_CHECKING:
    from claygrad.core import Tensor, device, dtype
    from claygrad.ops._formats import layout

    Device = device | str | None
    ints = int | tuple[int, ...] | list[int]


# --- shapes and layouts ------------------------------------------------------------------------------------------
@composite(short="empty_permuted", method=False, raw=True, samples=lambda t: [t.args((2, 0, 4), (0, 2, 1))],
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
    made = empty_strided(size, tuple(strides), chosen_dtype("empty_permuted", dtype) or default_dtype(),
                         chosen_device("empty_permuted", device))
    return leaf("empty_permuted", initial(made), requires_grad)


@composite(function=False, varargs="size", samples=lambda t: [t.args(t(3, 4), 3, 1), t.args(t(2, 3, 4), (4,)),
                                                              t.args(t(3, 4), (3, 4)), t.args(t(3), ())],
           errors=lambda t: [(t.args(t(4, 5), 3, 1), RuntimeError,
                              "size {[3, 1]} is not expandable to size {[4, 5]}.")])
def sum_to_size(input: Tensor, size: ints) -> Tensor:
    "Summed over all that broadcasting would have stretched a tensor of `size` along."
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
    "The places of elements that are not zero, cut or filled up with `fill_value` to `size` rows."
    out = xp.full((size, input.ndim), fill_value, "int64")
    found = xp.argwhere(input)[:size]
    out[:len(found)] = found
    return out


@composite(function=False, raw=True)
def dim_order(self: Tensor, *, ambiguity_check: bool | list = False) -> tuple[int, ...]:
    "The axes in the order in which they lie in memory, the slowest first."
    strides, shape = self.stride(), self.shape
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if not isinstance(ambiguity_check, (bool, list)) or not all(isinstance(form, memory_format) for form in formats):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    if ambiguity_check is not False:
        if ((1 in shape or any(a == b for a, b in pairwise(strides)))
                and sum(self.is_contiguous(memory_format=form) for form in formats) != 1):
            raise RuntimeError("The tensor does not have unique dim order, or cannot map to exact one of the given "
                               "memory "
                               "formats.")
        if len(set(zip(strides, shape, strict=True))) < self.ndim:
            raise RuntimeError("The tensor does not have unique dim order.")
    return tuple(sorted(range(self.ndim), key=lambda i: (-strides[i], i)))


# --- sparse tensors ----------------------------------------------------------------------------------------------
def _refuse_dense(name: str, kind: str) -> None:
    """Declare a method that only sparse tensors answer."""
    def method(self: Tensor) -> None:
        raise RuntimeError(f"{name} expected {kind} tensor layout but got Strided")
    method.__name__ = method.__qualname__ = name
    method.__doc__ = "Refused: of sparse tensors alone."
    composite(function=False, raw=True)(method)


for _name in ("is_coalesced", "coalesce", "indices"):
    _refuse_dense(_name, "sparse coordinate")
for _name in ("crow_indices", "col_indices"):
    _refuse_dense(_name, "sparse row compressed")
for _name in ("ccol_indices", "row_indices"):
    _refuse_dense(_name, "sparse column compressed")
_refuse_dense("values", "sparse")


@composite(function=False, raw=True)
def sparse_dim(self: Tensor) -> int:
    "How many axes are kept as indices: none."
    return 0


@composite(function=False, raw=True)
def dense_dim(self: Tensor) -> int:
    "How many axes are kept as elements: all."
    return self.ndim


@composite(function=False, raw=True, samples=lambda t: [t.args(t(3, 4))])
def to_dense(self: Tensor, dtype: dtype | None = None, *, masked_grad: bool | None = None) -> Tensor:
    "The tensor itself, which is dense; in another dtype if asked. `masked_grad` is about sparse tensors."
    return self if dtype is None else self.to(dtype)


def _no_sparse(name: str) -> None:
    def method(self: Tensor, *args: object, **kwargs: object) -> None:
        raise NotImplementedError(f"{name}: claygrad has no sparse tensors; use dense ones with a mask")
    method.__name__ = method.__qualname__ = name
    method.__doc__ = "Refused: there are no sparse tensors."
    composite(function=False)(method)


for _name in ("to_sparse", "to_sparse_coo", "to_sparse_csr", "to_sparse_csc", "to_sparse_bsr", "to_sparse_bsc",
              "sparse_mask", "sparse_resize_", "sparse_resize_and_clear_", "resize_as_sparse_", "smm", "sspaddmm"):
    _no_sparse(_name)


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


_no_device("xpu", AssertionError, "Torch not compiled with XPU enabled")
_no_device("ipu", RuntimeError, "PyTorch is not linked with support for ipu devices")
_no_device("mtia", AssertionError, "Torch not compiled with MTIA enabled.")
_no_device("to_mkldnn", RuntimeError, "to_mkldnn: claygrad has no tensors in oneDNN's layout")
_no_device("record_stream", RuntimeError, "record_stream: tensors on the CPU have no streams")


def _removed(name: str, since: str) -> None:
    def method(self: Tensor, *args: object, **kwargs: object) -> None:
        raise RuntimeError(f"This function was deprecated since version {since} and is now removed.")
    method.__name__ = method.__qualname__ = name
    method.__doc__ = "Refused: PyTorch has removed it; torch.linalg has what it did."
    composite(function=False)(method)


for _name in ("eig", "symeig", "solve", "lstsq"):
    _removed(_name, "1.9")
