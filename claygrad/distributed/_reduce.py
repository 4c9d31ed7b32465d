"""`ReduceOp`, and what it is in MPI for each dtype.

Sums and products of halves, and extremes of floats, are operations of our own: MPI has no half types everywhere, and
its MIN and MAX leave it to chance what becomes of NaN, so that ranks could end up with different numbers.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy

from claygrad.core.python_api import share
from claygrad.distributed import _mpi

if TYPE_CHECKING:
    from claygrad.core import Tensor, dtype


class RedOpType(enum.IntEnum):
    """The kinds of reduction."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"

    __repr__ = enum.Enum.__repr__


Kind = RedOpType


class ReduceOp:
    """How elements of several ranks become one: `ReduceOp.SUM` and the others."""

    RedOpType = Kind
    SUM: ClassVar[Kind] = Kind.SUM
    AVG: ClassVar[Kind] = Kind.AVG
    PRODUCT: ClassVar[Kind] = Kind.PRODUCT
    MIN: ClassVar[Kind] = Kind.MIN
    MAX: ClassVar[Kind] = Kind.MAX
    BAND: ClassVar[Kind] = Kind.BAND
    BOR: ClassVar[Kind] = Kind.BOR
    BXOR: ClassVar[Kind] = Kind.BXOR
    PREMUL_SUM: ClassVar[Kind] = Kind.PREMUL_SUM

    def __init__(self, op: Kind, factor: Any = None) -> None:
        self.op, self.factor = Kind(op), factor

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ReduceOp):
            return self.op == other.op
        return self.op == other if isinstance(other, Kind) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.op)


def _make_nccl_premul_sum(factor: Any) -> ReduceOp:
    """The sum of each rank's elements times its factor, a number or a tensor."""
    return ReduceOp(Kind.PREMUL_SUM, factor)


def supports_complex(reduceOp: Any) -> bool:
    """Whether complex tensors can be reduced so."""
    return _kind(reduceOp) in (Kind.SUM, Kind.AVG, Kind.PREMUL_SUM)


def _kind(op: Any) -> Kind:
    if isinstance(op, ReduceOp):
        return op.op
    if isinstance(op, Kind):
        return op
    raise TypeError(f"op: a ReduceOp is wanted, such as ReduceOp.SUM, but got {type(op).__name__}")


class Reduction:
    """A reduction of one dtype: what is done before, which operation of MPI on which type, and what after."""

    def __init__(self, name: str, op: Any, kind: dtype, size: int) -> None:
        self.op, self.kind, self.size = _kind(op), kind, size
        self.factor = op.factor if isinstance(op, ReduceOp) else None
        if kind.is_complex and not supports_complex(self.op):
            raise ValueError(f"{name} does not support {self.op} on complex tensors")
        if self.op is Kind.PREMUL_SUM and self.factor is None:
            raise RuntimeError(
                "ReduceOp.PREMUL_SUM needs its factor\n  make it by torch.distributed._make_nccl_premul_sum"
            )
        floats = kind.is_floating_point or kind.is_complex
        if self.op in (Kind.BAND, Kind.BOR, Kind.BXOR) and floats:
            raise RuntimeError(f"Cannot use ReduceOp.{self.op.name} with non-integral dtype")
        if self.op in (Kind.AVG, Kind.PREMUL_SUM) and not floats:
            raise RuntimeError(
                f"result type Float can't be cast to the desired output type {kind.legacy}\n"
                f"  ReduceOp.{self.op.name} of {kind}: convert to a floating dtype, or use ReduceOp.SUM"
            )
        if (kind.itemsize == 1 and floats) or kind.name.endswith("complex32"):
            raise RuntimeError(f"Invalid scalar type\n  {kind} cannot be reduced: convert to bfloat16 or float32")
        self.how = Kind.SUM if self.op in (Kind.AVG, Kind.PREMUL_SUM) else self.op

    def before(self, array: numpy.ndarray) -> numpy.ndarray:
        """What this rank gives: its elements, times its factor."""
        if self.op is not Kind.PREMUL_SUM:
            return array
        return (
            (array * numpy.asarray(self.factor).reshape(-1)).astype(array.dtype) if self.factor is not None else array
        )

    def after(self, array: numpy.ndarray) -> None:
        """What is still to be done with the result, in place."""
        if self.op is Kind.AVG and array.size:
            share(array).div_(self.size)

    def types(self, *arrays: numpy.ndarray) -> list[list[Any]]:
        """Arrays as MPI takes them, each with its type."""
        return [[array.view(_carrier(array.dtype)), _type(array.dtype)] for array in arrays]

    def operation(self) -> Any:
        """The operation of MPI."""
        return _operation(self.how, self.kind)


def _carrier(kind: numpy.dtype) -> Any:
    """The numpy dtype whose MPI type carries the elements."""
    if kind.itemsize == 2 and kind.kind not in "iu":
        return numpy.uint16
    return numpy.uint8 if kind == numpy.bool_ else kind


def _type(kind: numpy.dtype) -> Any:
    return _mpi.load()._typedict[numpy.dtype(_carrier(kind)).char]


@functools.cache
def _operation(op: Kind, kind: dtype) -> Any:
    MPI = _mpi.load()
    half = kind.is_floating_point and kind.itemsize == 2
    if kind.numpy == numpy.bool_:
        return {
            Kind.SUM: MPI.LOR,
            Kind.MAX: MPI.LOR,
            Kind.BOR: MPI.LOR,
            Kind.BXOR: MPI.LXOR,
            Kind.PRODUCT: MPI.LAND,
            Kind.MIN: MPI.LAND,
            Kind.BAND: MPI.LAND,
        }[op]
    if half or (kind.is_floating_point and op in (Kind.MIN, Kind.MAX)):
        return MPI.Op.Create(_our_own(op, kind.numpy), commute=True)
    return {
        Kind.SUM: MPI.SUM,
        Kind.PRODUCT: MPI.PROD,
        Kind.MIN: MPI.MIN,
        Kind.MAX: MPI.MAX,
        Kind.BAND: MPI.BAND,
        Kind.BOR: MPI.BOR,
        Kind.BXOR: MPI.BXOR,
    }[op]


def _our_own(op: Kind, kind: numpy.dtype) -> Callable[[Any, Any, Any], None]:
    """A function that MPI calls with the bytes of two arrays, to reduce the first into the second."""
    from claygrad.ops.rounding import maximum, minimum

    functions: dict[Kind, Callable[[Tensor, Tensor], Any]] = {
        Kind.SUM: lambda a, b: b.add_(a),
        Kind.PRODUCT: lambda a, b: b.mul_(a),
        Kind.MAX: lambda a, b: b.copy_(maximum(a, b)),
        Kind.MIN: lambda a, b: b.copy_(minimum(a, b)),
    }
    function = functions[op]

    def reduce(source: Any, target: Any, datatype: Any) -> None:
        if len(target):
            function(
                share(numpy.frombuffer(source, numpy.uint8).view(kind)),
                share(numpy.frombuffer(target, numpy.uint8).view(kind)),
            )

    return reduce
