"""Section 14: dtypes and type promotion."""

from __future__ import annotations

import math

import pytest

from tests.support import close, raises, renamed

SCALARS = [
    ("int32", 1, "int32"),
    ("uint8", 255, "uint8"),
    ("float16", 1.5, "float16"),
    ("int64", 1.5, "float32"),
    ("bool", True, "bool"),
    ("bool", 1, "int64"),
    ("bool", 1.5, "float32"),
    ("float32", 1j, "complex64"),
    ("float64", 1j, "complex128"),
    ("int64", 1j, "complex64"),
    ("bfloat16", 2, "bfloat16"),
]
ZERO_DIM = [
    ("int32", "int64", "int32"),
    ("float16", "float32", "float16"),
    ("float32", "float64", "float32"),
    ("int64", "float32", "float32"),
    ("int64", "float64", "float64"),
    ("bool", "int64", "int64"),
    ("float32", "complex128", "complex64"),
]
TENSORS = [
    ("int64", "float32", "float32"),
    ("float32", "float64", "float64"),
    ("float16", "float32", "float32"),
    ("float16", "bfloat16", "float32"),
    ("uint8", "int32", "int32"),
    ("uint8", "int8", "int16"),
    ("bool", "bool", "bool"),
    ("float32", "complex64", "complex64"),
    ("float64", "complex64", "complex128"),
    ("int64", "float16", "float16"),
]
EVERY = "uint8 int8 int16 int32 int64 float16 float32 float64 bfloat16 complex64 complex128 bool".split()


@pytest.mark.parametrize(("dtype", "number", "result"), SCALARS)
def test_a_python_number_changes_only_the_category(lib, dtype, number, result):
    t = lib.ones(2, dtype=getattr(lib, dtype))
    assert (t + number).dtype is getattr(lib, result)
    assert (number + t).dtype is getattr(lib, result)
    assert lib.result_type(t, number) is getattr(lib, result)


@pytest.mark.parametrize(("dtype", "scalar", "result"), ZERO_DIM)
def test_a_zero_dimensional_tensor_changes_only_the_category(lib, dtype, scalar, result):
    t = lib.ones(2, dtype=getattr(lib, dtype))
    s = lib.tensor(1, dtype=getattr(lib, scalar))
    assert (t + s).dtype is getattr(lib, result)
    assert (s + t).dtype is getattr(lib, result)


@pytest.mark.parametrize(("a", "b", "result"), TENSORS)
def test_two_tensors_with_dimensions_promote(lib, a, b, result):
    p, q = lib.ones(2, dtype=getattr(lib, a)), lib.ones(2, dtype=getattr(lib, b))
    assert (p + q).dtype is getattr(lib, result)
    assert (q + p).dtype is getattr(lib, result)
    assert lib.promote_types(p.dtype, q.dtype) is getattr(lib, result)


def test_unsigned_bytes_wrap(lib):
    assert (lib.tensor([1, 2], dtype=lib.uint8) + 255).tolist() == [0, 1]


def test_the_default_dtype_decides_what_integers_become(lib):
    lib.set_default_dtype(lib.float64)
    try:
        assert (lib.tensor([1]) + 1.5).dtype is lib.float64
        assert lib.tensor([1.5]).dtype is lib.float64
        assert lib.tensor([1]).exp().dtype is lib.float64
    finally:
        lib.set_default_dtype(lib.float32)


def test_the_dtypes_of_operations(lib):
    i, b, h = lib.tensor([1, 2]), lib.tensor([True, False]), lib.ones(2, dtype=lib.float16)
    assert (i / i).dtype is lib.float32
    assert {(i // 2).dtype, (i % 2).dtype, (i**2).dtype} == {lib.int64}
    assert {(i == i).dtype, (i < 2).dtype, (h > 0).dtype} == {lib.bool}
    assert {i.exp().dtype, b.sqrt().dtype, i.sin().dtype} == {lib.float32}
    for t in (b, i, i.to(lib.int32), i.to(lib.uint8)):
        assert {t.sum().dtype, t.prod().dtype, t.cumsum(0).dtype} == {lib.int64}
    assert h.sum().dtype is lib.float16
    indices = (i.argmax(), i.nonzero(), lib.randint(3, (2,)), lib.randperm(3), i.sort()[1])
    assert {t.dtype for t in indices} == {lib.int64}
    assert lib.where(b, i, h).dtype is lib.float16
    assert lib.cat([i, h]).dtype is lib.float16
    assert lib.stack([i, b]).dtype is lib.int64


def test_the_dtypes_of_factories(lib):
    import numpy

    assert lib.tensor([1, 2.5]).dtype is lib.float32
    assert lib.tensor([]).dtype is lib.float32
    assert lib.tensor(1).dtype is lib.int64
    assert lib.tensor(True).dtype is lib.bool
    assert lib.tensor(1j).dtype is lib.complex64
    assert lib.tensor(numpy.float64(1)).dtype is lib.float64
    assert lib.full((2,), 1).dtype is lib.int64
    assert lib.full((2,), 1.0).dtype is lib.float32
    assert lib.full((2,), True).dtype is lib.bool
    assert lib.arange(3).dtype is lib.int64
    assert lib.arange(3.0).dtype is lib.float32
    assert lib.zeros(2, dtype=float).dtype is lib.float64
    assert lib.zeros(2, dtype=int).dtype is lib.int64
    assert lib.zeros(2, dtype=bool).dtype is lib.bool


def test_dtypes_have_aliases_reprs_and_type_names(lib):
    assert lib.float is lib.float32
    assert (lib.double, lib.half, lib.long, lib.int) == (lib.float64, lib.float16, lib.int64, lib.int32)
    assert (lib.short, lib.cfloat, lib.cdouble) == (lib.int16, lib.complex64, lib.complex128)
    assert repr(lib.float32) == str(lib.float32) == renamed(lib, "torch.float32")
    assert lib.ones(1).type() == renamed(lib, "torch.FloatTensor")
    assert lib.ones(1, dtype=lib.int64).type() == renamed(lib, "torch.LongTensor")


@pytest.mark.parametrize("name", EVERY)
def test_every_dtype_describes_itself(lib, name):
    dtype = getattr(lib, name)
    assert dtype.is_floating_point is ("float" in name)
    assert dtype.is_complex is ("complex" in name)
    assert dtype.is_signed is (name not in ("uint8", "bool"))
    sizes = {"bool": 1, "bfloat16": 2}
    assert dtype.itemsize == sizes.get(name, int("".join(c for c in name if c.isdigit()) or 8) // 8)
    assert lib.zeros(2, dtype=dtype).element_size() == dtype.itemsize


@pytest.mark.parametrize("source", EVERY)
@pytest.mark.parametrize("target", EVERY)
def test_every_dtype_converts_to_every_other(lib, source, target):
    t = lib.tensor([0, 1, 3]).to(getattr(lib, source)).to(getattr(lib, target))
    limited = source == "bool" or target == "bool"
    assert t.dtype is getattr(lib, target)
    assert [complex(v) for v in t.tolist()] == [0, 1, 1 if limited else 3]


def test_integer_division_and_remainder_round_down_and_fmod_towards_zero(lib):
    t = lib.tensor([7, -7])
    assert (t // 2).tolist() == [3, -4]
    assert (t % 3).tolist() == [1, 2]
    assert t.fmod(3).tolist() == [1, -1]


def test_integers_divided_by_zero(lib):
    t = lib.tensor([1])
    for use in (lambda: t // 0, lambda: t % 0):
        with raises(lib, RuntimeError, "ZeroDivisionError"):
            use()
    assert (t / 0).item() == math.inf


def test_integers_have_no_negative_powers(lib):
    with raises(lib, RuntimeError, "Integers to negative integer powers are not allowed."):
        lib.tensor([2]) ** -1
    assert (lib.tensor([2]) ** lib.tensor([-1])).tolist() == [0]


def test_integers_have_no_mean_or_spread(lib):
    i = lib.tensor([1, 2])
    text = (
        "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: Long"
    )
    with raises(lib, RuntimeError, text):
        i.mean()
    with raises(lib, RuntimeError, "std and var only support floating point and complex dtypes"):
        i.std()


def test_booleans_are_neither_negated_nor_subtracted(lib):
    b = lib.tensor([True])
    text = (
        "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the "
        "`~` or "
        "`logical_not()` operator instead."
    )
    with raises(lib, RuntimeError, text):
        -b
    text = "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."
    with raises(lib, RuntimeError, text):
        b - b
    for positive in (lambda: +b, b.positive, lambda: lib.positive(b)):
        with raises(lib, RuntimeError, "The `+` operator, on a bool tensor is not supported."):
            positive()
    assert (~b).tolist() == [False]


def test_matrix_products_do_not_promote(lib):
    a, b = lib.ones(2, 2), lib.ones(2, 2, dtype=lib.float64)
    with raises(lib, RuntimeError, "expected m1 and m2 to have the same dtype, but got: float != double"):
        a @ b
    with raises(lib, RuntimeError, "dot : expected both vectors to have same dtype, but found Float and Double"):
        a[0] @ b[0]


def test_a_dtype_is_not_named_by_text(lib):
    with raises(lib, TypeError, "zeros(): argument 'dtype' must be torch.dtype, not str"):
        lib.zeros(2, dtype="float32")


def test_a_number_that_does_not_fit_is_refused_but_minus_one_wraps(lib):
    with raises(lib, RuntimeError, "value cannot be converted to type uint8 without overflow"):
        lib.tensor(300, dtype=lib.uint8)
    assert lib.tensor(-1, dtype=lib.uint8).item() == 255


def test_a_comparison_promotes_its_operands(lib):
    assert (lib.tensor([1, 2]) < lib.tensor([1.5, 1.5])).tolist() == [True, False]
    assert close(lib.tensor([1, 2]) + lib.tensor([0.5, 0.5]), [1.5, 2.5])
