"""What a release is made of: one version, changes that can be gathered, the licences of what is bundled, checksums."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import claygrad

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def release() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release", ROOT / "tools" / "release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tree_has_one_version(release):
    told = {path: release.written(path, pattern) for path, pattern in release.VERSION_FILES}
    assert set(told.values()) == {claygrad.__version__} == {importlib.metadata.version("claygrad")}, told


def test_every_change_can_be_gathered():
    kinds = [kind["directory"] for kind in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]["type"]]
    names = [path.name for path in (ROOT / "changes").iterdir() if path.name != "README.md"]
    assert [name for name in names if not re.fullmatch(rf"[\w-]+\.({'|'.join(kinds)})\.md", name)] == []
    said = (ROOT / "changes" / "README.md").read_text()
    assert [kind for kind in kinds if f"`{kind}`" not in said] == []


@pytest.mark.parametrize(("version", "word"), [("1.2", "no version of the form"), ("v1.2.3", "no version of the form"), ("1.2.3", "")])
def test_versions(release, monkeypatch, version, word):
    monkeypatch.setattr(release, "git", lambda *words: "")
    told = release.problems(version)
    assert told == [] if not word else word in told[0]


def test_releases_go_forward_from_a_clean_tree(release, monkeypatch):
    monkeypatch.setattr(release, "git", lambda *words: "v1.3.0\nv1.10.0" if words[0] == "tag" else "M README.md")
    assert release.problems("1.10.0") == ["v1.10.0 is a tag already", "there are changes that are not committed"]
    assert release.problems("1.9.0")[0] == "1.9.0 comes before the last release, v1.10.0"


def test_licences_of_what_is_bundled(release):
    """Each notice is in the wheel, each foreign file is listed, and the bill of materials has their hashes."""
    notices = {path.name for path in (ROOT / "LICENSES").iterdir()}
    assert {notice for *_, notice in release.BUNDLED} == notices
    shipped = {Path(str(file)).name for file in importlib.metadata.files("claygrad") if ".dist-info/licenses" in str(file)}
    assert shipped == notices | {"LICENSE"}
    bill = {part["name"]: part for part in release.bill_of_materials("1.2.3")["components"]}
    for name, version, licence, file, notice in release.BUNDLED:
        text = (ROOT / "LICENSES" / notice).read_text()
        assert file in text
        assert version in text
        assert bill[name]["hashes"][0]["content"] == hashlib.sha256((ROOT / file).read_bytes()).hexdigest()
        assert bill[name]["licenses"] == [{"license": {"id": licence}}]
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {part["name"] for part in bill.values() if part.get("scope") == "required"} == {re.match(r"[\w-]+", need)[0] for need in asked}
    packed = {str(path.relative_to(ROOT)) for path in (ROOT / "claygrad").rglob("*.xz")}
    packed.remove("claygrad/compat/inner_modules.xz")          # a list of names, made by tests/oracle/names
    assert packed == {file for _, _, _, file, _ in release.BUNDLED}


def test_checksums(release, tmp_path):
    (tmp_path / "b").write_bytes(b"two")
    (tmp_path / "a").write_bytes(b"one")
    lines = release.checksums([tmp_path / "b", tmp_path / "a"]).splitlines()
    assert lines == [f"{hashlib.sha256(text).hexdigest()}  {name}" for name, text in (("a", b"one"), ("b", b"two"))]
