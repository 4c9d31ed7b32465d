"""What the documents show is true: every Python block of theirs runs, and prints what it says it prints."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from claygrad.cli import COMMANDS
from tests.support.documents import PYTORCH, ROOT, blocks, documents, programs

DOCUMENTS = documents()
# These need packages of their own: tests/distributed/ranks/test_documents.py runs them.
WITH_MPI = ("docs/distributed.md", "docs/parallel-work.md")
RUN = [document for document in DOCUMENTS if programs(document) and document not in WITH_MPI]
# Other languages: what a program prints, commands, and files that are not Python's.
LANGUAGES = {"python", "text", "sh", "dockerfile", "cython", "cpp"}
SCRIPT = ROOT / "tests" / "support" / "documents.py"


@pytest.mark.parametrize("document", RUN)
def test_every_block_runs(document):
    # In a process of its own: a document may declare an operation, or leave a mode switched on.
    done = subprocess.run([sys.executable, SCRIPT, document], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_documents_with_blocks_to_run_are_found():
    assert {"README.md", "CONTRIBUTING.md", "docs/index.md", "docs/quickstart.md", "docs/graph.md", "docs/debugging-memory.md",
            "docs/debugging-time-and-nans.md", "docs/questions/data.md"} <= set(RUN)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_block_says_what_it_is(document):
    assert [(block.line, block.language) for block in blocks(document) if block.language not in LANGUAGES] == []
    assert [block.line for block in blocks(document) if block.title == PYTORCH and block.language != "python"] == []
    # What looks like a session is one, and is run.
    if document != "docs/mistakes.md":
        assert [block.line for block in blocks(document) if block.language == "text" and ">>> " in block.text] == []


def test_files_that_the_documents_name_exist():
    for document in (*DOCUMENTS, "changes/README.md", "docs/distributed.md", "docs/distributed-scaling.md", "docs/parallel-work.md"):
        text = (ROOT / document).read_text()
        folder = (ROOT / document).parent
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
            # Pages that are generated when the site is built
            if (ROOT / "docs" / "reference") in (folder / target).resolve().parents:
                continue
            assert (folder / target).exists(), f"{document}: {target}"
        for path in re.findall(r"`((?:claygrad|tests|benchmarks|tools|examples|changes)/[\w/.-]*)`", text):
            assert (ROOT / path).exists(), f"{document}: {path}"


def test_make_targets_that_the_documents_name_exist():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for document in DOCUMENTS:
        text = (ROOT / document).read_text()
        commands = "\n".join(block.text for block in blocks(document) if block.language == "sh")
        named = set(re.findall(r"`make ([\w-]+)", text)) | set(re.findall(r"^make ([\w-]+)", commands, re.MULTILINE))
        assert named <= targets, document


def test_commands_of_claygrad_that_the_documents_name_exist():
    known = {command.__name__.rpartition(".")[2] for command in COMMANDS}
    for document in DOCUMENTS:
        text = (ROOT / document).read_text()
        commands = "\n".join(block.text for block in blocks(document) if block.language == "sh")
        named = set(re.findall(r"`claygrad ([a-z]+)", text)) | set(re.findall(r"^claygrad ([a-z]+)", commands, re.MULTILINE))
        assert named <= known, document


def test_the_readme_is_a_landing_page():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) < 150
    assert "target" not in text
    assert {"make demo", "make test"} <= set(re.findall(r"make (?:demo|test)\b", text))
