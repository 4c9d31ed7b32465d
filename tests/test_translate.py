"""tools/translate.py: many Cython modules in one process, and only those whose text or declarations have changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("Cython", reason="a tool of the build")

TOOL = Path(__file__).parents[1] / "tools" / "translate.py"
SOURCES = {"shared.pxd": "cdef inline int twice(int x):\n    return 2 * x\n",
           "one.pyx": "def f(int x):\n    return x + 1\n",
           "two.pyx": "from shared cimport twice\n\ndef g(int x):\n    return twice(x)\n",
           "three.pyx": "def h(x):\n    return [x]\n"}


class Tree:
    def __init__(self, root: Path):
        self.root, self.out = root, root / "out"
        self.out.mkdir()
        for name, text in SOURCES.items():
            (root / name).write_text(text)

    def run(self, **environment: str) -> subprocess.CompletedProcess[str]:
        sources = [str(self.root / name) for name in SOURCES if name.endswith(".pyx")]
        return subprocess.run([sys.executable, str(TOOL), str(self.out), "-3", "--cplus", "-I", str(self.root), "--", *sources],
                              capture_output=True, text=True, env={**os.environ, **environment}, cwd=self.root)

    def written(self) -> set[str]:
        """What is newer than the last time this was asked; all files are made old."""
        files = {path.stem for path in self.out.glob("*.cpp") if path.stat().st_mtime > 1000}
        for path in self.out.glob("*.cpp"):
            os.utime(path, (1000, 1000))
        return files


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    made = Tree(tmp_path)
    done = made.run()
    assert done.returncode == 0, done.stderr
    assert made.written() == {"one", "two", "three"}
    return made


def test_what_is_the_same_is_left_alone(tree: Tree):
    assert tree.run().returncode == 0
    assert tree.written() == set()


def test_a_module_follows_its_text_and_its_declarations(tree: Tree):
    (tree.root / "one.pyx").write_text("def f(int x):\n    return x + 2\n")
    assert tree.run().returncode == 0
    assert tree.written() == {"one"}
    (tree.root / "shared.pxd").write_text("cdef inline int twice(int x):\n    return x + x\n")
    assert tree.run().returncode == 0
    assert tree.written() == {"two"}
    told = (tree.out / "translated.d").read_text()          # what ninja watches
    assert told.startswith(f"{tree.out}/one.cpp:")
    assert "shared.pxd" in told


def test_a_copy_of_the_process_writes_what_cython_writes(tree: Tree):
    for name in ("one", "two", "three"):
        alone = tree.root / f"{name}.alone.cpp"
        subprocess.run([sys.executable, "-m", "cython", "-3", "--cplus", "-I", str(tree.root), str(tree.root / f"{name}.pyx"), "-o", str(alone)],
                       check=True, cwd=tree.root)
        assert (tree.out / f"{name}.cpp").read_text().replace(f"{name}.alone", name) == alone.read_text().replace(f"{name}.alone", name)


def test_an_error_is_shown_and_leaves_no_file(tree: Tree):
    (tree.root / "two.pyx").write_text("def g(:\n")
    done = tree.run()
    assert done.returncode == 1
    assert "two.pyx:1:6" in done.stderr + done.stdout
    assert not (tree.out / "two.cpp").exists()
    (tree.root / "two.pyx").write_text(SOURCES["two.pyx"])
    assert tree.run().returncode == 0
    assert "two" in tree.written()


def test_translations_are_kept_for_other_folders(tree: Tree):
    kept = tree.root / "kept"
    for path in tree.out.iterdir():
        path.unlink()
    assert tree.run(CYTHON_ONCE=str(kept)).returncode == 0
    assert len(list(kept.glob("*.cpp"))) == 3
    for path in kept.glob("*.cpp"):
        path.write_text("// taken from there\n")
    for path in tree.out.iterdir():
        path.unlink()
    assert tree.run(CYTHON_ONCE=str(kept)).returncode == 0
    assert {path.read_text() for path in tree.out.glob("*.cpp")} == {"// taken from there\n"}
