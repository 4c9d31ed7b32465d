"""List what the wheel leaves out of claygrad/, for install_subdir in meson.build, which knows no patterns.

    python tools/not_shipped.py files     # sources of compiled parts, build files, objects of a developer's tree
    python tools/not_shipped.py folders   # caches

The wheel holds the modules (.py), their tables (.txt, .xz), pages (.js, .css), kernels that CuPy
compiles (.cu, .cuh) and types (.pyi, py.typed); the compiled modules come from the build.
New files of these kinds need no edit anywhere.
"""

from __future__ import annotations

import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "claygrad"
SHIPPED = {".py", ".pyi", ".txt", ".xz", ".typed", ".js", ".css", ".cu", ".cuh"}


def names(kind: str) -> list[str]:
    paths = PACKAGE.rglob("*")
    if kind == "folders":
        selected = [path for path in paths if path.name == "__pycache__"]
    else:
        selected = [path for path in paths if path.is_file() and path.suffix not in SHIPPED]
    return sorted(path.relative_to(PACKAGE).as_posix() for path in selected)


if __name__ == "__main__":
    print("\n".join(names(sys.argv[1])))
