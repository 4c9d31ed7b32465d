"""The generated stubs say what the declarations say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import claygrad
from claygrad import core

TOOL = Path(__file__).parents[1] / "tools" / "make_stubs.py"


def test_the_stubs_of_the_operations_are_up_to_date():
    done = subprocess.run([sys.executable, TOOL, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_core_lists_all_its_names():
    # What is not in the list is Any to strict checkers, which find no mistake in it.
    public = {name for name, value in vars(core).items() if name[0] != "_" and not isinstance(value, ModuleType)}
    assert public - set(core.__all__) == set()
    assert [name for name in core.__all__ if not hasattr(core, name)] == []


def test_dir_has_the_names_that_load_on_first_use():
    names = set(dir(claygrad))
    assert {*claygrad._LAZY, *claygrad._LAZY_NAMES} <= names
    assert {"Tensor", "relu", "float32"} <= names
