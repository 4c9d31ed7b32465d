"""Keys of every kind, read and written, against torch: numbers, slices, masks, sequences, and random mixtures of them."""

from __future__ import annotations

import array
import random
import warnings
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy
import pytest

torch = pytest.importorskip("torch")
import claygrad  # noqa: E402


class Index:
    def __index__(self) -> int:
        return 1


class Seq:
    """A sequence of the old protocol: nothing but __getitem__ and __len__."""

    def __init__(self, *items: Any) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, i: int) -> Any:
        return self.items[i]


ROWS, COLUMNS = [[True, False, True], [False, True, True]], [True, False, True, True]
FIXED: dict[str, Callable[[Any], Any]] = {
    "mask and int": lambda m: (m.tensor(ROWS), 0),
    "mask and slice": lambda m: (m.tensor(ROWS), slice(1, None)),
    "mask and index": lambda m: (m.tensor(ROWS), m.tensor([0, 1, 2, 3])),
    "mask and True": lambda m: (m.tensor(ROWS), True),
    "mask and False": lambda m: (m.tensor(ROWS), False),
    "mask and None": lambda m: (m.tensor(ROWS), None),
    "mask, ellipsis, int": lambda m: (m.tensor(ROWS), ..., 0),
    "two masks": lambda m: (m.tensor([True, False]), slice(None), m.tensor(COLUMNS)),
    "bytes mask and int": lambda m: (m.tensor(ROWS).to(m.uint8), 0),
    "0-dim mask": lambda m: (m.tensor(True), 0),
    "0-dim byte": lambda m: (m.tensor(1, dtype=m.uint8), 0),
    "0-dim false byte": lambda m: (m.tensor(0, dtype=m.uint8), 0),
    "0-dim float": lambda m: (m.tensor(1.0), 0),
    "bools": lambda m: (True, False, 0),
    "bools and mask": lambda m: (True, m.tensor([True, False]), True),
    "numpy bool": lambda m: (numpy.bool_(True), 0),
    "nested list mask": lambda m: (ROWS,),
    "nested list mask and int": lambda m: (ROWS, 0),
    "nested list": lambda m: ROWS,
    "numpy mask": lambda m: numpy.array(ROWS),
    "numpy mask in a tuple": lambda m: (numpy.array(ROWS), 0),
    "numpy floats": lambda m: numpy.array([1.0, 0.0]),
    "numpy int8": lambda m: numpy.array([1, 0], dtype=numpy.int8),
    "numpy uint8": lambda m: numpy.array([1, 0], dtype=numpy.uint8),
    "numpy 0-dim": lambda m: (numpy.array(1), numpy.array(2)),
    "numpy 0-dim mask": lambda m: numpy.array(True),
    "numpy ints": lambda m: (numpy.int64(1), numpy.uint8(1)),
    "numpy float": lambda m: numpy.float64(1.0),
    "int8 tensor": lambda m: m.tensor([1, 0], dtype=m.int8),
    "int32 tensor": lambda m: m.tensor([1, 0], dtype=m.int32),
    "string": lambda m: "abc",
    "strings": lambda m: (["a"],),
    "bytes": lambda m: b"\0\1",
    "bytearray": lambda m: bytearray(b"\1"),
    "memoryview": lambda m: memoryview(b"\0\1"),
    "range": lambda m: range(2),
    "ranges": lambda m: (range(2), range(2)),
    "list of ranges": lambda m: [range(2), range(2)],
    "range and tensor": lambda m: (range(2), m.tensor([0, 2])),
    "empty list": lambda m: [],
    "empty tuple": lambda m: (),
    "empty list in a tuple": lambda m: ([],),
    "nested empty list": lambda m: ([[]],),
    "list with a slice": lambda m: [slice(0, 1), 0],
    "list with None": lambda m: [None, 0],
    "list of bools": lambda m: [True, False],
    "list of bool and int": lambda m: [True, 1],
    "list of tensors": lambda m: [m.tensor(1), m.tensor(0)],
    "list of tensors in a tuple": lambda m: ([m.tensor(1), m.tensor(0)],),
    "list of float tensors": lambda m: ([m.tensor(1.0), m.tensor(0.0)],),
    "list of numpy ints": lambda m: [numpy.int64(1), numpy.int64(0)],
    "list of numpy bools": lambda m: [numpy.bool_(True), numpy.bool_(False)],
    "list of numpy floats": lambda m: [numpy.float32(1), numpy.float32(0)],
    "list of arrays": lambda m: [numpy.array([1, 0]), numpy.array([1, 0])],
    "floats": lambda m: [1.0, 0.0],
    "floats and slice": lambda m: ([1.0, 0.0], slice(None)),
    "fractions": lambda m: ([-1.7, 0.9],),
    "NaN": lambda m: ([float("nan")],),
    "inf": lambda m: ([float("inf")],),
    "complex": lambda m: ([1j],),
    "deque": lambda m: deque([1, 0]),
    "deque in a tuple": lambda m: (deque([1, 0]), 0),
    "deque of ranges": lambda m: deque([range(2), range(2)]),
    "array.array": lambda m: array.array("q", [1, 0]),
    "array.array of doubles": lambda m: array.array("d", [1, 0]),
    "own sequence": lambda m: Seq(1, 0),
    "own sequence of sequences": lambda m: Seq([0, 1], [1, 2]),
    "own index": lambda m: Index(),
    "own index in a tuple": lambda m: (Index(), 0),
    "float": lambda m: 1.0,
    "float in a tuple": lambda m: (1.0,),
    "dict": lambda m: {0: 1},
    "set": lambda m: {0, 1},
    "generator": lambda m: (i for i in [0]),
    "too large an int": lambda m: 2**63,
    "too large an int in a list": lambda m: [2**63],
    "mixed depth": lambda m: ([0, [1]],),
    "long list": lambda m: [0] * 40,
    "long list of ranges": lambda m: [range(2)] * 40,
    "slice of tensors": lambda m: (slice(m.tensor(0), m.tensor(1)),),
    "step 0": lambda m: (slice(None, None, 0),),
    "negative step": lambda m: (slice(None, None, -1),),
    "size": lambda m: m.Size([1, 0]),
    "empty float tensor": lambda m: m.tensor([]),
    "empty mask": lambda m: m.zeros(0, dtype=m.bool),
    "complex tensor": lambda m: m.tensor([1j]),
    "too many": lambda m: (0, 0, 0, 0),
    "two ellipses": lambda m: (..., 0, ...),
}
KINDS = ["read", "number", "row", "gradient"]


def _random_key(seed: int) -> Callable[[Any], Any]:
    """A key for a tensor of shape (2, 3, 4) of up to four items of any kind."""
    draw = random.Random(seed)
    sizes, items, dim = [2, 3, 4], [], 0
    length = draw.randint(1, 3)
    while dim < 3 and len(items) < 5:
        n, what = sizes[dim], draw.choice("issstttllmmMbnreuz0")
        if what == "M" and dim < 2:
            flat = [draw.random() < 0.6 for _ in range(n * sizes[dim + 1])]
            items.append(("mask", [flat[i:i + sizes[dim + 1]] for i in range(0, len(flat), sizes[dim + 1])]))
            dim += 2
        elif what in "mu":
            items.append(("mask" if what == "m" else "bytes", [draw.random() < 0.7 for _ in range(n)]))
            dim += 1
        elif what in "bne":
            items.append({"b": ("is", draw.random() < 0.8), "n": ("is", None), "e": ("is", ...)}[what])
            if len(items) > 4:
                break
        else:
            numbers = [draw.randrange(-n, n) for _ in range(length if draw.random() < 0.7 else 1)]
            pair = [[k] for k in numbers]
            items.append({"i": ("is", numbers[0]), "0": ("tensor", numbers[0]), "t": ("tensor", numbers),
                          "s": ("is", slice(draw.choice([None, 0, 1, -2]), draw.choice([None, 2, 5, -1]), draw.choice([None, 1, 2]))),
                          "l": ("is", draw.choice([numbers, tuple(numbers), pair, [float(k) for k in numbers]])),
                          "r": ("is", range(min(n, length))), "z": ("is", deque(numbers)), "M": ("numpy", numbers)}[what])
            dim += 1
        if draw.random() < 0.15:
            break

    def build(m: Any) -> Any:
        make = {"is": lambda v: v, "mask": lambda v: m.tensor(v), "tensor": lambda v: m.tensor(v),
                "bytes": lambda v: m.tensor(v).to(m.uint8), "numpy": numpy.array}
        made = [make[kind](value) for kind, value in items]
        return made[0] if len(made) == 1 and seed % 2 else list(made) if seed % 7 == 0 else tuple(made)

    return build


def _outcome(m: Any, key: Callable[[Any], Any], kind: str) -> Any:
    """Values and strides, or the error's type and first line; and the warnings."""
    x = m.arange(24, dtype=m.float64).reshape(2, 3, 4).requires_grad_(kind == "gradient")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            k = key(m)
            if kind == "read":
                got = x[k]
                result = [got.tolist(), tuple(got.stride()) if got.numel() else None, tuple(got.shape), got._is_view()]
            elif kind == "gradient":
                got = x[k]
                got.backward(m.arange(got.numel(), dtype=m.float64).reshape(got.shape))
                result = [x.grad.tolist()]
            else:
                x[k] = -1 if kind == "number" else m.arange(100.0, 104.0, dtype=m.float64)
                result = [x.tolist()]
        except Exception as error:
            result = [type(error).__name__, str(error).splitlines()[0].replace("claygrad", "torch")]
    said = {str(w.message).split(" (Triggered")[0].split(" (function operator")[0].replace("claygrad", "torch") for w in told}
    return result, said


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FIXED)
def test_a_key_of_each_kind(name: str, kind: str) -> None:
    key = FIXED[name]
    if name == "generator" and kind != "read":
        return
    assert _outcome(claygrad, key, kind) == _outcome(torch, key, kind)


@pytest.mark.parametrize("seeds", range(8))
def test_random_keys(seeds: int) -> None:
    wrong = []
    for seed in range(seeds * 150, seeds * 150 + 150):
        key = _random_key(seed)
        for kind in KINDS:
            mine, other = _outcome(claygrad, key, kind), _outcome(torch, key, kind)
            if mine != other:
                wrong.append(f"{seed} {kind}: {key(torch)}\n  {mine}\n  {other}")
    assert not wrong, f"{len(wrong)} differ\n" + "\n".join(wrong[:5])
