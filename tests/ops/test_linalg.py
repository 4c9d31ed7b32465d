"""Linear algebra by hand: refusals with their texts, singular matrices, and LAPACK's routines against the plain forms."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

import claygrad
from claygrad.ops import _lapack

linalg = claygrad.linalg
DTYPES = [claygrad.float32, claygrad.float64, claygrad.complex64, claygrad.complex128]


def drawn(*shape: int, dtype=claygrad.float64):
    claygrad.manual_seed(3)
    return claygrad.randn(*shape, dtype=dtype)


# Refusals

SINGULAR = {
    "inv": (linalg.inv, """linalg.inv: {}The diagonal element 2 is zero, the inversion could not be completed because
        the input matrix is singular."""),
    "solve": (lambda a: linalg.solve(a, a), """torch.linalg.solve: {}The solver failed because the input matrix is
        singular."""),
    "lu_factor": (linalg.lu_factor, """torch.linalg.lu_factor: {}U[2,2] is zero and using it on lu_solve would result in
        a division by zero. If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or
        linalg.lu_factor_ex(A, pivot)"""),
    "cholesky": (lambda a: linalg.cholesky(a - 1), """linalg.cholesky: {}The factorization could not be completed because
        the input is not positive-definite (the leading minor of order 1 is not positive-definite)."""),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_a_singular_matrix_is_named_with_its_place_in_the_batch(name: str):
    function, words = SINGULAR[name]
    text = " ".join(words.split())
    singular = claygrad.ones(2, 2)
    with pytest.raises(RuntimeError) as caught:
        function(singular)
    assert str(caught.value).splitlines()[0] == text.format("")
    with pytest.raises(RuntimeError) as caught:
        function(claygrad.stack([claygrad.eye(2) * 3, singular]))
    assert str(caught.value).splitlines()[0] == text.format("(Batch element 1): ")


def test_the_error_of_linear_algebra_is_a_runtime_error_and_can_be_pickled():
    with pytest.raises(linalg.LinAlgError) as caught:
        linalg.inv(claygrad.zeros(2, 2))
    assert isinstance(caught.value, RuntimeError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_what_went_wrong_is_told_without_an_error_where_asked_for():
    a = claygrad.stack([claygrad.eye(2), claygrad.ones(2, 2)])
    assert linalg.inv_ex(a).info.tolist() == [0, 2]
    assert linalg.solve_ex(a, a).info.tolist() == [0, 2]
    assert linalg.lu_factor_ex(a).info.tolist() == [0, 2]
    assert linalg.cholesky_ex(claygrad.stack([claygrad.eye(3), -claygrad.eye(3)])).info.tolist() == [0, 1]


@pytest.mark.parametrize("function", [linalg.svd, linalg.svdvals])
def test_a_matrix_that_is_not_finite_has_no_singular_values(function):
    with pytest.raises(linalg.LinAlgError, match="failed to converge because the input matrix contained non-finite"):
        function(claygrad.tensor([[1.0, float("nan")], [0.0, 1.0]]))


def test_nan_stays_with_its_matrix_among_eigenvalues():
    a = claygrad.stack([claygrad.eye(2), claygrad.full((2, 2), float("nan"))])
    values = linalg.eigvalsh(a)
    assert values[0].tolist() == [1.0, 1.0]
    assert values[1].isnan().all()


def test_a_loss_that_depends_on_the_phase_of_a_vector_is_refused():
    a = drawn(3, 3, dtype=claygrad.complex128)
    hermitian = (a + a.mH).requires_grad_()
    with pytest.raises(RuntimeError, match="linalg_eigh_backward: The eigenvectors in the complex case are specified up"):
        (linalg.eigh(hermitian).eigenvectors * 1j).real.sum().backward()
    with pytest.raises(RuntimeError, match="svd_backward: The singular vectors in the complex case are specified up to"):
        linalg.svd(a.requires_grad_()).U.imag.sum().backward()


@pytest.mark.parametrize(("shape", "mode", "text"), [
    ((3, 3), "r", "The derivative of linalg.qr depends on Q, which is not computed when mode='r'."),
    ((4, 3), "complete", "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."),
])
def test_qr_without_a_derivative_says_so(shape: tuple, mode: str, text: str):
    with pytest.raises(RuntimeError) as caught:
        linalg.qr(drawn(*shape).requires_grad_(), mode).R.sum().backward()
    assert str(caught.value).startswith(text)


# Singular matrices have derivatives too

def test_the_determinant_of_singular_matrices_has_its_derivatives():
    a = drawn(3, 3, 3)
    a[1, 2] = a[1, 0] + a[1, 1]                  # rank 2
    a[2, 1:] = a[2, 0]                           # rank 1
    x = a.clone().requires_grad_()
    assert claygrad.autograd.gradcheck(linalg.det, (x[:2].detach().requires_grad_(),))
    slope = claygrad.autograd.grad(linalg.det(x).sum(), x)[0]
    assert slope[2].abs().max() < 1e-12          # all minors vanish
    minor = a[1, 1, 1] * a[1, 2, 2] - a[1, 1, 2] * a[1, 2, 1]
    assert claygrad.allclose(slope[1, 0, 0], minor)


def test_the_gradient_of_logdet_of_a_singular_matrix_is_infinite_and_no_error():
    x = claygrad.ones(2, 2, dtype=claygrad.float64, requires_grad=True)
    linalg.slogdet(x).logabsdet.backward()
    assert not x.grad.isfinite().any()


# LAPACK's routines against the plain forms, which serve where no library is found

@pytest.fixture
def without_lapack(monkeypatch):
    monkeypatch.setattr(_lapack, "routine", lambda name, dtype: None)


WORK = {
    "lu": lambda a, b: linalg.lu(a),
    "lu of a wide matrix": lambda a, b: linalg.lu(b.mT),
    "lu_solve": lambda a, b: linalg.lu_solve(*linalg.lu_factor(a), b),
    "lu_solve, adjoint": lambda a, b: linalg.lu_solve(*linalg.lu_factor(a), b, adjoint=True),
    "triangular": lambda a, b: linalg.solve_triangular(a, b, upper=False),
    "triangular, transposed": lambda a, b: linalg.solve_triangular(a.mT, b, upper=True),
    "triangular, from the right": lambda a, b: linalg.solve_triangular(a, b.mT, upper=True, left=False),
    "unitriangular": lambda a, b: linalg.solve_triangular(a / 50, b, upper=True, unitriangular=True),
    "reflections": lambda a, b: claygrad.ormqr(*claygrad.geqrf(b), b, transpose=True),
    "reflections from the right": lambda a, b: claygrad.ormqr(*claygrad.geqrf(b), b.mH, left=False),
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("batch", [(), (2,), (2, 10)], ids=str)
@pytest.mark.parametrize("name", WORK)
def test_the_plain_form_gives_what_lapack_gives(name: str, batch: tuple, dtype, monkeypatch):
    a, b = drawn(*batch, 40, 40, dtype=dtype), drawn(*batch, 40, 3, dtype=dtype)
    a = a + 40 * claygrad.eye(40, dtype=dtype)
    first = WORK[name](a, b)
    monkeypatch.setattr(_lapack, "routine", lambda name, dtype: None)
    second = WORK[name](a, b)
    tolerance = 1e-4 if dtype.itemsize <= 8 and dtype is not claygrad.float64 else 1e-10
    for x, y in zip(first, second) if isinstance(first, tuple) else [(first, second)]:
        assert claygrad.allclose(x, y, atol=tolerance, rtol=tolerance)


def test_a_zero_on_the_diagonal_of_a_triangle_gives_infinities():
    a = claygrad.tensor([[2.0, 1.0], [0.0, 0.0]])
    assert linalg.solve_triangular(a, claygrad.ones(2, 1), upper=True).isinf().any()


def test_what_only_lapack_computes_says_what_is_missing(without_lapack):
    with pytest.raises((ImportError, RuntimeError), match=r"linalg\.ldl_factor"):
        linalg.ldl_factor(claygrad.eye(3, dtype=claygrad.complex64))


def test_linear_algebra_does_not_load_scipy():
    code = ("import sys, claygrad as c; a = c.eye(3) * 2; c.linalg.lu(a); c.linalg.ldl_factor(a); c.linalg.qr(a); "
            "c.linalg.solve_triangular(a, a, upper=True); c.linalg.lstsq(a, a); c.linalg.eig(a); "
            "sys.exit('scipy' in sys.modules)")
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
