"""Hundreds of classic mistakes: each names the user's lines and the way out, and shows no frame of claygrad's."""

from __future__ import annotations

import re

import pytest

import claygrad
import claygrad.nn
import claygrad.optim
from tests.errors.running import MISTAKES, faults, run


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_explained(name: str, tmp_path):
    path = tmp_path / "mistake.py"
    said = run(MISTAKES[name][1], claygrad, path)
    found = faults(name, said, path)
    assert found == [], said and f"{said.kind}: {said.text}"


@pytest.mark.parametrize("name", MISTAKES)
def test_no_inner_name_and_no_line_twice(name: str, tmp_path):
    said = run(MISTAKES[name][1], claygrad, tmp_path / "mistake.py")
    assert said is not None
    lines = said.added.split("\n")
    assert len(lines) == len(set(lines))
    assert re.findall(r"(?<![\w.'\"_])_[a-z]\w+\(", said.added) == []
    assert re.findall(r"permute\(sparse_coo\)|In PyTorch \d|\.pyx", said.text) == []


def test_there_are_enough_of_them():
    assert len(MISTAKES) >= 350
