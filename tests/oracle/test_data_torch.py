"""What tensors are made of, against torch: sequences, arrays and array-likes of every kind, with and without a dtype."""

from __future__ import annotations

import array
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy
import pytest

torch = pytest.importorskip("torch")
import claygrad  # noqa: E402


class Arrayed:
    """An object with __array__ alone."""

    def __init__(self, *values: Any) -> None:
        self.values = numpy.array(values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> numpy.ndarray:
        return self.values if dtype is None else self.values.astype(dtype)


class Interfaced(Arrayed):
    @property
    def __array_interface__(self) -> Any:
        return self.values.__array_interface__


class Exporter(Arrayed):
    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()


class Sequence:
    def __init__(self, *items: Any) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, i: int) -> Any:
        return self.items[i]


class Column(Arrayed):
    """As a pandas.Series: NumPy's numbers by position, Python's by iteration, by labels that need not begin at 0."""

    def __init__(self, *values: Any, dtype: str = "float64", first: int = 0) -> None:
        self.values, self.first = numpy.array(values, dtype), first

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, i: int) -> Any:
        if not 0 <= i - self.first < len(self.values):
            raise KeyError(i)
        return self.values[i - self.first]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values.tolist())


class Index:
    def __index__(self) -> int:
        return 1


def _numbers(kind: str) -> list:
    return [numpy.dtype(kind).type(1), numpy.dtype(kind).type(2)]


DATA: dict[str, Callable[[Any], Any]] = {
    **{f"column of {k}": lambda m, k=k: Column(1, 2, dtype=k) for k in ("float64", "float32", "int32", "int8", "bool", "uint8")},
    **{f"numpy {k}": lambda m, k=k: numpy.dtype(k).type(1) for k in ("float64", "float32", "float16", "int8", "bool", "complex64")},
    **{f"list of numpy {k}": lambda m, k=k: _numbers(k) for k in ("float64", "float32", "float16", "int32", "uint8", "bool")},
    **{f"array.array of {k}": lambda m, k=k: array.array(k, [1, 2]) for k in "dfibB"},
    **{f"array of {k}": lambda m, k=k: numpy.array([1, 2], k) for k in ("float16", "int8", "bool", "object", "U", ">i4", "M8[D]")},
    "column with other labels": lambda m: Column(1, 2, first=5),
    "list of columns": lambda m: [Column(1, 2), Column(3, 4)],
    "__array__": lambda m: Arrayed(1.0, 2.0),
    "__array_interface__": lambda m: Interfaced(1.0, 2.0),
    "__dlpack__": lambda m: Exporter(1.0, 2.0),
    "capsule": lambda m: m.utils.dlpack.to_dlpack(m.arange(3)),
    "sequence": lambda m: Sequence(1.0, 2.0),
    "sequences": lambda m: Sequence(Sequence(1, 2), Sequence(3, 4)),
    "memoryview": lambda m: memoryview(bytearray(b"\1\2\3\4\5\6\7\0" * 2)),
    "memoryview of doubles": lambda m: memoryview(array.array("d", [1.0, 2.0])),
    "bytes": lambda m: b"\1\2\3\4\5\6\7\0",
    "bytearray": lambda m: bytearray(b"\1\2\3\4\5\6\7\0"),
    "range": lambda m: range(3),
    "deque": lambda m: deque([1, 2]),
    "numpy of two kinds": lambda m: [numpy.int8(1), numpy.float16(2)],
    "numpy and Python": lambda m: [numpy.int8(1), 2.5],
    "tensors": lambda m: [m.tensor(1), m.tensor(2.0)],
    "tensors of one element": lambda m: [m.tensor([1]), m.tensor([2])],
    "tensors of two elements": lambda m: [m.tensor([1, 2]), m.tensor([2, 3])],
    "tensor and number": lambda m: [m.tensor(1, dtype=m.int8), 3],
    "float64 tensor": lambda m: [m.tensor(1.0, dtype=m.float64)],
    "arrays and lists": lambda m: ([3.0, 4.0], numpy.array([1, 2])),
    "arrays in a tuple": lambda m: (numpy.array([1, 2]), numpy.array([3, 4])),
    "list of __array__": lambda m: [Arrayed(1.0, 2.0)],
    "list of array.array": lambda m: [array.array("d", [1.0])],
    "list of ranges": lambda m: [range(2), range(2)],
    "list of bytes": lambda m: [b"ab"],
    "list of str": lambda m: ["a"],
    "list of empty str": lambda m: [""],
    "number and str": lambda m: [1, "a"],
    "str": lambda m: "a",
    "None": lambda m: None,
    "list of None": lambda m: [None],
    "dict": lambda m: {},
    "set": lambda m: {1},
    "negative strides": lambda m: numpy.array([1, 2])[::-1],
    "every second": lambda m: numpy.arange(6.0)[::2],
    "masked array": lambda m: numpy.ma.array([1.0, 2.0]),
    "0-dim array": lambda m: numpy.array(2.5),
    "of all kinds": lambda m: [True, 1, 2.5, 1j],
    "bool and int": lambda m: [True, 2],
    "large ints": lambda m: [2**63],
    "ragged": lambda m: [[1], [1, 2]],
    "ragged with nothing": lambda m: [[], [1]],
    "nothing nested": lambda m: [[], []],
    "Decimal": lambda m: [Decimal(1)],
    "Fraction": lambda m: Fraction(1, 2),
    "index": lambda m: Index(),
    "size": lambda m: m.Size([1, 2]),
}
FORMS = ("tensor", "as_tensor", "asarray", "FloatTensor", "LongTensor", "new_tensor", "from_numpy")
DTYPES = ("float32", "int64", "int8", "bool", "complex64", "float16")


def _outcome(m: Any, make: Callable[[Any], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = make(m)
        except Exception as error:
            return type(error).__name__, str(error).splitlines()[0].replace("claygrad", "torch")
    return str(made.dtype).rpartition(".")[2], tuple(made.shape), tuple(made.stride()), made.tolist()


def _made(form: str, name: str) -> Callable[[Any], Any]:
    if form == "new_tensor":
        return lambda m: m.ones(1, dtype=m.float64).new_tensor(DATA[name](m))
    return lambda m: getattr(m, form)(DATA[name](m))


@pytest.mark.parametrize("name", DATA)
def test_the_forms(name: str) -> None:
    for form in FORMS:
        if form in ("FloatTensor", "LongTensor") and name in ("index", "size", "numpy int8"):
            continue                            # a size: what is in the memory is chance
        assert _outcome(claygrad, _made(form, name)) == _outcome(torch, _made(form, name)), form


@pytest.mark.parametrize("name", DATA)
def test_a_dtype(name: str) -> None:
    for dtype in DTYPES:
        for form in ("tensor", "as_tensor"):
            def make(m: Any, form: str = form, dtype: str = dtype) -> Any:
                return getattr(m, form)(DATA[name](m), dtype=getattr(m, dtype))

            assert _outcome(claygrad, make) == _outcome(torch, make), (form, dtype)
