"""The dtypes beyond the twelve of every day: their properties, promotion, casts and what is computed with them, against PyTorch."""

from __future__ import annotations

import itertools
import pickle
import warnings
from typing import Any

import numpy
import pytest
import torch

import claygrad
from claygrad.core import DTYPES, prefix
from tests.oracle.opdb import compare, translate
from tests.oracle.opdb.checks import UNINITIALISED, run, show, translated
from tests.oracle.opdb.database import entries, ours

NAMES = sorted(DTYPES)
UNSIGNED = ("uint16", "uint32", "uint64")
BYTES = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
CAST = [name for name in NAMES if not DTYPES[name].numpy.names or name == "complex32"]


def both(make: Any) -> tuple[str, str]:
    """What claygrad and torch answer, as text; a refusal is its type and first line."""
    def asked(lib: Any) -> str:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return str(make(lib)).replace("claygrad.", "torch.")
            except Exception as error:
                return f"{type(error).__name__}: {str(error).splitlines()[0]}".replace(prefix() + ".", "torch.")
    return asked(claygrad), asked(torch)


def test_every_dtype_of_torch_is_there() -> None:
    theirs = {name: value for name, value in vars(torch).items() if isinstance(value, torch.dtype)}
    assert {name: repr(getattr(claygrad, name)).replace("claygrad", "torch") for name in theirs} == \
        {name: repr(value) for name, value in theirs.items()}


@pytest.mark.parametrize("name", NAMES)
def test_properties(name: str) -> None:
    for ask in (lambda lib: getattr(lib, name), lambda lib: getattr(lib, name).itemsize, lambda lib: getattr(lib, name).is_signed,
                lambda lib: getattr(lib, name).is_floating_point, lambda lib: getattr(lib, name).is_complex,
                lambda lib: getattr(lib, name).to_complex(), lambda lib: getattr(lib, name).to_real(),
                lambda lib: lib.finfo(getattr(lib, name)), lambda lib: lib.iinfo(getattr(lib, name)),
                lambda lib: pickle.loads(pickle.dumps(getattr(lib, name)))):
        mine, theirs = both(ask)
        assert mine == theirs


def _integers(*names: str) -> bool:
    return all(DTYPES[name].numpy.kind in "iu" for name in names)


def test_promotion_and_casting_tables() -> None:
    """As torch, but for integers with unsigned ones, of which torch makes nothing and the array API standard something."""
    for a, b in itertools.product(NAMES, NAMES):
        mine, theirs = both(lambda lib, a=a, b=b: lib.promote_types(getattr(lib, a), getattr(lib, b)))
        if theirs.startswith("RuntimeError") and _integers(a, b):
            if not mine.startswith("RuntimeError"):
                assert mine == f"torch.{numpy.promote_types(a, b)}"
                continue
            assert {a, b} & {"uint64"}
        if "INTERNAL ASSERT" in theirs:
            assert mine.startswith("RuntimeError")
        else:
            assert mine == theirs, (a, b)
        mine, theirs = both(lambda lib, a=a, b=b: lib.can_cast(getattr(lib, a), getattr(lib, b)))
        assert mine == theirs, (a, b)


VALUES = [0.0, 1.0, 2.0, 3.0, 5.0, 7.0, 100.0, 127.0, 1.5, 0.1, 0.3, 17.0, 19.0, 0.0019, 0.001]
EDGES = [-1.0, -2.5, 240.0, 256.0, 448.0, 464.0, 464.1, 480.0, 57344.0, 61440.0, 65504.0, 1e5, 1e-8, -0.0, float("inf"), float("-inf"),
         float("nan"), 2.0**-9, 2.0**-10, 3 * 2.0**-11, 2.0**-16, 2.0**-17, 2.0**-126, 3e38]


@pytest.mark.parametrize("source", CAST)
def test_casts(source: str) -> None:
    """Every bit of every cast; numbers that an integer cannot hold are left out, which C++ leaves open."""
    for target in CAST:
        whole = _integers(source) or _integers(target) or "bool" in (source, target)
        values = torch.tensor(VALUES if whole else VALUES + EDGES, dtype=torch.float64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given = values.to(getattr(torch, source))
            theirs, mine = given.to(getattr(torch, target)), translate.tensor(given).to(getattr(claygrad, target))
            copied = claygrad.empty(len(values), dtype=getattr(claygrad, target)).copy_(translate.tensor(given))
        for got in (mine, copied):
            assert str(got.dtype).replace("claygrad", "torch") == str(theirs.dtype)
            same = _bits(got, claygrad) == _bits(theirs, torch)
            nan = torch.isnan(theirs.to(torch.complex64) if theirs.is_complex() else theirs.float()).numpy()
            assert (same | nan).all(), (source, target, given[~torch.from_numpy(same)], got, theirs)


def _bits(x: Any, lib: Any) -> numpy.ndarray:
    flat = lib.view_as_real(x).reshape(-1, 2) if x.is_complex() else x.reshape(-1, 1)
    return flat.contiguous().view(lib.uint8).numpy().reshape(len(x), -1).view(f"V{x.element_size()}")[:, 0]


def _samples(name: str, dtype: str, limit: int) -> list[Any]:
    """Samples of a dtype that PyTorch has them for, with their tensors cast."""
    op, target = entries()[name], getattr(torch, dtype)
    near = (torch.complex64, torch.complex128) if target.is_complex else (torch.float32, torch.float64) if dtype in BYTES else (
        torch.int64, torch.int32, torch.uint8, torch.float32)
    known = op.supported_dtypes("cpu")
    source = target if target in known else next((kind for kind in near if kind in known), None)
    if source is None:
        return []

    def cast(value: Any) -> Any:
        if value is source:
            return target
        if not isinstance(value, torch.Tensor) or value.dtype is not source or value.device.type != "cpu":
            return value
        return (value.detach().abs() if dtype in UNSIGNED and source.is_signed else value.detach()).to(target)

    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [sample.transform(cast) for sample in itertools.islice(op.sample_inputs("cpu", source), limit)]


def differences(name: str, dtype: str, limit: int = 4) -> list[str]:
    """Where PyTorch computes, claygrad computes the same. Where PyTorch has no loop, claygrad may: integers and complex
    numbers are computed with alike, whatever their width."""
    found = []
    for sample in _samples(name, dtype, limit):
        theirs = run(entries()[name].op, torch, sample)
        # Of nothing, or of a single element, PyTorch may return before it looks for a loop.
        if isinstance(theirs, Exception) or name in UNINITIALISED or all(t.numel() < 2 for t in compare.tensors(theirs)):
            continue
        said = show(sample)
        mine = run(ours(name), claygrad, translated(sample))
        wrong = f"{type(mine).__name__}: {mine}" if isinstance(mine, Exception) else compare.values(mine, theirs, _tolerance)
        if wrong:
            found.append(f"{name} {said[:300]}: {wrong[:300]}")
    return found


def _tolerance(dtype: torch.dtype) -> tuple[float, float]:
    if dtype.itemsize == 1 and dtype.is_floating_point:
        return 0.13, 1e-2
    return {torch.float16: (2e-3, 2e-3), torch.complex32: (2e-3, 2e-3), torch.bfloat16: (2e-2, 1e-2), torch.float32: (1e-5, 1e-5),
            torch.complex64: (1e-5, 1e-5), torch.float64: (1e-7, 1e-7), torch.complex128: (1e-7, 1e-7)}.get(dtype, (0.0, 0.0))


# What differs, and stays so.
_ROUNDED = "PyTorch rounds the parts of a sum to the narrow dtype, claygrad the sum"
GAPS: dict[tuple[str, str], str] = {
    **{(f"nn.functional.conv{form}{dims}d", "complex32"): _ROUNDED for form in ("", "_transpose") for dims in (1, 2, 3)},
    **{(name, dtype): _ROUNDED for name in ("addmm", "addbmm", "linalg.multi_dot", "index_reduce.prod") for dtype in BYTES}}


@pytest.mark.parametrize("part", range(8))
@pytest.mark.parametrize("dtype", [*UNSIGNED, "complex32", *BYTES])
def test_operations(dtype: str, part: int) -> None:
    found = [text for name in sorted(entries())[part::8] if (name, dtype) not in GAPS and ours(name) is not None
             for text in differences(name, dtype)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", [name for name in NAMES if getattr(torch, name) in torch.storage._new_dtypes()])
def test_files_of_tensors(name: str, tmp_path: Any) -> None:
    """What either library saves, the other loads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = torch.arange(24, dtype=torch.uint8).view(getattr(torch, name))
        mine = claygrad.arange(24, dtype=claygrad.uint8).view(getattr(claygrad, name))
        torch.save({"x": theirs}, tmp_path / "theirs.pt")
        claygrad.save({"x": mine}, tmp_path / "mine.pt")
        here, there = claygrad.load(tmp_path / "theirs.pt")["x"], torch.load(tmp_path / "mine.pt")["x"]
    assert (here.dtype, there.dtype) == (mine.dtype, theirs.dtype)
    assert here.view(claygrad.uint8).tolist() == there.view(torch.uint8).tolist() == list(range(24))


def test_hash_tensor() -> None:
    for given in (torch.arange(6).reshape(2, 3), torch.tensor([[0.5, -1.25], [3.0, 7.5]]), torch.tensor([-1, 3], dtype=torch.int8), torch.tensor([True, False])):
        for how in ({}, {"dim": 0}, {"dim": (0,), "keepdim": True}):
            assert claygrad.hash_tensor(translate.tensor(given), **how).tolist() == torch.hash_tensor(given, **how).tolist()
