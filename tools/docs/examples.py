"""Examples and formulas of the reference: docs/reference/examples/*.txt.

    # torch.softmax, torch.nn.functional.softmax
    $$ ... $$
    >>> torch.softmax(torch.tensor([0., 0.]), 0)
    tensor([0.5000, 0.5000])

A heading names what follows it; several names share a block. Formulas are TeX. Sessions are run on claygrad by
tests/test_reference.py, and on PyTorch, which must print the same, by tests/oracle/test_docs_torch.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "reference" / "examples"


@dataclass
class Example:
    """What a block of a file says."""

    names: tuple[str, ...]
    formula: str
    session: str
    file: str
    line: int


def load() -> list[Example]:
    """All blocks of all files."""
    found = []
    for path in sorted(FOLDER.glob("*.txt")):
        found += parsed(path.read_text(), path.name)
    return found


def parsed(text: str, file: str) -> list[Example]:
    found: list[Example] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("# "):
            found.append(Example(tuple(name.strip() for name in line[2:].split(",")), "", "", file, number))
        elif not found:
            continue
        elif line.startswith("$$") and not found[-1].session:
            found[-1].formula += line.strip().strip("$").strip()
        elif line or found[-1].session:
            found[-1].session += line + "\n"
    for example in found:
        example.session = example.session.rstrip() + "\n" if example.session.strip() else ""
    return found
