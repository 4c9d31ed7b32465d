"""The native kernels through their C interface, and what the tests of them share."""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from collections.abc import Callable
from ctypes import c_bool, c_char_p, c_double, c_int, c_int64, c_uint64, c_void_p
from pathlib import Path

import numpy as np

CODES = {"int64": 4, "float32": 6, "float64": 7, "complex64": 8, "complex128": 9, "bool": 10}
SIZES = [0, 1, 7, 8, 9, 15, 16, 17, 31, 33, 1000]

FUNCTIONS = {
    "find": (c_void_p, [c_char_p, c_char_p, c_int]),
    "isa": (c_char_p, []),
    "use_isa": (c_int, [c_char_p]),
    "binary_by_row": (None, [c_void_p] * 4 + [c_int64] * 4 + [c_int]),
    "binary_by_column": (None, [c_void_p] * 4 + [c_int64] * 4 + [c_int]),
    "take_rows": (c_int64, [c_void_p, c_void_p, c_void_p, c_int64, c_int64, c_int64]),
    "copy_strided": (None, [c_void_p] * 5 + [c_int, c_int64]),
    "copy_bytes": (None, [c_void_p, c_void_p, c_int64]),
    "join_rows": (None, [c_void_p, c_void_p, c_int64, c_void_p, c_int64]),
    "fingerprint": (c_uint64, [c_void_p, c_int64]),
    "pool_alloc": (c_void_p, [c_int64]),
    "pool_free": (None, [c_void_p, c_int64]),
    "pool_stats": (None, [c_void_p]),
    "pool_trim": (None, []),
    "max_threads": (c_int, []),
    "set_max_threads": (None, [c_int]),
    "parallel_for": (None, [c_int64, c_int64, c_void_p, c_void_p]),
    "blas_load": (c_int, [c_char_p]),
    "blas_ready": (c_int, []),
    "gemm": (None, [c_int, c_int, c_int, c_int64, c_int64, c_int64, c_void_p, c_int64, c_void_p, c_int64, c_void_p,
                    c_int64, c_int]),
}

SIGNATURES = {
    "unary": ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_int64, c_double, c_double),
    "binary": ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_void_p, c_int64, c_int),
    "compare": ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_void_p, c_int64, c_int),
    "reduce": ctypes.CFUNCTYPE(None, c_void_p, c_void_p),
    "extreme": ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_void_p, c_int64, c_int64, c_int64),
    "shaped": ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_void_p, c_void_p, c_int64, c_int, c_double, c_double),
    "total": ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_void_p, c_int64, c_double, c_double, c_double),
    "gate": ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_void_p, c_int64, c_int64),
    "each": ctypes.CFUNCTYPE(c_bool, c_void_p, c_void_p, c_int64, c_void_p),
    "cast": ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_int64),
    "rows": ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_int64, c_int64),
    "rows2": ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_void_p, c_int64, c_int64),
}


class Spread(ctypes.Structure):
    """Where the elements of a reduction lie."""

    _fields_ = [("x", c_void_p), ("n", c_int64), ("pitch", c_int64), ("inner", c_int64), ("axes", c_int),
                ("shape", c_int64 * 64), ("leap", c_int64 * 64)]


class Numbers(ctypes.Structure):
    """The numbers beside the operands of a kernel of the family "each"; `given` has a bit for each."""

    _fields_ = [("value", c_double * 4), ("given", ctypes.c_uint)]


def library_path() -> Path:
    """The library that the compiled core uses: already in this process, or beside the core."""
    maps = Path("/proc/self/maps")
    if maps.exists():
        for line in maps.read_text().splitlines():
            if "libclay_kernels" in line:
                return Path(line.split()[-1])
    suffix = "dylib" if sys.platform == "darwin" else "so"
    places = importlib.util.find_spec("claygrad").submodule_search_locations
    return Path(places[0]) / "core" / f"libclay_kernels.{suffix}"


class Kernels:
    """The C interface of kernels/platform/test_api.cpp, and the kernels as functions of arrays."""

    def __init__(self, path: Path) -> None:
        self.path = path
        library = ctypes.CDLL(str(path))
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(library, f"clay_{name}")
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)

    def has(self, name: bytes) -> bool:
        """Whether the library has this instruction set, and the machine too."""
        before = self.isa()
        found = bool(self.use_isa(name))
        self.use_isa(before)
        return found

    def get(self, family: str, name: str, dtype: np.dtype) -> Callable:
        address = self.find(family.encode(), name.encode(), CODES[np.dtype(dtype).name])
        assert address, f"no kernel {family} {name} for {dtype}"
        return SIGNATURES[family](address)

    def get_cast(self, name: str, code: int) -> Callable:
        """The cast to a dtype from the one of this code: NumPy has no name for all of them."""
        address = self.find(b"cast", name.encode(), code)
        assert address, f"no cast of {code} to {name}"
        return SIGNATURES["cast"](address)

    def address(self, family: str, name: str, dtype: np.dtype) -> int:
        return self.find(family.encode(), name.encode(), CODES[np.dtype(dtype).name])

    def unary(self, name: str, x: np.ndarray, p: float = 0.0, q: float = 0.0,
              out: np.ndarray | None = None) -> np.ndarray:
        out = guarded(x.shape, x.dtype) if out is None else out
        self.get("unary", name, x.dtype)(x.ctypes.data, out.ctypes.data, x.size, p, q)
        return checked(out)

    def binary(self, name: str, x: np.ndarray, y: np.ndarray, out: np.ndarray | None = None,
               family: str = "binary") -> np.ndarray:
        mode = 0 if x.size == y.size else 1 if y.size == 1 else 2
        n = max(x.size, y.size)
        out = guarded((n,), bool if family == "compare" else x.dtype) if out is None else out
        self.get(family, name, x.dtype)(x.ctypes.data, y.ctypes.data, out.ctypes.data, n, mode)
        return checked(out)

    def each(self, name: str, *operands: np.ndarray, numbers: tuple[float, ...] = (),
             dtype: type | None = None) -> np.ndarray:
        out = guarded(operands[0].shape, dtype or operands[0].dtype)
        places = (c_void_p * 4)(*[x.ctypes.data for x in operands])
        beside = Numbers((c_double * 4)(*numbers), (1 << len(numbers)) - 1)
        kernel = self.get("each", name, operands[0].dtype)
        assert kernel(ctypes.addressof(places), out.ctypes.data, out.size, ctypes.addressof(beside))
        return checked(out)

    def reduce(self, name: str, x: np.ndarray, out_dtype: np.dtype | None = None) -> np.ndarray:
        """Over the last axis but one; elements along the last are neighbours."""
        *outer, n, inner = x.shape
        *leap, pitch, _ = (step // x.itemsize for step in x.strides)
        out = guarded((*outer, inner), out_dtype or x.dtype)
        where = Spread(x.ctypes.data, n, pitch, inner, len(outer), (c_int64 * 64)(*outer), (c_int64 * 64)(*leap))
        self.get("reduce", name, x.dtype)(ctypes.addressof(where), out.ctypes.data)
        return checked(out)


GUARD = 64


def guarded(shape: tuple[int, ...], dtype: np.dtype, offset: int = 0) -> np.ndarray:
    """Room for a result, between bytes that a kernel must leave alone; `offset` elements off alignment."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    room = np.full(size + 2 * GUARD, 0xA5, np.uint8)
    start = GUARD // 2 + offset * np.dtype(dtype).itemsize
    return room[start:start + size].view(dtype).reshape(shape)


def checked(out: np.ndarray) -> np.ndarray:
    room = out
    while isinstance(room.base, np.ndarray):
        room = room.base
    if room.dtype == np.uint8 and room.nbytes == out.nbytes + 2 * GUARD:
        start = out.ctypes.data - room.ctypes.data
        assert (room[:start] == 0xA5).all(), "written before the block"
        assert (room[start + out.nbytes:] == 0xA5).all(), "written past the block"
    return out


def special(dtype: np.dtype) -> np.ndarray:
    info = np.finfo(dtype)
    tiny = [info.smallest_subnormal, info.tiny / 4, info.tiny]
    rest = [0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 20.0, 100.0, 1e10, 1e30, info.max, np.inf]
    values = np.array(tiny + rest, dtype)
    return np.concatenate([values, -values, np.array([np.nan], dtype)])


def values(dtype: np.dtype, n: int, low: float = -10.0, high: float = 10.0, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed + n).uniform(low, high, n).astype(dtype)


def ulps(out: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Distance from a wider `want`, in units of out's last place there; 0 where both are NaN or the same infinity."""
    narrow = want.astype(out.dtype)
    same = (out == narrow) | (np.isnan(out) & np.isnan(narrow))
    step = np.maximum(np.spacing(np.abs(narrow)), np.finfo(out.dtype).smallest_subnormal)
    with np.errstate(all="ignore"):
        distance = np.abs(out.astype(want.dtype) - want) / step.astype(want.dtype)
    return np.where(same, 0, np.where(np.isfinite(out) & np.isfinite(narrow), distance, np.inf)).astype(float)


def same_bits(x: np.ndarray, y: np.ndarray) -> bool:
    """Equal, with equal signs of zero, and NaN where the other is NaN."""
    signs = np.array_equal(np.signbit(x) | np.isnan(x), np.signbit(y) | np.isnan(y))
    return signs and np.array_equal(x, y, equal_nan=True)
