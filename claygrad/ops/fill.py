"""Tensors of a given shape: empty or filled with one number, by themselves, like another tensor, or from one."""
from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from claygrad.core import UPCALLS, array_of, default_dtype, into, set_elements
from claygrad.core import Tensor as TensorType
from claygrad.core import empty as core_empty
from claygrad.core import empty_strided as core_empty_strided
from claygrad.core.dispatch.determinism import initial
from claygrad.core.dispatch.wrong_arguments import type_name
from claygrad.ops._data import number_dtype
from claygrad.ops._formats import (
    check_format,
    contiguous_format,
    preserve_format,
    sparse_coo,
    strided,
    strides_for,
    strides_like,
)
from claygrad.ops._geometry import sizes, text
from claygrad.ops._numbers import assigned, element, number_in
from claygrad.ops._registry import composite
from claygrad.ops.creation import check_layout, checked_device, checked_dtype, leaf, refuse_pinning

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor, device, dtype
    from claygrad.ops._formats import layout, memory_format

    ints = int | tuple[int, ...] | list[int]
    Device = device | str | None


def set_to(out: Tensor, value: Number) -> Tensor:
    """Fill a tensor that was just made: no history, no count."""
    plain = type(value) is int and 0 <= value <= 1 and out.dtype.numpy.isbuiltin == 1
    bits = out.dtype.numpy.names and not out.dtype.is_complex
    if bits and value:
        raise NotImplementedError(f"\"fill_cpu\" not implemented for '{out.dtype.legacy}'")
    number = value if plain or bits else element(value, out.dtype)
    if out.device.type == "cpu":
        array_of(out).fill(number)
    elif not out.is_meta:
        set_elements(out, np.full((), number, out.dtype.numpy))
    return out


_PLAIN = {int}


def shape_from(name: str, args: tuple, size: Any) -> tuple[int, ...]:
    """The shape of `f(2, 3)`, `f((2, 3))` or `f(size=(2, 3))`, refused in PyTorch's words."""
    plain = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
    if plain and size is None and set(map(type, plain)) == _PLAIN and max(plain) < 1 << 63:
        return tuple(plain)
    if args and size is not None:
        raise TypeError(f"{name}() got multiple values for argument 'size'")
    if not args:
        if size is None:
            raise TypeError(f"{name}() missing 1 required positional arguments: \"size\"")
        args = (size,)
    given = args[0] if len(args) == 1 and not _is_int(args[0]) else args
    if not isinstance(given, (tuple, list)):
        raise TypeError(f"{name}(): argument 'size' (position 1) must be tuple of ints, not {type_name(given)}")
    for i, n in enumerate(given):
        if not _is_int(n):
            if i == 0 and len(args) > 1:
                raise TypeError(f"{name}() takes 1 positional argument but {len(args)} were given\n"
                                "  sizes are int: int(n), or // instead of /, makes one")
            if i == 0:
                raise TypeError(f"{name}(): argument 'size' (position 1) must be tuple of ints, but found element of "
                                f"type {type_name(n)} at pos 0")
            raise TypeError(f"{name}(): argument 'size' failed to unpack the object at pos {i + 1} with error \"type "
                            f"must be tuple of ints,but got {type_name(n)}\"")
        if index(n) >= 1 << 63:
            raise TypeError(f"{name}(): argument 'size' failed to unpack the object at pos {i + 1} with error "
                            "\"Overflow when unpacking long long")
    return sizes(given)


def _is_int(value: Any) -> bool:
    if isinstance(value, TensorType):
        return value.ndim == 0 and not value.dtype.is_floating_point and not value.dtype.is_complex
    return hasattr(value, "__index__") and not isinstance(value, bool) and not getattr(value, "ndim", 0)


def out_dtype(name: str, out: Tensor | None, given: dtype | None) -> dtype | None:
    """The dtype in which a result is made: that of out= where there is one, which must not contradict."""
    given = checked_dtype(name, given)
    if out is None:
        return given
    if not isinstance(out, TensorType):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type_name(out)}")
    if given is not None and given != out.dtype:
        raise RuntimeError(f"dtype {given.legacy} does not match dtype of out parameter ({out.dtype.legacy})")
    return out.dtype


def finished(name: str, result: Tensor, out: Tensor | None, requires_grad: bool) -> Tensor:
    """A tensor just made, or the one given as out= with its elements, as a leaf if that is asked for."""
    if out is None:
        return leaf(name, result, requires_grad)
    if out.shape != result.shape:
        out.resize_(result.shape)
    into(name, out, result)
    return out if requires_grad is False else out.requires_grad_(requires_grad)


def _make(name: str, size: tuple[int, ...], value: Number | None, natural: dtype, dtype: Any, out: Tensor | None,
          layout: Any,
          device: Device, pin_memory: Any, requires_grad: Any) -> Tensor:
    """A contiguous tensor filled with `value` (None: left as it is), of the dtype given or the natural one."""
    kind = natural if dtype is None else checked_dtype(name, dtype)
    if pin_memory is not False:
        refuse_pinning(name, pin_memory)
    if layout is not None and layout is not strided:
        if layout is sparse_coo and out is None and (value is None or value == 0):
            return UPCALLS["sparse_module"]().sparse_coo_tensor(size, dtype=kind, device=device,
                                                             requires_grad=requires_grad)
        check_layout(name, layout)
    if out is not None:
        kind = out_dtype(name, out, None if dtype is None else kind)
        device = out.device
    result = core_empty(size, kind, None if device is None else checked_device(name, device))
    if value is not None:
        set_to(result, value)
    else:
        initial(result)
    return result if out is None and requires_grad is False else finished(name, result, out, requires_grad)


@composite(native="zeros", method=False, samples=lambda t: [t.args(2, 3), t.args((2, 0)), t.args(())],
           errors=lambda t: [(t.args(-1), RuntimeError, "zeros: Dimension size must be non-negative.")])
def zeros(*args: ints, size: ints | None = None, out: Tensor | None = None, dtype: dtype | None = None,
          layout: layout | None = strided, device: Device = None, pin_memory: bool = False,
          requires_grad: bool = False) -> Tensor:
    "A tensor of zeros with the given shape: `zeros(2, 3)` or `zeros((2, 3))`."
    size = shape_from("zeros", args, size)
    if size and min(size) < 0:
        raise RuntimeError("zeros: Dimension size must be non-negative.")
    return _make("zeros", size, 0, default_dtype(), dtype, out, layout, device, pin_memory, requires_grad)


@composite(native="ones", method=False, samples=lambda t: [t.args(2, 3), t.args((2, 0)), t.args(())],
           errors=lambda t: [(t.args(-1), RuntimeError, "Trying to create tensor with negative dimension -1: [-1]")])
def ones(*args: ints, size: ints | None = None, out: Tensor | None = None, dtype: dtype | None = None,
         layout: layout | None = strided, device: Device = None, pin_memory: bool = False,
         requires_grad: bool = False) -> Tensor:
    "A tensor of ones with the given shape: `ones(2, 3)` or `ones((2, 3))`."
    return _make("ones", shape_from("ones", args, size), 1, default_dtype(), dtype, out, layout, device, pin_memory,
                 requires_grad)


@composite(native="full", method=False, samples=lambda t: [t.args((2, 3), 1.5), t.args((2,), 3), t.args((), True)],
           errors=lambda t: [(t.args((-2,), 1), RuntimeError,
                              "Trying to create tensor with negative dimension -2: [-2]")])
def full(size: ints, fill_value: Number, *, out: Tensor | None = None, dtype: dtype | None = None,
         layout: layout | None = strided, device: Device = None, pin_memory: bool = False,
         requires_grad: bool = False) -> Tensor:
    "A tensor of the given shape filled with `fill_value`, whose type gives the dtype unless `dtype` is given."
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"full(): argument 'size' (position 1) must be tuple of ints, not {type_name(size)}")
    value = number_in(fill_value)
    if value is None:
        raise TypeError(f"full(): argument 'fill_value' (position 2) must be Number, not {type_name(fill_value)}")
    return _make("full", shape_from("full", (size,), None), value, number_dtype(value), dtype, out, layout, device,
                 pin_memory,
                 requires_grad)


@composite(native="empty", method=False, samples=lambda t: [t.args(0, 3), t.args((2, 0))],
           errors=lambda t: [(t.args(-1), RuntimeError, "Trying to create tensor with negative dimension -1: [-1]")])
def empty(*args: ints, size: ints | None = None, out: Tensor | None = None, dtype: dtype | None = None,
          layout: layout | None = strided, device: Device = None, pin_memory: bool = False, requires_grad: bool = False,
          memory_format: memory_format | None = None) -> Tensor:
    "An uninitialized tensor of the given shape: its elements have arbitrary values."
    size = shape_from("empty", args, size)
    check_format("empty", memory_format)
    if memory_format is preserve_format:
        raise RuntimeError("unsupported memory format Preserve")
    if memory_format is None or memory_format is contiguous_format:
        return _make("empty", size, None, default_dtype(), dtype, out, layout, device, pin_memory, requires_grad)
    if out is not None:
        raise RuntimeError("empty: out= and memory_format= cannot be given together")
    return empty_strided(size, strides_for(size, memory_format), dtype=dtype, layout=layout, device=device,
                         pin_memory=pin_memory, requires_grad=requires_grad)


@composite(method=False, samples=lambda t: [t.args((0, 3), (1, 2))],
           errors=lambda t: [(t.args((2, 3), (1,)), RuntimeError,
                              "dimensionality of sizes (2) must match dimensionality"),
                             (t.args((2,), (-1,)), RuntimeError, "Storage size calculation overflowed with sizes=[2]"),
                             (t.args((2,), (2**62,)), RuntimeError, "Storage size calculation overflowed with sizes")])
def empty_strided(size: ints, stride: ints, *, dtype: dtype | None = None, layout: layout | None = strided,
                  device: Device = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    "An uninitialized tensor with the given shape and strides."
    size, stride = sizes(size), sizes(stride)
    refuse_pinning("empty_strided", pin_memory)
    check_layout("empty_strided", layout)
    if len(size) != len(stride):
        raise RuntimeError(f"dimensionality of sizes ({len(size)}) must match dimensionality of strides "
                           f"({len(stride)})")
    if any(n < 0 for n in stride) and not any(n < 0 for n in size):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={text(size)} and strides={text(stride)}")
    out = core_empty_strided(size, stride, dtype or default_dtype(), checked_device("empty_strided", device))
    return leaf("empty_strided", initial(out), requires_grad)


@composite(native="eye", method=False, samples=lambda t: [t.args(3), t.args(2, 3), t.args(0)],
           errors=lambda t: [(t.args(-1), RuntimeError, "n must be greater or equal to 0, got -1")])
def eye(n: int, m: int | None = None, *, out: Tensor | None = None, dtype: dtype | None = None,
        layout: layout | None = strided, device: Device = None, pin_memory: bool = False,
        requires_grad: bool = False) -> Tensor:
    "A matrix with ones on its diagonal and zeros elsewhere."
    m = n if m is None else m
    for i, (name, value) in enumerate((("n", n), ("m", m))):
        if not _is_int(value):
            raise TypeError(f"eye(): argument '{name}' (position {i + 1}) must be int, not {type_name(value)}")
        if value < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {value}")
    kind = out_dtype("eye", out, checked_dtype("eye", dtype)) or default_dtype()
    result = _make("eye", sizes((n, m)), 0, kind, kind, None, layout, device, pin_memory, False)
    if not result.is_meta:
        array_of(result).reshape(-1)[:int(m) * min(int(n), int(m)):int(m) + 1] = 1
    return finished("eye", result, out, requires_grad)


@composite(native="scalar_tensor", method=False, raw=True, samples=lambda t: [t.args(2), t.args(1.5)])
def scalar_tensor(s: float, *, dtype: dtype | None = None, layout: layout | None = None,
                  device: device | str | None = None,
                  pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """A 0-dim tensor with one number, of the default dtype unless `dtype` is given."""
    value, kind = number_in(s), checked_dtype("scalar_tensor", dtype) or default_dtype()
    if value is None:
        raise TypeError(f"scalar_tensor(): argument 's' (position 1) must be Number, not {type(s).__name__}")
    if kind.is_floating_point and kind.itemsize == 2:
        value = float(assigned(value, kind))                   # too large is infinite
    return full((), value, dtype=kind, layout=layout, device=device, pin_memory=pin_memory, requires_grad=requires_grad)


# --- like another tensor ----------------------------------------------------------------------------------------
def _like(name: str, input: Tensor, value: Number | None, dtype: dtype | None, layout: layout | None, device: Device,
          pin_memory: bool, requires_grad: bool, memory_format: memory_format | None) -> Tensor:
    refuse_pinning(name, pin_memory)
    check_layout(name, layout)
    check_format(name, memory_format)
    where = input.device if device is None else checked_device(name, device)
    strides = input.stride()
    if not (memory_format is preserve_format and input.is_contiguous()):
        strides = strides_like(input.shape, strides, memory_format)
    out = core_empty_strided(input.shape, strides, dtype or input.dtype, where)
    return leaf(name, initial(out) if value is None else set_to(out, value), requires_grad)


@composite(native="zeros_like", method=False, samples=lambda t: [t.args(t(2, 3)), t.args(t(2, 3).t())])
def zeros_like(input: Tensor, *, dtype: dtype | None = None, layout: layout | None = None, device: Device = None,
               pin_memory: bool = False, requires_grad: bool = False,
               memory_format: memory_format | None = preserve_format) -> Tensor:
    "A tensor of zeros with the shape, dtype, device and layout of another tensor, unless others are given."
    return _like("zeros_like", input, 0, dtype, layout, device, pin_memory, requires_grad, memory_format)


@composite(native="ones_like", method=False, samples=lambda t: [t.args(t(2, 3)), t.args(t(2, 3).t())])
def ones_like(input: Tensor, *, dtype: dtype | None = None, layout: layout | None = None, device: Device = None,
              pin_memory: bool = False, requires_grad: bool = False,
              memory_format: memory_format | None = preserve_format) -> Tensor:
    "A tensor of ones with the shape, dtype, device and layout of another tensor, unless others are given."
    return _like("ones_like", input, 1, dtype, layout, device, pin_memory, requires_grad, memory_format)


@composite(native="full_like",
           method=False, samples=lambda t: [t.args(t(2, 3), 1.5), t.args(t(2, 3, dtype="int64"), 2.7)])
def full_like(input: Tensor, fill_value: Number, *, dtype: dtype | None = None, layout: layout | None = None,
              device: Device = None, pin_memory: bool = False, requires_grad: bool = False,
              memory_format: memory_format | None = preserve_format) -> Tensor:
    """A tensor filled with `fill_value`, with the shape, dtype, device and layout of another tensor, unless others are
    given."""
    return _like("full_like", input, fill_value, dtype, layout, device, pin_memory, requires_grad, memory_format)


@composite(native="empty_like", method=False, samples=lambda t: [t.args(t(0, 3))])
def empty_like(input: Tensor, *, dtype: dtype | None = None, layout: layout | None = None, device: Device = None,
               pin_memory: bool = False, requires_grad: bool = False,
               memory_format: memory_format | None = preserve_format) -> Tensor:
    "An uninitialized tensor with the shape, dtype, device and layout of another tensor, unless others are given."
    return _like("empty_like", input, None, dtype, layout, device, pin_memory, requires_grad, memory_format)


# --- from a tensor: its dtype and device ------------------------------------------------------------------------
def _new(name: str, self: Tensor, size: ints, value: Number | None, dtype: dtype | None, device: Device,
         requires_grad: bool, layout: layout | None, pin_memory: bool) -> Tensor:
    size = size if type(size) is tuple else sizes(size)
    where = self.device if device is None else device
    return _make(name, size, value, self.dtype, dtype, None, layout, where, pin_memory, requires_grad)


@composite(native="new_zeros", function=False, varargs="size", samples=lambda t: [t.args(t(2), 2, 3)])
def new_zeros(input: Tensor, size: ints, *, dtype: dtype | None = None, device: Device = None,
              requires_grad: bool = False,
              layout: layout | None = strided, pin_memory: bool = False) -> Tensor:
    "A tensor of zeros with the given shape. Dtype and device are this tensor's unless given."
    return _new("new_zeros", input, size, 0, dtype, device, requires_grad, layout, pin_memory)


@composite(native="new_ones", function=False, varargs="size", samples=lambda t: [t.args(t(2), 2, 3)])
def new_ones(input: Tensor, size: ints, *, dtype: dtype | None = None, device: Device = None,
             requires_grad: bool = False,
             layout: layout | None = strided, pin_memory: bool = False) -> Tensor:
    "A tensor of ones with the given shape. Dtype and device are this tensor's unless given."
    return _new("new_ones", input, size, 1, dtype, device, requires_grad, layout, pin_memory)


@composite(native="new_full", function=False, samples=lambda t: [t.args(t(2), (2, 3), 1.5)])
def new_full(input: Tensor, size: ints, fill_value: Number, *, dtype: dtype | None = None, device: Device = None,
             requires_grad: bool = False, layout: layout | None = strided, pin_memory: bool = False) -> Tensor:
    "A tensor of the given shape filled with one number. Dtype and device are this tensor's unless given."
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"new_full(): argument 'size' (position 1) must be tuple of ints, not {type_name(size)}")
    return _new("new_full", input, size, fill_value, dtype, device, requires_grad, layout, pin_memory)


@composite(native="new_empty", function=False, varargs="size", samples=lambda t: [t.args(t(2), 0, 3)])
def new_empty(input: Tensor, size: ints, *, dtype: dtype | None = None, device: Device = None,
              requires_grad: bool = False,
              layout: layout | None = strided, pin_memory: bool = False) -> Tensor:
    "An uninitialized tensor of the given shape. Dtype and device are this tensor's unless given."
    return _new("new_empty", input, size, None, dtype, device, requires_grad, layout, pin_memory)


@composite(native="new_empty_strided", function=False, samples=lambda t: [t.args(t(2), (0, 3), (1, 2))])
def new_empty_strided(input: Tensor, size: ints, stride: ints, dtype: dtype | None = None, device: Device = None,
                      requires_grad: bool = False, layout: layout | None = strided, pin_memory: bool = False) -> Tensor:
    "An uninitialized tensor with the given shape and strides. Dtype and device are this tensor's unless given."
    return empty_strided(size, stride, dtype=dtype or input.dtype, device=input.device if device is None else device,
                         requires_grad=requires_grad, layout=layout, pin_memory=pin_memory)
