"""Storages seen as elements of one dtype, and the older classes of their own dtype."""
from __future__ import annotations

import warnings

import pytest
import torch

import claygrad

CASES = """
torch.FloatStorage(3).size()
torch.FloatStorage().tolist()
torch.FloatStorage([1, 2, 3]).tolist()
torch.LongStorage([1, 2, 3])[1]
torch.LongStorage([1, 2, 3])[-1]
torch.LongStorage([1, 2, 3])[3]
torch.LongStorage([1, 2, 3])[0:2]
torch.LongStorage([1, 2, 3]).type()
torch.IntStorage([-1, 0, 1]).float().tolist()
torch.IntStorage([-1, 0, 1]).bool().tolist()
torch.IntStorage([-1, 0, 1]).byte().type()
torch.ComplexFloatStorage([1 + 2j, 3]).complex_double().tolist()
torch.TypedStorage([1, 2], dtype=torch.int16).nbytes()
torch.TypedStorage(4, dtype=torch.float64).element_size()
torch.TypedStorage(dtype=torch.float64, device='meta').size()
torch.TypedStorage([1, 2], dtype=torch.int8, device='meta').tolist()
torch.TypedStorage([1, 2], dtype=torch.int8, device='meta').cpu()
torch.TypedStorage([1, 2], dtype=torch.int8, device='meta').share_memory_()
torch.TypedStorage([1, 2], dtype=torch.int8, device='meta')._untyped_storage.nbytes()
torch.TypedStorage([1, 2], dtype=torch.int8).copy_(torch.TypedStorage([1, 2], dtype=torch.int8, device='meta'))
torch.TypedStorage(0, 0, dtype=torch.int8)
torch.TypedStorage(torch.ones(2), dtype=torch.int8)
torch.TypedStorage('string', dtype=torch.int8)
torch.TypedStorage(wrap_storage=torch.ones(2).untyped_storage())
torch.TypedStorage(wrap_storage=torch.ones(2).untyped_storage(), dtype=0)
torch.TypedStorage(0, wrap_storage=torch.ones(2).untyped_storage(), dtype=torch.int8)
torch.TypedStorage(wrap_storage=torch.ones(2).untyped_storage(), dtype=torch.int8, device='cpu')
torch.TypedStorage(wrap_storage=torch.ones(2).storage(), dtype=torch.int8)
torch.FloatStorage(device='cpu')
torch.FloatStorage(dtype=torch.float)
torch.FloatStorage(0, 0)
torch.FloatStorage(torch.ones(2))
torch.FloatStorage(wrap_storage=torch.ones(2).untyped_storage()).tolist()
torch.storage._LegacyStorage()
isinstance(torch.ones(2).storage(), torch.FloatStorage)
isinstance(torch.ones(2).storage(), torch.LongStorage)
isinstance(torch.ones(2).storage(), torch.TypedStorage)
torch.is_storage(torch.ones(2).storage())
torch.FloatStorage.dtype
torch.ones(2).storage_type() is torch.FloatStorage
torch.ByteStorage.from_buffer(bytearray([1, 2, 3, 4])).tolist()
torch.ShortStorage.from_buffer(bytearray([1, 2, 3, 4]), 'big').tolist()
torch.IntStorage.from_buffer(bytearray([1, 2, 3, 4]), 'little').tolist()
torch.FloatStorage.from_buffer(bytearray([0x40, 0x10, 0, 0]), 'big').tolist()
torch.BoolStorage.from_buffer(bytearray([0, 1, 2, 0x40]), 'big').tolist()
torch.tensor(torch.arange(3.0).storage()).tolist()
torch.tensor(torch.arange(3.0).storage(), dtype=torch.int64)
torch.tensor(torch.arange(3.0).untyped_storage(), dtype=torch.float32).tolist()
torch.FloatTensor(torch.arange(3.0).storage()).tolist()
torch.empty(0).set_(torch.arange(3.0).storage()).tolist()
torch.empty(0).set_(torch.arange(6.0).storage(), 1, (2, 2), (2, 1)).tolist()
torch.empty(0).set_(torch.arange(3).storage())
torch.FloatStorage([1, 2]).fill_(torch.FloatStorage([1]))
torch.FloatStorage([1, 2]).fill_(3).tolist()
torch.FloatStorage([1, 2]).copy_(torch.FloatStorage([3, 4])).tolist()
torch.FloatStorage([1, 2]).clone().tolist()
""".strip().split("\n")


def outcome(lib, text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = eval(text, {"torch": lib})
        except Exception as error:
            # PyTorch's assertions have the text on their last line; what claygrad says besides begins with two spaces.
            said = [line for line in str(error).split("\n") if not line.startswith("  ")]
            return type(error).__name__, said[-1].split("<class")[0].replace("claygrad.", "torch.")
    return repr(made).replace("claygrad.", "torch.")


@pytest.mark.parametrize("text", CASES)
def test_the_outcome_is_pytorchs(text):
    assert outcome(claygrad, text) == outcome(torch, text)


@pytest.mark.parametrize("lib", [claygrad, torch], ids=["claygrad", "torch"])
def test_the_memory_is_the_tensors(lib):
    x = lib.arange(6.0).reshape(2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        line = x.t().storage()
        line[4] = 9
        line[:2] = 7
        assert x.tolist() == [[7, 7, 2], [3, 9, 5]]
        assert line.data_ptr() == x.data_ptr()
        alias = lib.empty(0).set_(line)
        alias.zero_()
        assert not x.any()
        line.resize_(8)
        assert line.size() == 8
        assert x.untyped_storage().nbytes() == 32


@pytest.mark.parametrize("lib", [claygrad, torch], ids=["claygrad", "torch"])
def test_files_as_memory(lib, tmp_path):
    path = str(tmp_path / "numbers")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = lib.FloatStorage.from_file(path, True, 4)
        lib.FloatTensor(first).copy_(lib.arange(4.0))
        second = lib.from_file(path, shared=True, size=4, dtype=lib.float32)
        assert second.tolist() == [0, 1, 2, 3]
        second[1] = 9
        assert first.tolist() == [0, 9, 2, 3]
        apart = lib.from_file(path, shared=False, size=4)
        apart.zero_()
        assert second.tolist() == [0, 9, 2, 3]


@pytest.mark.parametrize("lib", [claygrad, torch], ids=["claygrad", "torch"])
def test_the_deprecation_is_told_once_or_always(lib):
    def told(f):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            f()
        return [w.filename for w in seen if str(w.message).startswith("TypedStorage is deprecated")]

    lib.storage._reset_warn_typed_storage_removal()
    assert told(lambda: lib.ones(2).storage()) == [__file__]
    assert told(lambda: lib.FloatStorage(3)) == []
    line = lib.ones(2)._typed_storage()
    lib.storage._set_always_warn_typed_storage_removal(True)
    try:
        for f in (lambda: lib.FloatStorage(), lambda: lib.FloatStorage.dtype, lambda: line.fill_(0), lambda: len(line),
                  lambda: line[0], lambda: line.untyped(), lambda: line.is_cuda):
            assert told(f) == [__file__]
        for f in (lambda: line._size(), lambda: line._data_ptr(), lambda: line._untyped_storage, lambda: line._nbytes()):
            assert told(f) == []
    finally:
        lib.storage._set_always_warn_typed_storage_removal(False)
