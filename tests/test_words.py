"""The words of CONTRIBUTING's glossary: identifiers and comments of the compiled parts, of operations and of modules use the field's own.

Each word below was once a private name for something that has a common one.
"""
from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("claygrad/core", "claygrad/native", "claygrad/kernels", "benchmarks", "tools", "claygrad/ops", "claygrad/nn", "claygrad/amp", "claygrad/optim",
           "claygrad/multiprocessing", "claygrad/serialization")
FILES = ("claygrad/_lazy.py",)
ENDINGS = {".py", ".pyx", ".pxd", ".h", ".hpp", ".c", ".cpp"}

# As a part of an identifier, between underscores or capitals.
NAMES = set(
    "stretched way ways door doors leaving farewell quick quicken turned falling least most made halves brain brains "
    "abreast chosen taken alike grown elsewhere late natively places bent helpings".split()
)
# Anywhere in a comment or docstring.
COMMENTS = (r"\bstretched\b", r"\bfarewell\b", r"\bshort way\b", r"\bquick(ly)? ways?\b", r"\bdoors?\b", r"\babreast\b",
            r"\bbrains?\b", r"\btheir kin\b", r"\bits kin\b", r"\bplaces\b", r"\bhalves\b", r"\bturned\b", r"\belsewhere\b")

# Names in which a word above is the field's own.
ALLOWED = ("least_squares", "LeastSquares")

# In the documentation of operations and modules two of the words are the field's own: "x above 0, 0 elsewhere", "the halves of input".
FREE = {r"\belsewhere\b": ("claygrad/ops", "claygrad/nn"), r"\bhalves\b": ("claygrad/ops", "claygrad/nn")}

_STRING = r'"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
_PYTHON = re.compile(rf"(?P<comment>#[^\n]*)|(?P<string>{_STRING})")
_C = re.compile(r'(?P<comment>//[^\n]*|/\*[\s\S]*?\*/)|(?P<string>"(?:\\.|[^"\\\n])*")')


def split(path: Path) -> tuple[str, str]:
    """The code of a file without strings, and its comments and docstrings."""
    text, words = path.read_text(), []

    def take(match: re.Match[str]) -> str:
        if match["comment"] or match["string"].startswith(('"""', "'''")):
            words.append(match[0])
        return " "

    code = (_PYTHON if path.suffix in {".py", ".pyx", ".pxd"} else _C).sub(take, text)
    if path.suffix == ".py":                     # docstrings between single quotes too
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
        words += [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(text)) if isinstance(node, documented)]
    return code, "\n".join(words)


def found() -> dict[str, list[str]]:
    """The files in which each word is, as `name word` or `comment pattern`."""
    files: dict[str, list[str]] = defaultdict(list)
    for path in [*(x for folder in FOLDERS for x in sorted((ROOT / folder).rglob("*"))), *(ROOT / file for file in FILES)]:
        if path.suffix not in ENDINGS:
            continue
        (code, comments), place = split(path), path.relative_to(ROOT).as_posix()
        for name in re.findall(r"[A-Za-z_]\w*", re.sub("|".join(ALLOWED), "", code)):
            for part in {x.lower() for x in re.split(r"_|(?<=[a-z])(?=[A-Z])", name)} & NAMES:
                files[f"name {part}"].append(f"{place}: {name}")
        for pattern in COMMENTS:
            if not place.startswith(FREE.get(pattern, "-")):
                files[f"comment {pattern}"] += [f"{place}: {text}" for text in re.findall(pattern, comments)]
    return files


@pytest.fixture(scope="module")
def files() -> dict[str, list[str]]:
    return found()


@pytest.mark.parametrize("word", [*(f"name {x}" for x in sorted(NAMES)), *(f"comment {x}" for x in COMMENTS)])
def test_no_private_words(word: str, files: dict[str, list[str]]):
    assert files.get(word, []) == [], "CONTRIBUTING, 'Words', has the one to use"


def test_a_private_word_is_found(tmp_path: Path):
    path = tmp_path / "x.pyx"
    path.write_text('cdef int _stretched(int a):   # its kin\n    """A door."""\n    return "quick"\n')
    code, comments = split(path)
    assert "_stretched" in code
    assert "quick" not in code + comments
    assert "its kin" in comments
    assert "A door" in comments
