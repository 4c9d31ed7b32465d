"""CuPy's RawModule for the host: the text of a CUDA kernel compiled by g++ (host_cuda.hpp) and run on the CPU."""

from __future__ import annotations

import ctypes
import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

HEADER = Path(__file__).with_name("host_cuda.hpp")
COMPILER = shutil.which("g++")
_ENTRY = re.compile(r'^extern "C" __global__ void (\w+)\((.*?)\) \{', re.MULTILINE)
_C = {np.dtype(np.int64): ctypes.c_int64, np.dtype(np.int32): ctypes.c_int32, np.dtype(np.float64): ctypes.c_double,
      np.dtype(np.uintp): ctypes.c_void_p}


def _starters(code: str) -> str:
    """For each entry a C function that runs it over a grid."""
    made = []
    for name, listed in _ENTRY.findall(code):
        given = ", ".join(word.rsplit(" ", 1)[1] for word in listed.split(", "))
        made.append(f'extern "C" void start_{name}(int bx, int by, int threads, {listed}) {{\n'
                    f"  host::launch(bx, by, threads, [=]() {{ {name}({given}); }});\n}}")
    return "\n".join(made)


def compiled(code: str) -> Path:
    """The library of a source, made once for the text that it has."""
    text = "\n".join([HEADER.read_text(), code, _starters(code), ""])
    folder = Path(tempfile.gettempdir()) / "claygrad-host-kernels"
    folder.mkdir(exist_ok=True)
    library = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.so"
    if not library.exists():
        with tempfile.TemporaryDirectory(dir=folder) as made:
            source = Path(made) / "kernels.cpp"
            source.write_text(text)
            found = Path(made) / "kernels.so"
            # A fiber may come back to another stack: no address of a thread's own memory is kept, and none is used.
            subprocess.run([str(COMPILER), "-std=c++17", "-O1", "-shared", "-fPIC", "-w", str(source), "-o", str(found)], check=True)
            found.replace(library)
    return library


class RawModule:
    def __init__(self, *, code: str, options: tuple[str, ...] = ()) -> None:
        assert all(isinstance(option, str) for option in options)
        self.library = ctypes.CDLL(str(compiled(code)))

    def get_function(self, name: str) -> Any:
        start = getattr(self.library, f"start_{name}")

        def run(grid: tuple[int, ...], block: tuple[int, ...], args: tuple[Any, ...]) -> None:
            assert len(block) == 1
            assert 0 < block[0] <= 1024
            assert block[0] % 32 == 0
            given = []
            for x in args:
                if isinstance(x, np.generic):
                    given.append(_C[x.dtype](x.item()))
                else:
                    assert x.a.flags.c_contiguous, name
                    given.append(ctypes.c_void_p(x.a.ctypes.data))
            start(*(ctypes.c_int(n) for n in (*grid, 1)[:2]), ctypes.c_int(block[0]), *given)
        return run
