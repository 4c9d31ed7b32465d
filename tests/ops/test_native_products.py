"""Sums with products, contractions and small linear algebra as the core computes them, against their declarations over NumPy
and against the same where a graph is recorded."""

from __future__ import annotations

import itertools

import numpy
import pytest

import claygrad
from claygrad.ops._registry import REGISTRY as SAID

DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])
LIMIT = {"float32": 2e-5, "float64": 1e-12}


def drawn(dtype: str, *shapes: tuple) -> list[numpy.ndarray]:
    rng = numpy.random.default_rng(sum(map(len, shapes)))
    return [numpy.asarray(rng.standard_normal(shape)).astype(dtype) for shape in shapes]


def near(found, wanted, limit: float) -> None:
    assert tuple(found.shape) == tuple(wanted.shape)
    numpy.testing.assert_allclose(found.detach().numpy(), wanted, rtol=limit, atol=limit * max(1, numpy.abs(wanted).max(initial=1)))


def forms(array: numpy.ndarray) -> list[claygrad.Tensor]:
    """In rows, in columns, with gaps."""
    x = claygrad.tensor(array)
    if x.ndim == 0:
        return [x]
    wide = claygrad.full((*x.shape[:-1], 2 * x.shape[-1]), float("nan"), dtype=x.dtype)
    wide[..., ::2] = x
    return [x, wide[..., ::2], *([x.mT.contiguous().mT] if x.ndim > 1 else [])]


SUMS = {
    "addmm": ([(3, 4), (4, 5)], [(3, 5), (5,), (1, 5), (3, 1), (), (1,), (1, 1)]),
    "addmv": ([(3, 4), (4,)], [(3,), (), (1,)]),
    "baddbmm": ([(2, 3, 4), (2, 4, 5)], [(2, 3, 5), (3, 5), (5,), (2, 1, 5), (2, 3, 1), (), (1, 3, 5)]),
    "addbmm": ([(2, 3, 4), (2, 4, 5)], [(3, 5), (5,), (3, 1), ()]),
    "addr": ([(3,), (40,)], [(3, 40), (40,), (3, 1), (), (1, 40)]),
}


@DTYPES
@pytest.mark.parametrize("name", SUMS)
def test_sums_with_products(name, dtype):
    factors, starts = SUMS[name]
    for start in starts:
        c, a, b = drawn(dtype, start, *factors)
        for beta, alpha in ((1, 1), (0.5, 2), (0, 1.5), (2, 1), (True, 1)):
            wanted = SAID[name].fn(numpy, c, a, b, beta=beta, alpha=alpha)
            for x, y, z in zip(itertools.cycle(forms(c)), forms(a), itertools.cycle(forms(b)[::-1])):
                found = getattr(claygrad, name)(x, y, z, beta=beta, alpha=alpha)
                near(found, wanted, LIMIT[dtype])
                assert found.is_contiguous()
                if x.shape == found.shape:
                    own = x.clone()
                    assert getattr(own, name + "_")(y, z, beta=beta, alpha=alpha) is own
                    near(own, wanted, LIMIT[dtype])


@pytest.mark.parametrize("name", SUMS)
def test_what_is_not_read_does_not_spread(name):
    factors, starts = SUMS[name]
    a, b = (claygrad.randn(shape) for shape in factors)
    assert getattr(claygrad, name)(claygrad.full(starts[0], float("nan")), a, b, beta=0).isfinite().all()


def test_sums_with_products_that_overlap_are_as_always():
    x = claygrad.randn(4, 4)
    wanted = x + x @ x
    same = x.clone()
    assert claygrad.allclose(same.addmm_(same, same), wanted)
    with pytest.raises(RuntimeError, match="The expanded size of the tensor"):
        claygrad.randn(3, 5).addmm_(claygrad.randn(2, 3), claygrad.randn(3, 5))


def test_products_of_vectors_with_gaps():
    x = claygrad.randn(10)
    a = claygrad.randn(6, 10)
    near(x[::2].dot(x[1::2]), (x[::2].numpy() * x[1::2].numpy()).sum(), 1e-5)
    near(x[::2].vdot(x[1::2]), (x[::2].numpy() * x[1::2].numpy()).sum(), 1e-5)
    near(a[::2, ::2].mv(x[::2]), a[::2, ::2].numpy() @ x[::2].numpy(), 1e-5)


EQUATIONS = [
    ("i->", [(5,)]), ("ij->j", [(3, 4)]), ("ijk->ki", [(2, 3, 4)]), ("ijk->", [(2, 3, 4)]), ("ij->ji", [(3, 4)]), ("ij", [(3, 4)]),
    ("ij,jk->ik", [(2, 3), (3, 4)]), ("ij,jk", [(2, 3), (3, 4)]), ("ij,kj->ki", [(2, 3), (4, 3)]), ("ji,jk->ki", [(3, 2), (3, 4)]),
    ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]), ("bij,bkj->kbi", [(2, 3, 4), (2, 5, 4)]), ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
    ("bqhd,bkhd->bhqk", [(2, 4, 3, 5), (2, 6, 3, 5)]), ("i,j->ij", [(3,), (4,)]), ("i,i->", [(3,), (3,)]), ("ij,ij->", [(2, 3), (2, 3)]),
    ("ij,ij->i", [(2, 3), (2, 3)]), ("ijk,jl->ikl", [(2, 3, 4), (3, 5)]), ("ijkl,kljm->mi", [(2, 3, 4, 5), (4, 5, 3, 6)]),
    ("ij,jk->k", [(2, 3), (3, 4)]), ("bi,bj->bij", [(2, 3), (2, 4)]), ("ij , jk -> ik", [(2, 3), (3, 4)]),
    ("i,j->ij", [(3,), (4,)]), ("i,j->ji", [(3,), (4,)]), ("i,j", [(1,), (4,)]), ("ij,ij->ij", [(2, 3), (2, 3)]),
    ("ij,j->ji", [(2, 3), (3,)]), ("ab,cb->acb", [(2, 3), (4, 3)]), ("ab,ab->ba", [(2, 3), (1, 3)]), (",ij->ji", [(), (2, 3)]),
    ("ij,jk->ik", [(1, 3), (3, 1)]), ("bij,bjk->bik", [(1, 3, 4), (1, 4, 5)]), ("bij,bjk->bik", [(2, 3, 4), (1, 4, 5)]),
    ("ij,jk->ik", [(2, 1), (1, 4)]), ("aB,Bc->ca", [(2, 3), (3, 4)]),
]


@DTYPES
@pytest.mark.parametrize("n", [1, 3, 64, 1000, 131_072, 131_073, 200_000, 262_145, 2_200_003])
def test_a_product_of_two_lines_is_their_dot(n, dtype):
    """However it is asked for, and as exact as NumPy's in double precision."""
    a, b = drawn(dtype, (n,), (n,))
    x, y = claygrad.tensor(a), claygrad.tensor(b)
    wanted = numpy.asarray(a.astype(float) @ b.astype(float))
    scale = float(numpy.abs(a.astype(float) * b).sum())
    found = [x.dot(y), x.inner(y), x @ y, x[None] @ y, x[None] @ y[:, None], x[None] @ y.clone()[None].mT,
             x[None, None] @ y[None, :, None], x.as_strided((1, n), (7, 1)) @ y[:, None]]
    for each in found:
        assert each.item() == found[0].item()
        assert abs(each.item() - wanted) <= LIMIT[dtype] / 100 * scale
    apart = claygrad.zeros(2 * n, dtype=x.dtype)
    apart[::2] = x
    near(apart[None, ::2] @ y[:, None], numpy.full((1, 1), found[0].item()), LIMIT[dtype])


@DTYPES
@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS, ids=lambda v: v if isinstance(v, str) else str(v))
def test_einsum(equation, shapes, dtype):
    arrays = drawn(dtype, *shapes)
    tensors = [claygrad.tensor(a) for a in arrays]
    recorded = claygrad.einsum(equation, *(t.clone().requires_grad_() for t in tensors))
    for chosen in zip(*(itertools.islice(itertools.cycle(forms(a)), 3) for a in arrays), strict=True):
        found = claygrad.einsum(equation, *chosen)
        near(found, recorded.detach().numpy(), LIMIT[dtype])
    found = claygrad.einsum(equation, tensors)
    near(found, recorded.detach().numpy(), LIMIT[dtype])
    strides = [[step for step, n in zip(x.stride(), x.shape, strict=True) if n > 1] for x in (found, recorded)]
    assert strides[0] == strides[1]


@pytest.mark.parametrize(("equation", "shapes", "words"), [
    ("ij,jk->ik", [(2, 3), (4, 5)], "einsum.*: subscript j has size 4 for operand 1 which does not broadcast"),
    ("ij,jk->iz", [(2, 3), (3, 5)], "einsum.*: output subscript z does not appear"),
    ("ij,jk->ikk", [(2, 3), (3, 5)], "einsum.*: output subscript k appears more than once"),
    ("ij,jk", [(2, 3), (3, 5, 2)], "einsum.*: the number of subscripts in the equation"),
    ("ij", [(2, 3), (3, 5)], "einsum.*: more operands were provided"),
    ("i$", [(2, 3)], "einsum.*: invalid subscript given at index 1"),
])
def test_einsum_refuses_as_always(equation, shapes, words):
    with pytest.raises(RuntimeError, match=words):
        claygrad.einsum(equation, *(claygrad.randn(s) for s in shapes))


@DTYPES
def test_contractions_by_numbers(dtype):
    for left, right, dims in [((2, 3), (3, 4), 1), ((2, 3), (2, 3), 2), ((2, 3, 4), (4, 5, 2), ([0, 2], [2, 0])), ((2,), (3,), 0),
                              ((2, 3, 4), (3, 4, 5), ([1, -1], [0, 1])), ((3,), (3,), 1), ((2, 3, 4), (3, 4, 2), ([2, 1, 0], [1, 0, 2])),
                              ((2, 1), (1, 4), 1), ((2, 3), (3, 4), ((1,), (0,)))]:
        a, b = drawn(dtype, left, right)
        wanted = claygrad.tensordot(claygrad.tensor(a).requires_grad_(), claygrad.tensor(b), dims).detach().numpy()
        for x, y in itertools.product(forms(a), forms(b)):
            found = claygrad.tensordot(x, y, dims)
            near(found, wanted, LIMIT[dtype])
            assert found.is_contiguous()
    for left, right in [((4,), (4,)), ((2, 4), (3, 4)), ((2, 3, 4), (4,)), ((4,), (2, 4)), ((2, 2, 4), (3, 5, 4))]:
        a, b = drawn(dtype, left, right)
        for x, y in itertools.product(forms(a), forms(b)):
            near(claygrad.inner(x, y), numpy.inner(a, b), LIMIT[dtype])


def definite(a: numpy.ndarray) -> numpy.ndarray:
    return a @ a.swapaxes(-2, -1) + 4 * numpy.eye(a.shape[-1], dtype=a.dtype)


FACTORS = {
    "cholesky_ex": lambda a, b: [({"upper": False}, definite(a)), ({"upper": True}, definite(a))],
    "lu_factor_ex": lambda a, b: [({}, a), ({}, b)],
    "qr": lambda a, b: [({}, a), ({}, b), ({"mode": "complete"}, b)],
    "svd": lambda a, b: [({}, a), ({"full_matrices": False}, b), ({"full_matrices": True}, b)],
    "eigh": lambda a, b: [({}, definite(a)), ({"UPLO": "U"}, definite(a))],
    "inv_ex": lambda a, b: [({}, a)],
    "solve_ex": lambda a, b: [({}, a, b), ({"left": False}, a, b.swapaxes(-2, -1))],
    "solve_triangular": lambda a, b: [({"upper": True}, a, b), ({"upper": False, "unitriangular": True}, a, b),
                                      ({"upper": True, "left": False}, a, b.swapaxes(-2, -1))],
    "cholesky_solve": lambda a, b: [({}, b, numpy.linalg.cholesky(definite(a)))],
    "cholesky_inverse": lambda a, b: [({}, numpy.linalg.cholesky(definite(a)))],
    "geqrf": lambda a, b: [({}, a), ({}, b), ({}, b.swapaxes(-2, -1))],
}


@DTYPES
@pytest.mark.parametrize("name", FACTORS)
@pytest.mark.parametrize("batch", [(), (3,), (2, 2), (1, 3)], ids=str)
def test_linear_algebra(name, dtype, batch):
    for n in (1, 2, 3, 5, 9, 20):
        rng = numpy.random.default_rng(n)
        a = rng.standard_normal((*batch, n, n)).astype(dtype) + 4 * n ** 0.5 * numpy.eye(n, dtype=dtype)
        b = rng.standard_normal((*batch, n, 2)).astype(dtype)
        for options, *arrays in FACTORS[name](a, b):
            wanted = SAID[name].fn(numpy, *arrays, **options)
            tensors = [forms(x)[k % len(forms(x))] for k, x in enumerate(arrays)]
            function = getattr(claygrad.linalg, name, None) or getattr(claygrad, name)
            for given in (tensors, [claygrad.tensor(numpy.ascontiguousarray(x)) for x in arrays]):
                found = function(*given, **options)
                pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
                for x, y in pairs:
                    signed = name in ("svd", "eigh")
                    near(x.abs() if signed else x, numpy.abs(y) if signed else y, 50 * n * LIMIT[dtype])
                    assert [s for s, k in zip(x.stride(), x.shape, strict=True) if k > 1] == [
                        s // y.itemsize for s, k in zip(y.strides, y.shape, strict=True) if k > 1]


@DTYPES
def test_systems_with_an_lu(dtype):
    for batch in ((), (3,)):
        a, b = drawn(dtype, (*batch, 5, 5), (*batch, 5, 2))
        a = a + 5 * numpy.eye(5, dtype=dtype)
        factors, pivots = claygrad.linalg.lu_factor(claygrad.tensor(a))
        for turned in (False, True):
            found = claygrad.linalg.lu_solve(factors, pivots, claygrad.tensor(b), adjoint=turned)
            near((claygrad.tensor(a).mT if turned else claygrad.tensor(a)) @ found, b, 50 * LIMIT[dtype])


@DTYPES
def test_reflections(dtype):
    for batch, (m, n), k in itertools.product([(), (2,)], [(5, 5), (6, 4), (4, 1)], [1, 3, 4]):
        if k > n:
            continue
        a, tau, c = drawn(dtype, (*batch, m, n), (*batch, k), (*batch, m, 3))
        for x in forms(a):
            wanted = SAID["householder_product"].fn(numpy, a, tau)
            near(claygrad.linalg.householder_product(x, claygrad.tensor(tau)), wanted, 100 * LIMIT[dtype])
        if k != min(m, n):
            continue
        for left, turned in itertools.product((True, False), repeat=2):
            other = c if left else c.swapaxes(-2, -1).copy()
            wanted = SAID["ormqr"].fn(numpy, a, tau, other, left, turned)
            for x, y in zip(forms(a), forms(other), strict=True):
                near(claygrad.ormqr(x, claygrad.tensor(tau), y, left, turned), wanted, 100 * LIMIT[dtype])


def test_matrices_without_an_answer_are_refused_as_always():
    zero = claygrad.zeros(3, 3)
    assert claygrad.linalg.cholesky_ex(zero - 1).info.item() == 1
    assert claygrad.linalg.lu_factor_ex(zero).info.item() == 1
    assert claygrad.linalg.inv_ex(zero).info.item() == 1
    with pytest.raises(RuntimeError, match="singular"):
        claygrad.linalg.solve(zero, claygrad.ones(3))
    with pytest.raises(RuntimeError, match="non-finite"):
        claygrad.linalg.svd(zero * float("nan"))


@DTYPES
def test_fourier_transforms_of_several_axes(dtype):
    a, = drawn(dtype, (3, 4, 5))
    for name, array in itertools.product(("fftn", "ifftn", "fft2", "ifft2", "rfftn", "rfft2"), (a, a + 1j * a[::-1])):
        if name[0] == "r" and numpy.iscomplexobj(array):
            continue
        several = [{}, {"norm": "ortho"}, {"norm": "forward"}, {"s": (3, 6)}, {"dim": (0, 2)}, {"s": (6, 3), "dim": (2, 0), "norm": "backward"},
                   {"s": (-1, 7), "dim": (-1, 0)}]
        for options in several:
            for x in forms(numpy.asarray(array)):
                found = getattr(claygrad.fft, name)(x, **options)
                wanted = getattr(claygrad.fft, name)(x.clone().requires_grad_(), **options)
                near(claygrad.view_as_real(found), claygrad.view_as_real(wanted.detach()).numpy(), 10 * LIMIT[dtype])
                assert found.dtype == wanted.dtype


@DTYPES
@pytest.mark.parametrize("batch", [(), (3,), (2, 2)], ids=str)
def test_symmetric_matrices_that_are_not_definite(dtype, batch):
    for n in (1, 2, 3, 4, 7, 20):
        rng = numpy.random.default_rng(n)
        a = rng.standard_normal((*batch, n, n)).astype(dtype)
        if n > 2:
            a[..., 0, 0] = a[..., 1, 1] = 0                      # blocks of two are needed
        both = numpy.tril(a) + numpy.tril(a, -1).swapaxes(-2, -1)
        b = rng.standard_normal((*batch, n, 3)).astype(dtype)
        LD, pivots, info = claygrad.linalg.ldl_factor_ex(claygrad.tensor(a))
        assert not info.any()
        assert LD.triu(1).abs().max().item() == 0
        assert LD.stride()[-2:] == (1, n)
        if n < 20:
            wanted = SAID["ldl_factor_ex"].fn(numpy, a)
            near(LD, wanted[0], 200 * LIMIT[dtype])
            assert numpy.array_equal(pivots.numpy(), wanted[1])
        for i in numpy.ndindex(batch):
            x = claygrad.linalg.ldl_solve(LD[i], pivots[i], claygrad.tensor(b[i]))
            near(claygrad.tensor(both[i]) @ x, b[i], 2000 * LIMIT[dtype])
            near(x, SAID["ldl_solve"].fn(numpy, LD[i].numpy(), pivots[i].numpy(), b[i]), 2000 * LIMIT[dtype])


def test_a_symmetric_matrix_without_an_answer():
    zero = claygrad.zeros(3, 3)
    assert claygrad.linalg.ldl_factor_ex(zero).info.item() == 1
    with pytest.raises(RuntimeError, match="zero"):
        claygrad.linalg.ldl_factor(zero)
    with pytest.raises(RuntimeError, match="zero"):
        claygrad.linalg.ldl_factor_ex(zero, check_errors=True)


STACKS = [((2, 3, 4), (2, 4, 5)), ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((2, 2, 3, 4), (2, 2, 4, 5)),
          ((1, 3, 4), (2, 4, 5)), ((2, 3, 4), (1, 4, 5)), ((2, 2, 3, 4), (4, 5)), ((2, 3, 4), (4,)), ((4,), (2, 4, 5)), ((4,), (4,)),
          ((3, 4), (4,)), ((2, 0, 4), (2, 4, 5)), ((2, 3, 0), (2, 0, 5)), ((2, 3, 1), (2, 1, 5)), ((2, 2, 3, 4), (2, 1, 4, 5))]


@DTYPES
@pytest.mark.parametrize("shapes", STACKS, ids=str)
def test_products_of_stacks(shapes, dtype):
    a, b = drawn(dtype, *shapes)
    wanted = numpy.matmul(a, b)
    for x, y in itertools.product(forms(a), forms(b)):
        found = x @ y
        near(found, wanted, LIMIT[dtype])
        assert found.is_contiguous()
        assert found._base is None
        u, v = x.clone().requires_grad_(), y.clone().requires_grad_()
        for left, right in ((u, v), (u, y), (x, v)):
            recorded = left @ right
            near(recorded, wanted, LIMIT[dtype])
        made = (u @ v)
        g = claygrad.randn(made.shape, dtype=made.dtype)
        of_u, of_v = claygrad.autograd.grad(made, (u, v), g)
        if a.ndim > 1 and b.ndim > 1 and made.numel():
            near(of_u, (g @ y.mT).sum_to_size(x.shape).numpy(), 10 * LIMIT[dtype])
            near(of_v, (x.mT @ g).sum_to_size(y.shape).numpy(), 10 * LIMIT[dtype])


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4), (2, 2, 3, 4), (0, 4), (2, 0, 4)], ids=str)
def test_affine_maps(shape):
    x, weight, bias = (claygrad.randn(s, dtype=claygrad.float64) for s in (shape, (5, 4), (5,)))
    for given in forms(x.numpy()) if x.numel() else [x]:
        for b in (bias, None):
            wanted = x.numpy() @ weight.numpy().T + (0 if b is None else b.numpy())
            near(claygrad.nn.functional.linear(given, weight, b), wanted, 1e-12)
            near(claygrad.nn.functional.linear(given.clone().requires_grad_(), weight, b), wanted, 1e-12)
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        claygrad.nn.functional.linear(claygrad.randn(2, 3, 3), weight, bias)
