"""tools/preflight.py: what a machine lacks is said in a sentence, before anything is installed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

FILE = Path(__file__).parents[1] / "tools" / "preflight.py"


@pytest.fixture
def preflight() -> ModuleType:
    spec = importlib.util.spec_from_file_location("preflight", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_old_python_is_named_and_nothing_else(preflight, monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    [sentence] = preflight.missing()
    assert "needs Python 3.11 or later" in sentence
    assert "make PYTHON=" in sentence


def test_a_python_without_ensurepip_is_told_the_package(preflight, monkeypatch):
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    assert any("python3-venv" in sentence for sentence in preflight.missing())
    assert preflight.missing(compile_only=True) == []


def test_missing_headers_are_told_the_package(preflight, monkeypatch, tmp_path):
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    assert any("python3-dev" in sentence for sentence in preflight.missing())


def test_a_missing_compiler_is_told_the_package(preflight, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    assert any("C++ compiler" in sentence for sentence in preflight.missing())
