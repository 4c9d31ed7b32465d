"""Every kernel in a table is looked up somewhere: a name that nobody asks for is a loop that never runs."""
from __future__ import annotations

import re
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "claygrad"
ENDINGS = ("_scalar", "_columns")          # found under the name of another kernel with this behind it
PREFIXES = ("cblas_", "scipy_cblas_", "chebyshev_", "shifted_chebyshev_")      # completed by a macro
BY_TABLE = {"gemm"}                        # read from its table, not by name


def test_every_kernel_is_looked_up():
    python = "".join(p.read_text() for p in SOURCES.rglob("*") if p.suffix in {".py", ".pyx", ".pxd"})
    kernels = {p: p.read_text() for p in (SOURCES / "kernels").rglob("*.cpp")}
    asked = set(re.findall(r"""["']([\w.]+)["']""", python)) | set(re.findall(r"^def (\w+)", python, re.MULTILINE))
    asked |= {name for text in kernels.values() for call in re.findall(r"find\([^)]*\)", text)
              for name in re.findall(r'"(\w+)"', call)}
    unused = {f"{path.relative_to(SOURCES)}: {name}" for path, text in kernels.items()
              for name in re.findall(r'(?:\{|[A-Z_0-9]+\()"([a-z_0-9.]+)"', text)
              if name not in asked | BY_TABLE and not name.endswith(ENDINGS) and name not in PREFIXES}
    assert not unused


def test_a_transpose_of_each_size_has_its_kernel():
    text = (SOURCES / "kernels/copy/transpose.cpp").read_text()
    assert re.findall(r'\{"(\w+)", (F32|F64)', text) == [("transpose", "F32"), ("transpose", "F64")]
