"""A stranger's first minute: a fresh environment without a compiler, the wheel, and what the first pages show.

    make first-minute                                                    # the wheel of this tree
    python tools/first_minute.py dist/claygrad-….whl --python python3.13
    python tools/first_minute.py WHEEL --source                          # and what `pip install .` says there

Installs the wheel with its needs, then runs `claygrad info` and the blocks of the landing pages and of the quick start.
Says how long each took; fails where one fails, or if all of them took longer than a minute.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIMIT = 60.0                             # seconds
PAGES = ("README.md", "docs/index.md", "docs/quickstart.md")
LEFT_OUT = ("CC", "CXX", "PYTHONPATH", "PYTHONSAFEPATH")
COMPILERS = ("c++", "g++", "clang++", "cc", "gcc", "clang", "cl")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--source", action="store_true", help="an installation from source must say what is missing")
    asked = parser.parse_args()
    total = 0.0
    with tempfile.TemporaryDirectory() as folder:
        programs = Path(folder) / "env" / "bin"
        # Nothing of this machine is on the path but the environment itself; pip's own settings stay.
        settings = {name: value for name, value in os.environ.items() if name not in LEFT_OUT}
        settings["PATH"] = str(programs)
        here: dict = {"cwd": folder, "env": settings, "text": True, "capture_output": True}

        def step(name: str, *command: str | Path) -> subprocess.CompletedProcess:
            nonlocal total
            began = time.monotonic()
            done = subprocess.run([str(word) for word in command], **here)
            total += time.monotonic() - began
            if done.returncode:
                sys.exit(f"{name} failed:\n{done.stdout}{done.stderr}")
            print(f"{time.monotonic() - began:6.1f} s  {name}", flush=True)
            return done

        step("make a virtual environment", asked.python, "-m", "venv", programs.parent)
        found = [name for name in COMPILERS if (programs / name).exists()]
        assert not found, found
        pip = (programs / "python", "-m", "pip", "--disable-pip-version-check")
        step("pip install of the wheel, with NumPy and ml_dtypes", *pip, "install", "--quiet", asked.wheel.resolve())
        print(textwrap.indent(step("claygrad info", programs / "claygrad", "info").stdout, " " * 10), end="")
        for page in PAGES:
            step(f"the blocks of {page}", programs / "python", ROOT / "tests" / "support" / "documents.py", page)
        print(f"{total:6.1f} s  in all")
        if asked.source:
            done = subprocess.run([*map(str, pip), "install", "--force-reinstall", "--no-deps", str(ROOT)], **here)
            said = done.stdout + done.stderr
            if done.returncode == 0 or "there is no C++ compiler" not in said:
                sys.exit(f"an installation from source does not say that a compiler is missing:\n{said}")
            print("`pip install .` says what to install")
    if total > LIMIT:
        print(f"that is more than {LIMIT:.0f} s", file=sys.stderr)
    return int(total > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
