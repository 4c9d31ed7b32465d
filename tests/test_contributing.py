"""CONTRIBUTING's example of an operation with a loop of its own: its C++ and Cython compile where the text puts them.

Its Python is run by tests/test_docs.py, like every block of Python in the documents.
"""
from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.documents import ROOT, blocks

PACKAGE = ROOT / "claygrad"
EXAMPLE = {block.title: block.text for block in blocks("CONTRIBUTING.md") if block.title}
HEADER, KERNEL, FORM = "kernels/reduce/scan.hpp", "kernels/reduce/scan.cpp", "native/sort.pyx"
ENTRY = 'EACH("ptp", (ptp_fn)ptp)'


def placed(name: str, before: str, text: str) -> str:
    """A file of the package with a block in it."""
    source = (PACKAGE / name).read_text()
    assert source.count(before) == 1
    return source.replace(before, text + before)


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_example_is_in_these_files():
    assert set(EXAMPLE) == {HEADER, KERNEL, FORM}
    assert ENTRY in (ROOT / "CONTRIBUTING.md").read_text()


def test_its_kernel_compiles(tmp_path: Path):
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    (tmp_path / "reduce").mkdir()
    (tmp_path / HEADER.removeprefix("kernels/")).write_text(placed(HEADER, "// Family \"distance\"", EXAMPLE[HEADER]))
    source = placed(KERNEL, "#define EACH(name, f)", EXAMPLE[KERNEL])
    last = 'EACH("logcumsumexp", (running_logs_fn)running_logs)'
    assert last in source
    (tmp_path / "scan.cpp").write_text(source.replace(last, f"{last}, {ENTRY}"))
    run(compiler, "-std=c++17", "-fsyntax-only", "-DCLAY_ISA=base", f"-I{tmp_path}", f"-I{PACKAGE / 'kernels'}", str(tmp_path / "scan.cpp"))


def test_its_native_form_is_translated(tmp_path: Path):
    pytest.importorskip("Cython")
    (tmp_path / "sort.pyx").write_text((PACKAGE / FORM).read_text() + EXAMPLE[FORM])
    run(sys.executable, "-m", "cython", "--cplus", "-3", f"-I{ROOT}", str(tmp_path / "sort.pyx"), "-o", str(tmp_path / "sort.cpp"))
