"""Tensors and other array libraries: NumPy's functions on tensors, and DLPack in both directions.

tests/oracle/test_protocol_oracle.py runs the same tests with torch.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from types import ModuleType

import numpy
import pytest

from tests.support import close, exact, is_torch, leaf, lend, raises
from tests.support.messages import NUMPY

DTYPES = "uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128 bool bfloat16".split()


@pytest.fixture
def lib() -> Iterator[ModuleType]:
    import claygrad

    yield from lend(claygrad)


# --- NumPy ------------------------------------------------------------------------------------------------------------


def test_numpy_functions_take_tensors_and_give_tensors(lib):
    found = numpy.add(lib.ones(2), numpy.array([1.0, 2.0]))
    assert isinstance(found, lib.Tensor)
    assert (found.dtype, found.tolist()) == (lib.float64, [2.0, 3.0])
    assert numpy.isnan(lib.ones(2)).dtype is lib.uint8
    assert isinstance(numpy.concatenate([lib.ones(1), lib.ones(1)]), numpy.ndarray)
    if is_torch(lib):                     # claygrad keeps the gradient: tests/test_ufuncs.py
        with raises(lib, RuntimeError, NUMPY):
            numpy.sin(leaf(lib, [1.0]))


def test_a_tensor_times_an_array_or_a_number_of_numpy(lib):
    assert (lib.ones(3) * numpy.arange(3.0)).dtype is lib.float64
    assert exact(numpy.float64(2) * lib.ones(2), [2.0, 2.0])
    assert (numpy.float64(2) * lib.ones(2)).dtype is lib.float32


def test_asarray_shares_memory_and_array_copies(lib):
    x = lib.zeros(2)
    numpy.asarray(x)[0] = 1.0
    numpy.array(x)[1] = 1.0
    assert x.tolist() == [1.0, 0.0]
    assert numpy.asarray(x, dtype=numpy.int32).dtype == numpy.int32
    with raises(lib, TypeError, "Got unsupported ScalarType BFloat16"):
        numpy.asarray(lib.ones(1, dtype=lib.bfloat16))


# --- DLPack -----------------------------------------------------------------------------------------------------------


def test_dlpack_shares_memory_both_ways(lib):
    x = lib.arange(6.0).view(2, 3).t()
    array = numpy.from_dlpack(x)
    assert array.strides == (4, 12)
    array[0, 0] = 9.0
    assert x[0, 0].item() == 9.0
    source = numpy.arange(4)
    y = lib.from_dlpack(source)
    y[0] = 7
    assert source[0] == 7


@pytest.mark.parametrize("name", DTYPES)
def test_dlpack_carries_every_dtype(lib, name):
    x = lib.tensor([0, 1, 1]).to(getattr(lib, name))
    for y in (lib.from_dlpack(x), lib.from_dlpack(x.__dlpack__()), lib.from_dlpack(x.__dlpack__(max_version=(1, 0)))):
        assert (y.dtype, y.tolist(), y.data_ptr()) == (x.dtype, x.tolist(), x.data_ptr())
    assert lib.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()


def _bytes(lib, name):
    """Three elements of a dtype, from memory: most of these convert from nothing."""
    size = getattr(lib, name).itemsize
    return lib.tensor([1, 2, 3] * size, dtype=lib.uint8).view(getattr(lib, name))


@pytest.mark.parametrize("versions", [{}, {"max_version": (1, 0)}], ids=["old", "versioned"])
@pytest.mark.parametrize("name", "complex32 uint16 uint32 uint64 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2".split())
def test_dlpack_carries_what_numpy_does_not_know(lib, name, versions):
    x = _bytes(lib, name)
    y = lib.from_dlpack(x.__dlpack__(**versions))
    assert (y.dtype, y.shape, y.data_ptr()) == (x.dtype, x.shape, x.data_ptr())
    spaced = lib.from_dlpack(x[::2].__dlpack__(**versions))
    assert (spaced.stride(), spaced.view(-1)[1].data_ptr()) == ((2,), x[2].data_ptr())


@pytest.mark.parametrize(("name", "family"), [("int3", "int8"), ("uint1", "uint8"), ("uint7", "uint8")])
def test_dlpack_carries_parts_of_bytes_as_whole_ones(lib, name, family):
    assert lib.from_dlpack(_bytes(lib, name)).dtype is getattr(lib, family)


@pytest.mark.parametrize(("name", "said"), [("bits8", "Bit types are not supported by dlpack"),
                                            ("quint8", "QUInt/QInt types are not supported by dlpack"),
                                            ("qint8", "QUInt/QInt types are not supported by dlpack")])
def test_dlpack_refuses_bits_and_quantized(lib, name, said):
    with raises(lib, BufferError, said):
        _bytes(lib, name).__dlpack__()


def test_dlpack_refuses_what_it_cannot_carry(lib):
    with raises(lib, BufferError, "Can't export tensors that require gradient, use tensor.detach()"):
        leaf(lib, [1.0]).__dlpack__()
    with raises(lib, BufferError, "Cannot pack tensors on meta"):
        lib.ones(1, device="meta").__dlpack__()
    with raises(lib, AssertionError, "stream should be None on cpu."):
        lib.ones(1).__dlpack__(stream=3)
    with raises(lib, AssertionError, "Torch not compiled with CUDA enabled"):
        lib.from_dlpack(numpy.ones(2), device="cuda")
    assert tuple(lib.ones(1).__dlpack_device__()) == (1, 0)


def test_a_capsule_is_consumed_once(lib):
    capsule = lib.ones(2).__dlpack__()
    lib.from_dlpack(capsule)
    text = (
        "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you might "
        "have already constructed a tensor from it once."
    )
    for spent in (capsule, [1]):
        with raises(lib, RuntimeError, text):
            lib.from_dlpack(spent)


def test_memory_outlives_the_side_that_made_it(lib):
    array = numpy.from_dlpack(lib.full((1000,), 3.0))
    tensor = lib.from_dlpack(numpy.full(1000, 4.0))
    capsule = lib.full((1000,), 5.0).__dlpack__()
    gc.collect()
    lib.zeros(1000), numpy.zeros(1000)
    assert (array.sum(), tensor.sum().item()) == (3000.0, 4000.0)
    assert lib.from_dlpack(capsule).sum().item() == 5000.0
    assert lib.ones(3).__dlpack__() is not None      # dropped unused


def test_a_write_through_dlpack_after_the_forward_is_never_silent(lib):
    if is_torch(lib):
        return
    x, w = lib.ones(3, requires_grad=True), lib.full((3,), 5.0)
    alias = lib.from_dlpack(w)
    z = x * w
    alias.zero_()
    z.sum().backward()
    assert close(x.grad, [5.0] * 3)
