"""Compile the kernels for ARM (aarch64) with Debian's cross compiler, and run their tests in an emulator.

    make arm                       # needs g++-aarch64-linux-gnu and qemu-user; debootstrap for Debian's Python for ARM
    make arm ARM_ARGS=--no-tests   # compiles alone

The tests are those of tests/kernels that reach the kernels through their C interface: they need the library, NumPy and
pytest, no compiled module of Python's. They run on `base` and on `neon`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "arm"
SYSTEM = WORK / "debian"
PACKAGES = "python3,python3-numpy,python3-pytest,python3-hypothesis,libstdc++6"
CROSS = """[binaries]
c = 'aarch64-linux-gnu-gcc'
cpp = 'aarch64-linux-gnu-g++'
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
cython = 'cython'
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'armv8-a'
endian = 'little'
"""


def needed(program: str, package: str) -> str:
    return shutil.which(program) or sys.exit(f"there is no {program}; on Debian and Ubuntu: apt-get install {package}")


def compiled() -> Path:
    needed("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu")
    WORK.mkdir(parents=True, exist_ok=True)
    (WORK / "cross.ini").write_text(CROSS)
    folder = WORK / "meson"
    if not (folder / "build.ninja").exists():
        subprocess.run(["meson", "setup", folder, ROOT, "--cross-file", WORK / "cross.ini", "-Dkernels_only=true"],
                       check=True)
    subprocess.run(["ninja", "-C", folder, "claygrad/kernels/libclay_kernels.so"], check=True)
    return folder / "claygrad" / "kernels" / "libclay_kernels.so"


def emulated(system: Path) -> list[str]:
    """The command that runs this system's Python."""
    packed = system / "var" / "cache" / "apt" / "archives"
    if not (system / "usr" / "bin" / "python3").exists() and not list(packed.glob("python3*.deb")):
        tool = needed("debootstrap", "debootstrap")
        what = ["--foreign", "--arch=arm64", "--variant=minbase", f"--include={PACKAGES}"]
        subprocess.run([tool, *what, "stable", system], check=True)
    # The first stage unpacks the essential packages; the others are there as .deb files.
    for package in sorted(packed.glob("*.deb")):
        subprocess.run(["dpkg-deb", "--extract", package, system], check=True)
        package.unlink()
    # Links that an installed system has (update-alternatives)
    selected = ":".join(str(system / "usr" / "lib" / "aarch64-linux-gnu" / name) for name in ("blas", "lapack"))
    return [needed("qemu-aarch64", "qemu-user"), "-L", str(system), "-E", f"LD_LIBRARY_PATH={selected}",
            str((system / "usr" / "bin" / "python3").resolve())]


def tests() -> list[str]:
    found = sorted((ROOT / "tests" / "kernels").rglob("test_*.py"))
    return [str(path) for path in found if "claygrad" not in
            "".join(line for line in path.read_text().splitlines() if line.startswith(("import", "from")))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-tests", action="store_true")
    parser.add_argument("--system", type=Path, default=SYSTEM, help="Debian for ARM; made where there is none")
    asked, more = parser.parse_known_args()          # the rest goes to pytest; named tests replace the default
    library = compiled()
    print(subprocess.run(["file", library], text=True, capture_output=True).stdout)
    if asked.no_tests:
        return 0
    site = WORK / "site" / "claygrad" / "core"           # where the tests look for the library
    site.mkdir(parents=True, exist_ok=True)
    (site.parent / "__init__.py").touch()                # a package, found before the one in the tree
    shutil.copy(library, site)
    python = emulated(asked.system)
    settings = {"PYTHONPATH": f"{WORK}/site:{ROOT}", "PYTHONHOME": f"{asked.system}/usr", "PYTHONSAFEPATH": "1"}
    # Not strict about settings: pytest-timeout, which has some, is not there.
    pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider", f"--confcutdir={ROOT}/tests/kernels",
              "-o", "addopts=--import-mode=importlib"]
    selected = [] if any(word.startswith("tests/") for word in more) else tests()
    return subprocess.call([*python, *pytest, *selected, *more], cwd=ROOT, env={**os.environ, **settings})


if __name__ == "__main__":
    sys.exit(main())
