"""lobpcg against the full decomposition, in values and gradients. (It iterates until it is near enough: no samples.)"""

from __future__ import annotations

import pytest

import claygrad


def symmetric(n: int, *batch: int, seed: int = 0):
    claygrad.manual_seed(seed)
    a = claygrad.randn(*batch, n, n, dtype=claygrad.float64)
    return (a + a.mT) / 2


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("method", ["ortho", "basic"])
def test_the_values_and_vectors_are_those_of_eigh(largest: bool, method: str):
    a = symmetric(20)
    values, vectors = claygrad.lobpcg(a, 3, largest=largest, method=method)
    every, columns = claygrad.linalg.eigh(a)
    want = every.flip(0)[:3] if largest else every[:3]
    assert claygrad.allclose(values, want, atol=1e-6)
    best = columns.flip(1)[:, :3] if largest else columns[:, :3]
    assert claygrad.allclose((best.mT @ vectors).abs(), claygrad.eye(3, dtype=a.dtype), atol=1e-6)


def test_a_batch_is_solved_matrix_by_matrix():
    a = symmetric(12, 2, 2)
    values, vectors = claygrad.lobpcg(a, 2)
    assert vectors.shape == (2, 2, 12, 2)
    assert claygrad.allclose(values, claygrad.linalg.eigvalsh(a).flip(-1)[..., :2], atol=1e-6)


def test_the_general_problem_is_solved_with_respect_to_b():
    a, b = symmetric(12), symmetric(12, seed=1)
    b = b @ b + claygrad.eye(12, dtype=b.dtype)
    values, vectors = claygrad.lobpcg(a, 2, B=b, tol=1e-9)
    assert claygrad.allclose(a @ vectors, (b @ vectors) * values, atol=1e-6)
    assert claygrad.allclose(vectors.mT @ b @ vectors, claygrad.eye(2, dtype=a.dtype), atol=1e-8)


def test_the_gradient_is_that_of_eigh():
    a = symmetric(12).requires_grad_()
    values, vectors = claygrad.lobpcg(a, 2, tol=1e-12)
    every, columns = claygrad.linalg.eigh(a)
    w = claygrad.arange(24, dtype=a.dtype).view(12, 2)
    mine = claygrad.autograd.grad((values * 2).sum() + (vectors.abs() * w).sum(), a)[0]
    best, chosen = every.flip(0)[:2], columns.flip(1)[:, :2]
    full = claygrad.autograd.grad((best * 2).sum() + (chosen.abs() * w).sum(), a)[0]
    assert claygrad.allclose(mine, full, rtol=1e-5, atol=1e-6)


def test_the_second_derivative_agrees_with_differences():
    a = symmetric(6).requires_grad_()
    start = claygrad.linalg.eigh(a.detach())[1][:, -2:].clone()

    def function(x):
        values, vectors = claygrad.lobpcg(x, 2, X=start, tol=1e-14, niter=50)
        return values, vectors.abs()

    assert claygrad.autograd.gradcheck(function, (a,), atol=1e-4)
    assert claygrad.autograd.gradgradcheck(function, (a,), atol=1e-3)


def test_a_tracker_sees_every_step_and_may_stop():
    seen = []

    def tracker(run):
        seen.append((run.ivars["istep"], tuple(run.X.shape)))
        run.bvars["force_stop"] = len(seen) == 3

    claygrad.lobpcg(symmetric(30), 2, tracker=tracker, tol=1e-15)
    assert seen == [(1, (30, 2)), (2, (30, 2)), (3, (30, 2))]


def test_no_more_steps_are_taken_than_allowed():
    steps = []
    claygrad.lobpcg(symmetric(30), 2, niter=4, tol=1e-15, tracker=lambda run: steps.append(run.ivars["istep"]))
    assert steps == [1, 2, 3, 4]


def test_an_approximate_inverse_is_used():
    claygrad.manual_seed(0)
    a = claygrad.arange(1, 61, dtype=claygrad.float64).diag() ** 2
    counts = []
    for preconditioner in (None, a.inverse()):
        steps = []
        start = claygrad.ones(60, 1, dtype=a.dtype)
        claygrad.lobpcg(a, 1, X=start, iK=preconditioner, largest=False, tracker=steps.append)
        counts.append(len(steps))
    assert counts[1] < counts[0]


def test_refusals():
    with pytest.raises(ValueError, match="does not support backward with B != I yet"):
        claygrad.lobpcg(symmetric(9).requires_grad_(), 1, B=claygrad.eye(9, dtype=claygrad.float64))[0].sum().backward()
    with pytest.raises(ValueError, match=r"LOBPCG algorithm is not applicable when the number of A rows \(=3\)"):
        claygrad.lobpcg(symmetric(3), 2)
    with pytest.raises(AssertionError, match="A must be square, got shape"):
        claygrad.lobpcg(claygrad.ones(3, 4))
    with pytest.raises(NotImplementedError, match="ortho_iparams"):
        claygrad.lobpcg(symmetric(9), ortho_iparams={"i_max": 1})
