"""What the documents say of PyTorch: blocks with its name are run on it, and the reference's examples print the same there."""

from __future__ import annotations

import doctest
import subprocess
import sys

import pytest
import torch

from tests.support.documents import BOTH, PYTORCH, ROOT, documents, programs
from tools.docs import examples

OF_PYTORCH = [document for document in documents() if programs(document, PYTORCH)]
QUESTIONS = [f"docs/questions/{name}.md" for name in ("data", "tensor-and-data", "functions", "changing-values", "ground-up")]


def run(document: str, which: str) -> None:
    done = subprocess.run([sys.executable, ROOT / "tests" / "support" / "documents.py", document, which],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("document", OF_PYTORCH)
def test_blocks_titled_pytorch_are_true(document):
    run(document, PYTORCH)


@pytest.mark.parametrize("document", QUESTIONS)
def test_blocks_of_the_questions_without_a_title_are_true_of_pytorch(document):
    run(document, BOTH)


def test_each_of_the_five_questions_shows_pytorch():
    assert set(QUESTIONS) <= set(OF_PYTORCH)


@pytest.mark.parametrize("example", [one for one in examples.load() if one.session], ids=lambda one: one.names[0])
def test_an_example_of_the_reference_prints_the_same_in_pytorch(example):
    session = example.session.replace("claygrad", "torch")
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    test = doctest.DocTestParser().get_doctest(session, names, example.names[0], example.file, example.line)
    output: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=output.append)
    assert "".join(output) == ""
