"""Section 8: versions, detach, data, clone, copies."""

from __future__ import annotations

import copy
import pickle

import pytest

from tests.support import backward_name, close, leaf, raises
from tests.support.messages import bad_gradient


def test_versions_of_a_tensor_and_its_aliases_move_together_except_data(lib):
    y = leaf(lib, [1.0, 2.0, 3.0]) * 1
    d, q, c, v = y.detach(), y.data, y.clone(), y[:1]
    n = d.numpy()

    def versions():
        return [t._version for t in (y, d, q, c, v)]

    assert versions() == [0, 0, 0, 0, 0]
    d.add_(1)
    assert versions() == [1, 1, 0, 0, 1]
    q.add_(1)
    assert versions() == [1, 1, 1, 0, 1]
    v.add_(1)
    assert versions() == [2, 2, 1, 0, 2]
    y.add_(1)
    assert versions() == [3, 3, 1, 0, 3]
    n[0] = 99
    assert versions() == [3, 3, 1, 0, 3]
    assert close(y, [99.0, 5.0, 6.0])
    assert close(d, [99.0, 5.0, 6.0])
    assert close(q, [99.0, 5.0, 6.0])
    assert close(v, [99.0])
    assert n.tolist() == [99.0, 5.0, 6.0]
    assert close(c, [1.0, 2.0, 3.0])


def test_aliases_of_a_written_tensor_start_at_its_version_except_data_and_clone(lib):
    x = lib.ones(2)
    x.add_(1)
    x.add_(1)
    assert (x.data._version, x.detach()._version, x.view(2)._version, x.clone()._version) == (0, 2, 2, 0)


BUMPS = {
    "add_": lambda lib, x: x.add_(1),
    "setitem": lambda lib, x: x.__setitem__(0, 5.0),
    "iadd": lambda lib, x: x.__iadd__(1),
    "out": lambda lib, x: lib.add(lib.ones(2, 2), 1, out=x),
    "copy_": lambda lib, x: x.copy_(lib.ones(2, 2)),
    "unsqueeze_": lambda lib, x: x.unsqueeze_(0),
    "t_": lambda lib, x: x.t_(),
    "resize_": lambda lib, x: x.resize_(3),
    "set_": lambda lib, x: x.set_(lib.ones(3)),
    "zero_": lambda lib, x: x.zero_(),
    "masked_fill_ of nothing": lambda lib, x: x.masked_fill_(x > 100, 0.0),
    "empty slice": lambda lib, x: x.__setitem__(slice(0, 0), 1.0),
    "index_put_": lambda lib, x: x.index_put_((lib.tensor([0]),), lib.tensor(1.0)),
    "normal_": lambda lib, x: x.normal_(),
}


@pytest.mark.parametrize("write", BUMPS.values(), ids=BUMPS.keys())
def test_every_in_place_operation_moves_the_version_by_one(lib, write):
    x = lib.ones(2, 2)
    write(lib, x)
    assert x._version == 1


def test_an_in_place_operation_on_an_empty_tensor_moves_the_version(lib):
    x = lib.ones(0)
    x.add_(1)
    assert x._version == 1


def test_an_augmented_assignment_to_an_element_moves_the_version_twice(lib):
    x = lib.ones(2)
    x[0] += 1
    assert x._version == 2


STILLS = {
    "data.add_": lambda lib, x: x.data.add_(1),
    "data =": lambda lib, x: setattr(x, "data", lib.zeros(2)),
    "data +=": lambda lib, x: setattr(x, "data", x.data.__iadd__(1)),
    "numpy": lambda lib, x: x.numpy().__setitem__(0, 5.0),
    "requires_grad_": lambda lib, x: x.requires_grad_(),
    "detach_": lambda lib, x: x.detach_(),
}


@pytest.mark.parametrize("write", STILLS.values(), ids=STILLS.keys())
def test_what_autograd_does_not_see_leaves_the_version(lib, write):
    x = lib.ones(2)
    write(lib, x)
    assert x._version == 0


def test_creation_starts_at_version_zero(lib):
    assert [t._version for t in (lib.tensor([1.0]), lib.zeros(2), lib.rand(2), lib.randn(2), lib.arange(3))] == [0] * 5


def test_each_access_to_data_is_a_new_tensor_on_the_same_storage(lib):
    x = lib.ones(2)
    assert x.data is not x.data
    assert x.data.data_ptr() == x.data_ptr()


def test_assigning_data_adopts_storage_shape_strides_and_dtype(lib):
    x = leaf(lib, [1.0, 2.0])
    x.add = None  # attributes belong to the object, which stays the same
    seen = []
    x.register_hook(lambda g: seen.append(g.tolist()))
    t = lib.arange(6, dtype=lib.float64).view(2, 3).t()
    identity, version = id(x), x._version
    x.data = t
    assert (x.shape, x.stride(), x.dtype, x.data_ptr()) == (t.shape, t.stride(), t.dtype, t.data_ptr())
    assert (id(x), x.requires_grad, x.is_leaf, x._version) == (identity, True, True, version)
    t.zero_()
    assert close(x, [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    (x * 2).sum().backward()
    assert seen == [[[2.0, 2.0], [2.0, 2.0], [2.0, 2.0]]]


def test_assigning_data_keeps_the_history_of_a_non_leaf(lib):
    x = leaf(lib, [1.0, 2.0])
    y = x * 3
    y.data = lib.tensor([7.0, 8.0])
    assert backward_name(y) == "MulBackward0"
    (y + 1).sum().backward()
    assert close(x.grad, [3.0, 3.0])


def test_data_accepts_only_a_tensor(lib):
    x = lib.ones(1)
    with raises(lib, TypeError, "Variable data has to be a tensor, but got int"):
        x.data = 5
    with raises(lib, TypeError, "Variable data has to be a tensor, but got NoneType"):
        x.data = None


def test_data_of_what_requires_grad_stays_floating(lib):
    x = leaf(lib, [1.0])
    with raises(
        lib, RuntimeError, "data set to a tensor that requires gradients must be floating point or complex dtype"
    ):
        x.data = lib.tensor([1])


def test_data_of_another_device_is_refused(lib):
    text = "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type."
    x = lib.ones(1)
    with raises(lib, RuntimeError, text):
        x.data = lib.ones(1, device="meta")


def test_data_cannot_be_deleted(lib):
    x = lib.ones(1)
    with raises(lib, RuntimeError, "Deleting tensor data is not allowed. Delete tensor instead!"):
        del x.data


def test_a_shape_changed_through_data_is_noticed_at_backward(lib):
    x = leaf(lib, [1.0, 2.0, 3.0])
    y = x * 1
    y.data = lib.zeros(5)
    with raises(lib, RuntimeError, bad_gradient("SumBackward0", [5], [3])):
        y.sum().backward()


def test_detach_in_place_makes_a_leaf_without_grad(lib):
    y = leaf(lib, [1.0]) * 1
    assert y.detach_() is y
    assert (y.is_leaf, y.requires_grad, y.grad_fn) == (True, False, None)


def test_a_view_cannot_be_detached_in_place(lib):
    y = leaf(lib, [1.0, 2.0]) * 1
    with raises(lib, RuntimeError, "Can't detach views in-place. Use detach() instead. …"):
        y[:1].detach_()


def test_detach_shares_memory_and_history_of_writes_but_not_the_graph(lib):
    y = leaf(lib, [1.0, 2.0]) * 1
    d = y.detach()
    assert (d.data_ptr(), d.requires_grad, d.is_leaf) == (y.data_ptr(), False, True)
    d[0] = 9.0
    assert close(y, [9.0, 2.0])


def test_clone_is_differentiable_new_memory_in_the_same_layout(lib):
    x = lib.arange(6.0).view(2, 3).t().requires_grad_()
    c = x.clone()
    assert c.data_ptr() != x.data_ptr()
    assert c.stride() == x.stride()
    (c * 2).sum().backward()
    assert close(x.grad, [[2.0, 2.0]] * 3)
    assert not x.detach().clone().requires_grad


def test_deepcopy_of_a_leaf_keeps_requires_grad(lib):
    x = leaf(lib, [1.0, 2.0])
    (x * 3).sum().backward()
    c = copy.deepcopy(x)
    assert (c.requires_grad, c.is_leaf) == (True, True)
    assert c.data_ptr() != x.data_ptr()
    assert close(c.grad, [3.0, 3.0])
    assert c.grad is not x.grad


def test_deepcopy_of_a_non_leaf_is_refused(lib):
    y = leaf(lib, [1.0]) * 1
    text = (
        "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
        "If you were attempting to deepcopy a module, …"
    )
    with raises(lib, RuntimeError, text):
        copy.deepcopy(y)


def test_deepcopy_keeps_sharing_inside_one_structure(lib):
    a = lib.zeros(4)
    first, second = copy.deepcopy([a[:2], a])
    first.fill_(7)
    assert close(second, [7.0, 7.0, 0.0, 0.0])


def test_copy_makes_a_new_object_on_the_same_memory(lib):
    a = lib.zeros(2)
    b = copy.copy(a)
    assert b is not a
    b[0] = 1.0
    assert close(a, [1.0, 0.0])


@pytest.mark.parametrize("dtype", "float16 float32 float64 bfloat16 complex64 int8 int64 uint8 bool".split())
def test_pickling_keeps_values_layout_and_flag(lib, dtype):
    t = lib.arange(6).view(2, 3).t().to(getattr(lib, dtype))
    back = pickle.loads(pickle.dumps(t))
    assert (back.dtype, back.shape, back.stride()) == (t.dtype, t.shape, t.stride())
    assert back.tolist() == t.tolist()
    assert pickle.loads(pickle.dumps(leaf(lib, [1.0]))).requires_grad


def test_pickling_works_for_a_non_leaf(lib):
    y = leaf(lib, [1.0, 2.0]) * 3
    back = pickle.loads(pickle.dumps(y))
    assert close(back, [3.0, 6.0])
    assert back.is_leaf
