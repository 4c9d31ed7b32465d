"""Limits of dtypes, and the old names of tensor types.

tests/oracle/test_protocol_oracle.py runs the same tests with torch.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from types import ModuleType

import numpy
import pytest

from tests.support import leaf, lend, raises, renamed


@pytest.fixture
def lib() -> Iterator[ModuleType]:
    import claygrad

    yield from lend(claygrad)


# --- limits of dtypes -------------------------------------------------------------------------------------------------


def test_finfo_and_iinfo_print_as_torch_prints(lib):
    assert repr(lib.finfo(lib.float16)) == (
        "finfo(resolution=0.001, min=-65504, max=65504, eps=0.000976562, smallest_normal=6.10352e-05, "
        "tiny=6.10352e-05, dtype=float16)"
    )
    assert repr(lib.iinfo(lib.int32)) == "iinfo(min=-2.14748e+09, max=2.14748e+09, dtype=int32)"


def test_finfo_knows_the_limits(lib):
    info = lib.finfo()
    assert (info.dtype, info.bits, info.eps, info.tiny) == ("float32", 32, 2.0**-23, 2.0**-126)
    assert (info.max, info.min, info.resolution) == (3.4028234663852886e38, -3.4028234663852886e38, 1e-06)
    assert lib.finfo(lib.bfloat16).max == 3.3895313892515355e38
    assert lib.finfo(lib.complex128) == lib.finfo(lib.float64)
    assert lib.iinfo(lib.int64).min == -(2**63)
    assert lib.iinfo(lib.uint8).max == 255


def test_finfo_and_iinfo_refuse_each_others_dtypes(lib):
    text = "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
    with raises(lib, TypeError, text):
        lib.finfo(lib.int32)
    text = "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'"
    with raises(lib, TypeError, text):
        lib.iinfo(lib.float32)
    with raises(lib, TypeError, "torch.bool is not supported by torch.iinfo"):
        lib.iinfo(lib.bool)
    with pytest.raises(AttributeError, match=r"attribute 'eps' of '.*finfo' objects is not writable"):
        lib.finfo(lib.float32).eps = 1


# --- legacy types -----------------------------------------------------------------------------------------------------


def test_legacy_types_make_tensors_of_their_dtype(lib):
    made = lib.LongTensor([1, 2**40 + 1])
    assert (type(made), made.dtype, made.tolist()) == (lib.Tensor, lib.int64, [1, 2**40 + 1])
    assert lib.FloatTensor(2, 3).shape == (2, 3)
    assert lib.BoolTensor([0, 2]).tolist() == [False, True]
    assert lib.DoubleTensor(numpy.array([1, 2])).dtype is lib.float64
    with raises(lib, TypeError, "new(): data must be a sequence (got float)"):
        lib.FloatTensor(3.0)


def test_legacy_types_know_their_tensors(lib):
    x = leaf(lib, [1.0])
    assert isinstance(x, lib.FloatTensor)
    assert not isinstance(x, lib.DoubleTensor)
    assert not isinstance(lib.ones(1, device="meta"), lib.FloatTensor)
    assert not issubclass(lib.FloatTensor, lib.Tensor)
    assert lib.FloatTensor.dtype is lib.float32
    assert pickle.loads(pickle.dumps(lib.FloatTensor)) is lib.FloatTensor
    assert repr(lib.FloatTensor) == renamed(lib, "<class 'torch.FloatTensor'>")
    with pytest.raises(TypeError, match=r"type '.*FloatTensor' is not an acceptable base type"):
        type("Mine", (lib.FloatTensor,), {})


def test_the_default_dtype_goes_by_its_old_name(lib):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lib.set_default_tensor_type("torch.DoubleTensor")
            assert lib.tensor(1.0).dtype is lib.float64
            lib.set_default_tensor_type(lib.HalfTensor)
            assert lib.get_default_dtype() is lib.float16
    finally:
        lib.set_default_dtype(lib.float32)
    with raises(lib, TypeError, "only floating-point types are supported as the default type"):
        lib.set_default_tensor_type(lib.LongTensor)


def test_typename_of_tensors_types_and_others(lib):
    assert lib.typename(lib.ones(1)) == renamed(lib, "torch.FloatTensor")
    assert lib.typename(lib.FloatTensor) == renamed(lib, "torch.FloatTensor")
    others = [lib.typename(v) for v in (3, int, None, [], numpy.ones(1))]
    assert others == ["int", "int", "NoneType", "list", "numpy.ndarray"]
