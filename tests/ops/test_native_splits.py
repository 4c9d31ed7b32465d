"""What the core does itself in the common case, against the declarations: products in backward, composites, shapes."""

from __future__ import annotations

import pytest

import claygrad

DTYPES = [claygrad.float32, claygrad.float64, claygrad.complex128]
SIZES = [(1, 1, 1), (3, 4, 2), (1, 5, 3), (5, 1, 3), (4, 3, 1), (17, 33, 9), (0, 3, 2), (2, 0, 3)]
LAYOUTS = {
    "rows": lambda t: t,
    "columns": lambda t: t.t().contiguous().t(),
    "gaps": lambda t: claygrad.cat([t, t], 1)[:, : t.shape[1]],
    "expanded": lambda t: t[:1].expand(t.shape) if t.shape[0] else t,
}


def _factors(size, layout, dtype):
    claygrad.manual_seed(sum(size))
    m, k, n = size
    made = [claygrad.randn(shape, dtype=dtype) for shape in ((n,), (m, k), (k, n), (m, n))]
    bias, left, right, g = (LAYOUTS[layout](t) if t.ndim == 2 else t for t in made)
    return [t.detach().requires_grad_() for t in (bias, left, right)], g


PRODUCTS = {
    "mm": lambda b, x, w: x.mm(w),
    "matmul": lambda b, x, w: x @ w,
    "addmm": lambda b, x, w: b.addmm(x, w),
    "scaled": lambda b, x, w: b.addmm(x, w, beta=2, alpha=3),
    "linear": lambda b, x, w: claygrad.nn.functional.linear(x, w.t(), b),
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_in_backward_are_what_the_rules_say(name, size, layout, dtype):
    inputs, g = _factors(size, layout, dtype)
    # A run that records itself takes the rules of the declaration.
    native = claygrad.autograd.grad(PRODUCTS[name](*inputs), inputs, g, allow_unused=True)
    declared = claygrad.autograd.grad(PRODUCTS[name](*inputs), inputs, g, allow_unused=True, create_graph=True)
    for one, other in zip(native, declared, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            assert (one.shape, one.dtype, one.requires_grad) == (other.shape, other.dtype, False)
            assert one.stride() == other.stride() or one.numel() <= max(one.shape, default=1)
            assert claygrad.allclose(one, other.detach(), rtol=1e-5, atol=1e-6)


def test_the_gradient_of_a_weight_lies_as_the_weight():
    layer = claygrad.nn.Linear(3, 5)
    layer(claygrad.randn(4, 3)).sum().backward()
    assert layer.weight.grad.stride() == (3, 1)
    (of_view,) = claygrad.autograd.grad(claygrad.randn(4, 3) @ layer.weight.t(), layer.weight, claygrad.randn(4, 5))
    assert of_view.is_contiguous()


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_the_softmax_of_a_dtype_is_that_of_the_cast(name, dim):
    x = claygrad.randn(3, 4)
    short = getattr(claygrad, name)(x.double(), dim)
    assert claygrad.equal(short, getattr(claygrad, name)(x, dim, dtype=claygrad.float64))
    assert getattr(claygrad, name)(x, dim).dtype is claygrad.float32


def test_a_linear_map_under_autocast_is_cast():
    x, w, b = claygrad.randn(3, 4), claygrad.randn(2, 4), claygrad.randn(2)
    with claygrad.autocast("cpu", dtype=claygrad.bfloat16):
        assert claygrad.nn.functional.linear(x, w, b).dtype is claygrad.bfloat16
        assert (x @ w.t()).dtype is claygrad.bfloat16
    assert claygrad.nn.functional.linear(x, w, b).dtype is claygrad.float32


def test_parts_of_a_size():
    size = claygrad.zeros(2, 3, 4).shape
    assert [size[0], size[-1], size[True]] == [2, 4, 3]
    assert type(size[1:]) is claygrad.Size
    assert size[1:] == (3, 4)
    assert size.__getitem__(1) == 3
    for wrong, kind in ((3, IndexError), (-4, IndexError), (2**80, IndexError), ("a", TypeError), (1.0, TypeError)):
        with pytest.raises(kind):
            size[wrong]
    assert type(size + (1,)) is type((1,) + size) is type(size * 2) is type(2 * size) is claygrad.Size
