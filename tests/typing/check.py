"""What type checkers say of programs that use claygrad: run by `make types`, with mypy and pyright.

train.py       runs, and no checker has anything to say about it
styles.py      the same, with modules imported in every way that programs import them
mistakes.py    every line that ends in `# wrong` has an error, and no other line
revealed.py    the comment behind each reveal_type is the type

Each is checked twice: as it is, and with `torch` in place of `claygrad`, through what `claygrad shim --install` writes.
"""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import claygrad
from claygrad.cli.shim import install

HERE = Path(__file__).parent
SITE = Path(claygrad.__file__).parents[1]
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
Said = list[tuple[str, int, str, str]]          # file, line, "error" or "information", text

# As users have it: claygrad's own errors are those of an installed package, which mypy leaves out.
MYPY = f"[mypy]\nstrict = True\npython_version = {VERSION}\n[mypy-claygrad.*]\nignore_errors = True\n[mypy-torch.*]\nignore_errors = True\n"
PYRIGHT = {"pythonVersion": VERSION, "typeCheckingMode": "strict", "extraPaths": ["shim", str(SITE)]}


def mypy(programs: list[Path], folder: Path) -> Said:
    """What mypy --strict says."""
    (folder / "mypy.ini").write_text(MYPY)
    path = {"MYPYPATH": os.pathsep.join(["shim"] + [str(SITE)] * ("site-packages" not in SITE.parts))}
    ran = subprocess.run([sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--no-error-summary",
                          *(one.name for one in programs)], cwd=folder, capture_output=True, text=True,
                         env={**os.environ, **path}, check=False)
    if ran.returncode not in (0, 1):
        sys.exit(f"mypy could not run:\n{ran.stdout}{ran.stderr}")
    found = re.findall(r"^(\w+\.py):(\d+): (error|note): (.*)$", ran.stdout, flags=re.MULTILINE)
    return [(file, int(line), "error" if kind == "error" else "information", text) for file, line, kind, text in found]


def pyright(programs: list[Path], folder: Path) -> Said:
    """What pyright says, in its strict mode."""
    (folder / "pyrightconfig.json").write_text(json.dumps(PYRIGHT))
    ran = subprocess.run([sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson",
                          *(one.name for one in programs)], cwd=folder, capture_output=True, text=True, check=False)
    if ran.returncode not in (0, 1):
        sys.exit(f"pyright could not run:\n{ran.stdout}{ran.stderr}")
    return [(Path(one["file"]).name, one["range"]["start"]["line"] + 1, one["severity"], one["message"])
            for one in json.loads(ran.stdout[ran.stdout.index("{"):])["generalDiagnostics"]]


def wrongs(said: Said) -> list[str]:
    """Where a checker says something else than the programs want."""
    bad = [f"{file}:{line}: {text}" for file, line, _, text in said if file in ("train.py", "styles.py")]
    told = {line for file, line, kind, _ in said if file == "mistakes.py" and kind == "error"}
    planted = {number for number, line in enumerate((HERE / "mistakes.py").read_text().splitlines(), 1)
               if line.endswith("# wrong")}
    bad += [f"mistakes.py:{line}: the mistake is not found" for line in sorted(planted - told)]
    bad += [f"mistakes.py:{line}: an error where there is no mistake" for line in sorted(told - planted)]
    types = {line: re.sub(r"\b(?:\w+\.)+(?=\w)", "", match[1]) for file, line, kind, text in said
             if file == "revealed.py" and (match := re.search(r'(?:Revealed type is|" is) "(.*)"$', text))}
    for number, line in enumerate((HERE / "revealed.py").read_text().splitlines(), 1):
        if "reveal_type(" in line and types.get(number) != (wanted := line.rpartition("# ")[2]):
            bad.append(f"revealed.py:{number}: {types.get(number)}, not {wanted}")
    return bad + [f"revealed.py:{line}: {text}" for file, line, kind, text in said
                  if file == "revealed.py" and kind == "error"]


def with_torch(program: str) -> str:
    """A program as one of PyTorch."""
    return re.sub(r"^(from|import) claygrad(?: as torch)?\b", r"\1 torch", program, flags=re.MULTILINE)


def main() -> None:
    """Run the programs and both checkers."""
    for name in ("train", "styles"):
        subprocess.run([sys.executable, str(HERE / f"{name}.py")], check=True, stdout=subprocess.DEVNULL)
    programs = [HERE / f"{name}.py" for name in ("train", "styles", "mistakes", "revealed")]
    checkers: tuple[Callable[[list[Path], Path], Said], ...] = (mypy, pyright)
    failed = False
    for checker in checkers:
        for name in ("claygrad", "torch"):
            with tempfile.TemporaryDirectory() as folder:
                install(Path(folder) / "shim")
                for one in programs:
                    text = one.read_text()
                    (Path(folder) / one.name).write_text(text if name == "claygrad" else with_torch(text))
                bad = wrongs(checker(programs, Path(folder)))
            said = bad or ["programs are seen as they should be"]
            print(*(f"{checker.__name__}, {name}: {one}" for one in said), sep="\n")
            failed = failed or bool(bad)
    sys.exit(failed)


if __name__ == "__main__":
    main()
