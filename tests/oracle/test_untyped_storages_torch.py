"""Untyped storages: files, buffers, sharing, casts and subclasses, as in PyTorch."""
from __future__ import annotations

import copy
import os
import re

import pytest
import torch

import claygrad

CASES = """
U.from_file(f, False, 16).tolist()
U.from_file(f).nbytes()
U.from_file(f, False, 65)
U.from_file(f, True, 65).nbytes()
(U.from_file(f, True, 70).nbytes(), os.path.getsize(f))
U.from_file(f, True, -1)
U.from_file(f, False, -1)
U.from_file(d + '/none', False, 5)
U.from_file(d + '/new', True, 0).tolist()
U.from_file(d, True, 5)
U.from_file(5, True, 5)
U.from_file(f, True, 2.5)
U.from_file(f, 3, 2).tolist()
U.from_file(filename=f, shared=True, nbytes=8).filename == f
(U.from_file(f, True, 8).is_shared(), U.from_file(f, False, 8).is_shared(), U.from_file(f, False, 8).resizable())
U.from_file(f, True, 8).resize_(4)
torch.from_file(f, False, 4).view(torch.int32).tolist()
torch.from_file(f, False, 400)
torch.from_file(f, size=-3)
torch.from_file(d + '/none', size=3)
torch.from_file(f, size=3).untyped_storage().filename
torch.FloatStorage.from_file(f, False, 400)
(U._new_shared(5).tolist(), U._new_shared(5).is_shared(), U._new_shared(0).is_shared())
(U(0).share_memory_().is_shared(), U(3).share_memory_().is_shared(), U(3).is_shared())
(torch.ones(3).share_memory_().untyped_storage().filename, torch.empty(0).share_memory_().is_shared())
torch.empty(3, device='meta').share_memory_()
torch.empty(3, device='meta').untyped_storage().share_memory_()
torch.empty(3, device='meta').untyped_storage()._share_fd_cpu_()
torch.empty(3, device='meta').untyped_storage()._share_filename_cpu_()
torch.empty(3, device='meta').is_shared()
torch.ones(3).untyped_storage()._share_fd_cpu_()[1]
torch.ones(3).untyped_storage()._share_filename_cpu_()[2]
(U._new_using_fd_cpu(8).is_shared(), U._new_using_filename_cpu(8).is_shared())
U._new_shared_fd_cpu(999, 8)
U._new_shared_fd_cpu('a', 8)
U._new_shared_filename_cpu(b'', b'/nowhere', 8)
U._new_shared_filename_cpu('a', 3, 8)
U._new_shared_fd_cpu(*U([1, 2]).share_memory_()._share_fd_cpu_()).tolist()
bs([1, 2, 3, 4], torch.int16)
bs([1, 2, 3, 4], torch.float64)
bs([1, 2, 3, 4], torch.uint8)
bs([1, 2, 3, 4, 5, 6, 7, 8], torch.complex64)
U([1, 2]).pin_memory()
U([1, 2]).pin_memory('meta')
(U([1, 2]).is_pinned(), U([1, 2]).is_pinned('cuda'), U([1, 2]).is_hpu, U([1, 2]).is_sparse_csr)
U([1, 2]).to(device='meta')
U([1, 2]).to(device='cpu').tolist()
U([1, 2]).hpu()
U([1, 2]).mps()
U([1, 2, 0]).float().tolist()
U([1, 2, 0]).bool().tolist()
U([1, 2, 255]).char().tolist()
U([1, 2, 0]).complex_double().tolist()
U([1, 2]).long().type()
U([1, 2]).type()
U([1, 2]).type(U).tolist()
U.from_buffer(b'abcd', dtype=torch.uint8).tolist()
U.from_buffer(b'abcd', 'big', dtype=torch.int16).tolist()
U.from_buffer(b'abcd', 'little', 1, 2, dtype=torch.int16).tolist()
U.from_buffer(b'abcd', 'little', 7, 2, dtype=torch.int16)
U.from_buffer(b'abcd', 'little', 1, 20, dtype=torch.int16)
U.from_buffer(b'abcd', 'foo', dtype=torch.int16)
U.from_buffer(b'abc', 'native', dtype=torch.int16)
U.from_buffer(5, 'native', dtype=torch.int16)
U.from_buffer(b'abcd', 'native')
S([1, 2, 3]).tolist()
(type(S(4)) is S, type(S(4).clone()) is S, type(S(4)[1:2]) is S, S(4).hi())
(type(copy.deepcopy(S(4))) is S, type(copy.copy(S(4))) is S, S(4, device='meta').nbytes())
type(torch.empty(0).set_(S(8)).untyped_storage()) is S
isinstance(S(3), U)
U._expired(U(3)._weak_ref())
U._new_with_weak_ptr(U(3)._weak_ref())
(lambda s: U._expired(s._weak_ref()))(U(3))
x.untyped_storage() is x.untyped_storage()
(lambda c: (c[0] is c[1], c[0].data_ptr() == c[1].data_ptr()))(copy.deepcopy([U([1, 2])] * 2))
(lambda y: (lambda c: c[0].untyped_storage().data_ptr() == c[1].data_ptr())(copy.deepcopy([y, y.untyped_storage()])))(x)
(lambda y: (lambda c: c[1].data_ptr() == c[0].untyped_storage().data_ptr())(copy.deepcopy([y[1:], y.untyped_storage(), y])))(x)
torch.ones(3, requires_grad=True).share_memory_().requires_grad
(torch.ones(3, requires_grad=True) * 2).share_memory_().requires_grad
""".strip().split("\n")


def swapped(lib):
    def swap(content, kind):
        storage = lib.UntypedStorage(content)
        storage.byteswap(kind)
        return storage.tolist()
    return swap


def outcome(lib, text, folder):
    file = folder / "f"
    file.write_bytes(bytes(range(64)))

    class S(lib.UntypedStorage):
        def hi(self):
            return "hi"

    names = {"torch": lib, "U": lib.UntypedStorage, "S": S, "f": str(file), "d": str(folder), "os": os, "copy": copy,
             "bs": swapped(lib), "x": lib.arange(4.0)}
    try:
        made = eval(text, names)
    except Exception as error:
        said = str(error).split("\n")[0].replace(str(folder), "D").replace("claygrad.", "torch.")
        return type(error).__name__, said
    return re.sub("claygrad", "torch", repr(made))


@pytest.mark.parametrize("text", CASES)
def test_the_outcome_is_pytorchs(text, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert outcome(claygrad, text, tmp_path / "a") == outcome(torch, text, tmp_path / "b")


def test_every_method_of_pytorchs_storages_that_users_call_is_there():
    left_out = {"_checkpoint_offset", "_fake_device", "_new_shared_cuda", "_release_ipc_counter", "_set_cdata",
                "_release_ipc_counter_cuda", "_resize_with_addr_", "_set_from_file", "_share_cuda_",
                "_new_with_file", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"}
    for name in ("UntypedStorage", "TypedStorage"):
        here, there = (set(dir(getattr(lib, name))) for lib in (claygrad, torch))
        assert {n for n in there - here if not n.startswith("__")} - left_out - {"_maybe_wrap_index"} == set()
