"""Deprecated signatures, with factors among the operands: the same results, refusals and warnings as PyTorch's."""
from __future__ import annotations

import itertools
import re
import warnings

import pytest
import torch

import claygrad

SHAPES = {"add": ("v", "v"), "sub": ("v", "v"), "addcmul": ("v", "v", "v"), "addcdiv": ("v", "v", "v"),
          "addmm": ("m", "m", "m"), "addmv": ("v", "m", "v"), "addr": ("m", "v", "v"), "addbmm": ("m", "b", "b"),
          "baddbmm": ("b", "b", "b")}
SIZES = {"v": (2,), "m": (2, 2), "b": (1, 2, 2)}


def calls():
    """Every place that up to two factors can take among the operands of a function, method or in-place method."""
    for name, shapes in SHAPES.items():
        for factors in (1, 2):
            count = len(shapes) + factors
            for places in itertools.combinations(range(count), factors):
                for form in ("function", "method", "inplace", "zero-dim"):
                    if form in ("function", "zero-dim") or places[0] > 0:
                        yield pytest.param(name, places, form, id=f"{name}-{places}-{form}")


def outcome(lib, name, places, form):
    factors, shapes = iter((2, 3)), iter(SHAPES[name])
    given = []
    for k in range(len(SHAPES[name]) + len(places)):
        if k in places:
            factor = next(factors)
            given.append(lib.tensor(factor) if form == "zero-dim" else factor)
        else:
            size = SIZES[next(shapes)]
            given.append(lib.arange(1.0, 1 + lib.Size(size).numel()).reshape(size))
    lib.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            if form in ("function", "zero-dim"):
                made = getattr(lib, name)(*given)
            else:
                made = getattr(given[0], name + "_" * (form == "inplace"))(*given[1:])
    except TypeError:
        return TypeError
    finally:
        lib.set_warn_always(False)
    said = [re.sub(r" \(Triggered internally.*", "", str(w.message)) for w in seen]
    said = ["\n".join(line for line in text.splitlines() if "out_dtype" not in line) for text in said]
    return made.tolist(), said


@pytest.mark.parametrize(("name", "places", "form"), list(calls()))
def test_factors_among_the_operands(name, places, form):
    assert outcome(claygrad, name, places, form) == outcome(torch, name, places, form)
