"""The native loops of linear algebra against NumPy's, at all sizes up to 70 and some beyond, on every instruction set."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import pytest

import claygrad
from claygrad.ops import _lapack, linalg_cholesky, linalg_lstsq, linalg_spectral
from tests.kernels.conftest import isa, kernels  # noqa: F401
from tests.support import forms

DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])
SIZES = [*range(1, 10), 15, 16, 17, 33, 64, 65, 70, 130]
BATCHES = [(), (3,), (2, 2)]
pytestmark = pytest.mark.usefixtures("isa")


def drawn(dtype: str, sizes: list[int] = SIZES) -> Iterator:
    """Matrices that are easy to invert, in rows or in columns, now and then as part of larger ones."""
    rng = numpy.random.default_rng(7)
    for n in sizes:
        for batch in BATCHES if n < 40 else BATCHES[:2]:
            a = rng.standard_normal((*batch, n, n)).astype(dtype) + 3 * n ** 0.5 * numpy.eye(n, dtype=dtype)
            b = rng.standard_normal((*batch, n, int(rng.integers(1, 40)))).astype(dtype)
            yield a, b
            yield turned(turned(a).copy()), turned(turned(b).copy())
            wide = numpy.full((*batch, n + 3, 2 * n), numpy.nan, dtype)
            wide[..., 1:n + 1, ::2] = a
            yield wide[..., 1:n + 1, ::2], b


def turned(a):
    return a.swapaxes(-2, -1)


def near(found, wanted, steps: float = 100) -> None:
    found, wanted = numpy.asarray(found), numpy.asarray(wanted)
    assert found.shape == wanted.shape
    assert found.dtype == wanted.dtype
    if wanted.size:
        size = max(1.0, float(numpy.abs(wanted).max()))
        limit = steps * numpy.finfo(found.dtype).eps * max(wanted.shape[-2:]) * size
        assert float(numpy.abs(found.astype("float64") - wanted).max()) < limit


class native:
    """The native forms as functions of arrays."""

    @staticmethod
    def lu(a, pivot):
        return forms.native(claygrad.linalg.lu_factor_ex, a, pivot=pivot)

    @staticmethod
    def parts(LU, pivots):
        whole = numpy.zeros(0, "int32") if pivots is None else pivots
        return forms.native(claygrad.lu_unpack, LU, whole, True, pivots is not None)

    @staticmethod
    def solve(a, b):
        return forms.native(claygrad.linalg.solve_ex, a, b)

    @staticmethod
    def inverse(a):
        return forms.native(claygrad.linalg.inv_ex, a)

    @staticmethod
    def determinant(a, logarithm):
        return forms.native(claygrad.linalg.slogdet if logarithm else claygrad.linalg.det, a)

    @staticmethod
    def lu_solve(LU, pivots, b, adjoint):
        return forms.native(claygrad.linalg.lu_solve, LU, pivots, b, adjoint=adjoint)

    @staticmethod
    def triangular(a, b, upper, unit):
        return forms.native(claygrad.linalg.solve_triangular, a, b, upper=upper, unitriangular=unit)

    @staticmethod
    def cholesky(a, upper):
        return forms.native(claygrad.linalg.cholesky_ex, a, upper=upper)

    @staticmethod
    def cholesky_solve(factor, b, upper):
        return forms.native(claygrad.cholesky_solve, b, factor, upper)

    @staticmethod
    def qr(a, full):
        return forms.native(claygrad.linalg.qr, a, "complete" if full else "reduced")

    @staticmethod
    def symmetric(a, upper):
        return forms.native(claygrad.linalg.eigh, a, "U" if upper else "L")

    @staticmethod
    def symmetric_values(a, upper):
        return forms.native("_eigvalsh", a, "U" if upper else "L")

    @staticmethod
    def singular(a, full):
        return forms.native(claygrad.linalg.svd, a, full)

    @staticmethod
    def singular_values(a):
        return forms.native("_svdvals", a, None)


@DTYPES
def test_lu_and_what_is_solved_with_it(dtype: str):
    for a, b in drawn(dtype):
        LU, pivots, info = native.lu(a, True)
        wanted = _lapack.lu(numpy, a)
        near(LU, wanted[0])
        assert (pivots == wanted[1]).all()
        assert not info.any()
        assert info.shape == a.shape[:-2]
        solution = numpy.linalg.solve(a, b)
        near(native.solve(a, b)[0], solution)
        near(native.inverse(a)[0], numpy.linalg.inv(a))
        near(native.lu_solve(LU, pivots, b, False), solution)
        near(native.lu_solve(LU, pivots, b, True), numpy.linalg.solve(turned(a), b))
        sign, size = native.determinant(a, True)
        assert (sign == numpy.linalg.slogdet(a)[0]).all()
        numpy.testing.assert_allclose(size, numpy.linalg.slogdet(a)[1], rtol=1e-4 if dtype == "float32" else 1e-11, atol=1e-5)
        if a.shape[-1] < 15:
            numpy.testing.assert_allclose(native.determinant(a, False), numpy.linalg.det(a), rtol=1e-4)
        P, L, U = native.parts(LU, pivots)
        near(P @ L @ U, numpy.ascontiguousarray(a))


@DTYPES
def test_lu_of_matrices_that_are_not_square_and_without_exchanges(dtype: str):
    rng = numpy.random.default_rng(1)
    for m, n in [(3, 5), (5, 3), (1, 7), (7, 1), (40, 70), (70, 40), (130, 65), (65, 130), (100, 300), (71, 129), (64, 200), (128, 129)]:
        a = rng.standard_normal((2, m, n)).astype(dtype)
        LU, pivots, _ = native.lu(a, True)
        near(LU, _lapack.lu(numpy, a)[0], 1000)
        P, L, U = native.parts(LU, pivots)
        near(P @ L @ U, a)
        assert native.parts(LU, None)[0].size == 0
        for again in (numpy.ascontiguousarray(LU), numpy.repeat(LU, 2, -1)[..., ::2]):
            assert all((x == y).all() for x, y in zip(native.parts(again, pivots), (P, L, U)))
        assert (numpy.tril(L) == L).all()
        assert (numpy.triu(U) == U).all()
    a += numpy.eye(m, n, dtype=dtype) * 40
    for found, wanted in zip(native.lu(a, False), _lapack.lu(numpy, a, False)):
        near(found.astype(dtype), wanted.astype(dtype), 1000)


@DTYPES
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_many_matrices_of_a_few_rows(dtype: str, n: int):
    """Those that lie side by side in vectors as each alone, and as NumPy's."""
    rng = numpy.random.default_rng(9)
    for count in (16, 37):
        a, b = rng.standard_normal((count, n, n)).astype(dtype) + 2 * numpy.eye(n, dtype=dtype), rng.standard_normal((count, n, 3)).astype(dtype)
        a[5], a[7, n - 1], a[8] = 0, a[7, 0], numpy.eye(n, dtype=dtype)[::-1]
        definite = a @ turned(a) + numpy.eye(n, dtype=dtype) / 10
        definite[11, n - 1, n - 1] *= -1
        with numpy.errstate(all="ignore"):
            for x in (a, turned(turned(a).copy()), numpy.repeat(a, 2, 0)[::2]):
                LU, pivots, info = native.lu(x, True)
                sides = [b, b[..., :1], turned(turned(b).copy()), numpy.concatenate([b, b], 2)]
                solved, inverse = [native.solve(x, side) for side in sides], native.inverse(x)
                det, (sign, log) = native.determinant(x, False), native.determinant(x, True)
                fine = info == 0
                near(inverse[0][fine], numpy.linalg.inv(x[fine]), 1000)
                near(det[:, None], numpy.linalg.det(x)[:, None])
                near((sign * numpy.exp(log))[:, None], det[:, None])
                for side, (found, wrong) in zip(sides, solved):
                    near(found[fine], numpy.linalg.solve(x[fine], side[fine]), 1000)
                    assert (wrong == info).all()
                for i in range(count):
                    one = native.lu(x[i], True)
                    near(LU[i], one[0])
                    assert pivots[i].tolist() == one[1].tolist()
                    assert info[i] == one[2] == inverse[1][i]
                    assert det[i] == native.determinant(x[i], False)
                    assert numpy.isfinite(inverse[0][i]).all() == fine[i]
            for upper in (False, True):
                (found, info), each = native.cholesky(definite, upper), [native.cholesky(one, upper) for one in definite]
                near(found, numpy.stack([one[0] for one in each]))
                assert info.tolist() == [one[1].item() for one in each]
                assert info.nonzero()[0].tolist() == [11]
            a[3, 0, 0], a[4, 0, n - 1] = numpy.nan, numpy.inf
            for i, det in enumerate(native.determinant(a, False)):
                assert numpy.array_equal(det, native.determinant(a[i], False), equal_nan=True)


@DTYPES
def test_triangles(dtype: str):
    for a, b in drawn(dtype):
        for upper in (False, True):
            for unit in (False, True):
                scaled = a / a.shape[-1] if unit else a
                near(native.triangular(scaled, b, upper, unit), _lapack.triangular(numpy, scaled, b, upper, unit), 1000)
            near(native.cholesky_solve(a, b, upper), linalg_cholesky.with_factor(numpy, a, b, upper), 1000)
    near(native.triangular(a[0], b, True, False), _lapack.triangular(numpy, a[0], b, True), 1000)


@DTYPES
@pytest.mark.parametrize("columns", [1, 2, 4])
def test_few_right_hand_sides(dtype: str, columns: int):
    for a, b in drawn(dtype, [1, 2, 6, 7, 15, 16, 17, 31, 33, 50, 64, 100]):
        b = b[..., :columns]
        for upper in (False, True):
            for unit in (False, True):
                scaled = a / a.shape[-1] if unit else a
                near(native.triangular(scaled, b, upper, unit), _lapack.triangular(numpy, scaled, b, upper, unit), 1000)
            near(native.cholesky_solve(a, b, upper), linalg_cholesky.with_factor(numpy, a, b, upper), 1000)
        LU, pivots, _ = native.lu(a, True)
        for factors in (LU, numpy.ascontiguousarray(LU)):
            near(native.lu_solve(factors, pivots, b, False), numpy.linalg.solve(a, b))
            near(native.lu_solve(factors, pivots, b, True), numpy.linalg.solve(turned(a), b))
        near(native.solve(a, b)[0], numpy.linalg.solve(a, b))
    # What lies beyond the diagonal is not read, nor the diagonal where it counts as ones; a zero on it gives infinities.
    half = numpy.where(numpy.tri(50, k=-1), 0.01, numpy.nan).astype(dtype)
    for a, upper in ((half, False), (half.T, True), (turned(half.copy()), True), (turned(half.T.copy()), False)):
        assert numpy.isfinite(native.triangular(a, numpy.ones((50, 1), dtype), upper, True)).all()
    zero = numpy.eye(50, dtype=dtype)
    zero[20, 20] = 0
    assert numpy.isinf(native.triangular(zero, numpy.ones((50, 1), dtype), False, False)[20]).all()


@DTYPES
def test_cholesky(dtype: str):
    for a, _ in drawn(dtype):
        definite = a @ turned(a)
        for upper in (False, True):
            half = numpy.triu(definite) if upper else numpy.tril(definite)
            near(native.cholesky(half, upper)[0], linalg_cholesky.factored(numpy, definite, upper)[0])
    for n in (5, 70, 150):                                       # as far as it goes
        definite = numpy.random.default_rng(n).standard_normal((2, n, n)).astype(dtype)
        definite = definite @ turned(definite) + n * numpy.eye(n, dtype=dtype)
        definite[1, 2 * n // 3, 2 * n // 3] = -1
        for upper in (False, True):
            (found, info), (wanted, expected) = native.cholesky(definite, upper), linalg_cholesky.factored(numpy, definite, upper)
            near(found, wanted)
            assert info.tolist() == expected.tolist() == [0, 2 * n // 3 + 1]


@pytest.mark.filterwarnings("ignore:torch.cholesky is deprecated")
@DTYPES
def test_the_older_cholesky(dtype: str):
    for a, _ in drawn(dtype):
        definite = a @ turned(a)
        for upper in (False, True):
            for _ in range(2):                                # the first call ever is one that warns
                near(claygrad.cholesky(claygrad.from_numpy(definite), upper).numpy(), plain_factor(definite, upper))
    with pytest.raises(claygrad.linalg.LinAlgError, match=r"cholesky: \(Batch element 0\): The factorization could not be"):
        claygrad.cholesky(claygrad.from_numpy(-definite))


def plain_factor(a, upper: bool):
    return turned(numpy.linalg.cholesky(a)) if upper else numpy.linalg.cholesky(a)


@DTYPES
def test_reflections(dtype: str):
    rng = numpy.random.default_rng(2)
    for m, n in [(s, s) for s in SIZES if s <= 128] + [(3, 8), (8, 3), (40, 17), (17, 40), (1, 5), (5, 1), (128, 2), (2, 128), (200, 60),
                                                                        (60, 200), (250, 100)]:
        for rank in (min(m, n), 1):
            a = (rng.standard_normal((2, m, rank)) @ rng.standard_normal((2, rank, n))).astype(dtype)
            for full in (False, True):
                Q, R = native.qr(a, full)
                near(Q @ R, a)
                near(turned(Q) @ Q, numpy.broadcast_to(numpy.eye(Q.shape[-1], dtype=dtype), (2, *2 * Q.shape[-1:])))
                assert (numpy.triu(R) == R).all()
                if not full:
                    assert (forms.native(claygrad.linalg.qr, a, "r")[1] == R).all()
                if rank > 1 and not full:                     # signs as LAPACK has them
                    assert (numpy.sign(numpy.linalg.qr(a)[1].diagonal(0, 1, 2)) == numpy.sign(R.diagonal(0, 1, 2))).mean() > 0.9
                U, S, Vh = native.singular(a, full)
                k = min(m, n)
                near((U[..., :k] * S[..., None, :]) @ Vh[..., :k, :], a)
                near(turned(U) @ U, numpy.broadcast_to(numpy.eye(U.shape[-1], dtype=dtype), (2, *2 * U.shape[-1:])))
                near(Vh @ turned(Vh), numpy.broadcast_to(numpy.eye(Vh.shape[-2], dtype=dtype), (2, *2 * Vh.shape[-2:-1])))
                near(S[..., None], numpy.linalg.svd(a, compute_uv=False)[..., None])
                assert (S >= 0).all()
                assert (numpy.diff(S) <= 0).all()
                if not full:
                    values = native.singular_values(a)
                    near(values[..., None], S[..., None])
                    if max(m, n) < 8 * min(m, n):            # longer ones: the values of the R of their QR factors
                        assert (values == S).all()


@DTYPES
@pytest.mark.parametrize(("m", "n"), [(1, 1), (5, 3), (3, 5), (40, 40), (97, 97), (130, 130), (200, 97), (97, 200), (300, 130), (128, 300), (1000, 7), (1000, 50), (50, 1000)])
def test_reflections_by_blocks(dtype: str, m: int, n: int):
    rng = numpy.random.default_rng(6)
    a = rng.standard_normal((2, m, n)).astype(dtype)
    R, tau = (x.numpy() for x in claygrad.geqrf(claygrad.from_numpy(a)))
    wanted, factors = numpy.linalg.qr(a, "raw")
    near(R, turned(wanted))
    near(tau[:, None], factors[:, None])
    Q, triangle = native.qr(a, True)
    near(numpy.triu(R), triangle)
    near(Q @ triangle, a)
    near(turned(Q) @ Q, numpy.broadcast_to(numpy.eye(m, dtype=dtype), (2, m, m)))
    b = rng.standard_normal((2, m, 65)).astype(dtype)
    held, c = (claygrad.from_numpy(R.copy()), claygrad.from_numpy(tau)), claygrad.from_numpy(b)
    near(claygrad.ormqr(*held, c).numpy(), Q @ b)
    near(claygrad.ormqr(*held, c, transpose=True).numpy(), turned(Q) @ b)
    near(claygrad.ormqr(*held, c.mT, left=False).numpy(), turned(b) @ Q)
    near(claygrad.ormqr(*held, c.mT, left=False, transpose=True).numpy(), turned(b) @ turned(Q))
    near(claygrad.ormqr(*held, c.mT.contiguous().mT, transpose=True).numpy(), turned(Q) @ b)
    if m >= n:
        near(claygrad.linalg.householder_product(*held).numpy(), Q[..., :n])
        near(claygrad.linalg.householder_product(held[0], held[1][:, :n // 2 + 1].contiguous()).numpy(),
             _lapack.reflected_by_hand(numpy, R, tau[:, :n // 2 + 1], numpy.tile(numpy.eye(m, n, dtype=dtype), (2, 1, 1)), False))
    a[1, 0, 0] = numpy.nan
    assert claygrad.geqrf(claygrad.from_numpy(a))[0].isnan().any((1, 2)).tolist() == [False, True]


@DTYPES
def test_symmetric_matrices(dtype: str):
    for a, _ in drawn(dtype, [s for s in SIZES if s <= 128]):
        whole = a + turned(a)
        for upper in (False, True):
            values, vectors = native.symmetric(numpy.triu(whole) if upper else numpy.tril(whole), upper)
            near((vectors * values[..., None, :]) @ turned(vectors), whole)
            near(turned(vectors) @ vectors, numpy.broadcast_to(numpy.eye(a.shape[-1], dtype=dtype), a.shape))
            near(values[..., None], numpy.linalg.eigvalsh(whole)[..., None])
            near(native.symmetric_values(whole, upper)[..., None], values[..., None])


def peculiar(n: int) -> Iterator:
    """Matrices that are hard on rotations: singular ones, equal values, values far apart."""
    rng = numpy.random.default_rng(8)
    Q, small = numpy.linalg.qr(rng.standard_normal((n, n)))[0], 10.0 ** -numpy.linspace(0, 20, n)
    yield numpy.tile(rng.standard_normal((5, 5)), (1 + n // 5, 1 + n // 5))[:n, :n]
    yield rng.standard_normal((n, 2)) @ rng.standard_normal((2, n))
    yield from (numpy.ones((n, n)), numpy.zeros((n, n)), numpy.eye(n), numpy.diag(rng.standard_normal(n)))
    yield from ((Q * 10.0 ** -numpy.linspace(0, 30, n)) @ Q.T, (Q * numpy.sign(rng.standard_normal(n))) @ Q.T)
    yield from (small * rng.standard_normal((n, n)) * small[:, None], small[::-1] * rng.standard_normal((n, n)) * small[::-1, None])
    yield numpy.diag(numpy.abs(numpy.arange(n) - n // 2).astype(float)) - numpy.eye(n, k=1) - numpy.eye(n, k=-1)
    whole = rng.standard_normal((n, n))
    whole[n // 2:], whole[:, n // 2:] = whole[n // 2:] * 1e-40, whole[:, n // 2:] * 1e-40
    yield whole


@DTYPES
@pytest.mark.parametrize("n", [1, 2, 7, 16, 40, 97, 150, 230])
def test_peculiar_matrices(dtype: str, n: int):
    one = numpy.eye(n, dtype=dtype)
    for a in peculiar(n):
        a = (a / max(1.0, numpy.linalg.norm(a, 2))).astype(dtype)
        U, S, Vh = native.singular(a, False)
        near((U * S) @ Vh, a, 10)
        near(turned(U) @ U, one, 10)
        near(Vh @ turned(Vh), one, 10)
        near(S[None], numpy.linalg.svd(a.astype("float64"), compute_uv=False)[None].astype(dtype), 10)
        assert (native.singular_values(a) == S).all()
        whole = a / 2 + a.T / 2
        values, vectors = native.symmetric(whole, False)
        near((vectors * values) @ vectors.T, whole, 10)
        near(vectors.T @ vectors, one, 10)
        near(values[None], numpy.linalg.eigvalsh(whole.astype("float64"))[None].astype(dtype), 10)
        near(native.symmetric_values(whole, False)[None], values[None], 10)
        Q, R = native.qr(a, False)
        near(Q @ R, a, 10)
        near(Q.T @ Q, one, 10)


def test_a_diagonal_keeps_values_that_are_nothing_beside_the_largest():
    a = numpy.diag(numpy.array([1e-40, 1, 1e-25], "float32"))
    assert native.singular(a, False)[1].tolist() == numpy.diag(a)[[1, 2, 0]].tolist()
    assert native.symmetric_values(a, False).tolist() == numpy.diag(a)[[0, 2, 1]].tolist()


@pytest.mark.parametrize("scale", [1e-300, 1e-35, 1e35, 1e300])
def test_sizes_at_the_ends_of_the_scale(scale: float):
    a = numpy.random.default_rng(3).random((6, 6)) * scale
    for x in [a] if not 1e-40 < scale < 1e40 else [a, a.astype("float32")]:
        Q, R = native.qr(x, False)
        near(Q @ (R / scale), x / scale)
        U, S, Vh = native.singular(x, False)
        near((U * (S / scale)) @ Vh, x / scale)
        values, vectors = native.symmetric(x / 2 + x.T / 2, False)
        near((vectors * (values / scale)) @ vectors.T, x / scale / 2 + x.T / scale / 2)


@DTYPES
def test_what_has_no_answer_is_left_to_the_reference(dtype: str):
    a = numpy.ones((2, 3, 3), dtype)
    a[0] = numpy.eye(3)
    for found in (native.solve(a, a), native.solve(a, a[..., :1]), native.inverse(a)):
        assert found[1].tolist() == [0, 2]
        assert numpy.isfinite(found[0]).all((1, 2)).tolist() == [True, False]
    assert native.lu(a, True)[2].tolist() == [0, 2]
    assert native.determinant(a, False).tolist() == [1, 0]
    assert native.determinant(a, True)[1][1] == -numpy.inf
    with pytest.raises(RuntimeError, match="must all be smaller or equal to LU"):
        claygrad.linalg.lu_solve(*map(claygrad.from_numpy, (a, numpy.full((2, 3), 7, "int32"), a)))
    with pytest.raises(RuntimeError, match="must be between 1 and LU"):
        claygrad.lu_unpack(claygrad.from_numpy(a), claygrad.zeros(2, 3, dtype=claygrad.int32))
    for spoiled in (numpy.nan, numpy.inf):
        a[1, 2, 0] = spoiled
        assert forms.refused("_eigvalsh", a, "L")
        assert not numpy.isfinite(native.triangular(a, a, False, False)[1]).all()
    for other in (a.astype("complex64"), a[:0]):
        assert forms.refused(claygrad.linalg.qr, other)


def test_equal_rows_have_a_determinant_of_exactly_nothing():
    a = numpy.random.default_rng(5).standard_normal((100, 5, 5))
    a[:, 3] = -2 * a[:, 1]
    assert not native.determinant(a, False).any()


@DTYPES
def test_least_squares_without_singular_values(dtype: str):
    rng = numpy.random.default_rng(4)
    for m, n in [(1, 1), (5, 3), (3, 5), (70, 20), (20, 70), (110, 97), (97, 130), (64, 64), (700, 9), (700, 50), (50, 700)]:
        for batch, scale in [((), 1e30), ((2,), 1e-30), ((2, 1), 1)]:
            a = (rng.standard_normal((*batch, m, n)) + 3 * m ** 0.5 * numpy.eye(m, n)) * scale
            a, b = (claygrad.from_numpy(x.astype(dtype)) for x in (a, rng.standard_normal((*batch, m, 3))))
            for right in (b, b[..., 0], b.mT.contiguous().mT):
                sure, full, wanted = (claygrad.linalg.lstsq(a, right, driver=driver) for driver in ("gelsy", "gels", "gelsd"))
                for found in (sure, full):
                    near((found.solution * scale).numpy(), (wanted.solution * scale).numpy(), 3000)
                assert sure.rank.tolist() == wanted.rank.tolist()
                if m > n:
                    near(full.residuals.numpy(), wanted.residuals.numpy())
                assert [x.numel() for x in (sure.residuals, sure.singular_values, full.rank, full.singular_values)] == [0] * 4
                assert m > n or not full.residuals.numel()
    a, b = rng.standard_normal((2, 64, 64)).astype(dtype), rng.standard_normal((2, 64, 3)).astype(dtype)
    a[:, :, 0] = a[:, :, 1]
    found, wanted = (claygrad.linalg.lstsq(claygrad.from_numpy(a), claygrad.from_numpy(b), 1e-4, driver=driver)
                     for driver in ("gelsy", "gelsd"))
    assert found.rank.tolist() == wanted.rank.tolist() == [63, 63]
    near(found.solution.numpy(), wanted.solution.numpy(), 3000)
    for m, n in [(100, 70), (70, 100)]:
        a, b = rng.standard_normal((2, m, n)).astype(dtype), rng.standard_normal((2, m, 3)).astype(dtype)
        x, rank = linalg_lstsq.with_exchanges(numpy, a, b, 1e-6)
        near(x, linalg_lstsq.least_squares(numpy, a, b, 1e-6, "gelsd")[0], 3000)
        assert rank.tolist() == [70, 70]


def test_values_that_numpy_refuses_are_said_in_torchs_words():
    with pytest.raises(claygrad.linalg.LinAlgError, match="non-finite"):
        linalg_spectral.decomposed(numpy, numpy.full((2, 2), numpy.nan), False)


@DTYPES
def test_long_and_narrow_matrices_are_factored_and_solved(dtype: str):
    rng, close = numpy.random.default_rng(11), 100 * numpy.finfo(dtype).eps
    for m, n in [(5000, 1), (20_011, 3), (3, 20_011), (9001, 45)]:
        a, b = rng.standard_normal((m, n)).astype(dtype), rng.standard_normal((m, 2)).astype(dtype)
        wanted = numpy.linalg.lstsq(a.astype(float), b.astype(float))[0]
        A, B = claygrad.from_numpy(a), claygrad.from_numpy(b)
        for driver in ("gels", "gelsy"):
            found = claygrad.linalg.lstsq(A, B, driver=driver).solution.numpy()
            assert numpy.linalg.norm(found - wanted) < close * numpy.linalg.norm(wanted)
        Q, R = (x.numpy().astype(float) for x in claygrad.linalg.qr(A))
        assert abs(Q @ R - a).max() < close * abs(a).max()
        assert abs(Q.T @ Q - numpy.eye(min(m, n))).max() < close
