"""Untyped storages: made from sizes and bytes, read, written and resized; on the meta device, which has no bytes."""

from __future__ import annotations

import copy
import warnings

import pytest

from tests.support import raises


def _four(lib):
    return lib.tensor([1, 2, 3, 4], dtype=lib.uint8).untyped_storage()


def _meta(lib):
    return lib.empty(4, dtype=lib.uint8, device="meta").untyped_storage()


def test_a_storage_is_made_of_a_size_or_of_bytes(lib):
    U = lib.UntypedStorage
    assert len(U()) == U().nbytes() == U().size() == 0
    assert U().tolist() == U.__new__(U).tolist() == []
    assert len(U(10)) == U(size=10).nbytes() == U.__new__(U, 10).nbytes() == 10
    assert U([1, 2, 3]).tolist() == [1, 2, 3]
    assert U((1, 300, -1)).tolist() == [1, 44, 255]
    assert U(range(3)).tolist() == [0, 1, 2]
    assert U(b"abc").tolist() == [97, 98, 99]
    assert U(_four(lib)).tolist() == [1, 2, 3, 4]
    assert U(4, device="meta").device == lib.device("meta")
    assert U([1, 2], device="meta").nbytes() == 2
    assert U().resize_(100).fill_(3).tolist() == [3] * 100


@pytest.mark.parametrize(
    ("args", "kind", "text"),
    [
        ((-1,), RuntimeError, ("[enforce fail at alloc_cpu.cpp:98] ((ptrdiff_t)nbytes) >= 0. alloc_cpu() seems to have "
                              "been called with negative number: 18446744073709551615")),
        ((2**62,), RuntimeError, ("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate "
                                 "memory: you tried to allocate 4611686018427387904 bytes. Error code 12 (Cannot "
                                 "allocate memory)")),
        ((2**70,), ValueError, "Overflow when unpacking long long"),
        (([1.5],), RuntimeError, ("torch.UntypedStorage(): tried to construct a storage from a sequence (list), but one "
                                 "of the items was of type float instead of int")),
        ((["a"],), RuntimeError, ("torch.UntypedStorage(): tried to construct a storage from a sequence (list), but one "
                                 "of the items was of type str instead of int")),
        ((1.5,), RuntimeError, "torch.UntypedStorage(): Expected a sequence type, but got float"),
        ((None,), RuntimeError, "torch.UntypedStorage(): Expected a sequence type, but got NoneType"),
        ((True,), RuntimeError, "torch.UntypedStorage(): Expected a sequence type, but got bool"),
    ],
    ids=str,
)
def test_sizes_and_bytes_that_are_none(lib, args, kind, text):
    with raises(lib, kind, text):
        lib.UntypedStorage(*args)


def test_other_arguments_are_refused(lib):
    with pytest.raises(TypeError, match="received an invalid combination of arguments - got"):
        lib.UntypedStorage(3, 4)
    with pytest.raises(TypeError, match="received an invalid combination of arguments - got"):
        lib.UntypedStorage(foo=3)
    with raises(lib, RuntimeError, "torch.UntypedStorage(): Expected a sequence type, but got Tensor"):
        lib.UntypedStorage(lib.ones(2))


def test_bytes_are_read_and_written_by_index_and_slice(lib):
    s = _four(lib)
    assert (s[0], s[-1], list(s)) == (1, 4, [1, 2, 3, 4])
    assert s[1:3].tolist() == [2, 3]
    assert s[10:].tolist() == []
    s[0] = 9
    s[1:3] = 7
    s[3] = 300
    assert s.tolist() == [9, 7, 7, 44]
    s[1:3].fill_(5)  # shares the memory
    assert s.tolist() == [9, 5, 5, 44]


@pytest.mark.parametrize(
    ("at", "kind", "text"),
    [
        (4, IndexError, "index 4 out of range for storage of size 4"),
        (-5, IndexError, "index -1 out of range for storage of size 4"),
        ("a", TypeError, "can't index a torch.UntypedStorage with str"),
        (1.5, TypeError, "can't index a torch.UntypedStorage with float"),
        (None, TypeError, "can't index a torch.UntypedStorage with NoneType"),
        (2**70, ValueError, "Overflow when unpacking long long"),
        (slice(None, None, 2), RuntimeError, "Trying to slice with a step of 2, but only a step of 1 is supported"),
    ],
    ids=str,
)
def test_wrong_indices(lib, at, kind, text):
    with raises(lib, kind, text):
        _four(lib)[at]


def test_wrong_writes(lib):
    s = _four(lib)
    with raises(lib, RuntimeError, "can only set storage content with a int types, but got str instead"):
        s[0] = "a"
    with raises(lib, RuntimeError, "out of bounds"):
        s[9] = 1
    with raises(lib, RuntimeError, "can't index a torch.UntypedStorage with str"):
        s["a"] = 1
    for value, name in (("a", "str"), (1.5, "float"), (None, "NoneType")):
        with raises(lib, RuntimeError, f"fill_ expects int, but got {name}"):
            s.fill_(value)
    assert s.tolist() == [1, 2, 3, 4]


def test_resizing(lib):
    assert _four(lib).resize_(8).nbytes() == 8
    assert _four(lib).resize_(2).tolist() == [1, 2]
    assert _four(lib).resize_(0).tolist() == []
    for wrong, name in (("a", "str"), (1.5, "float")):
        with raises(lib, RuntimeError, f"resize_ expects an int, but got {name}"):
            _four(lib).resize_(wrong)
    with raises(lib, ValueError, "Overflow when unpacking long long"):
        _four(lib).resize_(2**70)
    with pytest.raises(RuntimeError, match="alloc_cpu"):
        _four(lib).resize_(-1)
    with pytest.raises(RuntimeError, match="can't allocate memory"):
        _four(lib).resize_(2**62)
    shared = lib.from_numpy(lib.ones(2).numpy()).untyped_storage()
    with raises(lib, RuntimeError, "Trying to resize storage that is not resizable"):
        shared.resize_(100)


def test_copies(lib):
    U = lib.UntypedStorage
    s = _four(lib)
    assert s.copy_(U([9, 8, 7, 6])).tolist() == [9, 8, 7, 6]
    with raises(lib, RuntimeError, "size does not match, self was 4 bytes but src was 3 bytes"):
        s.copy_(U([1, 2, 3]))
    for wrong, name in ((3, "int"), (None, "NoneType"), (lib.ones(4), "Tensor")):
        with raises(lib, TypeError, f"copy_(): argument 'src' (position 1) must be torch.Storage, not {name}"):
            s.copy_(wrong)
    for twin in (s.clone(), copy.copy(s), copy.deepcopy(s)):
        twin.fill_(0)
        assert s.tolist() == [9, 8, 7, 6]
    assert s.new().nbytes() == 0


def test_a_storage_of_the_meta_device_has_a_size_and_no_bytes(lib):
    s = _meta(lib)
    for read in (lambda: s[0], s.tolist, lambda: s[1:2], lambda: list(s)):
        with raises(lib, NotImplementedError, "Not available for 'meta' device type"):
            read()
    assert s.fill_(3).nbytes() == 4
    s[0] = 1
    s[0:2] = 1
    assert s.copy_(_four(lib)).copy_(_meta(lib)).clone().nbytes() == 4
    for read in (s.cpu, lambda: _four(lib).copy_(s)):
        with raises(lib, NotImplementedError, "Cannot copy out of meta tensor; no data!"):
            read()
    assert s.data_ptr() == 0
    assert s.resize_(10).nbytes() == 10
    assert repr(s).startswith("...\n[")
    assert copy.deepcopy(s).nbytes() == 10


def test_what_a_storage_says_of_itself(lib):
    s = _four(lib)
    assert repr(s).splitlines()[:4] == [" 1", " 2", " 3", " 4"]
    assert repr(s).endswith("storage.UntypedStorage(device=cpu) of size 4]")
    assert (s.element_size(), s.is_cuda, s.is_sparse, s.is_shared(), s.is_pinned()) == (1, False, False, False, False)
    assert s.untyped() is s
    assert s.resizable()
    assert s != _four(lib)
    assert lib.UntypedStorage().data_ptr() == 0
    assert not lib.UntypedStorage()


def test_the_oldest_name_is_that_of_floats(lib):
    assert lib.Storage is lib.FloatStorage
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")                    # typed storages are deprecated
        assert lib.Storage([1.0, 2.5]).tolist() == [1.0, 2.5]
        assert lib.Storage(3).dtype is lib.float32
