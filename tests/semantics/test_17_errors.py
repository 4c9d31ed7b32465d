"""Section 17: shape and index errors."""

from __future__ import annotations

import math

import pytest

from tests.support import raises, warns

R, I, V, T = RuntimeError, IndexError, ValueError, TypeError  # noqa: E741
RANGE = "Dimension out of range (expected to be in range of [-2, 1], but got 2)"
EXPAND = (
    "The expanded size of the tensor (3) must match the existing size (2) at non-singleton dimension 0.  "
    "Target sizes: [3].  Tensor sizes: [2]"
)
SCALAR_INDEX = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
    "tensor to a "
    "number"
)
WRONG_INDEX = (
    "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got float)"
)
INCOMPATIBLE = (
    "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
    "contiguous "
    "subspaces). Use .reshape(...) instead."
)
INNER = (
    "inconsistent tensor size, expected tensor [2] and src [3] to have the same number of elements, but got 2 and 3 "
    "elements "
    "respectively"
)
EMPTY_MAX = "max(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
MASK = "The shape of the mask [2] at index 0 does not match the shape of the indexed tensor [3] at index 0"
CAT = (
    "Sizes of tensors must match except in dimension 0. Expected size 3 but got size 4 for tensor number 1 in the list."
)
MULTIPLIED = "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"

CASES = {
    "add": (
        lambda lib: lib.ones(2) + lib.ones(3),
        R,
        "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0",
    ),
    "matmul": (lambda lib: lib.ones(2, 3) @ lib.ones(2, 3), R, MULTIPLIED),
    "mm": (lambda lib: lib.mm(lib.ones(2, 3), lib.ones(2, 3)), R, MULTIPLIED),
    "linear": (
        lambda lib: lib.nn.functional.linear(lib.ones(1, 2), lib.ones(3, 4), lib.ones(3)),
        R,
        "mat1 and mat2 shapes cannot be multiplied (1x2 and 4x3)",
    ),
    "dot": (lambda lib: lib.ones(2) @ lib.ones(3), R, INNER),
    "mv": (lambda lib: lib.ones(2, 3) @ lib.ones(2), R, "size mismatch, got input (2), mat (2x3), vec (2)"),
    "batched": (
        lambda lib: lib.ones(2, 3, 4) @ lib.ones(2, 3, 4),
        R,
        "Expected size for first two dimensions of batch2 tensor to be: [2, 4] but got: [2, 3].",
    ),
    "0-D matmul": (
        lambda lib: lib.tensor(1.0) @ lib.ones(2),
        R,
        "both arguments to matmul need to be at least 1D, but they are 0D and 1D",
    ),
    "mm of a vector": (lambda lib: lib.mm(lib.ones(2), lib.ones(2, 2)), R, "self must be a matrix"),
    "bmm of a matrix": (lambda lib: lib.bmm(lib.ones(2, 2), lib.ones(2, 2)), R, "batch1 must be a 3D tensor"),
    "index": (lambda lib: lib.ones(3)[3], I, "index 3 is out of bounds for dimension 0 with size 3"),
    "negative index": (lambda lib: lib.ones(3)[-4], I, "index -4 is out of bounds for dimension 0 with size 3"),
    "index tensor": (
        lambda lib: lib.ones(3)[lib.tensor([3])],
        I,
        "index 3 is out of bounds for dimension 0 with size 3",
    ),
    "index list": (lambda lib: lib.ones(3)[[0, 5]], I, "index 5 is out of bounds for dimension 0 with size 3"),
    "too many indices": (lambda lib: lib.ones(3)[0, 0], I, "too many indices for tensor of dimension 1"),
    "index of a scalar": (lambda lib: lib.tensor(1.0)[0], I, SCALAR_INDEX),
    "float index": (lambda lib: lib.ones(3)[1.0], I, WRONG_INDEX),
    "float index tensor": (
        lambda lib: lib.ones(3)[lib.tensor([1.0])],
        I,
        "tensors used as indices must be long, int, byte or bool tensors",
    ),
    "mask": (lambda lib: lib.ones(3)[lib.tensor([True, False])], I, MASK),
    "indices that do not broadcast": (
        lambda lib: lib.ones(3, 3)[lib.tensor([0, 1]), lib.tensor([0, 1, 2])],
        I,
        "shape mismatch: indexing tensors could not be broadcast together with shapes [2], [3]",
    ),
    "negative step": (lambda lib: lib.ones(3)[::-1], V, "step must be greater than zero"),
    "zero step": (lambda lib: lib.ones(3)[::0], V, "slice step cannot be zero"),
    "view": (lambda lib: lib.ones(3).view(2), R, "shape '[2]' is invalid for input of size 3"),
    "reshape": (lambda lib: lib.ones(3).reshape(2), R, "shape '[2]' is invalid for input of size 3"),
    "view -1 -1": (lambda lib: lib.ones(3).view(-1, -1), R, "only one dimension can be inferred"),
    "view of a transpose": (lambda lib: lib.ones(2, 3).t().view(6), R, INCOMPATIBLE),
    "sum dim": (lambda lib: lib.ones(2, 3).sum(2), I, RANGE),
    "transpose dim": (lambda lib: lib.ones(2, 3).transpose(0, 2), I, RANGE),
    "select dim": (lambda lib: lib.ones(2, 3).select(2, 0), I, RANGE),
    "softmax dim": (lambda lib: lib.ones(2, 3).softmax(2), I, RANGE),
    "expand": (lambda lib: lib.ones(2).expand(3), R, EXPAND),
    "cat sizes": (lambda lib: lib.cat([lib.ones(2, 3), lib.ones(2, 4)]), R, CAT),
    "cat ranks": (
        lambda lib: lib.cat([lib.ones(2), lib.ones(2, 2)]),
        R,
        "Tensors must have same number of dimensions: got 1 and 2",
    ),
    "cat of nothing": (lambda lib: lib.cat([]), V, "torch.cat(): expected a non-empty list of Tensors"),
    "stack": (
        lambda lib: lib.stack([lib.ones(2), lib.ones(3)]),
        R,
        "stack expects each tensor to be equal size, but got [2] at entry 0 and [3] at entry 1",
    ),
    "t": (lambda lib: lib.ones(2, 3, 4).t(), R, "t() expects a tensor with <= 2 dimensions, but self is 3D"),
    "index_select": (lambda lib: lib.ones(3).index_select(0, lib.tensor([5])), I, "index out of range in self"),
    "gather": (
        lambda lib: lib.ones(3).gather(0, lib.tensor([5])),
        R,
        "index 5 is out of bounds for dimension 0 with size 3",
    ),
    "scatter": (
        lambda lib: lib.ones(3).scatter(0, lib.tensor([5]), lib.ones(1)),
        R,
        "index 5 is out of bounds for dimension 0 with size 3",
    ),
    "max of nothing": (lambda lib: lib.empty(0).max(), R, EMPTY_MAX),
    "negative size": (lambda lib: lib.ones(-1), R, "Trying to create tensor with negative dimension -1: [-1]"),
    "add text": (lambda lib: lib.ones(2) + "a", T, "unsupported operand type(s) for +: 'Tensor' and 'str'"),
    "add None": (lambda lib: lib.ones(2) + None, T, "unsupported operand type(s) for +: 'Tensor' and 'NoneType'"),
    "add list": (lambda lib: lib.ones(2) + [1, 2], T, "unsupported operand type(s) for +: 'Tensor' and 'list'"),
    "attribute": (lambda lib: lib.ones(2).foo, AttributeError, "'Tensor' object has no attribute 'foo'"),
    "clamp": (lambda lib: lib.ones(2).clamp(), R, "torch.clamp: At least one of 'min' or 'max' must not be None"),
    "cross_entropy class": (
        lambda lib: lib.nn.functional.cross_entropy(lib.ones(1, 3), lib.tensor([5])),
        I,
        "Target 5 is out of bounds.",
    ),
    "cross_entropy batch": (
        lambda lib: lib.nn.functional.cross_entropy(lib.ones(2, 3), lib.tensor([0, 1, 2])),
        V,
        "Expected input batch_size (2) to match target batch_size (3).",
    ),
    "softmax of ints": (
        lambda lib: lib.tensor([1, 2]).softmax(0),
        NotImplementedError,
        "\"softmax_lastdim_kernel_impl\" not implemented for 'Long'",
    ),
}


@pytest.mark.parametrize(("call", "kind", "text"), CASES.values(), ids=CASES.keys())
def test_the_error_of(lib, call, kind, text):
    with raises(lib, kind, text):
        call(lib)


def test_reductions_of_nothing(lib):
    e = lib.empty(0)
    assert (e.sum().item(), e.prod().item(), math.isnan(e.mean().item())) == (0.0, 1.0, True)


def test_mse_loss_of_differing_shapes_warns(lib):
    text = (
        "Using a target size (torch.Size([2])) that is different to the input size (torch.Size([2, 1])). This will "
        "likely lead "
        "to incorrect results due to broadcasting. Please ensure they have the same size."
    )
    with warns(lib, text):
        lib.nn.functional.mse_loss(lib.ones(2, 1), lib.ones(2))


# --- numbers and sizes that are too large -----------------------------------------------------------------------------

HUGE = 2**62
BYTE = "value cannot be converted to type uint8_t without overflow"
LARGE = f"Storage size calculation overflowed with sizes=[{HUGE}]"


def _bytes(lib):
    return lib.zeros(2, dtype=lib.uint8)


def _half(lib):
    return lib.tensor([True, False])


TOO_LARGE = {
    "zeros": (lambda lib: lib.zeros(HUGE), R, LARGE),
    "arange": (lambda lib: lib.arange(HUGE), R, LARGE),
    "linspace": (lambda lib: lib.linspace(0, 1, HUGE), R, LARGE),
    "window": (lambda lib: lib.hann_window(HUGE), R, LARGE),
    "resize": (lambda lib: lib.zeros(2).resize_(HUGE), R, LARGE),
    "fft": (lambda lib: lib.fft.fft(lib.zeros(2), n=HUGE), R, LARGE),
    "contiguous": (lambda lib: lib.zeros(1).expand(HUGE).contiguous(), R, LARGE),
    "clone": (lambda lib: lib.zeros(1).expand(HUGE).clone(memory_format=lib.contiguous_format), R, LARGE),
    "abs": (lambda lib: lib.zeros(1).expand(HUGE).abs(), R, LARGE),
    "add": (lambda lib: lib.zeros(1).expand(HUGE) + 1, R, LARGE),
    "one_hot": (
        lambda lib: lib.nn.functional.one_hot(lib.tensor([0]), HUGE),
        R,
        f"Storage size calculation overflowed with sizes=[1, {HUGE}]",
    ),
    "as_strided": (
        lambda lib: lib.zeros(2).as_strided((2,), (HUGE,)),
        R,
        f"Storage size calculation overflowed with sizes=[2] and strides=[{HUGE}]",
    ),
    "empty_strided": (
        lambda lib: lib.empty_strided((2,), (HUGE,)),
        R,
        f"Storage size calculation overflowed with sizes=[2] and strides=[{HUGE}]",
    ),
    "set_": (
        lambda lib: lib.zeros(6).set_(lib.zeros(6).untyped_storage(), 0, (2,), (-1,)),
        R,
        "Storage size calculation overflowed with sizes=[2] and strides=[-1]",
    ),
    "set_ of two lengths": (
        lambda lib: lib.zeros(6).set_(lib.zeros(6).untyped_storage(), 0, (2, 3), (1,)),
        R,
        "unequal size length (2) and stride length (1)",
    ),
    "expand": (lambda lib: lib.zeros(1).expand(HUGE, HUGE), R, "numel: integer multiplication overflow"),
    "sum": (
        lambda lib: lib.zeros(2).sum(HUGE),
        I,
        f"Dimension out of range (expected to be in range of [-1, 0], but got {HUGE})",
    ),
    "fill_": (lambda lib: _bytes(lib).fill_(300), R, BYTE),
    "fill_ of a negative fraction": (lambda lib: _bytes(lib).fill_(-0.5), R, BYTE),
    "fill_ of floats": (
        lambda lib: lib.zeros(2).fill_(1e300),
        R,
        "value cannot be converted to type float without overflow",
    ),
    "item": (lambda lib: _bytes(lib).__setitem__(0, 300), R, BYTE),
    "item of ints": (lambda lib: _bytes(lib).__setitem__(0, HUGE * 2), V, "Overflow when unpacking long long"),
    "where": (lambda lib: lib.where(_half(lib), _bytes(lib), 300), R, BYTE),
    "masked_fill": (lambda lib: _bytes(lib).masked_fill(_half(lib), 300), R, BYTE),
    "pad": (lambda lib: lib.nn.functional.pad(_bytes(lib), (1, 1), value=-1), R, BYTE),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_what_is_too_large_is_refused(lib, name):
    call, kind, text = TOO_LARGE[name]
    with raises(lib, kind, text):
        call(lib)


@pytest.mark.parametrize("name", ["repeat", "tile", "pad"])
def test_sizes_that_wrap_around_are_refused_without_a_word_in_common(lib, name):
    calls = {
        "repeat": lambda: lib.zeros(2).repeat(HUGE),
        "tile": lambda: lib.zeros(2).tile(HUGE),
        "pad": lambda: lib.nn.functional.pad(lib.zeros(2), (HUGE, HUGE)),
    }
    with pytest.raises(RuntimeError):
        calls[name]()


def test_a_negative_integer_wraps_around_in_a_byte(lib):
    t = _bytes(lib)
    t[0] = -1
    assert t.tolist() == [255, 0]
    assert lib.constant_pad_nd(t, [1, 0], -2).tolist() == [254, 255, 0]


def test_a_half_that_is_assigned_too_much_is_infinite(lib):
    t = lib.zeros(1, dtype=lib.float16)
    t[0] = 70000
    assert t.item() == math.inf


def test_a_tensor_that_refuses_another_shape_keeps_its_own():
    import claygrad  # PyTorch's has the negative size already when it refuses

    t = claygrad.arange(6.0)
    with pytest.raises(RuntimeError, match="numel: integer multiplication overflow"):
        t.resize_(-1)
    assert (t.shape, t._version, t.tolist()) == ((6,), 0, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0])


def test_text_is_no_index(lib):
    with raises(lib, TypeError, "new(): invalid data type 'str'"):
        lib.zeros(2)["a"]
