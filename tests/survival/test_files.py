"""Files as memory: wrong sizes, files that shrink, closed descriptors. A refusal or an exception, never a crash."""

from __future__ import annotations

import subprocess
import sys

import pytest

import claygrad as torch

SHRUNK = """
import os, sys, claygrad as torch
path, shared = sys.argv[1], sys.argv[2] == "True"
x = torch.from_file(path, shared, 40_000)
os.truncate(path, 4096)
try:
    total = {use}
    [i for i in range(1000)]
except RuntimeError as error:
    print(str(error).split(";")[0])
else:
    print("nothing said", total)
print(x[:4].tolist(), x[39_999].item())
"""


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("use", ["x.sum()", "x.clone()", "x[30_000].item()", "x.untyped_storage()[150_000]", "x.fill_(2)[:1]", "torch.exp(x)"])
def test_a_file_that_shrinks_is_an_exception(tmp_path, use, shared):
    path = tmp_path / "numbers"
    torch.ones(40_000).numpy().tofile(path)
    out = subprocess.run([sys.executable, "-c", SHRUNK.format(use=use), str(path), str(shared)], capture_output=True, text=True,
                         timeout=60, check=False)
    assert out.returncode == 0, (out.returncode, out.stderr)
    said, values = out.stdout.splitlines()
    assert said == "a file was truncated while its contents were in use as the memory of a tensor"
    assert values == ("[2.0, 2.0, 2.0, 2.0] 2.0" if "fill_" in use else "[1.0, 1.0, 1.0, 1.0] 0.0")


def test_a_fault_elsewhere_still_ends_the_process(tmp_path):
    path = tmp_path / "numbers"
    torch.ones(40_000).numpy().tofile(path)
    program = ("import os, sys, mmap, claygrad as torch\nx = torch.from_file(sys.argv[1], True, 10)\n"
               "f = open(sys.argv[1], 'r+b'); m = mmap.mmap(f.fileno(), 160_000); os.truncate(sys.argv[1], 0); m[100_000]")
    out = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, timeout=60, check=False)
    assert out.returncode == -7


@pytest.mark.parametrize("nbytes", [-1, 2**62, 2**63, 2**70, -(2**63)])
@pytest.mark.parametrize("shared", [True, False])
def test_sizes_that_no_file_has(tmp_path, nbytes, shared):
    path = tmp_path / "f"
    path.write_bytes(b"abc")
    with pytest.raises((RuntimeError, OverflowError, ValueError)):
        torch.UntypedStorage.from_file(str(path), shared, nbytes)
    for make in (torch.UntypedStorage._new_shared, torch.UntypedStorage._new_using_filename_cpu):
        with pytest.raises((RuntimeError, OverflowError, ValueError)):
            make(nbytes)
    assert path.stat().st_size == 3


def test_a_failure_to_grow_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"abc")
    with pytest.raises(RuntimeError):
        torch.UntypedStorage.from_file(str(path), True, 2**61)
    assert path.stat().st_size == 3


@pytest.mark.parametrize("make", ["_new_using_filename_cpu", "_new_using_fd_cpu"])
def test_shared_memory_beyond_what_there_is_room_for(make):
    with pytest.raises(RuntimeError, match="unable to allocate shared memory"):
        getattr(torch.UntypedStorage, make)(2**50)


@pytest.mark.parametrize("name", [b"/", b"", b"/../../etc/passwd", b"/..", b"/a\0b", "/nowhere", b"/" + b"x" * 5000])
def test_names_that_are_none(name):
    with pytest.raises(RuntimeError, match="unable to open shared memory object"):
        torch.UntypedStorage._new_shared_filename_cpu(b"", name, 8)


@pytest.mark.parametrize("fd", [-1, 10**6, 2**40, -(2**40)])
def test_descriptors_that_are_none(fd):
    with pytest.raises((RuntimeError, OverflowError)):
        torch.UntypedStorage._new_shared_fd_cpu(fd, 8)
