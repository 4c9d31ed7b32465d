"""Access to LAPACK: the routines that numpy.linalg does not offer, out of the library it brings, or out of SciPy's.

Everything here works on stacks of matrices. LU and triangular systems have a form in plain array operations too, which
serves many small matrices at once, and stands in where no library is found. Real matrices of ordinary size do not come
here on the CPU: native/linalg.pyx has them.
"""
from __future__ import annotations

from functools import cache
from math import prod

import numpy as np

from claygrad.core.errors import Lacking

LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
BLOCK = 32


@cache
def _spelled(name: str):
    """A routine of NumPy's library, and the width of its integers, or None."""
    import ctypes

    from numpy.linalg import _umath_linalg
    try:
        library = ctypes.CDLL(_umath_linalg.__file__)
    except OSError:
        return None
    for symbol, bits in ((f"scipy_{name}_64_", 64), (f"{name}_64_", 64), (f"scipy_{name}_", 32), (f"{name}_", 32)):
        found = getattr(library, symbol, None)
        if found is not None:
            found.restype = None
            return found, bits
    return None


@cache
def _of_scipy(name: str):
    import ctypes
    try:
        from scipy.linalg import cython_lapack
    except ImportError:
        return None
    capsule = getattr(cython_lapack, "__pyx_capi__", {}).get(name)
    if capsule is None:
        return None
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    pointer = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    return ctypes.CFUNCTYPE(None)(pointer), 32


def routine(name: str, a):
    """LAPACK's routine for an array's dtype as a function of its arguments: text, int, or array. It returns `info`.
    None for arrays of other modules than NumPy."""
    return _callable(LETTERS[a.dtype.name] + name) if isinstance(a, np.ndarray) else None


@cache
def _callable(name: str):
    found = _spelled(name) or _of_scipy(name)
    if found is None:
        return None
    import ctypes
    function, bits = found
    integer = ctypes.c_int64 if bits == 64 else ctypes.c_int32

    def call(*arguments) -> int:
        passed, lengths = [], []
        for value in arguments:
            if isinstance(value, str):
                passed.append(ctypes.c_char_p(value.encode()))
                lengths.append(ctypes.c_size_t(1))          # Fortran's hidden lengths of texts come last
            elif isinstance(value, int):
                passed.append(ctypes.byref(integer(value)))
            else:
                passed.append(ctypes.c_void_p(value.ctypes.data))
        info = integer(0)
        function(*passed, ctypes.byref(info), *lengths)
        return info.value

    call.integers = f"int{bits}"  # type: ignore[attr-defined]
    return call


def needed(name: str, a, wanted_by: str):
    found = routine(name, a)
    if not isinstance(a, np.ndarray):
        raise Lacking(f"LAPACK's {name} computes it, on the CPU alone")
    if found is None:
        from claygrad.ops._scipy import need
        need("linalg", wanted_by)
        raise RuntimeError(f"{wanted_by}: LAPACK's {name} was not found, neither in NumPy's library nor in SciPy's")
    return found


def columns(xp, a):
    """A copy whose matrices lie column by column, as LAPACK has them."""
    return xp.array(a.swapaxes(-2, -1), order="C", copy=True).swapaxes(-2, -1)


def stack(a):
    """All matrices of a copy made by `columns`, each column by column."""
    transposed = a.swapaxes(-2, -1)
    return transposed.reshape((prod(a.shape[:-2]), *transposed.shape[-2:]))


# LU with row exchanges: a = P L U

def lu(xp, a, pivot: bool = True):
    """L below the diagonal and U on and above it, the rows exchanged (from 1), and the first zero of U's diagonal."""
    batch, (m, n) = a.shape[:-2], a.shape[-2:]
    k, count = min(m, n), prod(a.shape[:-2])
    work = columns(xp, a)
    pivots = xp.zeros((count, k), "int32")
    if not work.size:
        return work, pivots.reshape((*batch, k)), xp.zeros(batch, "int32")
    factor = routine("getrf", a) if pivot and (count <= 8 or k > 32) else None
    if factor is None:
        pivots = _lu_of_arrays(xp, work, pivot).reshape((count, k))
    else:
        found = xp.zeros(k, factor.integers)
        for i, matrix in enumerate(stack(work)):
            factor(m, n, matrix, m, found)
            pivots[i] = found
    return work, pivots.reshape((*batch, k)), first_zero(xp, work)


def first_zero(xp, lu):
    """The number, from 1, of the first zero on the diagonal, 0 where there is none."""
    zero = xp.diagonal(lu, 0, -2, -1) == 0
    return xp.where(zero.any(-1), zero.argmax(-1) + 1, 0).astype("int32")


def _lu_of_arrays(xp, work, pivot: bool):
    """LU of a stack, in place, one column of all matrices at a time."""
    m, n = work.shape[-2:]
    k, batch = min(m, n), work.shape[:-2]
    pivots = xp.broadcast_to(xp.arange(1, k + 1, dtype="int32"), (*batch, k)).copy()
    for j in range(k):
        if pivot:
            column = work[..., j:, j]               # LAPACK's size of a complex number is |re| + |im|
            size = xp.abs(column.real) + xp.abs(column.imag) if column.dtype.kind == "c" else xp.abs(column)
            row = size.argmax(-1) + j
            pivots[..., j] = row + 1
            at = row[..., None, None]
            pivot_rows = xp.take_along_axis(work, at, -2)
            xp.put_along_axis(work, at, work[..., j:j + 1, :].copy(), -2)
            work[..., j:j + 1, :] = pivot_rows
        head = work[..., j:j + 1, j]
        work[..., j + 1:, j] /= xp.where(head == 0, 1, head)
        work[..., j + 1:, j + 1:] -= work[..., j + 1:, j, None] * work[..., j, None, j + 1:]
    return pivots


def order(xp, pivots, m: int):
    """Row exchanges one after the other as one permutation: row i of P^T a is row order[i] of a."""
    flat = pivots.reshape((prod(pivots.shape[:-1]), pivots.shape[-1])) - 1
    if len(flat) == 1:
        rows = list(range(m))
        for j, row in enumerate(flat[0].tolist()):
            rows[j], rows[row] = rows[row], rows[j]
        return xp.array(rows, "int64").reshape((*pivots.shape[:-1], m))
    out = xp.broadcast_to(xp.arange(m), (flat.shape[0], m)).copy()
    each = xp.arange(flat.shape[0])
    for j in range(flat.shape[1]):
        row = flat[:, j]
        first, second = out[:, j].copy(), out[each, row]
        out[:, j] = second
        out[each, row] = first
    return out.reshape((*pivots.shape[:-1], m))


# Triangular systems: a x = b. No test of the diagonal: dividing by zero gives infinities, as in BLAS.

def triangular(xp, a, b, upper: bool, unit: bool = False):
    n, batch = a.shape[-1], _joint(a.shape[:-2], b.shape[:-2])
    b = xp.broadcast_to(b, (*batch, *b.shape[-2:]))
    if b.size and (prod(batch) <= 8 or n > 2 * BLOCK):
        x = _triangular_by_lapack(xp, a, b, upper, unit)
        if x is not None:
            return x
    x = xp.array(b, order="C", copy=True)
    if x.size:
        _substitute(xp, a, x, 0, n, upper, unit)
    return x


def _triangular_by_lapack(xp, a, b, upper: bool, unit: bool):
    """None where there is no LAPACK, or a zero on a diagonal, with which it does not divide."""
    solve = routine("trtrs", a)
    if solve is None:
        return None
    n, k = b.shape[-2:]
    transposed = a.strides[-1] != a.itemsize or a.strides[-2] != n * a.itemsize      # not row by row: taken by columns
    if transposed and (a.strides[-2] != a.itemsize or a.strides[-1] != n * a.itemsize):
        a = columns(xp, a)
    x = columns(xp, b)
    matrices = xp.broadcast_to(a, (*b.shape[:-2], n, n))
    half = "U" if upper == transposed else "L"           # rows taken for columns: what was above is below
    for at, right in zip(xp.ndindex(b.shape[:-2]), stack(x)):
        if solve(half, "N" if transposed else "T", "U" if unit else "N", n, k, matrices[at], n, right, n):
            return None
    return x


def _joint(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    short, long = sorted((a, b), key=len)
    short = (1,) * (len(long) - len(short)) + short
    return tuple(j if i == 1 else i for i, j in zip(short, long))


def _substitute(xp, a, x, start: int, stop: int, upper: bool, unit: bool) -> None:
    """Solve for rows start..stop of x, in place: halves until they are small, joined by a product of matrices."""
    if stop - start > BLOCK:
        middle = (start + stop) // 2
        first, second = ((middle, stop), (start, middle)) if upper else ((start, middle), (middle, stop))
        _substitute(xp, a, x, *first, upper, unit)
        x[..., slice(*second), :] -= a[..., slice(*second), slice(*first)] @ x[..., slice(*first), :]
        _substitute(xp, a, x, *second, upper, unit)
        return
    for i in range(stop - 1, start - 1, -1) if upper else range(start, stop):
        known = slice(i + 1, stop) if upper else slice(start, i)
        row = x[..., i:i + 1, :]
        if known.start < known.stop:
            row -= a[..., i:i + 1, known] @ x[..., known, :]
        if not unit:
            row /= a[..., i:i + 1, i:i + 1]


def lu_solve(xp, lu, rows, b, adjoint: bool = False):
    """Solve a x = b, or its adjoint, from a's LU and the order of its rows."""
    n = lu.shape[-1]
    at = rows[..., None]
    if not adjoint:
        batch = _joint(lu.shape[:-2], b.shape[:-2])
        b = xp.take_along_axis(xp.broadcast_to(b, (*batch, *b.shape[-2:])), xp.broadcast_to(at, (*batch, n, 1)), -2)
        return triangular(xp, lu, triangular(xp, lu, b, False, True), True)
    transposed = lu.swapaxes(-2, -1).conj()
    x = triangular(xp, transposed, triangular(xp, transposed, b, False), True, True)
    out = xp.empty_like(x)
    xp.put_along_axis(out, xp.broadcast_to(at, (*x.shape[:-2], n, 1)), x, -2)
    return out


# L D L^T with symmetric exchanges (Bunch and Kaufman)

def ldl(xp, a, hermitian: bool):
    work = columns(xp, a)
    batch, n = a.shape[:-2], a.shape[-1]
    pivots, info = xp.zeros((*batch, n), "int32"), xp.zeros(batch, "int32")
    if work.size:
        kind = "hetrf" if hermitian and a.dtype.kind == "c" else "sytrf"
        factor = needed(kind, a, "torch.linalg.ldl_factor")
        found, scratch = xp.zeros(n, factor.integers), xp.empty(64 * n, a.dtype)
        flat, failed = pivots.reshape((-1, n)), info.reshape(-1)
        for i, matrix in enumerate(stack(work)):
            failed[i] = factor("L", n, matrix, n, found, scratch, 64 * n)
            flat[i] = found
        # What lies above the diagonal is not part of the result.
        work = xp.tril(work)
    return work, pivots, info


def ldl_solve(xp, factors, pivots, b, hermitian: bool):
    batch, n = _joint(factors.shape[:-2], b.shape[:-2]), b.shape[-2]
    out = columns(xp, xp.broadcast_to(b, (*batch, *b.shape[-2:])))
    if out.size:
        kind = "hetrs" if hermitian and factors.dtype.kind == "c" else "sytrs"
        solve = needed(kind, factors, "torch.linalg.ldl_solve")
        each = stack(columns(xp, xp.broadcast_to(factors, (*batch, n, n))))
        exchanged = xp.ascontiguousarray(xp.broadcast_to(pivots, (*batch, n)).reshape((-1, n)), solve.integers)
        for matrix, rows, x in zip(each, exchanged, stack(out)):
            solve("L", n, b.shape[-1], matrix, n, rows, x, n)
    return out


# Products of reflections H = I - tau v v^H, the v of each below the diagonal of its column: Q = H1 H2 ... Hk

def reflected(xp, a, tau, c, left: bool = True, adjoint: bool = False):
    """Q c or c Q, or with Q's adjoint."""
    out = columns(xp, c)
    k, (m, n) = tau.shape[-1], c.shape[-2:]
    if not out.size or not k:
        return out
    multiply = routine("unmqr" if a.dtype.kind == "c" else "ormqr", a)
    if multiply is not None and prod(c.shape[:-2]) <= 8:
        rows, scratch = a.shape[-2], xp.empty(64 * (m + n) + 4160, a.dtype)
        form = "N" if not adjoint else "C" if a.dtype.kind == "c" else "T"
        for matrix, factors, x in zip(stack(columns(xp, a[..., :k])), xp.ascontiguousarray(tau).reshape((-1, k)),
                                      stack(out)):
            multiply("L" if left else "R", form, m, n, k, matrix, rows, factors, x, m, scratch, scratch.size)
        return out
    if not left:                         # c Q = (Q^H c^H)^H
        return reflected_by_hand(xp, a, tau, out.swapaxes(-2, -1).conj(), not adjoint).swapaxes(-2, -1).conj()
    return reflected_by_hand(xp, a, tau, out, adjoint)


def reflected_by_hand(xp, a, tau, c, adjoint: bool):
    for i in range(tau.shape[-1]) if adjoint else range(tau.shape[-1] - 1, -1, -1):
        v = a[..., i:, i:i + 1].copy()
        v[..., 0, :] = 1
        t = tau[..., i, None, None]
        c[..., i:, :] -= (t.conj() if adjoint else t) * v * (v.swapaxes(-2, -1).conj() @ c[..., i:, :])
    return c
