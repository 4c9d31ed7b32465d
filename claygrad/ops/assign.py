"""Writing in place: copy_, fill_, zero_, and changes of shape and storage."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad.core import adopt, dtype_of_numpy, empty, on_storage, recast_array, refuse_unwritable
from claygrad.core.dispatch.determinism import initial_from
from claygrad.core.graph.modes import get_inference
from claygrad.ops._formats import check_format, contiguous_strides, preserve_format, strides_for
from claygrad.ops._geometry import broadcast, text
from claygrad.ops._numbers import refuse_overflow
from claygrad.ops._registry import composite, op, zero
from claygrad.ops._storages import TypedStorage

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Storage, Tensor


def check_copy(input: Tensor, src: Tensor) -> None:
    if src.is_meta and not input.is_meta:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    here, both = tuple(input.shape), broadcast(input.shape, src.shape)
    if both != here:
        raise RuntimeError(f"output with shape {list(here)} doesn't match the broadcast shape {list(both)}")


def _onto_itself(input: Tensor, src: Tensor, non_blocking: bool) -> str | None:
    """Of one memory and geometry: nothing moves."""
    same = src is input or (src.data_ptr() == input.data_ptr() and src.shape == input.shape
                            and src.stride() == input.stride() and src.dtype == input.dtype)
    return "ok" if same else None


@op(kernel="copy", inplace=True, across=True, numbers=True, overlap=_onto_itself, function=False, method=False,
    out=False, half="raw",
    check=check_copy, node="torch::autograd::CopyBackwards", meta=lambda input: input.shape,
    samples=lambda t: [t.args(t(3, 4), t(3, 4)), t.args(t(3, 4), t(4)), t.args(t(3), t())])
def copy(xp, input: Tensor, src: Tensor, non_blocking: bool = False):
    "Copies the elements of `src` into this tensor, broadcast and cast to its dtype: `input[...] = src`."
    if input.dtype != src.dtype and "V" in (input.dtype.kind, src.dtype.kind):
        into, given = dtype_of_numpy(input.dtype), dtype_of_numpy(src.dtype)
        for kind in (into, given):
            if kind.numpy.names and not kind.is_complex:
                raise NotImplementedError(f"\"copy_\" not implemented for '{into.legacy}'")
        if given.is_complex and src.dtype.names:
            src = recast_array(src, "complex64")
        elif src.dtype.kind != "c" or not into.is_complex:
            src = recast_array(src.real if src.dtype.kind == "c" else src, "float32")
    if src.dtype.kind == "c" and not dtype_of_numpy(input.dtype).is_complex:
        src = src.real
    return recast_array(xp.broadcast_to(src, input.shape), input.dtype)
copy.rule(input=zero, src=lambda g: g)


def check_fill(input: Tensor, value: Any) -> None:
    if isinstance(value, (int, float, complex)):
        refuse_overflow(value, input.dtype)
    elif value.ndim != 0:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")


@op(kernel="fill", inplace=True, alias="ok",
    overlap=lambda input, value: "ok" if isinstance(value, (int, float, complex)) else None, method=False, out=False,
    half="raw", check=check_fill, meta=lambda input: input.shape,
    node=lambda value, inplace: f"FillBackward{2 * inplace + (not isinstance(value, (int, float, complex)))}",
    samples=lambda t: [t.args(t(3, 4), 2.5), t.args(t(3), t())])
def fill(xp, input: Tensor, value: Tensor | Number):
    "Fills the tensor with one value."
    return xp.full(input.shape, value).astype(input.dtype)
fill.rule(input=zero, value=lambda g: g.sum())


@op(name="zero", kernel="zero", inplace=True, overlap="ok", function=False, method=False, out=False, half="raw",
    meta=lambda input: input.shape, samples=lambda t: [t.args(t(3, 4))])
def zero_fill(xp, input: Tensor):
    "Fills the tensor with zeros."
    return xp.zeros_like(input)
zero_fill.rule(input=zero)


@op(name="_ones", function=False, method=False, half="raw", meta=lambda input: input.shape)
def ones(xp, input: Tensor):
    "Ones in the shape and dtype of the input: what backward starts from."
    return xp.ones_like(input)


@composite(function=False)
def resize_(self: Tensor, *sizes: int | tuple[int, ...], memory_format: Any = None) -> Tensor:
    "Changes the shape in place. The storage grows if necessary; new elements are uninitialized."
    check_format("resize_", memory_format)
    shape = tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else tuple(sizes)
    if self.requires_grad and not get_inference():
        raise RuntimeError("cannot resize variables that require grad")
    if memory_format is preserve_format:
        raise RuntimeError("Unsupported memory formatPreserve")
    if shape == self.shape:                  # whatever its strides, unless an order is asked for
        return self if memory_format is None else self.as_strided_(shape, strides_for(shape, memory_format))
    if any(n < 0 for n in shape):
        raise RuntimeError(f"numel: integer multiplication overflow\n  resize_ got {text(shape)}")
    plain = contiguous_strides(shape)
    strides = plain if memory_format is None else strides_for(shape, memory_format)
    numel = plain[0] * max(shape[0], 1) if shape else 1
    if numel >= 1 << 63:
        raise RuntimeError("Stride calculation overflowed" if 0 in shape else "numel: integer multiplication overflow")
    storage, needed = self.untyped_storage(), (numel + self.storage_offset()) * self.element_size()
    if 0 in shape:
        needed = 0
    if needed >= 1 << 63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={text(shape)}")
    before = storage.nbytes()
    if needed > before:
        storage.resize_(needed)
        initial_from(self, before)
    out = on_storage(storage, self.dtype, shape, strides, self.storage_offset())
    out = out._conj() if self.is_conj() else out
    return adopt(self, out._neg_view() if self.is_neg() else out)


@composite(function=False)
def set_(self: Tensor, source: Tensor | Storage | TypedStorage | None = None, storage_offset: int = 0,
         size: tuple[int, ...] | None = None, stride: tuple[int, ...] | None = None) -> Tensor:
    "Makes this tensor share the storage of another tensor, or use a given storage, with the given geometry."
    from claygrad.core import Tensor as TensorType
    refuse_unwritable(self)
    if source is None:
        return adopt(self, empty((0,), self.dtype, self.device), new_leaf=True)
    if isinstance(source, TensorType):
        if source.dtype != self.dtype:
            raise RuntimeError(f"Could not set tensor of type {source.dtype.c_name} to a tensor of type "
                               f"{self.dtype.c_name}")
        if size is None:
            return adopt(self, source, record=False, new_leaf=True)
        source = source.untyped_storage()
    if isinstance(source, TypedStorage):
        if source.dtype is not self.dtype:
            raise RuntimeError(f"Expected a Storage of type {self.dtype.c_name} or an UntypedStorage, but got type "
                               f"{source.dtype.legacy} for argument 1 'storage'")
        source = source._untyped_storage
    if size is None:
        size = (source.nbytes() // self.element_size(),)
    size = tuple(size)
    given = [] if stride is None else list(stride)
    same = size == self.shape and (stride is None or tuple(stride) == self.stride())
    stride = contiguous_strides(size) if stride is None else tuple(stride)
    if storage_offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {storage_offset}")
    if len(size) != len(stride):
        raise RuntimeError(f"unequal size length ({len(size)}) and stride length ({len(stride)})")
    if any(n < 0 for n in size):
        raise RuntimeError(f"numel: integer multiplication overflow\n  set_ got {text(size)}")
    span = 0 if 0 in size else 1 + storage_offset + sum((n - 1) * step for n, step in zip(size, stride))
    if any(step < 0 for step in stride) or span * self.element_size() >= 1 << 63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={text(size)} and strides={text(stride)}")
    if span * self.element_size() > source.nbytes():
        if same:
            raise RuntimeError(f"setStorage: sizes {list(size)}, strides {given}, storage offset {storage_offset}, "
                               f"and itemsize {self.element_size()} requiring a storage size of "
                               f"{span * self.element_size()} are out of bounds for storage of size {source.nbytes()}")
        source.resize_(span * self.element_size())       # for another geometry it grows, as in PyTorch
    return adopt(self, on_storage(source, self.dtype, size, stride, storage_offset), new_leaf=True)


# torch numbers the nodes of these forms apart; squeeze_ counts on from its own three.
IN_PLACE_NODES = {"unsqueeze": "UnsqueezeBackward1", "squeeze": "SqueezeBackward+3", "transpose": "TransposeBackward1",
                  "swapaxes": "TransposeBackward1", "swapdims": "TransposeBackward1"}


def _geometry_in_place(name: str) -> None:
    def change(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        refuse_unwritable(self)
        return adopt(self, getattr(self, name)(*args, **kwargs), IN_PLACE_NODES.get(name, ""))
    change.__name__ = change.__qualname__ = name + "_"
    change.__doc__ = f"In-place form of {name}: the tensor itself takes the new geometry."
    composite(function=False)(change)


for _name in ("unsqueeze", "squeeze", "t", "transpose", "swapaxes", "swapdims", "as_strided"):
    _geometry_in_place(_name)
