"""What can be asked of the real CuPy without a GPU: its names, their arguments, and its compiler (`make test-cuda`)."""

from __future__ import annotations

import ast
import inspect
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import cupy
import cupyx
import pytest
from cupy_backends.cuda.libs import nvrtc

import claygrad
from claygrad.core.errors import Lacking
from claygrad.cuda._kernels.source import FAMILIES, kernels_of, source_of
from claygrad.devices._cuda import Cuda
from claygrad.devices._namespace import namespace

HERE = Path(claygrad.__file__).parent
XP: Any = namespace(cupy, "cupy", cupy.lib.stride_tricks.as_strided, *Cuda.own(cupy))

# Forwards ask for these in operations that run on the host or are refused by name (docs/devices.md).
LACKING = frozenset("scipy".split())


def chain(node: ast.AST) -> list[str] | None:
    """The names of `a.b.c`."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return [node.id, *names] if isinstance(node, ast.Name) else None


def longest(tree: ast.AST) -> Iterator[list[str]]:
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and id(node) not in inner:
            found = chain(node)
            if found:
                yield found


def test_every_name_that_the_table_uses_is_there():
    asked = set()
    for file in (HERE / "devices/_cuda.py", HERE / "cuda/_kernels/launch.py"):
        for names in longest(ast.parse(file.read_text())):
            if names[:2] == ["self", "module"] and len(names) > 2:
                asked.add(tuple(names[2:]))
    assert len(asked) > 15
    missing = []
    for names in sorted(asked):
        found: Any = cupy
        for name in names:
            if not hasattr(found, name):
                missing.append(".".join(names))
                break
            found = getattr(found, name)
    assert missing == []
    assert callable(cupyx.errstate)


@cache
def calls() -> dict[str, set[tuple[int, tuple[str, ...]]]]:
    """How forwards call each function of the array module: by how many arguments and which keywords."""
    found: dict[str, set[tuple[int, tuple[str, ...]]]] = defaultdict(set)
    for file in [*(HERE / "ops").glob("*.py"), *(HERE / "cuda/_kernels").glob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call):
                names = chain(node.func)
                if names and names[0] == "xp" and not any(isinstance(x, ast.Starred) for x in node.args):
                    keywords = tuple(sorted(k.arg for k in node.keywords if k.arg))
                    found[".".join(names[1:])].add((len(node.args), keywords))
    return found


def _find(name: str) -> Any:
    found = XP
    for part in name.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("name", sorted(calls()))
def test_a_function_that_forwards_call_is_there_and_takes_their_arguments(name):
    try:
        function = _find(name)
    except (Lacking, AttributeError):
        assert name in LACKING, f"CuPy has no {name}"
        return
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):                  # of compiled functions, which say nothing of theirs
        return
    for count, keywords in calls()[name]:
        signature.bind(*[None] * count, **dict.fromkeys(keywords))


@pytest.mark.parametrize("arch", ["70", "80", "90", "120"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_compiles_with_its_nvrtc(family, arch):
    program = nvrtc.createProgram(source_of(family), f"{family}.cu", (), ())
    try:
        nvrtc.compileProgram(program, ("--std=c++17", f"-arch=compute_{arch}"))
        text = nvrtc.getPTX(program).decode()
    except nvrtc.NVRTCError:
        pytest.fail(nvrtc.getProgramLog(program))
    finally:
        nvrtc.destroyProgram(program)
    assert [k.entry for k in kernels_of(family) if f".entry {k.entry}(" not in text] == []


def test_no_driver_is_no_device():
    """Importing CuPy is harmless where there is no GPU, and `cuda` is then not there."""
    if not cupy.cuda.is_available():
        assert not claygrad.cuda.is_available()
        with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
            claygrad.zeros(2, device="cuda")
