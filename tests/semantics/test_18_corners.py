"""Corners that no section names: what torch makes of absent gradients, overlapping memory, empty axes and odd numbers."""

from __future__ import annotations

import math

import pytest

from tests.support import backward_name, close, leaf, raises

PARTLY = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. "
    "Please clone() the tensor before performing the operation."
)
REPLACED = "can't replace a None gradient with a non-None value"


def swallow(lib):
    class Swallow(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return None

    return Swallow.apply


# --- gradients that do not come -------------------------------------------------------------------------------------


def test_a_hook_hears_none_where_no_gradient_comes(lib):
    x, seen = leaf(lib, [3.0, 1.0]), []
    a, b = (x * 1).unbind(0)
    a.register_hook(seen.append)
    b.backward()
    assert seen == [None]


def test_hooks_of_a_leaf_hear_none_too_and_it_gets_no_gradient(lib):
    x, seen = leaf(lib, [3.0, 1.0]), []
    x.register_hook(lambda g: seen.append(("before", g)))
    x.register_post_accumulate_grad_hook(lambda t: seen.append(("after", t.grad)))
    swallow(lib)(x).sum().backward()
    assert seen == [("before", None), ("after", None)]
    assert x.grad is None


def test_a_hook_cannot_make_a_gradient_out_of_none(lib):
    x = leaf(lib, [3.0, 1.0])
    y = x * 1
    y.register_hook(lambda g: lib.ones(2))
    with raises(lib, RuntimeError, REPLACED):
        swallow(lib)(y).sum().backward()


def test_node_hooks_see_which_gradients_came(lib):
    x, seen = leaf(lib, [3.0, 1.0]), []
    a, b = (x * 1).unbind(0)
    a.grad_fn.register_prehook(lambda grads: seen.append([g is None for g in grads]))
    a.grad_fn.register_hook(lambda inputs, grads: seen.append([g is None for g in grads]))
    b.backward()
    assert seen == [[True, False], [True, False]]


def test_grad_gives_none_for_an_output_that_no_gradient_reached(lib):
    x, seen = leaf(lib, [3.0, 1.0]), []
    a, b = (x * 1).unbind(0)
    a.register_hook(seen.append)
    none, both = lib.autograd.grad(b, [a, x], allow_unused=True)
    assert none is None
    assert close(both, [0.0, 1.0])
    assert seen == [None]


def test_a_node_that_no_gradient_reached_is_freed_all_the_same(lib):
    x = leaf(lib, [3.0, 1.0])
    y = x * x
    swallow(lib)(y).sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.sum().backward()


# --- memory that is met twice ---------------------------------------------------------------------------------------


def test_a_single_element_is_filled_in_wherever_it_lies(lib):
    a = lib.arange(6.0).reshape(2, 3)
    a[:] = a[1, 2]
    assert a.tolist() == [[5.0] * 3] * 2
    a[0, 0].unsqueeze(0)[:] = a[0, 0]


def test_a_tensor_is_not_put_into_itself_by_index(lib):
    column = lib.arange(6.0).reshape(2, 3)[:, :1]
    index = lib.tensor([0, 1])
    with raises(lib, RuntimeError, PARTLY):
        column[index] = column
    with raises(lib, RuntimeError, PARTLY):
        column.index_put_((index,), column, accumulate=True)
    column[column >= 0] = column[1]


def test_overlap_is_noticed_before_sizes(lib):
    a = lib.arange(6.0)
    with raises(lib, RuntimeError, PARTLY):
        a[1:].add_(a)


def test_a_copy_onto_the_same_elements_moves_nothing(lib):
    wide = lib.tensor(1.0).expand(2)
    wide.copy_(wide.detach())
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        wide.copy_(lib.tensor(1.0).expand(2))


def test_a_view_that_was_given_other_memory_stands_for_its_geometry_in_the_base(lib):
    x = leaf(lib, [[0.1, 0.2], [0.3, 0.4]])
    y = x * 1
    v = y[:, 0]
    v.data = lib.tensor([1.0, 2.0])
    v.tanh_()
    (g,) = lib.autograd.grad(v.sum(), x, create_graph=True)
    (h,) = lib.autograd.grad(g.sum(), x)
    first = [1 - math.tanh(a) ** 2 for a in (1.0, 2.0)]
    assert close(g.detach(), [first, [0.0, 0.0]])
    assert close(h, [[-2 * math.tanh(a) * d for a, d in zip((1.0, 2.0), first, strict=True)], [0.0, 0.0]])


def test_columns_beside_each_other_do_not_overlap(lib):
    a = lib.arange(6.0).reshape(2, 3)
    a[:, 0].add_(a[:, 1])
    assert a.tolist() == [[1.0, 1.0, 2.0], [7.0, 4.0, 5.0]]


# --- nodes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("index", 1),
        ("put", 2),
        ("low", 1),
        ("high", 1),
        ("tensor", 3),
        ("floor", 1),
        ("bce", 2),
        ("logits", 2),
        ("nll", 1),
    ],
)
def test_what_cannot_have_a_gradient_has_no_edge(lib, name, count):
    x, index, functional = lib.full((2, 3), 0.5, requires_grad=True), lib.tensor([0, 1]), lib.nn.functional
    made = {
        "index": lambda: x[:, index],
        "put": lambda: x.index_put((index,), lib.tensor(1.0)),
        "low": lambda: x.clamp(min=1.0),
        "high": lambda: x.clamp(max=1.0),
        "tensor": lambda: x.clamp(min=lib.tensor(1.0)),
        "floor": lambda: x.floor_divide(lib.tensor(2.0)),
        "bce": lambda: functional.binary_cross_entropy(x, lib.ones(2, 3), lib.ones(2, 3)),
        "logits": lambda: functional.binary_cross_entropy_with_logits(x, lib.ones(2, 3)),
        "nll": lambda: functional.nll_loss(x, index, lib.ones(3)),
    }[name]()
    assert len(made.grad_fn.next_functions) == count


@pytest.mark.parametrize(("key", "view"), [(slice(1, None), True), (slice(-2, None), True), (slice(0, 9), False)])
@pytest.mark.parametrize("rows", [0, 2])
def test_a_slice_is_the_tensor_itself_only_if_it_says_so(lib, rows, key, view):
    y = lib.zeros(rows, 3, requires_grad=True) * 1
    y[key] = 1.0
    assert (y.grad_fn.name() == "torch::autograd::CopySlices") is view


# --- values and refusals --------------------------------------------------------------------------------------------


def test_two_zeros_leave_no_gradient_of_a_product(lib):
    x = leaf(lib, [0.0, 0.0, 3.0])
    x.prod().backward(lib.tensor(math.nan))
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


def test_two_zeros_leave_a_second_derivative_of_a_product(lib):
    x = leaf(lib, [0.0, 0.0, 3.0])
    (g,) = lib.autograd.grad(x.prod(), x, create_graph=True)
    (h,) = lib.autograd.grad(g.sum(), x)
    assert h.tolist() == [3.0, 3.0, 0.0]


def test_the_length_of_nothing_has_a_slope_but_no_second_one(lib):
    x = leaf(lib, [0.0, 0.0])
    (g,) = lib.autograd.grad(x.norm(), x, create_graph=True)
    (h,) = lib.autograd.grad(g.sum(), x)
    assert g.tolist() == [0.0, 0.0]
    assert all(math.isnan(v) for v in h.tolist())


def test_a_gradient_through_an_empty_geometry_is_zero_without_a_history(lib):
    x = leaf(lib, [2.0, 3.0])
    (g,) = lib.autograd.grad((x.as_strided((0, 3), (1, 1)) ** 2).sum(), x, create_graph=True)
    assert g.tolist() == [0.0, 0.0]
    assert not g.requires_grad


def test_the_second_derivative_of_cumprod_along_one_element_is_none(lib):
    x = leaf(lib, [[2.0], [3.0]])
    (g,) = lib.autograd.grad((x.cumprod(1) * 1).sum(), x, create_graph=True)
    assert not g.requires_grad


def test_a_boolean_factor_is_for_booleans(lib):
    ones, yes = lib.ones(3), lib.tensor([True])
    for a, b in ((ones.long(), ones.long()), (ones, ones), (yes, 1)):
        with raises(lib, RuntimeError, "Boolean alpha only supported for Boolean results."):
            lib.add(a, b, alpha=True)
    assert lib.add(yes, yes, alpha=True).tolist() == [True]


def test_masked_fill_names_the_mask_first(lib):
    mask = lib.zeros(4, dtype=lib.bool)
    with raises(
        lib, RuntimeError, "The size of tensor a (4) must match the size of tensor b (3) at non-singleton dimension 1"
    ):
        lib.zeros(2, 3).masked_fill(mask, 1.0)
    with raises(
        lib, RuntimeError, "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1"
    ):
        lib.zeros(2, 3).masked_fill_(mask, 1.0)


def test_index_select_of_nothing(lib):
    with raises(lib, RuntimeError, "index_select(): self indexing axis dim should be positive"):
        lib.zeros(0, 3).index_select(0, lib.tensor([0]))
    with raises(lib, RuntimeError, "INDICES element is out of DATA bounds, id=5 axis_dim=3"):
        lib.zeros(3, 0).index_select(0, lib.tensor([5]))


def test_amax_says_which_dimensions_there_are(lib):
    with raises(lib, IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 5)"):
        lib.zeros(2, 3).amax(5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_numbers_are_rounded_to_half_first_except_in_products(lib, dtype):
    kind = getattr(lib, dtype)
    x, number = lib.tensor([5.0, 7.3, -3.1, 100.0], dtype=kind), 0.1
    rounded = lib.tensor(number, dtype=kind).item()
    for name in ("remainder", "fmod", "add", "sub", "pow"):
        base = x.abs() if name == "pow" else x
        assert getattr(base, name)(number).tolist() == getattr(base, name)(rounded).tolist(), name
    assert (x * number).tolist() == (x.float() * number).to(kind).tolist()
    assert (x / number).tolist() == (x.float() / number).to(kind).tolist()


def test_repeat_interleave_by_tensor_saves_its_positions(lib):
    y = leaf(lib, [1.0, 2.0]).repeat_interleave(lib.tensor([1, 2]))
    y.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.sum().backward()


def test_a_refused_write_into_a_view_whose_base_was_given_other_memory(lib):
    """It leaves the history of the view as it was."""
    y = leaf(lib, [1.0, 2.0, 3.0, 4.0]) * 1
    view = y[::2]
    y.data = lib.zeros(4)
    with pytest.raises(RuntimeError):
        view.copy_(lib.ones(3))
    assert backward_name(view) == "SliceBackward0"
    view.copy_(lib.tensor([5.0, 6.0]))
    assert y.tolist() == [0.0, 0.0, 0.0, 0.0]
    assert view.tolist() == [5.0, 6.0]


def test_the_running_product_of_nothing(lib):
    x = leaf(lib, [[1.0, 2.0, 3.0]])
    (first,) = lib.autograd.grad((x / 2)[1:].cumprod(0).sum(), x, create_graph=True)
    assert first.tolist() == [[0.0, 0.0, 0.0]]
    assert not first.requires_grad


@pytest.mark.parametrize("shape", [(3, 2), (2, 3), (1, 3, 2), (5, 40)])
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_equal_elements_have_no_spread(lib, shape, kind):
    """Even where their mean is not one of them: 0.9289 * 7, three times."""
    x = lib.full(shape, 0.9289, dtype=getattr(lib, kind), requires_grad=True)
    y = x * 7
    for dim in range(len(shape)):
        assert not y.var(dim, correction=0).any()
        std = y.std(dim, correction=0)
        assert not std.any()
        (grad,) = lib.autograd.grad(std.sum(), x, retain_graph=True)
        assert not grad.any()


@pytest.mark.parametrize("name", ["amax", "amin"])
def test_the_extreme_of_nothing_names_the_axis_as_it_was_given(lib, name):
    for dim, said in ((-3, -3), (0, 0), ((-1, -2), -1), ((1, -3), -3)):
        with raises(lib, IndexError, f"{name}(): Expected reduction dim {said} to have non-zero size."):
            getattr(lib.zeros(0, 3, 0), name)(dim)


def test_axes_of_one_element_lie_as_channels_where_all_operands_have_them_last(lib):
    """And where a number takes part, or a shape is stretched, as in the operand."""
    x = lib.randn(2, 1, 3).transpose(0, 2).unsqueeze(0)
    assert x.stride() == (3, 1, 3, 3)
    assert x.tanh().stride() == (6, 1, 6, 3)
    assert (x + x).stride() == (6, 1, 6, 3)
    assert (x * 2).stride() == (3, 1, 3, 3)
    assert x.clone().stride() == (3, 1, 3, 3)
    assert lib.stack([x.tanh(), x.tanh()], -3).stride() == (3, 1, 6, 6, 3)


def test_an_axis_far_out_of_range(lib):
    for join in (lib.cat, lib.stack):
        with pytest.raises(IndexError, match="Dimension out of range"):
            join([lib.zeros(2), lib.zeros(2)], 2**40)


def test_the_gradient_of_clamp_has_no_way_back_to_its_input(lib):
    x = lib.tensor([-2.0, 0.5, 2.0], requires_grad=True)
    for y in (x.clamp(-1, 1), x.clamp_min(0.0), x.clamp_max(1.0), x.clamp(max=1.0)):
        g, = lib.autograd.grad(y.sum(), x, create_graph=True)
        assert not g.requires_grad


def test_one_element_with_another_stride_overlaps_partly(lib):
    x = lib.tensor([0.5])
    with raises(lib, RuntimeError, "unsupported operation: some elements of the input tensor and the written-to tensor refer "
                                   "to a single memory location. Please clone() the tensor before performing the operation."):
        x[::2].add_(x)


def test_to_in_all_its_forms(lib):
    x, cpu = lib.tensor([1.5, -2.5], requires_grad=True), lib.device("cpu")
    for same in (x.to(lib.float32), x.to("cpu"), x.to(cpu), x.to(device="cpu"), x.to(cpu, lib.float32), x.to(x), x.cpu(),
                 x.to(dtype=lib.float32, device=cpu), lib.as_tensor(x)):
        assert same is x
    for other in (x.to(lib.float64), x.to("cpu", lib.float64), x.to(dtype=lib.float64), x.to(device=cpu, dtype=lib.float64)):
        assert other.dtype is lib.float64
        assert type(other.grad_fn).__name__ == "ToCopyBackward0"
    assert x.to("meta").device.type == "meta"
    assert x.to(lib.float32, copy=True) is not x
    with pytest.raises(RuntimeError, match="Expected one of cpu"):
        x.to("nowhere")
