"""Zero-size and zero-dimensional tensors, everywhere."""

from __future__ import annotations

import math

import pytest

from tests.support import close, leaf

EMPTY = [(0,), (0, 3), (3, 0), (2, 0, 3), (0, 0)]

POINTWISE = "exp log sin cos tanh sigmoid relu abs neg sqrt square floor round sign clone reciprocal erf".split()
INPLACE = "add_ mul_ sub_ div_".split()


@pytest.mark.parametrize("shape", EMPTY, ids=str)
@pytest.mark.parametrize("name", POINTWISE)
def test_pointwise_operations_on_nothing(lib, shape, name):
    x = lib.ones(shape, requires_grad=True)
    y = getattr(x, name)()
    assert y.shape == shape
    y.sum().backward()
    assert x.grad.shape == shape


@pytest.mark.parametrize("shape", EMPTY, ids=str)
def test_views_writes_and_sums_of_nothing(lib, shape):
    x = lib.ones(shape, requires_grad=True)
    y = x * 1
    for write in INPLACE:
        getattr(y, write)(2)
    y.fill_(3)
    y[...] = 4
    y.copy_(lib.zeros(shape))
    assert y.view(-1).shape == (0,)
    assert y.transpose(0, -1).shape == (*shape[-1:], *shape[1:-1], *shape[:1])[: len(shape)]
    assert y.unsqueeze(0).shape == (1, *shape)
    assert y.sum().item() == 0.0
    assert y.prod().item() == 1.0
    assert math.isnan(y.mean().item())
    assert lib.cat([y, y]).shape == (2 * shape[0], *shape[1:])
    assert y.tolist() == lib.zeros(shape).tolist()
    y.sum().backward()
    assert x.grad.shape == shape


def test_products_over_an_empty_inner_axis_are_zero(lib):
    a, b = lib.ones(2, 0, requires_grad=True), lib.ones(0, 3, requires_grad=True)
    y = a @ b
    assert close(y, [[0.0] * 3] * 2)
    y.sum().backward()
    assert (a.grad.shape, b.grad.shape) == ((2, 0), (0, 3))


def test_reductions_along_an_empty_axis(lib):
    x = lib.ones(2, 0, requires_grad=True)
    assert close(x.sum(1), [0.0, 0.0])
    assert close(x.prod(1), [1.0, 1.0])
    assert x.sum(0).shape == (0,)
    assert x.softmax(1).shape == (2, 0)
    assert x.cumsum(1).shape == (2, 0)
    assert x.max(0)[0].shape == (0,)
    with pytest.raises(IndexError):
        x.max(1)


def test_indexing_with_nothing(lib):
    x = leaf(lib, [1.0, 2.0, 3.0])
    for key in (slice(1, 1), [], lib.tensor([], dtype=lib.int64), lib.zeros(3, dtype=lib.bool)):
        y = x[key]
        assert y.shape == (0,)
        (y * 2).sum().backward()
    assert close(x.grad, [0.0, 0.0, 0.0])


def test_a_zero_dimensional_tensor_through_everything(lib):
    x = leaf(lib, 2.0)
    y = x * 1
    y.add_(1)
    y[...] = y * 2
    y[()] += 1
    assert (y.item(), y.shape, y.stride(), y.dim(), y.numel()) == (7.0, (), (), 0, 1)
    assert y.view(1).shape == (1,)
    assert y.unsqueeze(0).shape == (1,)
    assert y.expand(3).tolist() == [7.0] * 3
    assert y.sum(0).item() == y.max(0)[0].item() == y.softmax(0).item() * 7 == 7.0
    assert y.cumsum(0).shape == ()
    assert y.sort()[0].item() == 7.0
    assert lib.stack([y, y]).tolist() == [7.0, 7.0]
    assert y[None].shape == (1,)
    assert y[lib.tensor(True)].tolist() == [7.0]
    y.backward()
    assert x.grad.item() == 2.0
    assert x.grad.shape == ()


def test_zero_dimensional_masks_and_values(lib):
    x = lib.tensor(1.0)
    assert lib.where(lib.tensor(True), x, lib.tensor(2.0)).item() == 1.0
    assert x.masked_fill(lib.tensor(True), 5.0).item() == 5.0
    assert lib.tensor([1.0, 2.0])[lib.tensor(1)].item() == 2.0
    assert lib.tensor([1.0, 2.0])[lib.tensor(1)].shape == ()


@pytest.mark.parametrize("dtype", "uint8 int8 int16 int32 int64 float16 bfloat16 complex64 complex128 bool".split())
def test_every_dtype_of_nothing_and_of_one(lib, dtype):
    kind = getattr(lib, dtype)
    for t in (lib.zeros(0, 2, dtype=kind), lib.ones((), dtype=kind)):
        assert (t == t).all().item() is True
        assert t.clone().dtype is kind
        assert t.sum().dtype is (kind if kind.is_floating_point or kind.is_complex else lib.int64)
        assert t.to(lib.float64).shape == t.shape
        assert t.contiguous().tolist() == t.tolist()


def test_a_stride_beyond_all_memory_that_no_element_uses(lib):
    x = lib.ones(2, 2).t().new_empty_strided((0, 3), (1, 2 ** 62))
    assert x.numpy().shape == (0, 3)
    assert x.tolist() == []


def test_a_wrong_number_of_heads_is_said_at_once(lib):
    with pytest.raises((AssertionError, ValueError), match="embed_dim must be divisible by num_heads"):
        lib.nn.MultiheadAttention(2 ** 60 + 1, 2)


@pytest.mark.parametrize(("mean", "low", "high"), [(2.0 ** 32, 0.0, 2.0), (-1e30, 0.0, 2.0), (1e6, -1e3, 1e3)])
def test_a_mean_far_outside_the_bounds_ends(lib, mean, low, high):
    drawn = lib.nn.init.trunc_normal_(lib.empty(100), mean, 1.0, low, high)
    near = high if mean > high else low
    assert low <= drawn.min().item() <= drawn.max().item() <= high
    assert abs(drawn - near).max().item() <= 1e-2 * (high - low)


def test_an_override_that_answers_with_a_list_of_itself(lib):
    class Answer(lib.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            endless = [1]
            endless.append(endless)
            return super().__torch_function__(lambda: endless, types)

    with pytest.raises(RecursionError):
        lib.ones(2).as_subclass(Answer) + 1


def test_more_points_than_there_are(lib):
    with pytest.raises(ValueError, match="At most"):
        lib.quasirandom.SobolEngine(2).draw_base2(2 ** 63)
