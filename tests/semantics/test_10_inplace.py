"""Sections 10.1 and 10.2: in-place operations on leaves, on non-leaves and constants, and through views."""

from __future__ import annotations

import pytest

from tests.support import close, leaf, raises, warns
from tests.support.messages import LEAF, NOGRADVIEW, OVERLAP1, OVERLAP2, VIEWLEAF, multiview


def _set(key, value):
    return lambda lib, x: x.__setitem__(key(lib) if callable(key) else key, value)


ON_LEAF = {
    "add_": lambda lib, x: x.add_(1),
    "+=": lambda lib, x: x.__iadd__(1),
    "-=": lambda lib, x: x.__isub__(1),
    "*=": lambda lib, x: x.__imul__(2),
    "/=": lambda lib, x: x.__itruediv__(2),
    "zero_": lambda lib, x: x.zero_(),
    "fill_": lambda lib, x: x.fill_(1.0),
    "copy_": lambda lib, x: x.copy_(lib.ones(4)),
    "clamp_": lambda lib, x: x.clamp_(0, 1),
    "neg_": lambda lib, x: x.neg_(),
    "masked_fill_": lambda lib, x: x.masked_fill_(x > 0, 0.0),
    "index_fill_": lambda lib, x: x.index_fill_(0, lib.tensor([0]), 0.0),
    "index_put_": lambda lib, x: x.index_put_((lib.tensor([0]),), lib.tensor(1.0)),
    "scatter_": lambda lib, x: x.scatter_(0, lib.tensor([0]), lib.ones(1)),
    "uniform_": lambda lib, x: x.uniform_(),
    "normal_": lambda lib, x: x.normal_(),
    "exponential_": lambda lib, x: x.exponential_(),
    "random_": lambda lib, x: x.random_(),
    "unsqueeze_": lambda lib, x: x.unsqueeze_(0),
    "squeeze_": lambda lib, x: x.squeeze_(0),
    "t_": lambda lib, x: x.t_(),
    "set_": lambda lib, x: x.set_(lib.ones(4)),
    "relu inplace": lambda lib, x: lib.nn.functional.relu(x, inplace=True),
    "x[:] =": _set(slice(None), 0.0),
    "x[...] =": _set(..., 0.0),
    "x[tensor] =": _set(lambda lib: lib.tensor([0, 1]), 0.0),
    "x[mask] =": _set(lambda lib: lib.tensor([True, False, True, False]), 0.0),
    "x[[0, 1]] =": _set([0, 1], 0.0),
}


@pytest.mark.parametrize("write", ON_LEAF.values(), ids=ON_LEAF.keys())
def test_an_in_place_operation_on_a_leaf_is_refused(lib, write):
    x = leaf(lib, [1.0, -2.0, 3.0, 4.0])
    with raises(lib, RuntimeError, LEAF):
        write(lib, x)
    assert close(x, [1.0, -2.0, 3.0, 4.0])
    assert (x.shape, x._version, x.is_leaf) == ((4,), 0, True)


ON_VIEW = {
    "x[0] =": _set(0, 5.0),
    "x[0:2] =": _set(slice(0, 2), 5.0),
    "x[None] =": _set(None, 5.0),
    "x[0].add_": lambda lib, x: x[0].add_(1),
    "x[:2].add_": lambda lib, x: x[:2].add_(1),
    "x.view": lambda lib, x: x.view(2, 2).add_(1),
    "x.T": lambda lib, x: x.view(2, 2).T.zero_(),
    "x.expand": lambda lib, x: x.expand(2, 4).zero_(),
    "view of a view": lambda lib, x: x.view(2, 2)[0][1:].mul_(2),
    "unsqueeze": lambda lib, x: x.unsqueeze(0).neg_(),
    "index on a view": lambda lib, x: x[:3].__setitem__(lib.tensor([0]), 1.0),
}


@pytest.mark.parametrize("write", ON_VIEW.values(), ids=ON_VIEW.keys())
def test_an_in_place_operation_on_a_view_of_a_leaf_is_refused(lib, write):
    x = leaf(lib, [1.0, 2.0, 3.0, 4.0])
    with raises(lib, RuntimeError, VIEWLEAF):
        write(lib, x)
    assert close(x, [1.0, 2.0, 3.0, 4.0])
    assert x._version == 0


@pytest.mark.parametrize(
    ("name", "take"),
    [
        ("Unbind", lambda x: x.unbind()[0]),
        ("Split", lambda x: x.chunk(2)[0]),
        ("Split", lambda x: x.split(2)[0]),
    ],
    ids="unbind chunk split".split(),
)
def test_one_of_several_views_of_a_leaf_or_non_leaf_is_not_writable(lib, name, take):
    for x in (leaf(lib, [1.0, 2.0, 3.0, 4.0]), leaf(lib, [1.0, 2.0, 3.0, 4.0]) * 1):
        with raises(lib, RuntimeError, multiview(name)):
            take(x).add_(1)
        assert close(x, [1.0, 2.0, 3.0, 4.0])


def test_what_requires_grad_cannot_be_resized(lib):
    with raises(lib, RuntimeError, "cannot resize variables that require grad"):
        leaf(lib, [1.0]).resize_(5)


def test_the_ways_in_which_a_leaf_may_be_written(lib):
    x = leaf(lib, [1.0])
    with lib.no_grad():
        x.add_(1)
    with lib.inference_mode():
        x.add_(1)
    assert x._version == 2
    x.detach().add_(1)
    assert x._version == 3
    x.data.add_(1)
    assert x._version == 3
    assert close(x, [5.0])
    x.requires_grad_(False)
    x.add_(1)
    assert close(x, [6.0])
    u = leaf(lib, [1.0])
    u.detach_()
    u.add_(1)
    assert close(u, [2.0])


# --- non-leaves and constants ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "write", [lambda y: y.add_(1), lambda y: y.zero_(), lambda y: y.exp_(), lambda y: y.copy_(y.detach())]
)
def test_an_in_place_operation_returns_the_tensor_itself(lib, write):
    y = leaf(lib, [1.0, 2.0]) * 1
    assert write(y) is y


@pytest.mark.parametrize(
    ("write", "gradient"),
    [
        (lambda a, x: a.add_(x), [1.0, 1.0]),
        (lambda a, x: a.copy_(x), [1.0, 1.0]),
        (lambda a, x: a.__setitem__(1, x[0]), [1.0, 0.0]),
        (lambda a, x: a.fill_(x[1]), [0.0, 2.0]),
    ],
    ids="add_ copy_ setitem fill_".split(),
)
def test_a_constant_written_with_what_requires_grad_becomes_a_non_leaf(lib, write, gradient):
    a, x = lib.ones(2), leaf(lib, [3.0, 4.0])
    write(a, x)
    assert (a.requires_grad, a.is_leaf) == (True, False)
    a.sum().backward()
    assert close(x.grad, gradient)


@pytest.mark.parametrize(
    "write", [lambda y: y.zero_(), lambda y: y.fill_(5.0), lambda y: y.copy_(y.detach() * 2), lambda y: y.normal_()]
)
def test_overwriting_keeps_requires_grad_and_sends_zero_upstream(lib, write):
    x = leaf(lib, [1.0, 2.0])
    y = x * 3
    write(y)
    assert y.requires_grad
    y.sum().backward()
    assert close(x.grad, [0.0, 0.0])


def test_the_value_of_masked_fill_gets_the_sum_over_the_mask(lib):
    x, s = leaf(lib, [1.0, 2.0, 3.0]), leaf(lib, 7.0)
    y = x * 1
    y.masked_fill_(lib.tensor([True, False, True]), s)
    (y * lib.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert close(y, [7.0, 2.0, 7.0])
    assert close(x.grad, [0.0, 10.0, 0.0])
    assert close(s.grad, 101.0)


def test_copy_is_differentiable_through_broadcasting_and_dtype(lib):
    x = leaf(lib, [1.5, 2.5])
    y = lib.zeros(3, 2, dtype=lib.float64)
    y.copy_(x)
    assert y.dtype is lib.float64
    y.sum().backward()
    assert close(x.grad, [3.0, 3.0])


def test_copy_into_integers_truncates_and_carries_no_grad(lib):
    i = lib.zeros(2, dtype=lib.int64)
    i.copy_(leaf(lib, [1.9, -2.9]))
    assert (i.tolist(), i.requires_grad) == ([1, -2], False)


RIGHT = {
    "add_ itself": (lambda lib, a, x: a.add_(a), [2.0, 2.0, 2.0]),
    "sub_ itself": (lambda lib, a, x: a.sub_(a), [0.0, 0.0, 0.0]),
    "mul_": (lambda lib, a, x: a.mul_(x), [2.0, 4.0, 6.0]),
    "div_": (lambda lib, a, x: a.div_(x), [0.0, 0.0, 0.0]),
    "pow_": (lambda lib, a, x: a.pow_(3), [3.0, 12.0, 27.0]),
    "sin_": (lambda lib, a, x: a.sin_(), [0.5403023, -0.4161468, -0.9899925]),
    "exp_": (lambda lib, a, x: a.exp_(), [2.7182818, 7.3890561, 20.0855369]),
    "sqrt_": (lambda lib, a, x: a.sqrt_(), [0.5, 0.3535534, 0.2886751]),
    "cumsum_": (lambda lib, a, x: a.cumsum_(0), [3.0, 2.0, 1.0]),
    "cumprod_": (lambda lib, a, x: a.cumprod_(0), [9.0, 4.0, 2.0]),
    "lerp_": (lambda lib, a, x: a.lerp_(x * 2, 0.25), [1.25, 1.25, 1.25]),
    "addcmul_": (lambda lib, a, x: a.addcmul_(x, x, value=0.5), [2.0, 3.0, 4.0]),
    "addcdiv_": (lambda lib, a, x: a.addcdiv_(x, lib.full((3,), 2.0)), [1.5, 1.5, 1.5]),
    "index_add_": (lambda lib, a, x: a.index_add_(0, lib.tensor([0, 0]), x[:2] * 3), [4.0, 4.0, 1.0]),
    "index_copy_": (lambda lib, a, x: a.index_copy_(0, lib.tensor([2, 1]), x[:2] * 3), [4.0, 3.0, 0.0]),
    "scatter_": (lambda lib, a, x: a.scatter_(0, lib.tensor([2, 1]), x[:2] * 3), [4.0, 3.0, 0.0]),
    "scatter_add_": (lambda lib, a, x: a.scatter_add_(0, lib.tensor([2, 2]), x[:2] * 3), [4.0, 4.0, 1.0]),
    "masked_scatter_": (lambda lib, a, x: a.masked_scatter_(lib.tensor([True, False, True]), x * 3), [3.0, 4.0, 0.0]),
    "index_put_ accumulate": (
        lambda lib, a, x: a.index_put_((lib.tensor([0, 0]),), x[:2] * 3, accumulate=True),
        [4.0, 4.0, 1.0],
    ),
}


@pytest.mark.parametrize(("write", "gradient"), RIGHT.values(), ids=RIGHT.keys())
def test_the_gradient_of_an_in_place_operation_is_right(lib, write, gradient):
    x = leaf(lib, [1.0, 2.0, 3.0])
    a = x * 1
    with lib.autograd.graph.allow_mutation_on_saved_tensors():
        assert write(lib, a, x) is a
        a.sum().backward()
    assert close(x.grad, gradient)


def test_a_float_result_does_not_fit_an_integer_tensor(lib):
    i, b = lib.ones(2, dtype=lib.int32), lib.ones(2, dtype=lib.bool)
    text = "result type Float can't be cast to the desired output type Int"
    with raises(lib, RuntimeError, text):
        i.add_(1.5)
    with raises(lib, RuntimeError, text):
        i.div_(2)
    with raises(lib, RuntimeError, "result type Long can't be cast to the desired output type Bool"):
        b.add_(1)
    assert i.tolist() == [1, 1]


def test_within_a_category_the_dtype_is_kept(lib):
    h, i = lib.ones(2, dtype=lib.float16), lib.ones(2, dtype=lib.int32)
    h.add_(lib.ones(2, dtype=lib.float64))
    i.mul_(lib.full((2,), 3))
    assert (h.dtype, h.tolist()) == (lib.float16, [2.0, 2.0])
    assert (i.dtype, i.tolist()) == (lib.int32, [3, 3])


def test_numbers_are_truncated_into_integers(lib):
    i = lib.zeros(2, dtype=lib.int32)
    i.fill_(2.7)
    i[0] = 3.9
    assert i.tolist() == [3, 2]


def test_an_in_place_result_must_have_the_shape_of_its_target(lib):
    with raises(lib, RuntimeError, "output with shape [3] doesn't match the broadcast shape [2, 3]"):
        lib.ones(3).add_(lib.ones(2, 3))
    text = "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 0"
    with raises(lib, RuntimeError, text):
        lib.ones(3).add_(lib.ones(2))
    with raises(lib, RuntimeError, text):
        lib.ones(3).copy_(lib.ones(2))


def test_masked_fill_wants_a_boolean_mask_and_a_scalar(lib):
    with raises(lib, RuntimeError, "masked_fill_ only supports boolean masks, but got mask with dtype long int"):
        lib.ones(2).masked_fill_(lib.tensor([1, 0]), 0.0)
    text = "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with 1 dimension(s)."
    with raises(lib, RuntimeError, text):
        lib.ones(2).masked_fill_(lib.tensor([True, False]), lib.ones(1))


def test_fill_wants_a_scalar(lib):
    with raises(lib, RuntimeError, "fill_ only supports 0-dimension value tensor but got tensor with 1 dimensions."):
        lib.ones(2).fill_(lib.ones(1))


@pytest.mark.parametrize(
    "write",
    [lambda e: e.add_(1), lambda e: e.mul_(2), lambda e: e.copy_(e.new_zeros(3, 2))],
    ids="add_ mul_ copy_".split(),
)
def test_writing_an_expanded_tensor_is_refused(lib, write):
    e = lib.ones(1, 2).expand(3, 2)
    with raises(lib, RuntimeError, OVERLAP1):
        write(e)


def test_filling_an_expanded_tensor_changes_all_its_rows(lib):
    e = lib.ones(1, 2).expand(3, 2)
    e.fill_(3.0)
    assert close(e, [[3.0, 3.0]] * 3)
    e.zero_()
    assert close(e, [[0.0, 0.0]] * 3)
    e[0] = 1.0
    assert close(e, [[1.0, 1.0]] * 3)
    e[0, 0] = 5.0
    assert close(e, [[5.0, 1.0]] * 3)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("masked_fill_", lambda lib, e: e.masked_fill_(lib.tensor([True, False]), 7.0)),
        ("index_put_", lambda lib, e: e.index_put_((lib.tensor([0]),), lib.tensor(7.0))),
    ],
)
def test_masked_and_indexed_writes_to_an_expanded_tensor_warn(lib, name, write):
    text = (
        f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before performing this operation. "
        "This also applies to advanced indexing e.g. tensor[mask] = scalar"
    )
    if name == "index_put_":
        text = text.replace("e.g. tensor[mask] = scalar", "e.g. tensor[indices] = tensor")
    with warns(lib, text):
        write(lib, lib.ones(1, 2).expand(3, 2))


def _overlapping(lib):
    line, square = lib.arange(4.0), lib.arange(4.0).view(2, 2)
    return {
        "a[1:] = a[:-1]": (line, lambda: line.__setitem__(slice(1, None), line[:-1])),
        "a[1:].add_(a[:-1])": (line, lambda: line[1:].add_(line[:-1])),
        "a.copy_(a.t())": (square, lambda: square.copy_(square.t())),
        "a.add_(a.t())": (square, lambda: square.add_(square.t())),
    }


@pytest.mark.parametrize("name", ["a[1:] = a[:-1]", "a[1:].add_(a[:-1])", "a.copy_(a.t())", "a.add_(a.t())"])
def test_reading_and_writing_memory_that_partly_overlaps_is_refused(lib, name):
    target, write = _overlapping(lib)[name]
    with raises(lib, RuntimeError, OVERLAP2):
        write()
    assert target.flatten().tolist() == [0.0, 1.0, 2.0, 3.0]


def test_reading_and_writing_the_very_same_memory_is_fine(lib):
    a = lib.arange(3.0)
    a.add_(a)
    a[:] = a
    assert close(a, [0.0, 2.0, 4.0])


# --- views ----------------------------------------------------------------------------------------------------------


def _view_written(y):
    v = y[:2]
    v.mul_(10)
    return v


def _two_views(y):
    v1, v2 = y[:2], y[1:3]
    v1.mul_(2)
    v2.mul_(3)
    return v1


def _base_written(y):
    v = y[:2]
    y.mul_(10)
    return v


def _row_element(y):
    v = y.view(2, 2)[0]
    v[1] = 0.0


VIEWS = {
    "view written, base used": (_view_written, [10.0, 20.0, 3.0, 4.0], "y", [10.0, 10.0, 1.0, 1.0]),
    "view written, view used": (_view_written, [10.0, 20.0, 3.0, 4.0], "v", [10.0, 10.0, 0.0, 0.0]),
    "base written, view used": (_base_written, [10.0, 20.0, 30.0, 40.0], "v", [10.0, 10.0, 0.0, 0.0]),
    "siblings written, base used": (_two_views, [2.0, 12.0, 9.0, 4.0], "y", [2.0, 6.0, 3.0, 1.0]),
    "siblings written, first used": (_two_views, [2.0, 12.0, 9.0, 4.0], "v", [2.0, 6.0, 0.0, 0.0]),
    "element of a row": (_row_element, [1.0, 0.0, 3.0, 4.0], "y", [1.0, 0.0, 1.0, 1.0]),
    "element of a transpose": (
        lambda y: y.view(2, 2).t().__setitem__((0, 1), 7.0),
        [1.0, 2.0, 7.0, 4.0],
        "y",
        [1.0, 1.0, 0.0, 1.0],
    ),
    "diagonal": (lambda y: y.view(2, 2).diagonal().mul_(3), [3.0, 2.0, 3.0, 12.0], "y", [3.0, 1.0, 1.0, 3.0]),
}


@pytest.mark.parametrize(("write", "values", "used", "gradient"), VIEWS.values(), ids=VIEWS.keys())
def test_writing_through_a_view_rewrites_the_history_of_all_its_relatives(lib, write, values, used, gradient):
    x = leaf(lib, [1.0, 2.0, 3.0, 4.0])
    y = x * 1
    v = write(y)
    assert close(y, values)
    (y if used == "y" else v).sum().backward()
    assert close(x.grad, gradient)


def test_a_view_of_a_constant_written_with_what_requires_grad_makes_its_base_require_grad(lib):
    x = leaf(lib, [1.0, 2.0, 3.0, 4.0])
    b = lib.zeros(4)
    v = b[1:3]
    v.copy_(x[:2])
    assert b.requires_grad
    (b * lib.tensor([0.0, 1.0, 2.0, 3.0])).sum().backward()
    assert close(x.grad, [1.0, 2.0, 0.0, 0.0])


def test_augmented_assignment_to_rows_gives_the_right_gradient(lib):
    x = leaf(lib, [[1.0, 2.0], [3.0, 4.0]])
    y = x * 1
    y[0] += 1
    y[0] *= 2
    y[1] -= y[0]
    assert close(y, [[4.0, 6.0], [-1.0, -2.0]])
    (y * lib.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert close(x.grad, [[-4.0, -4.0], [3.0, 4.0]])


def test_one_of_several_views_may_be_written_when_nothing_requires_grad(lib):
    c = lib.zeros(4)
    p, _ = c.split(2)
    p.add_(1)
    assert close(c, [1.0, 1.0, 0.0, 0.0])


def test_one_of_several_views_of_a_constant_refuses_a_value_that_requires_grad(lib):
    c = lib.zeros(4)
    p, _ = c.split(2)
    text = NOGRADVIEW.split(" Given")[0] + multiview("Split").split("inplace.", 1)[1]
    with raises(lib, RuntimeError, text):
        p.mul_(leaf(lib, [1.0, 2.0]))


def test_a_view_among_several_is_invalid_once_its_base_was_written(lib):
    y = leaf(lib, [1.0, 2.0, 3.0, 4.0]) * 1
    p, _ = y.split(2)
    y.mul_(2)
    assert "grad_fn=<Invalid>" in repr(p)
    text = (
        "Output 0 of Split is a view and its base or another view of its base has been modified inplace. This view "
        "is the "
        "output of a function that returns multiple views. …"
    )
    with raises(lib, RuntimeError, text):
        p.sum().backward()


def test_the_base_of_a_view_is_always_the_root(lib):
    x = lib.zeros(4)
    assert x[:2]._base is x
    assert x[:2][0]._base is x
    assert x.view(2, 2).t()[0]._base is x
    assert x[:2]._is_view()
    assert not x._is_view()
    assert x._base is None


def test_reshape_is_a_view_when_strides_allow_and_indexing_by_tensors_copies(lib):
    x = lib.zeros(2, 3)
    assert x.reshape(6)._base is x
    assert x.t().reshape(6)._base is None
    assert x[lib.tensor([0])]._base is None
    assert x[x == 0]._base is None
    assert x.contiguous() is x
