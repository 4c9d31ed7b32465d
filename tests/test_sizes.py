"""How large claygrad is, on the disk and to download, and how much its import does. No clock: a busy machine changes nothing."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

import claygrad

PACKAGE = Path(claygrad.__file__).parent
MB = 1_000_000
INSTALLED = 30 * MB          # beside NumPy: the package, the bytecode that pip makes, and what pip notes of it, by the lengths of the files
ON_DISK = 35 * MB            # the package in blocks, folders too: what `du` says. A sixth of it is that files end within a block.
WHEEL = 9 * MB
MODULES = 340                # that `import claygrad` loads beside NumPy's
CALLS = 90_000               # of functions, Python's and C's, while it does; Python's own for each module, which differ by version, aside

SANITIZED = any(b"__asan_init" in path.read_bytes() for path in PACKAGE.glob("core/libclay_kernels.*"))
built_for_users = pytest.mark.skipif(SANITIZED, reason="a build with sanitizers is for nobody's disk")

IMPORT = """
import json, sys, numpy
before, calls = set(sys.modules), 0
def count(frame, event, arg):
    global calls
    caller = frame.f_back if event == "call" else frame if event == "c_call" else None
    calls += caller is not None and not caller.f_code.co_filename.startswith("<frozen importlib")
sys.setprofile(count)
import claygrad
sys.setprofile(None)
print(json.dumps([len(set(sys.modules) - before), calls]))
"""


def shipped() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*")) if path.is_file() and path.suffix != ".pyc"]


@built_for_users
def test_installed_size():
    folders = [PACKAGE, *PACKAGE.parent.glob("claygrad-*.dist-info")]
    taken = sum(path.stat().st_size for folder in folders for path in folder.rglob("*") if path.is_file())
    assert taken < INSTALLED, f"{taken / MB:.1f} MB"


@built_for_users
@pytest.mark.skipif(sys.platform == "win32", reason="knows no blocks")
def test_size_on_the_disk():
    taken = sum(path.lstat().st_blocks for path in (PACKAGE, *PACKAGE.rglob("*"))) * 512
    assert taken < ON_DISK, f"{taken / MB:.1f} MB"


@built_for_users
def test_wheel_size():
    """A wheel is a zip archive: the compressed files, and twice some hundred bytes for the name of each."""
    packed = sum(len(zlib.compress(path.read_bytes(), 6)) + 2 * (len(str(path.relative_to(PACKAGE))) + 60) for path in shipped())
    assert packed < WHEEL, f"{packed / MB:.2f} MB"


@built_for_users
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="files of another format")
def test_compiled_files_carry_no_names_of_inner_functions():
    def sections(path: Path) -> set[int]:
        """The kinds of the sections of an ELF file."""
        data = path.read_bytes()
        assert data[:5] == b"\x7fELF\x02", path
        start, = struct.unpack_from("<Q", data, 0x28)
        size, count = struct.unpack_from("<HH", data, 0x3A)
        return {struct.unpack_from("<I", data, start + i * size + 4)[0] for i in range(count)}

    SYMBOLS = 2
    compiled = [path for path in shipped() if path.suffix == ".so"]
    assert len(compiled) > 80
    assert [path.name for path in compiled if SYMBOLS in sections(path)] == []


def test_what_the_import_does():
    told = subprocess.run([sys.executable, "-c", IMPORT], check=True, capture_output=True, text=True).stdout
    modules, calls = json.loads(told)
    assert modules < MODULES
    assert calls < CALLS
