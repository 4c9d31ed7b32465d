"""The floors of core/ and native/: imports and cimports point down, and no new module breaks that."""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "claygrad"

# A module sees its own floor and those below it.
RANK = {"core/cpython": 0, "core/data": 1, "core/graph": 3, "core": 3, "core/dispatch": 4, "native": 5}
OWN_RANK = {"core/errors": 0, "core/own_files": 0, "core/user_warnings": 0, "core/op": 2}      # modules of core/ that everything below tensors knows too

# Modules that look up: none, and none is added.
LOOKING_UP: set[tuple[str, str]] = set()


def stem(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").as_posix()


FILES = [path for folder in ("core", "native") for path in sorted((PACKAGE / folder).rglob("*"))
         if path.suffix in (".pyx", ".pxd", ".py") and path.stem not in ("__init__", "load")]
MODULES = {stem(path) for path in FILES}


def imported(text: str, when_loaded: bool = False) -> set[str]:
    """Modules of core/ and native/ that a file imports or cimports, in functions too unless those of loading alone are wanted."""
    text = re.sub(r"\\\n|\(\s*\n", " ", text)
    if when_loaded:
        text = re.sub(r"^ .*$", "", text, flags=re.MULTILINE)
    found = set()
    for match in re.finditer(r"claygrad\.((?:core|native)[\w.]*)(?:\s+c?import\s+([\w, ]+))?", text):
        module = match[1].replace(".", "/")
        names = re.findall(r"(\w+)(?:\s+as\s+\w+)?", match[2] or "")
        found |= {module, *(f"{module}/{name}" for name in names)}
    return found & MODULES


def rank(module: str) -> int:
    return OWN_RANK.get(module, RANK[module.rpartition("/")[0]])


def test_every_folder_of_the_core_has_a_rank():
    assert {stem(path).rpartition("/")[0] for path in FILES} == set(RANK)


def test_imports_inside_the_core_point_down():
    looking_up = {(stem(path), other) for path in FILES for other in imported(path.read_text()) if rank(other) > rank(stem(path))}
    assert looking_up == LOOKING_UP


def test_modules_load_without_cycles():
    needs: dict[str, set[str]] = {}
    for path in FILES:
        needs.setdefault(stem(path), set()).update(imported(path.read_text(), when_loaded=True) - {stem(path)})
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as problem:
        raise AssertionError(" needs ".join(reversed(problem.args[1]))) from None


# What declarations ask of native/: streams of random numbers, and forms of whole tensors that have no operation of their own.
OF_NATIVE = {"native/random", "native/einsum", "native/linalg", "native/reduce"}


def test_forwards_call_no_kernel():
    asked = {module for path in (PACKAGE / "ops").glob("*.py") for module in imported(path.read_text()) if module.startswith("native")}
    assert asked == OF_NATIVE


def test_both_forms_of_an_import_are_seen():
    assert imported("from claygrad.core.graph.node cimport Node\n") == {"core/graph/node"}
    assert imported("from claygrad.native cimport reduce, view as parts\n") == {"native/reduce", "native/view"}
    assert imported("    import claygrad.core.tensor\n") == {"core/tensor"}
    assert imported("    import claygrad.core.tensor\n", when_loaded=True) == set()
