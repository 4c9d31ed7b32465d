"""Section 16: scalars, NumPy, constructors."""

from __future__ import annotations

import math

import numpy
import pytest

from tests.support import close, fresh, is_torch, leaf, raises, silent, warns
from tests.support.messages import NUMPY

COPY = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor)."
)


# --- Python scalars -------------------------------------------------------------------------------------------------


def test_item_needs_exactly_one_element(lib):
    with raises(lib, RuntimeError, "a Tensor with 2 elements cannot be converted to Scalar"):
        lib.ones(2).item()
    with raises(lib, RuntimeError, "a Tensor with 0 elements cannot be converted to Scalar"):
        lib.tensor([]).item()
    assert lib.tensor([[2.5]]).item() == 2.5
    assert type(lib.tensor(3).item()) is int
    assert lib.tensor(True).item() is True
    assert lib.tensor(1j).item() == 1j


def test_float_needs_exactly_one_element(lib):
    for convert in (float, int, complex):
        with raises(lib, ValueError, "only one element tensors can be converted to Python scalars"):
            convert(lib.ones(2))
    assert (float(lib.tensor([2.5])), int(lib.tensor(2.9)), complex(lib.tensor(1))) == (2.5, 2, 1 + 0j)


def test_float_of_what_requires_grad_warns_once_and_item_never(lib):
    out = fresh(
        lib,
        """
        x = torch.tensor([2.], requires_grad=True)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            x.item()
            print(len(seen), float(x), float(x))
        print(len(seen), str(seen[0].message))
        """,
    )
    text = (
        "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
        "Consider using tensor.detach() first."
    )
    assert out.startswith("0 2.0 2.0\n1 " + text)


def test_truth_needs_exactly_one_element(lib):
    with raises(lib, RuntimeError, "Boolean value of Tensor with more than one value is ambiguous"):
        bool(lib.ones(2))
    with raises(lib, RuntimeError, "Boolean value of Tensor with no values is ambiguous"):
        bool(lib.tensor([]))
    assert bool(lib.tensor([1]))
    assert not lib.tensor(0.0)


def test_a_zero_dimensional_tensor_has_no_length_and_no_iteration(lib):
    with raises(lib, TypeError, "len() of a 0-d tensor"):
        len(lib.tensor(1))
    with raises(lib, TypeError, "iteration over a 0-d tensor"):
        list(lib.tensor(1))
    assert len(lib.zeros(3, 2)) == 3
    assert [t.tolist() for t in lib.tensor([[1], [2]])] == [[1], [2]]


def test_an_integer_tensor_is_an_index(lib):
    assert [1, 2, 3][lib.tensor(1)] == 2
    assert list(range(lib.tensor([3]))) == [0, 1, 2]
    with raises(lib, TypeError, "only integer tensors of a single element can be converted to an index"):
        [1, 2, 3][lib.tensor(1.0)]


def test_comparison_with_none_or_a_dict_is_false_and_hash_is_by_identity(lib):
    x = lib.ones(2)
    assert (x == None) is False  # noqa: E711
    assert (x == {}) is False
    assert (x != None) is True  # noqa: E711
    assert hash(x) == hash(x)
    assert len({x, lib.ones(2), x}) == 2


def test_membership_compares_elements(lib):
    x = lib.tensor([1.0, 2.0])
    assert 2 in x
    assert 3.0 not in x
    assert lib.tensor(1.0) in x


# --- NumPy ----------------------------------------------------------------------------------------------------------


def test_numpy_needs_a_tensor_without_grad(lib):
    x = leaf(lib, [1.0])
    with raises(lib, RuntimeError, NUMPY):
        x.numpy()
    with lib.no_grad():
        assert x.numpy().tolist() == [1.0]
    assert x.detach().numpy().tolist() == [1.0]
    forced = x.numpy(force=True)
    forced[0] = 5.0
    assert close(x, [5.0])


def test_numpy_from_numpy_and_as_tensor_share_memory(lib):
    a = numpy.zeros(3, dtype=numpy.float32)
    shared = [lib.from_numpy(a), lib.as_tensor(a)]
    a[0] = 1.0
    assert all(t.tolist() == [1.0, 0.0, 0.0] for t in shared)
    shared[0][1] = 2.0
    assert a.tolist() == [1.0, 2.0, 0.0]
    t = lib.zeros(2)
    t.numpy()[0] = 7.0
    assert close(t, [7.0, 0.0])


def test_tensor_copies_an_array(lib):
    a = numpy.zeros(2, dtype=numpy.float32)
    t = lib.tensor(a)
    a[0] = 1.0
    assert close(t, [0.0, 0.0])


def test_strided_and_transposed_arrays_share_memory(lib):
    a = numpy.arange(12.0).reshape(3, 4)
    t = lib.from_numpy(a.T[::2])
    assert (t.shape, t.stride()) == ((2, 3), (2, 4))
    t[0, 0] = 99.0
    assert a[0, 0] == 99.0
    assert lib.zeros(2, 3).t().numpy().strides == (4, 12)


@pytest.mark.parametrize(
    "name", "uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128 bool".split()
)
def test_every_numpy_dtype_goes_there_and_back(lib, name):
    a = numpy.array([0, 1, 1], dtype=name)
    t = lib.from_numpy(a)
    assert t.dtype is getattr(lib, name)
    assert t.numpy().dtype == a.dtype
    assert t.numpy().tolist() == a.tolist()


def test_from_numpy_refuses_what_it_cannot_share(lib):
    with raises(lib, TypeError, "expected np.ndarray (got list)"):
        lib.from_numpy([1.0])
    with raises(lib, TypeError, "can't convert np.ndarray of type numpy.str_. The only supported types are: …"):
        lib.from_numpy(numpy.array(["a"]))
    text = (
        "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
        "supported. (You can probably work around this by making a copy of your array  with array.copy().) "
    )
    with raises(lib, ValueError, text):
        lib.from_numpy(numpy.arange(3.0)[::-1])
    with raises(lib, ValueError, "given numpy array has byte order different from the native byte order. …"):
        lib.from_numpy(numpy.array([1.0], dtype=">f8"))


def test_a_read_only_array_warns(lib):
    out = fresh(
        lib,
        """
        import numpy
        a = numpy.zeros(2)
        a.flags.writeable = False
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            torch.from_numpy(a)
        print(str(seen[0].message))
        """,
    )
    assert out.startswith("The given NumPy array is not writable, ")


def test_an_array_on_the_right_makes_a_tensor(lib):
    t, a = lib.ones(2, dtype=lib.float64), numpy.array([2.0, 3.0])
    assert type(t * a) is lib.Tensor
    assert close(t * a, [2.0, 3.0])
    if is_torch(lib):                     # claygrad computes: tests/test_ufuncs.py
        with raises(lib, TypeError, "unsupported operand type(s) for *: 'numpy.ndarray' and 'Tensor'"):
            a * t
    assert close(numpy.float64(2) * t, [2.0, 2.0])


def test_numpy_functions_accept_a_tensor(lib):
    t = lib.tensor([1.0, 2.0])
    assert numpy.asarray(t).tolist() == [1.0, 2.0]
    assert numpy.array(t, dtype=numpy.float64).dtype == numpy.float64
    assert float(numpy.sum(t.numpy())) == 3.0


# --- constructors ---------------------------------------------------------------------------------------------------


def test_tensor_of_a_tensor_is_a_detached_copy_with_a_warning(lib):
    x = leaf(lib, [1.0])
    with warns(lib, COPY):
        t = lib.tensor(x)
    assert (t.requires_grad, t.data_ptr() != x.data_ptr()) == (False, True)
    with silent():
        assert lib.as_tensor(x) is x


def test_tensor_refuses_what_has_no_numbers(lib):
    with raises(lib, RuntimeError, "Could not infer dtype of NoneType"):
        lib.tensor(None)
    with raises(lib, TypeError, "new(): invalid data type 'str'"):
        lib.tensor("a")
    with raises(lib, ValueError, "expected sequence of length 2 at dim 1 (got 1)"):
        lib.tensor([[1, 2], [3]])
    with raises(lib, ValueError, "Overflow when unpacking long long"):
        lib.tensor(2**63)


def test_the_random_streams_are_those_of_torch(lib):
    lib.manual_seed(0)
    assert close(lib.randn(3), [1.5410, -0.2934, -2.1788], atol=1e-4)
    assert close(lib.rand(3), [0.4556, 0.6323, 0.3489], atol=1e-4)
    lib.manual_seed(0)
    assert lib.randint(10, (5,)).tolist() == [4, 9, 3, 0, 3]
    assert lib.randperm(5).tolist() == [4, 0, 3, 1, 2]


def test_the_legacy_constructor(lib):
    t = lib.Tensor([1, 2])
    assert (t.dtype, t.tolist()) == (lib.float32, [1.0, 2.0])
    assert lib.Tensor(2, 3).shape == (2, 3)
    with pytest.raises(TypeError):
        lib.Tensor([1, 2], requires_grad=True)


def test_factories_of_ranges_and_identities(lib):
    assert lib.arange(1, 10, 3).tolist() == [1, 4, 7]
    assert close(lib.linspace(0, 1, 5), [0.0, 0.25, 0.5, 0.75, 1.0])
    assert close(lib.logspace(0, 2, 3), [1.0, 10.0, 100.0])
    assert lib.eye(2, 3).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    assert lib.zeros((2, 1)).shape == lib.zeros(2, 1).shape == lib.zeros([2, 1]).shape == (2, 1)
    assert lib.empty(0).shape == (0,)
    assert lib.full((), 7.0).item() == 7.0
    assert math.isinf(lib.full((1,), math.inf).item())


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_a_number_is_not_rounded_to_half_before_it_multiplies(lib, kind):
    x = lib.linspace(0.1, 1.0, 200).to(getattr(lib, kind))
    want = (x.float() * 6.283185307179586).to(x.dtype)
    assert ((6.283185307179586 * x) == want).all()
    assert ((x * 6.283185307179586) == want).all()


def test_a_number_on_the_left_is_the_second_input_where_order_is_free(lib):
    x = leaf(lib, [1.0, 2.0])
    for made in (2 * x, 2 + x):
        first, second = made.grad_fn.next_functions
        assert (first[0].name(), second) == ("torch::autograd::AccumulateGrad", (None, 0))


def test_a_size_is_a_tuple_that_counts(lib):
    s = lib.zeros(2, 3).size()
    assert isinstance(s, tuple)
    assert (s == (2, 3), s.numel(), s[0], lib.zeros(2, 3).size(-1)) == (True, 6, 2, 3)
    assert type(s[:1]) is lib.Size
    assert type(s + (1,)) is lib.Size


def test_layout_can_be_asked(lib):
    t = lib.zeros(4, 6)[1:, ::2]
    assert (t.stride(), t.storage_offset(), t.numel(), t.dim(), t.element_size()) == ((6, 2), 6, 9, 2, 4)
    assert not t.is_contiguous()
    assert t.contiguous().is_contiguous()
    assert t.untyped_storage().nbytes() == 96
    assert t.data_ptr() == t._base.data_ptr() + 24
