"""Make a release: version, changelog, tag, wheels, checksums and the list of what is inside.

    python tools/release.py 0.2.0 --dry-run      # what would happen; changes nothing, takes seconds (CI runs it)
    python tools/release.py 0.2.0                # does it, and pushes nothing

The version must follow docs/releases.md; the tree must be clean. Wheels are built by tools/wheels.py first, so that a
release that cannot be built leaves no tag behind.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tomllib
import uuid
from datetime import UTC, date, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
# What the wheel brings along that others made: name, version, licence (SPDX), the file in it, its notice in LICENSES/.
BUNDLED = (
    ("dagre", "3.1.3", "MIT", "claygrad/debug/graphs/dagre.min.js.xz", "dagre.txt"),
    ("joe-kuo-direction-numbers", "6.21201", "BSD-3-Clause", "claygrad/sobol_numbers.xz", "sobol-numbers.txt"),
)
VERSION_FILES = (("meson.build", r"(?<=  version: ')[^']+"), ("claygrad/version.py", r'(?<=__version__ = ")[^"]+'),
          ("CITATION.cff", r"(?<=\nversion: )\S+"))


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, text=True, capture_output=True).stdout.strip()


def written(path: str, pattern: str) -> str:
    return re.search(pattern, (ROOT / path).read_text())[0]


def key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.match(r"\d+\.\d+\.\d+", version)[0].split("."))


def problems(version: str) -> list[str]:
    """The reasons why this release cannot be made."""
    told = []
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        return [f"{version} is no version of the form 1.2.3, 1.2.3a1, 1.2.3b1 or 1.2.3rc1"]
    now = {path: written(path, pattern) for path, pattern in VERSION_FILES}
    if len(set(now.values())) > 1:
        told.append(f"the tree disagrees about its version: {now}")
    tags = git("tag", "--list", "v*").split()
    if f"v{version}" in tags:
        told.append(f"v{version} is a tag already")
    if tags and key(version) < max(key(tag[1:]) for tag in tags):
        told.append(f"{version} comes before the last release, {max(tags, key=lambda tag: key(tag[1:]))}")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    kinds = {kind["directory"] for kind in settings["tool"]["towncrier"]["type"]}
    for path in sorted((ROOT / "changes").iterdir()):
        if path.name != "README.md" and not re.fullmatch(rf"[\w-]+\.({'|'.join(sorted(kinds))})\.md", path.name):
            told.append(f"changes/{path.name} is not named <subject>.<{'|'.join(sorted(kinds))}>.md")
    if git("status", "--porcelain"):
        told.append("there are changes that are not committed")
    return told


def bill_of_materials(version: str) -> dict:
    """A CycloneDX list: bundled parts and dependencies."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    inside = [{"type": "library" if file.endswith(".js.xz") else "data", "name": name, "version": its_version,
               "licenses": [{"license": {"id": licence}}],
               "hashes": [{"alg": "SHA-256", "content": hashlib.sha256((ROOT / file).read_bytes()).hexdigest()}],
               "properties": [{"name": "file", "value": file}, {"name": "notice", "value": f"LICENSES/{notice}"}]}
              for name, its_version, licence, file, notice in BUNDLED]
    needs = {re.match(r"[\w-]+", need)[0]: need for need in project["dependencies"]}
    asked = [{"type": "library", "name": name, "scope": "required", "purl": f"pkg:pypi/{name.replace('_', '-')}",
              "properties": [{"name": "asked for", "value": need}]} for name, need in needs.items()]
    return {"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": f"urn:uuid:{uuid.uuid4()}", "version": 1,
            "metadata": {"timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
                         "component": {"type": "library", "name": project["name"], "version": version,
                                       "purl": f"pkg:pypi/claygrad@{version}",
                                       "licenses": [{"license": {"id": project["license"]}}]}},
            "components": inside + asked}


def checksums(files: list[Path]) -> str:
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(files))


def changelog(version: str, *more: str) -> str:
    today = date.today().isoformat()
    command = [sys.executable, "-m", "towncrier", "build", "--version", version, "--date", today, *more]
    return subprocess.run(command, cwd=ROOT, check=True, text=True, capture_output=True).stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", nargs="?", default=written(*VERSION_FILES[0]))
    parser.add_argument("--dry-run", action="store_true")
    asked = parser.parse_args()
    told = problems(asked.version)
    if told and not (asked.dry_run and told == ["there are changes that are not committed"]):
        print("\n".join(told))
        return 1

    if asked.dry_run:
        news = changelog(asked.version, "--draft")
        print(f"would write {asked.version} into {', '.join(path for path, _ in VERSION_FILES)}")
        files = list((ROOT / "changes").glob("*.*.md"))
        print(f"would gather {news.count(chr(10) + '- ')} entries of {len(files)} files into CHANGELOG.md")
        print("would run tools/wheels.py, write dist/SHA256SUMS and dist/claygrad.cdx.json, commit and tag "
              f"v{asked.version}; nothing is pushed")
        print(json.dumps(bill_of_materials(asked.version), indent=1))
        return 0

    for path, pattern in VERSION_FILES:
        place = ROOT / path
        place.write_text(re.sub(pattern, asked.version, place.read_text(), count=1))
    subprocess.run([sys.executable, "tools/wheels.py"], cwd=ROOT, check=True)
    changelog(asked.version, "--yes")
    ours = [path for path in DIST.iterdir() if asked.version in path.name]
    bill = DIST / "claygrad.cdx.json"
    bill.write_text(json.dumps(bill_of_materials(asked.version), indent=1) + "\n")
    (DIST / "SHA256SUMS").write_text(checksums([*ours, bill]))
    git("add", "--all", "CHANGELOG.md", "changes", *(path for path, _ in VERSION_FILES))
    git("commit", "--message", f"Release {asked.version}")
    git("tag", "--annotate", f"v{asked.version}", "--message", f"claygrad {asked.version}")
    print(f"v{asked.version} is tagged, and dist/ holds {', '.join(sorted(path.name for path in ours))}.\n"
          "Look at them, then: git push --follow-tags, and upload dist/*.whl and dist/*.tar.gz.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
