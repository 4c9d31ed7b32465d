"""use_deterministic_algorithms: what is refused, what only warns, and memory that is filled instead of left as it is."""
from __future__ import annotations

import warnings

import pytest
import torch

import claygrad

LIBRARIES = pytest.mark.parametrize("lib", [claygrad, torch], ids=["claygrad", "torch"])
KINDS = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128", "uint8", "int8", "int16", "int32", "int64", "bool")

UNREPEATABLE = {
    "put_": lambda lib: lib.zeros(4).put_(lib.tensor([1]), lib.ones(1)),
    "put_ ": lambda lib: lib.put(lib.zeros(4), lib.tensor([1]), lib.ones(1)),
    "max_unpooling2d_forward_out": lambda lib: lib.nn.functional.max_unpool1d(lib.ones(1, 2, 2), lib.zeros(1, 2, 2).long(), 2),
    "max_unpooling2d_forward_out ": lambda lib: lib.nn.MaxUnpool2d(2)(lib.ones(1, 1, 2, 2), lib.zeros(1, 1, 2, 2).long()),
    "max_unpooling3d_forward_out": lambda lib: lib.nn.MaxUnpool3d(2)(lib.ones(1, 1, 2, 2, 2), lib.zeros(1, 1, 2, 2, 2).long()),
}

MADE = {
    "empty": lambda lib, kind: lib.empty(10, 9, dtype=kind),
    "out": lambda lib, kind: lib.empty(10, 9, out=lib.zeros(10, 9, dtype=kind)),
    "channels_last": lambda lib, kind: lib.empty(1, 2, 3, 4, dtype=kind, memory_format=lib.channels_last),
    "empty_like": lambda lib, kind: lib.empty_like(lib.zeros(10, 9, dtype=kind)),
    "empty_like contiguous": lambda lib, kind: lib.empty_like(lib.zeros(10, 9, dtype=kind).t(), memory_format=lib.contiguous_format),
    "empty_strided": lambda lib, kind: lib.empty_strided((10, 9), (1, 5), dtype=kind),
    "empty_permuted": lambda lib, kind: lib.empty_permuted((2, 3, 5), (1, 0, 2), dtype=kind),
    "new_empty": lambda lib, kind: lib.zeros(1, dtype=kind).new_empty(3, 2),
    "new_empty_strided": lambda lib, kind: lib.zeros(1, dtype=kind).new_empty_strided((3, 2), (2, 1)),
    "new": lambda lib, kind: lib.zeros(1, dtype=kind).new(3, 2),
}


@pytest.fixture(autouse=True)
def _undone():
    yield
    for lib in (claygrad, torch):
        lib.use_deterministic_algorithms(False)
        lib.utils.deterministic.fill_uninitialized_memory = True


@LIBRARIES
@pytest.mark.parametrize("name", UNREPEATABLE)
def test_what_depends_on_the_order_of_writes_is_refused(lib, name):
    UNREPEATABLE[name](lib)
    lib.use_deterministic_algorithms(True)
    with pytest.raises(RuntimeError, match=f"^{name.strip()} does not have a deterministic implementation, but you set"):
        UNREPEATABLE[name](lib)
    lib.use_deterministic_algorithms(True, warn_only=True)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        UNREPEATABLE[name](lib)
    assert [str(w.message).split(" does")[0] for w in seen] == [name.strip()]
    assert lib is torch or seen[0].filename == __file__


@LIBRARIES
def test_accumulating_is_not_refused(lib):
    lib.use_deterministic_algorithms(True)
    assert lib.zeros(3).put_(lib.tensor([1, 1]), lib.ones(2), accumulate=True).tolist() == [0, 2, 0]


def _is_filled(lib, made):
    if made.dtype.is_floating_point or made.dtype.is_complex:
        return bool(made.isnan().all())
    return bool((made == (True if made.dtype == lib.bool else lib.iinfo(made.dtype).max)).all())


@LIBRARIES
@pytest.mark.parametrize("how", MADE)
def test_new_memory_is_filled(lib, how):
    lib.use_deterministic_algorithms(True)
    for name in KINDS:
        assert _is_filled(lib, MADE[how](lib, getattr(lib, name))), name
    lib.utils.deterministic.fill_uninitialized_memory = False
    assert not lib.utils.deterministic.fill_uninitialized_memory
    MADE[how](lib, lib.float32)


@LIBRARIES
@pytest.mark.parametrize(("size", "strides", "new"), [
    ((10,), (1,), (5,)), ((10,), (0,), (10,)), ((10,), (1,), (20,)), ((2, 3, 4), None, (2, 5, 4)), ((2, 3, 4), (1, 2, 6), (4, 3, 4)),
    ((2, 3, 4), (1, 0, 1), (2, 4, 5))])
def test_what_a_storage_grew_by_is_filled(lib, size, strides, new):
    for name in KINDS:
        kind = getattr(lib, name)
        a = lib.zeros(size, dtype=kind) if strides is None else lib.empty_strided(size, strides, dtype=kind).fill_(0)
        before = a.untyped_storage().nbytes() // a.element_size()
        lib.use_deterministic_algorithms(True)
        a.resize_(new)
        lib.use_deterministic_algorithms(False)
        after = a.untyped_storage().nbytes() // a.element_size()
        whole = lib.as_strided(a, (after,), (1,), 0)
        assert not whole[:before].any()
        assert _is_filled(lib, whole[before:])


@LIBRARIES
def test_the_switches_take_bools(lib):
    with pytest.raises(TypeError, match=r"_set_deterministic_algorithms\(\): argument 'mode' \(position 1\) must be bool, not int"):
        lib.use_deterministic_algorithms(1)
    with pytest.raises(TypeError, match=r"_set_deterministic_algorithms\(\): argument 'warn_only' must be bool, not int"):
        lib.use_deterministic_algorithms(True, warn_only=1)
    with pytest.raises(RuntimeError, match="expected a bool, but got int"):
        lib.utils.deterministic.fill_uninitialized_memory = 1
    assert lib.utils.deterministic.fill_uninitialized_memory is True
