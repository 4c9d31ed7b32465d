"""Copies of tensors by `copy`, `deepcopy` and `pickle`, and what becomes of subclasses and parameters.

tests/oracle/test_protocol_oracle.py runs the same tests with torch.
"""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.support import close, exact, is_torch, leaf, lend, raises, silent, warns

DTYPES = "uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128 bool bfloat16".split()
LEAVES_ONLY = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If you "
    "were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
    "https://github.com/pytorch/pytorch/pull/103001"
)


@pytest.fixture
def lib() -> Iterator[ModuleType]:
    import claygrad

    yield from lend(claygrad)


# --- copy and deepcopy ------------------------------------------------------------------------------------------------


def test_deepcopy_of_a_leaf_copies_memory_grad_and_attributes(lib):
    x = leaf(lib, [1.0, 2.0])
    x.grad, x.tags = lib.tensor([3.0, 4.0]), ["a"]
    x.register_hook(lambda g: g)
    y = copy.deepcopy(x)
    assert exact(y, [1.0, 2.0])
    assert y.requires_grad
    assert y.is_leaf
    assert y.data_ptr() != x.data_ptr()
    assert exact(y.grad, [3.0, 4.0])
    assert y.grad is not x.grad
    assert (y.tags, y.tags is x.tags) == (["a"], False)
    assert not y._backward_hooks


def test_deepcopy_of_a_non_leaf_is_refused_even_without_grad_mode(lib):
    y = leaf(lib, [1.0]) * 2
    with raises(lib, RuntimeError, LEAVES_ONLY):
        copy.deepcopy(y)
    with lib.no_grad(), raises(lib, RuntimeError, LEAVES_ONLY):
        copy.deepcopy([y])


def test_deepcopy_keeps_views_of_one_storage_together(lib):
    x = lib.arange(6.0)
    a, b, again = copy.deepcopy([x, x.view(2, 3).t(), x])
    assert again is a
    assert (b.stride(), b.storage_offset(), b._base) == ((1, 3), 0, None)
    a[1] = 99.0
    assert b[1, 0].item() == 99.0
    assert x[1].item() == 1.0
    tail = copy.deepcopy(x[4:])
    assert (tail.storage_offset(), tail.untyped_storage().nbytes(), tail.tolist()) == (4, 24, [4.0, 5.0])


def test_deepcopy_keeps_layout_device_and_dtype(lib):
    assert copy.deepcopy(lib.ones(1).expand(3)).stride() == (0,)
    assert copy.deepcopy(lib.ones(2, device="meta")).device.type == "meta"
    assert copy.deepcopy(lib.ones(2, dtype=lib.bfloat16)).dtype is lib.bfloat16
    assert copy.deepcopy(lib.empty(0, 3)).shape == (0, 3)
    with lib.inference_mode():
        inside = lib.ones(2)
    assert not copy.deepcopy(inside).is_inference()


def test_deepcopy_asks_and_fills_the_memo(lib):
    x, memo = lib.ones(2), {}
    y = copy.deepcopy(x, memo)
    assert copy.deepcopy(x, memo) is y
    assert memo[id(x)] is y


def test_copy_is_a_leaf_on_the_same_memory_with_its_own_version(lib):
    x = leaf(lib, [1.0, 2.0])
    x.tags = ["a"]
    y = copy.copy(x)
    assert y is not x
    assert (y.data_ptr(), y.requires_grad, y.is_leaf, y.grad) == (x.data_ptr(), True, True, None)
    assert y.tags is x.tags
    z = lib.ones(2)
    twin = copy.copy(z)
    twin.add_(1)
    assert (z.tolist(), z._version, twin._version) == ([2.0, 2.0], 0, 2)
    flat = copy.copy(x * 2)
    assert (flat.is_leaf, flat.requires_grad, flat.tolist()) == (True, True, [2.0, 4.0])


# --- pickling ---------------------------------------------------------------------------------------------------------


def _there_and_back(value, protocol=pickle.DEFAULT_PROTOCOL):
    return pickle.loads(pickle.dumps(value, protocol))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_of_every_protocol_give_the_tensor_back(lib, protocol):
    x = leaf(lib, [1.0, -2.5])
    y = _there_and_back(x, protocol)
    assert (y.tolist(), y.requires_grad, y.is_leaf, y.grad) == ([1.0, -2.5], True, True, None)


@pytest.mark.parametrize("name", DTYPES)
def test_pickles_keep_every_dtype(lib, name):
    x = lib.tensor([0, 1, 1]).to(getattr(lib, name))
    y = _there_and_back(x)
    assert y.dtype is x.dtype
    assert y.tolist() == x.tolist()


def test_pickles_keep_shape_strides_offset_and_device(lib):
    x = lib.arange(6.0).view(2, 3).t()
    y = _there_and_back(x[1:])
    assert (y.stride(), y.storage_offset(), y.tolist()) == ((1, 3), 1, [[1.0, 4.0], [2.0, 5.0]])
    assert _there_and_back(lib.tensor(3)).tolist() == 3
    assert _there_and_back(lib.empty(0, 2)).shape == (0, 2)
    assert _there_and_back(lib.ones(1).expand(4)).stride() == (0,)
    assert _there_and_back(lib.ones(2, device="meta")).device.type == "meta"


def test_a_non_leaf_pickles_as_a_leaf(lib):
    y = _there_and_back(leaf(lib, [1.0]) * 2)
    assert (y.tolist(), y.requires_grad, y.is_leaf) == ([2.0], True, True)


def test_pickles_keep_identity_and_shared_storages(lib):
    x = lib.arange(4.0)
    a, b, again = _there_and_back([x, x[1:3], x])
    assert again is a
    a[1] = 9.0
    # torch keeps storages shared in torch.save only.
    assert b.tolist() == ([1.0, 2.0] if is_torch(lib) else [9.0, 2.0])


def test_pickles_keep_attributes_but_neither_grad_nor_hooks(lib):
    x = leaf(lib, [1.0])
    x.grad, x.tags = lib.ones(1), {"a": 1}
    with silent():
        y = _there_and_back(x)
    assert (y.grad, y.tags) == (None, {"a": 1})
    x.register_hook(print)
    text = (
        "backward hook <built-in function print> on tensor will not be serialized.  If this is expected, you can "
        "decorate the function with @torch.utils.hooks.unserializable_hook to suppress this warning"
    )
    with warns(lib, text):
        y = _there_and_back(x)
    assert not y._backward_hooks


def test_what_belongs_to_tensors_pickles_too(lib):
    for value in (lib.Size([1, 2]), lib.float32, lib.bfloat16, lib.device("cuda:1")):
        assert _there_and_back(value) == value
    assert type(_there_and_back(lib.Size([1]))) is lib.Size
    assert _there_and_back(lib.float32) is lib.float32
    assert copy.deepcopy(lib.float32) is lib.float32


def test_a_pickle_names_two_functions_and_the_classes_of_its_tensors(lib):
    if is_torch(lib):
        return
    named = []

    class Watched(pickle.Unpickler):
        def find_class(self, module, name):
            named.append(f"{module}.{name}")
            return super().find_class(module, name)

    Watched(io.BytesIO(pickle.dumps([lib.ones(2), lib.nn.Parameter(lib.ones(2))]))).load()
    assert {n for n in named if not n.endswith(("Tensor", "Parameter", "_named"))} == {
        "claygrad.ops.copies.rebuild_tensor", "claygrad.ops.copies.rebuild_storage"}  # fmt: skip


def test_a_forged_pickle_cannot_reach_beyond_its_storage(lib):
    if is_torch(lib):
        return
    function, (kind, storage, dtype, *_) = lib.ones(4).__reduce_ex__(4)[:2]
    beyond = [(0, (5,), (1,)), (4, (1,), (1,)), (-1, (1,), (1,)), (0, (2,), (-1,)), (0, (2, 2), (3, 3))]
    for offset, shape, strides in beyond:
        with pytest.raises(RuntimeError, match="does not fit in a storage of 16 bytes"):
            function(kind, storage, dtype, offset, shape, strides, False)


# --- subclasses -------------------------------------------------------------------------------------------------------


def _subclass(lib):
    made = type("Tagged", (lib.Tensor,), {"__module__": __name__, "__slots__": ("slot",)})
    globals()["Tagged"] = made     # where a pickle looks for it
    return made


def test_subclasses_survive_copies_and_pickles_with_their_attributes(lib):
    x = _subclass(lib)([1.0, 2.0])
    x.name_of_mine, x.slot = "x", 5
    ways = [copy.copy, _there_and_back] + [copy.deepcopy] * (not is_torch(lib))
    for way in ways:
        y = way(x)
        assert (type(y), y.tolist(), y.name_of_mine, y.slot) == (type(x), [1.0, 2.0], "x", 5)


def test_as_subclass_shares_memory_and_passes_gradients(lib):
    kind, x = _subclass(lib), leaf(lib, [1.0, 2.0])
    y = x.as_subclass(kind)
    assert (type(y), y.data_ptr(), y.is_leaf) == (kind, x.data_ptr(), False)
    assert y.grad_fn.name() == "AliasBackward0"
    (y * 3).sum().backward()
    assert close(x.grad, [3.0, 3.0])


def test_as_subclass_wants_a_subclass(lib):
    with raises(lib, TypeError, "cls must be a type (got int)"):
        lib.ones(1).as_subclass(3)
    text = (
        "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your "
        "class inherits from Tensor."
    )
    with raises(lib, TypeError, text):
        lib.ones(1).as_subclass(int)


# --- parameters and buffers -------------------------------------------------------------------------------------------


def test_a_parameter_is_a_leaf_on_the_memory_of_its_data(lib):
    x = leaf(lib, [1.0, 2.0]) * 2
    with lib.no_grad():
        p = lib.nn.Parameter(x)
    assert (p.requires_grad, p.is_leaf, p.data_ptr()) == (True, True, x.data_ptr())
    assert {type(p.data), type(p.detach()), type(p * 1), type(p.clone()), type(p[0])} == {lib.Tensor}
    assert not lib.nn.Parameter(lib.tensor([1]), requires_grad=False).requires_grad
    (p * p).sum().backward()
    assert close(p.grad, [4.0, 8.0])


def test_a_parameter_prints_as_one(lib):
    p = lib.nn.Parameter(lib.ones(2))
    text = "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    assert (repr(p), str(p), f"{p}") == (text, text, text)
    assert repr(lib.nn.Parameter()) == "Parameter containing:\ntensor([], requires_grad=True)"


def test_a_parameter_refuses_ints_lists_and_numbers(lib):
    with raises(lib, RuntimeError, "Only Tensors of floating point and complex dtype can require gradients"):
        lib.nn.Parameter(lib.tensor([1]))
    with raises(lib, AttributeError, "'list' object has no attribute 'detach'"):
        lib.nn.Parameter([1.0])
    with raises(lib, TypeError, "_make_subclass(): argument 'require_grad' (position 3) must be bool, not int"):
        lib.nn.Parameter(lib.ones(1), 3)


def test_a_parameter_stays_one_when_copied_or_pickled(lib):
    p = lib.nn.Parameter(lib.ones(2, 3).t(), requires_grad=False)
    p.grad, p.tag = lib.zeros(3, 2), 1
    deep, shallow, pickled = copy.deepcopy(p), copy.copy(p), _there_and_back(p)
    assert {type(q) for q in (deep, shallow, pickled)} == {lib.nn.Parameter}
    assert {q.stride() for q in (deep, shallow, pickled)} == {(1, 3)}
    assert not any(q.requires_grad for q in (deep, shallow, pickled))
    assert (deep.grad, deep.__dict__, pickled.tag) == (None, {}, 1)
    assert copy.deepcopy([p, p])[0] is not p
    first, second = copy.deepcopy([p, p])
    assert first is second


def test_a_parameter_of_a_subclass_keeps_the_subclass(lib):
    kind = _subclass(lib)
    p = lib.nn.Parameter(kind([1.0]))
    assert type(p) is kind
    assert isinstance(p, lib.nn.Parameter)
    assert repr(p) == "Parameter(Tagged([1.], requires_grad=True))"
    assert not isinstance(kind([1.0]), lib.nn.Parameter)


def test_a_buffer_is_a_plain_tensor_with_a_mark(lib):
    b = lib.nn.Buffer(lib.ones(2), persistent=False)
    assert (type(b), b.persistent) == (lib.Tensor, False)
    assert isinstance(b, lib.nn.Buffer)
    assert not isinstance(lib.ones(2), lib.nn.Buffer)
    assert isinstance(copy.deepcopy(b), lib.nn.Buffer)
    assert isinstance(_there_and_back(b), lib.nn.Buffer)


def test_storages_are_copied_once_together_with_their_tensors(lib):
    x = lib.arange(4.0)
    storage = x.untyped_storage()
    first, second, tensor = copy.deepcopy([storage, storage, x])
    assert first is second
    assert tensor.untyped_storage().data_ptr() == first.data_ptr() != storage.data_ptr()
    tensor[0] = 9
    assert x[0] == 0
    typed, tensor = copy.deepcopy([x._typed_storage(), x])
    assert typed._data_ptr() == tensor.data_ptr()
