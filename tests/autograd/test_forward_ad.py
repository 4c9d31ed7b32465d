"""Forward mode: tangents through operations, views, writes, custom Functions and backward."""
from __future__ import annotations

import pytest

import claygrad as torch
from claygrad.autograd import forward_ad as fw


def tangent(x):
    return fw.unpack_dual(x).tangent


def test_levels():
    assert fw._current_level == -1
    with fw.dual_level() as level:
        assert level == fw._current_level == 0
        with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported at the moment"), fw.dual_level():
            pass
        x = fw.make_dual(torch.ones(2), torch.ones(2))
        with pytest.raises(RuntimeError, match="already has a forward gradient at the same level 0"):
            fw.make_dual(x, torch.ones(2))
    assert fw._current_level == -1
    assert fw.unpack_dual(x) == (x, None)
    with fw.dual_level():
        assert tangent(x) is None                      # of another level
    with pytest.raises(RuntimeError, match="no level exists"):
        fw.make_dual(torch.ones(2), torch.ones(2))
    with pytest.raises(RuntimeError, match="no level exists"):
        fw.exit_dual_level()


def test_refusals_of_make_dual():
    with fw.dual_level():
        with pytest.raises(RuntimeError, match="different size than that of the original Tensor"):
            fw.make_dual(torch.ones(2), torch.ones(3))
        with pytest.raises(ValueError, match="Expected primal to be floating point or complex"):
            fw.make_dual(torch.ones(2, dtype=torch.int64), torch.ones(2))
        with pytest.raises(ValueError, match="Expected tangent to be floating point or complex"):
            fw.make_dual(torch.ones(2), torch.ones(2, dtype=torch.int64))
        x = fw.make_dual(torch.ones(2), torch.ones(2))
        with pytest.raises(RuntimeError, match="itself has a forward gradient"):
            fw.make_dual(torch.ones(2), x)


def test_views_share_memory_with_the_tangent():
    with fw.dual_level():
        t = torch.arange(6.0).view(2, 3)
        x = fw.make_dual(torch.ones(2, 3), t)
        assert tangent(x) is t
        assert tangent(x[1]).equal(torch.tensor([3.0, 4.0, 5.0]))
        assert tangent(x[1]).data_ptr() == t[1].data_ptr()
        assert tangent(x.t()[1:, 0]).equal(torch.tensor([1.0, 2.0]))


@pytest.mark.parametrize("use", [
    lambda p: p, lambda p: p * 2, lambda p: p[0], lambda p: p[0] + 1, lambda p: p.t().sum(), lambda p: p.unbind()[1] * 3,
    lambda p: p.view(-1)[1:], lambda p: p.clone(), lambda p: p.detach() * 2, lambda p: fw.unpack_dual(p).primal * 2])
def test_an_unpacked_value_and_its_views_have_no_tangent(use):
    with fw.dual_level():
        dual = fw.make_dual(torch.ones(2, 2), torch.full((2, 2), 2.0)).exp()
        primal, _ = fw.unpack_dual(dual)
        assert primal.data_ptr() == dual.data_ptr()
        assert tangent(use(primal)) is None
        assert tangent(dual) is not None
        assert tangent(dual.sum() * use(primal)) is not None


def test_writes_to_views_reach_the_tangent_of_the_base():
    with fw.dual_level():
        x = fw.make_dual(torch.tensor([1.0, 2.0, 3.0]), torch.ones(3))
        a = x.clone()
        a[1:].mul_(x[:2])
        assert tangent(a).equal(torch.tensor([1.0, 3.0, 5.0]))
        b = torch.zeros(3)
        first = b[:1]                                  # a view of a base that gets its tangent later
        b[1:] = x[:2]
        assert tangent(b).equal(torch.tensor([0.0, 1.0, 1.0]))
        assert tangent(first).equal(torch.zeros(1))
        a.zero_()
        assert tangent(a).equal(torch.zeros(3))
        a.uniform_()
        assert tangent(a).equal(torch.zeros(3))


def test_writes_that_read_what_they_write():
    with fw.dual_level():
        x = fw.make_dual(torch.tensor([2.0, 3.0]), torch.ones(2))
        y = x.clone().pow_(3).mul_(x)
        assert torch.allclose(tangent(y), torch.tensor([4 * 8.0, 4 * 27.0]))


def test_without_grad_mode_and_after_detach():
    with fw.dual_level():
        x = fw.make_dual(torch.ones(2, requires_grad=True), torch.ones(2))
        with torch.no_grad():
            y = x * 3
        assert tangent(y).equal(torch.full((2,), 3.0))
        assert not y.requires_grad
        assert not tangent(y).requires_grad
        assert tangent(x.detach() * 2) is None
        z = x.clone()
        z.detach_()
        assert tangent(z) is None
        with fw._set_fwd_grad_enabled(False):
            assert tangent(x) is None
            assert tangent(x * 2) is None
        assert tangent(x * 2) is not None


def test_tangents_can_be_differentiated():
    foo, bar = torch.rand(3, dtype=torch.float64, requires_grad=True), torch.rand(3, dtype=torch.float64, requires_grad=True)
    with fw.dual_level():
        x = fw.make_dual(foo, bar)
        _value, t = fw.unpack_dual(x * x * foo.sum())
        by_foo, by_bar = torch.autograd.grad(t.sum(), (foo, bar), retain_graph=True)
    expected = lambda a, b: (2 * a * b * foo.sum().detach()).sum() + 0 * a.sum()
    a, b = foo.detach().requires_grad_(), bar.detach().requires_grad_()
    s = foo.detach().requires_grad_()
    total = (2 * a * b * s.sum()).sum()
    by_a, by_s, by_b = torch.autograd.grad(total, (a, s, b))
    assert torch.allclose(by_foo, by_a + by_s)
    assert torch.allclose(by_bar, by_b)
    assert torch.allclose(expected(a, b), total)


def test_backward_inside_a_level_has_tangents():
    """Saved values keep their tangents: reverse mode inside forward mode is a column of the Hessian."""
    x = torch.rand(3, dtype=torch.float64)
    w = torch.rand(3, 3, dtype=torch.float64)
    f = lambda x: ((w @ x).tanh().exp() * x).sum()
    with fw.dual_level():
        d = fw.make_dual(x, torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64)).requires_grad_()
        g, = torch.autograd.grad(f(d), d)
        column = tangent(g)
    assert torch.allclose(column, torch.autograd.functional.hessian(f, x)[:, 1])


def test_out_is_refused():
    with fw.dual_level():
        x = fw.make_dual(torch.ones(2), torch.ones(2))
        for out in (lambda: torch.add(x, 1, out=torch.zeros(2)), lambda: torch.add(torch.ones(2), 1, out=x)):
            with pytest.raises(NotImplementedError, match=r"Trying to use forward AD with add_out .* out= function"):
                out()


def test_what_has_no_derivative_says_so():
    with fw.dual_level():
        x = fw.make_dual(torch.ones(2), torch.ones(2))
        with pytest.raises(NotImplementedError, match="Trying to use forward AD with igamma that does not support it"):
            torch.igamma(x, x)
        assert tangent((x > 0).float()) is None


def test_a_tangent_that_would_be_lost_is_refused():
    with fw.dual_level():
        dual = lambda *shape: fw.make_dual(torch.rand(*shape), torch.rand(*shape))
        norm = torch.nn.functional.batch_norm
        with pytest.raises(RuntimeError, match="batch_norm is not differentiable wrt running_mean and running_var"):
            norm(dual(3, 2), dual(2), torch.ones(2))
        assert tangent(norm(torch.rand(3, 2), dual(2), torch.ones(2))) is None
        assert tangent(norm(dual(3, 2), torch.zeros(2), torch.ones(2))) is not None


def test_print():
    with fw.dual_level():
        x = fw.make_dual(torch.tensor([1.0]), torch.tensor([2.0]))
        assert repr(x) == "tensor([1.], tangent=tensor([2.]))"
        assert repr(fw.unpack_dual(x).primal) == "tensor([1.])"


def test_gradcheck_finds_a_wrong_tangent():
    class Double(torch.autograd.Function):
        factor = 2

        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

        @staticmethod
        def jvp(ctx, t):
            return t * Double.factor

    for dtype in (torch.float64, torch.complex128):
        x = torch.rand(3, dtype=dtype, requires_grad=True)
        for fast in (False, True):
            Double.factor = 2
            assert torch.autograd.gradcheck(Double.apply, x, check_forward_ad=True, fast_mode=fast)
            Double.factor = 3
            with pytest.raises(RuntimeError, match="Jacobian computed with forward mode mismatch for output 0 with respect to input 0"):
                torch.autograd.gradcheck(Double.apply, x, check_forward_ad=True, fast_mode=fast)
    with pytest.raises(NotImplementedError, match="check_batched_forward_grad=True is not supported"):
        torch.autograd.gradcheck(Double.apply, x, check_forward_ad=True, check_batched_forward_grad=True)


def test_custom_functions():
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, n):
            ctx.save_for_forward(x, y)
            ctx.n = n
            return x * y * n

        @staticmethod
        def jvp(ctx, x_t, y_t, n_t):
            x, y = ctx.saved_tensors
            assert n_t is None
            return (x_t * y + x * y_t) * ctx.n

    class Plain(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with fw.dual_level():
        x = fw.make_dual(torch.tensor(3.0), torch.tensor(1.0))
        assert tangent(Scaled.apply(x, torch.tensor(5.0), 2)).item() == 10
        assert tangent(Scaled.apply(x, x, 2)).item() == 12
        with pytest.raises(NotImplementedError, match="You must implement the jvp function"):
            Plain.apply(x)


@pytest.mark.parametrize("strategy", ["forward-mode", "reverse-mode"])
def test_functional_strategies(strategy):
    f = lambda x, y: (x.exp() * y.sum(), (x * y).sum())
    x, y = torch.rand(2, dtype=torch.float64), torch.rand(2, dtype=torch.float64)
    found = torch.autograd.functional.jacobian(f, (x, y), vectorize=True, strategy=strategy)
    expected = torch.autograd.functional.jacobian(f, (x, y))
    for row, want in zip(found, expected, strict=True):
        assert all(torch.allclose(a, b) for a, b in zip(row, want, strict=True))
    g = lambda x: (x**3).sum()
    assert torch.allclose(torch.autograd.functional.hessian(g, x, vectorize=True, outer_jacobian_strategy=strategy), torch.diag(6 * x))


def test_forward_jacobian_refusals():
    with pytest.raises(NotImplementedError, match="only implemented for `vectorize=True`"):
        torch.autograd.functional.jacobian(torch.exp, torch.ones(2), strategy="forward-mode")
