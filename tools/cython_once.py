"""Cython, but a module that it has translated before is copied: the result is the same for every Python.

    CYTHON="python tools/cython_once.py" CYTHON_ONCE=folder meson setup ...

tools/wheels.py sets both. A translation is looked up by the module's text, the text of every .pxd and .pxi of the tree
(a module may see any of them), the arguments and the version of Cython.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import Cython

ROOT = Path(__file__).parents[1]


def main(words: list[str]) -> int:
    command = [sys.executable, "-m", "cython", *words]
    sources = [Path(word) for word in words if word.endswith(".pyx")]
    if len(sources) != 1 or "-o" not in words or "CYTHON_ONCE" not in os.environ:
        return subprocess.call(command)
    out = Path(words[words.index("-o") + 1])
    rest = [word for word in words if word not in (str(out), str(sources[0]))]
    known = hashlib.sha256(repr((Cython.__version__, rest, sources[0].resolve().relative_to(ROOT).as_posix())).encode())
    for path in [sources[0], *sorted(ROOT.glob("claygrad/**/*.px[di]"))]:
        known.update(path.read_bytes())
    kept = Path(os.environ["CYTHON_ONCE"]) / f"{known.hexdigest()}.cpp"
    if not kept.exists():
        if code := subprocess.call(command):
            return code
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(out, kept.with_suffix(f".{os.getpid()}"))
        os.replace(kept.with_suffix(f".{os.getpid()}"), kept)
        return 0
    shutil.copyfile(kept, out)
    Path(f"{out}.dep").write_text(f"{out}: {sources[0]}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
