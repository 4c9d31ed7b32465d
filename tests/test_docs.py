"""What the documents show is true: every Python block of theirs runs, and prints what it says it prints."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "docs/debugging-memory.md", "docs/debugging-time-and-nans.md", "docs/graph.md")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(document: str) -> int:
    """Run the blocks of a document in order, as one program: sessions with >>> are compared, the rest is executed."""
    text = (ROOT / document).read_text()
    names: dict[str, object] = {"__name__": "__main__"}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for match in BLOCK.finditer(text):
        line = text[:match.start(1)].count("\n")
        if ">>>" in match[1]:
            session = doctest.DocTestParser().get_doctest(match[1], names, document, document, line)
            runner.run(session, clear_globs=False)
            names = session.globs
        else:
            exec(compile("\n" * line + match[1], document, "exec"), names)
    return runner.summarize(verbose=False).failed


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_block_runs(document):
    # In a process of its own: a document may declare an operation, or leave a mode switched on.
    done = subprocess.run([sys.executable, __file__, document], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_document_has_blocks_to_run(document):
    assert BLOCK.search((ROOT / document).read_text())


def test_files_that_the_documents_name_exist():
    for document in (*DOCUMENTS, "changes/README.md", "docs/distributed.md", "docs/distributed-scaling.md", "docs/parallel-work.md"):
        text = (ROOT / document).read_text()
        folder = (ROOT / document).parent
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (folder / target).exists(), f"{document}: {target}"
        for path in re.findall(r"`((?:claygrad|tests|benchmarks|tools|examples|changes)/[\w/.-]*)`", text):
            assert (ROOT / path).exists(), f"{document}: {path}"


def test_make_targets_that_the_documents_name_exist():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for document in DOCUMENTS:
        named = set(re.findall(r"`make ([\w-]+)", (ROOT / document).read_text()))
        assert named <= targets, document


if __name__ == "__main__":
    sys.exit(run(sys.argv[1]) != 0)
