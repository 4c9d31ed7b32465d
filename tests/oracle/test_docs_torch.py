"""What the documents say of PyTorch: blocks with its name are run on it, and the reference's examples print the same there."""

from __future__ import annotations

import doctest
import subprocess
import sys

import pytest
import torch

from tests.support.documents import PYTORCH, ROOT, documents, programs
from tools.docs import examples

OF_PYTORCH = [document for document in documents() if programs(document, pytorch=True)]


@pytest.mark.parametrize("document", OF_PYTORCH)
def test_blocks_titled_pytorch_are_true(document):
    done = subprocess.run([sys.executable, ROOT / "tests" / "support" / "documents.py", document, PYTORCH],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_of_the_five_questions_shows_pytorch():
    questions = {"data", "tensor-and-data", "functions", "changing-values", "ground-up"}
    assert {f"docs/questions/{name}.md" for name in questions} <= set(OF_PYTORCH)


@pytest.mark.parametrize("example", [one for one in examples.load() if one.session], ids=lambda one: one.names[0])
def test_an_example_of_the_reference_prints_the_same_in_pytorch(example):
    session = example.session.replace("claygrad", "torch")
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    test = doctest.DocTestParser().get_doctest(session, names, example.names[0], example.file, example.line)
    output: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=output.append)
    assert "".join(output) == ""
