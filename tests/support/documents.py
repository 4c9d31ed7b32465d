"""The documents, and how their blocks are run.

A block of Python is run in the order of its document, as one program with the blocks before it: sessions with >>> are compared with what
they say they print, the rest is executed. Blocks with the title PyTorch are a program of their own, for PyTorch. Blocks without a title in
docs/questions are true of both libraries, and can be run on PyTorch, too.

    python tests/support/documents.py docs/quickstart.md            # on claygrad
    python tests/support/documents.py docs/questions/data.md PyTorch
    python tests/support/documents.py docs/questions/data.md both
"""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^(?P<ticks>```+)(?P<language>\w*)(?: title=\"(?P<title>[^\"]*)\")?[^\n`]*\n(?P<text>.*?)^(?P=ticks)$",
                   re.MULTILINE | re.DOTALL)
PYTORCH, BOTH = "PyTorch", "both"


class Block(NamedTuple):
    """A block of code in a document."""

    language: str
    title: str
    text: str
    line: int


def documents() -> list[str]:
    """All documents, by their path in the tree."""
    found = ["README.md", "CONTRIBUTING.md", *(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))]
    return sorted(found)


def blocks(document: str) -> list[Block]:
    text = (ROOT / document).read_text()
    return [Block(match["language"], match["title"] or "", match["text"], text[:match.start("text")].count("\n"))
            for match in FENCE.finditer(text)]


def programs(document: str, which: str = "") -> list[Block]:
    """The blocks that are run: on claygrad, or on PyTorch, its own or those that are true of both."""
    found = [block for block in blocks(document) if block.language == "python"]
    if which == BOTH:
        return [block._replace(text=block.text.replace("claygrad as torch", "torch").replace("claygrad", "torch"))
                for block in found if not block.title]
    return [block for block in found if (block.title == PYTORCH) is (which == PYTORCH)]


def run(document: str, which: str = "") -> int:
    """Run the blocks of a document as one program; how many lines of its sessions printed something else."""
    names: dict[str, object] = {"__name__": "__main__"}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for block in programs(document, which):
        if ">>>" in block.text:
            session = doctest.DocTestParser().get_doctest(block.text, names, document, document, block.line)
            runner.run(session, clear_globs=False)
            names = session.globs
        else:
            exec(compile("\n" * block.line + block.text, document, "exec"), names)
    return runner.summarize(verbose=False).failed


if __name__ == "__main__":
    sys.exit(run(*sys.argv[1:]) != 0)
