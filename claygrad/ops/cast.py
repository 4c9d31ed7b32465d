"""Conversion to other dtypes and devices, and questions about them."""
from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from claygrad.core import (
    DTYPES,
    Storage,
    default_dtype,
    dtype_of_numpy,
    empty_strided,
    parse_device,
    parse_dtype,
    prefix,
    recast_array,
    settled,
    without_writes,
)
from claygrad.core import Tensor as TensorType
from claygrad.core import dtype as DType
from claygrad.core import promote_types as core_promote_types
from claygrad.core import result_type as core_result_type
from claygrad.core.dispatch.wrong_arguments import type_name
from claygrad.core.user_warnings import warn
from claygrad.ops._formats import (
    check_format,
    contiguous_format,
    element_strides,
    empty_array,
    preserve_format,
    strided,
    strides_like,
    suggested_format,
)
from claygrad.ops._formats import memory_format as Format
from claygrad.ops._numbers import number_in
from claygrad.ops._registry import composite, op
from claygrad.ops._storages import TypedStorage

if TYPE_CHECKING:
    from numbers import Number

    from claygrad.core import Tensor, device, dtype
    from claygrad.ops._formats import layout as layout_type
    from claygrad.ops._formats import memory_format

    Device = device | str | int | None


_OWN = (None, preserve_format, contiguous_format)     # formats in which row-major memory stays as it is


# --- to ---------------------------------------------------------------------------------------------------------
@op(kernel="cast", method=False, function=False, half="raw", node="ToCopyBackward0",
    meta=lambda input, dtype: (input.shape, dtype),
    strides=lambda input, memory_format: tuple(strides_like(input.shape, input.stride(), memory_format)),
    samples=lambda t: [t.args(t(3), DTYPES["complex128"], None), t.args(t(2, 3).t(), DTYPES["int64"], None)])
def to_copy(xp, input: Tensor, dtype: dtype, memory_format: memory_format | None):
    "A copy of another dtype; the fraction of a number that becomes an int is cut."
    plain = input.flags.c_contiguous and input.size and 1 not in input.shape and memory_format in _OWN
    kept = input.dtype.names or dtype.numpy.names              # complex32, and what has no numbers to cast
    if kept and not (dtype.is_complex or dtype_of_numpy(input.dtype).is_complex) and input.dtype != dtype.numpy:
        raise NotImplementedError(f"\"copy_\" not implemented for '{dtype.legacy}'")
    if plain and dtype.itemsize >= 4 and input.dtype.kind not in "cV" and not kept:
        return input.astype(dtype.numpy)
    out = empty_array(xp, input.shape, strides_like(input.shape, element_strides(input), memory_format), dtype.numpy)
    if input.dtype.names and not dtype.is_complex and dtype_of_numpy(input.dtype).is_complex:
        input = recast_array(input, "complex64")
    if input.dtype.kind == "c" and not dtype.is_complex and dtype.name != "bool":
        warn("Casting complex values to real discards the imaginary part")
        input = input.real
    byte = dtype.is_floating_point and dtype.itemsize == 1
    if (input.dtype.kind == "V" or kept or byte) and input.dtype != dtype.numpy:
        out[...] = recast_array(input, dtype.numpy)
        return out
    if out.dtype.itemsize == 2 and dtype.is_floating_point and input.dtype.kind != "b":
        input = input.astype(xp.float32)                     # as PyTorch: rounded twice
    elif out.dtype.kind in "iu" and out.dtype.itemsize < 4 and input.dtype.kind in "fV":
        input = input.astype(xp.int32)                       # what is too large wraps around
    out[...] = input
    return out
to_copy.rule(input=lambda g: g)             # the engine casts


def moved(input: Tensor, dtype: dtype, where: device, copy: bool = False,
          memory_format: memory_format | None = None) -> Tensor:
    """The tensor itself if it is what is wanted, else a copy that is."""
    if memory_format is None and not copy and dtype is input.dtype and where is input.device:
        return input
    keeps = memory_format is None or memory_format is preserve_format \
        or suggested_format(input.shape, input.stride()) is memory_format
    if dtype == input.dtype and where == input.device and keeps and not copy:
        return input
    if where == input.device and not is_accelerator(where) and not (input.is_meta and not input.requires_grad):
        return to_copy(input, dtype, memory_format)
    if input.layout is not strided:
        raise NotImplementedError(f"to: sparse tensors are kept on the CPU, not on '{where}'")
    if input.is_meta and where.type != "meta":
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    out = empty_strided(input.shape, strides_like(input.shape, input.stride(), memory_format), dtype, where)
    if out.is_meta:
        return out
    if input.dtype.is_complex and not dtype.is_complex and dtype.name != "bool":
        warn("Casting complex values to real discards the imaginary part")
    return settled(without_writes(out.copy_(input)), "ToCopyBackward0")


def is_accelerator(where: device) -> bool:
    "Whether a device has memory of its own, which only its array module reads."
    return where.type not in ("cpu", "meta")


_TAIL = "bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None"
_FORMS = (f" * (torch.device device = None, torch.dtype dtype = None, {_TAIL})\n * (torch.dtype dtype, {_TAIL})\n * "
          f"(Tensor tensor, {_TAIL})\n")


def _refused(args: tuple, kwargs: dict[str, Any]) -> TypeError:
    got = [type_name(value) for value in args]
    got += [f"{name}={type_name(value)}" for name, value in kwargs.items()]
    got += [""] * (not args)                    # PyTorch ends a list of keywords alone with a comma
    return TypeError(f"to() received an invalid combination of arguments - got ({', '.join(got)}), but expected one "
                     f"of:\n{_FORMS}")


_NAMES = {"dtype": ("dtype", "non_blocking", "copy"), "device": ("device", "dtype", "non_blocking", "copy"),
          "tensor": ("tensor", "non_blocking", "copy")}


def _form(args: tuple, kwargs: dict[str, Any]) -> tuple[str, ...]:
    """Which of the three signatures a call uses, told by its first argument."""
    first = args[0] if args else kwargs.get("tensor")
    if isinstance(first, TensorType):
        return _NAMES["tensor"]
    if args and parse_dtype(first) is not None:
        return _NAMES["dtype"]
    return _NAMES["device"]


@composite(function=False, raw=True, native="to",
           samples=lambda t: [t.args(t(3), DTYPES["float64"]), t.args(t(2, 3).t(), DTYPES["float64"]),
                              t.args(t(3), "cpu")])
def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Converts the tensor to another dtype or device: `to(dtype)`, `to(device)`, `to(device, dtype)`, `to(other)`.

    If nothing changes, and `copy` is False, the tensor itself is returned.

    >>> claygrad.ones(2).to(claygrad.int64)
    tensor([1, 1])
    """
    if len(args) == 1 and not kwargs and isinstance(args[0], DType):
        return moved(self, args[0], self.device)
    where, wanted, copy, memory_format = parse_to(args, kwargs)
    with waiting(where, dict(zip(_form(args, kwargs), args)).get("non_blocking", kwargs.get("non_blocking", False))):
        return moved(self, wanted or self.dtype, where or self.device, copy, memory_format)


def waiting(where: Any, non_blocking: bool) -> Any:
    """A context in which copies to a device wait until they are done, or need not (from pinned memory)."""
    table = where.table if non_blocking and where is not None else None
    return nullcontext() if table is None else table.without_waiting()


def parse_to(args: tuple, kwargs: dict[str, Any]) -> tuple[Any, Any, bool, Any]:
    """What the arguments of `to` ask for: device, dtype, copy and memory format; None where they say nothing."""
    names = _form(args, kwargs)
    options = dict(zip(names, args))
    for name, value in kwargs.items():
        if name in options or name not in (*names, "memory_format"):
            raise _refused(args, kwargs)
        options[name] = value
    wanted, where = options.get("dtype"), options.get("device")
    copy, blocking = options.get("copy", False), options.get("non_blocking", False)
    form = options.get("memory_format")
    if (len(args) > len(names) or type(copy) is not bool or type(blocking) is not bool
            or (form is not None and not isinstance(form, Format))):
        raise _refused(args, kwargs)
    if "tensor" in options:
        return options["tensor"].device, options["tensor"].dtype, copy, form
    kind = parse_dtype(wanted)
    if wanted is not None and kind is None:
        raise _refused(args, kwargs)
    place = None if where is None else parse_device(where)
    if where is not None and place is None:
        raise _refused(args, kwargs)
    return place, kind, copy, form


def _cast_method(name: str, dtype_name: str) -> None:
    wanted = DTYPES[dtype_name]

    def cast(self: Tensor, memory_format: memory_format | None = preserve_format) -> Tensor:
        check_format(name, memory_format)
        return moved(self, wanted, self.device, False, memory_format)

    cast.__name__ = cast.__qualname__ = name
    cast.__doc__ = f"`self.to({dtype_name})`."
    # Differences cannot check derivatives in low precision: the samples that require grad stay in double.
    exact = dtype_name in ("float64", "complex128")
    composite(function=False, raw=True,
              samples=lambda t: [t.args(t(3, requires_grad=exact)), t.args(t(2, 3, dtype="int64"))])(cast)


for _name, _dtype in (("float", "float32"), ("double", "float64"), ("half", "float16"), ("bfloat16", "bfloat16"),
                      ("int", "int32"), ("long", "int64"), ("short", "int16"), ("char", "int8"), ("byte", "uint8"),
                      ("bool", "bool"), ("chalf", "complex32"), ("cfloat", "complex64"), ("cdouble", "complex128")):
    _cast_method(_name, _dtype)


_LEGACY = {kind.legacy: kind for kind in DTYPES.values()}


@composite(name="type", function=False, raw=True, samples=lambda t: [t.args(t(3), DTYPES["complex128"])])
def type_or_cast(self: Tensor, dtype: Any = None, non_blocking: bool = False, *,
                 memory_format: memory_format | None = None) -> str | Tensor:
    """Without arguments, the name of the tensor's type, such as `torch.FloatTensor`; with a dtype, the tensor cast to
    it."""
    check_format("type", memory_format)
    if dtype is None:
        if self.is_sparse_csr:
            raise RuntimeError("Unimplemented backend SparseCsrCPU")
        kind = "sparse." if self.is_sparse else "" if self.device.type == "cpu" else f"{self.device.type}."
        return f"{prefix()}.{kind}{self.dtype.legacy}Tensor"
    return moved(self, _named_dtype(dtype), _named_device(dtype, self.device), False, memory_format)


_ACCELERATORS = ("cuda", "xpu", "privateuseone")


def _library(name: str) -> str:
    """The type of device in the full name of a class such as torch.cuda.FloatTensor; "" for the CPU, "?" for others."""
    path = name.rpartition(".")[0]
    kind = path.removeprefix("torch").removeprefix(prefix()).removeprefix(".")
    return kind if path.startswith(("torch", prefix())) and kind in ("", *_ACCELERATORS) else "?"


def _named_device(given: Any, now: Device) -> Device:
    """Where a tensor of a class such as FloatTensor lies; a dtype says nothing of that."""
    if isinstance(given, DType) or given is TensorType:
        return now
    kind = _library(given) if isinstance(given, str) else "cuda" if getattr(given, "is_cuda", False) else ""
    return parse_device(kind) if kind else parse_device("cpu") if now.type in _ACCELERATORS else now


def _named_dtype(given: Any) -> dtype:
    """The dtype meant by a dtype, a class such as FloatTensor, or the full name of one."""
    if isinstance(given, DType):
        return given
    if not isinstance(given, (str, type)):
        raise TypeError("dtype must be a type, str, or dtype object")
    found = default_dtype() if given is TensorType else getattr(given, "dtype", None)
    if isinstance(given, str):
        name = given.rpartition(".")[2]
        if "." in given and _library(given) != "?" and name.endswith("Tensor"):
            found = _LEGACY.get(name.removesuffix("Tensor"))
    if not isinstance(found, DType):
        raise ValueError(f"invalid type: '{given if isinstance(given, str) else given.__name__}'")
    return found


@composite(function=False, samples=lambda t: [t.args(t(3), t(2, dtype="int64"))])
def type_as(input: Tensor, other: Tensor) -> Tensor:
    "The tensor with the dtype and on the device of another."
    return moved(input, other.dtype, other.device)


@composite(function=False, native="cpu", samples=lambda t: [t.args(t(3))])
def cpu(input: Tensor, memory_format: memory_format | None = preserve_format) -> Tensor:
    "The tensor on the CPU: itself if it is there already, otherwise a copy."
    check_format("cpu", memory_format)
    return moved(input, input.dtype, parse_device("cpu"), False, memory_format)


@composite(function=False, samples=lambda t: [],
           errors=lambda t: [(t.args(t(2)), AssertionError, "Torch not compiled with CUDA enabled")])
def cuda(input: Tensor, device: Device = None, non_blocking: bool = False,
         memory_format: memory_format | None = preserve_format) -> Tensor:
    "The tensor on a CUDA device."
    where = parse_device("cuda" if device is None else device)
    with waiting(where, non_blocking):
        return moved(input, input.dtype, where, False, memory_format)


@composite(function=False, samples=lambda t: [])
def xpu(input: Tensor, device: Device = None, non_blocking: bool = False,
        memory_format: memory_format | None = preserve_format) -> Tensor:
    "The tensor on an Intel GPU, or what else SYCL knows."
    where = parse_device("xpu" if device is None else device)
    with waiting(where, non_blocking):
        return moved(input, input.dtype, where, False, memory_format)


@composite(property=True, samples=lambda t: [t.args(t(2))])
def layout(input: Tensor) -> layout_type:
    "How the tensor keeps its elements."
    return strided


# --- questions --------------------------------------------------------------------------------------------------
def _need_dtype(name: str, argument: str, position: int, value: Any) -> dtype:
    found = parse_dtype(value)
    if found is None:
        raise TypeError(f"{name}(): argument '{argument}' (position {position}) must be {prefix()}.dtype, not "
                        f"{type(value).__name__}")
    return found


@composite(method=False, raw=True,
           samples=lambda t: [t.args(DTYPES["int32"], DTYPES["float16"]), t.args(DTYPES["float64"], DTYPES["int64"])])
def can_cast(from_: dtype, to: dtype) -> bool:
    "Whether values of one dtype may be written into another: never complex into real, real into int, int into bool."
    source, target = _need_dtype("can_cast", "from_", 1, from_), _need_dtype("can_cast", "to", 2, to)
    if target.code > DTYPES["float4_e2m1fn_x2"].code and source.is_floating_point:   # bits are no integers to PyTorch
        return True
    return source.category <= target.category


@composite(method=False, raw=True, samples=lambda t: [t.args(DTYPES["int32"], DTYPES["float16"])])
def promote_types(type1: dtype, type2: dtype) -> dtype:
    "The smallest dtype that is no smaller than either."
    return core_promote_types(_need_dtype("promote_types", "type1", 1, type1),
                              _need_dtype("promote_types", "type2", 2, type2))


@composite(method=False, raw=True,
           samples=lambda t: [t.args(t(2), 1), t.args(1, 2.5), t.args(t(2, dtype="int64"), t())])
def result_type(tensor1: Tensor | Number, tensor2: Tensor | Number) -> dtype:
    "The dtype of an arithmetic operation on two tensors or numbers."
    operands = [value if isinstance(value, TensorType) else number_in(value) for value in (tensor1, tensor2)]
    if any(value is None for value in operands):
        got = ", ".join(type(v).__name__ for v in (tensor1, tensor2))
        raise TypeError(f"result_type() received an invalid combination of arguments - got ({got}), but expected "
                        "one of:\n * (Tensor tensor, Tensor other)\n * (Number scalar, Tensor tensor)\n * (Tensor "
                        "tensor, Number other)\n * (Number scalar1, Number scalar2)\n")
    return core_result_type(*operands)


@composite(method=False, raw=True, samples=lambda t: [t.args(t(2)), t.args(3)])
def is_tensor(obj: Any) -> bool:
    "Whether an object is a tensor."
    return isinstance(obj, TensorType)


@composite(method=False, raw=True, samples=lambda t: [t.args(t(2)), t.args(3)])
def is_storage(obj: Any) -> bool:
    "Whether an object is a storage."
    return isinstance(obj, (Storage, TypedStorage))


@composite(samples=lambda t: [t.args(t(2)), t.args(t(2, dtype="uint8"))])
def is_floating_point(input: Tensor) -> bool:
    "Whether the elements are real numbers with fractions."
    return input.dtype.is_floating_point


@composite(samples=lambda t: [t.args(t(2)), t.args(t(2, dtype="uint8"))])
def is_complex(input: Tensor) -> bool:
    "Whether the elements are complex numbers."
    return input.dtype.is_complex


@composite(samples=lambda t: [t.args(t(2)), t.args(t(2, dtype="uint8"))])
def is_signed(input: Tensor) -> bool:
    "Whether the elements can be negative."
    return input.dtype.is_signed


@composite(samples=lambda t: [t.args(t(1)), t.args(t(dtype="bool"))])
def is_nonzero(input: Tensor) -> bool:
    "Whether the only element is not zero."
    return input.__bool__()


@composite(samples=lambda t: [t.args(t(2), t(2)), t.args(t(2), t(1, 2))])
def is_same_size(input: Tensor, other: Tensor) -> bool:
    "Whether two tensors have the same shape."
    return input.shape == other.shape


@composite(method=False, samples=lambda t: [t.args(t(2, 3)), t.args(t())])
def numel(input: Tensor) -> int:
    "The number of elements."
    return input.numel()
