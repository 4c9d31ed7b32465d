"""The page of what changed: the files in changes/, by kind; and CHANGELOG.md, once a release has gathered them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
KINDS = {"feature": "New", "change": "Changed", "fix": "Mended", "speed": "Faster", "removal": "Removed"}


def page() -> str:
    """The text of the page."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "changes").glob("*.md")):
        if path.name != "README.md":
            texts = re.split(r"^- ", path.read_text(), flags=re.MULTILINE)         # one sentence, or a list of them
            told = found.setdefault(path.stem.rpartition(".")[2], [])
            told += [" ".join(text.split()) for text in texts if text.strip()]
    parts = ["# Changelog\n", "What a user can see of each change, as the files in `changes/` tell it.\n",
             "## Not yet released\n"]
    for kind in sorted(found, key=lambda kind: [*KINDS, kind].index(kind)):
        parts += [f"### {KINDS.get(kind, kind.capitalize())}\n", *(f"- {shielded(text)}" for text in found[kind]), ""]
    released = ROOT / "CHANGELOG.md"
    if released.exists():
        text = re.sub(r"\A# .*\n", "", released.read_text()).strip()
        parts.append(text.replace("(docs/", "(").replace("[changes/](changes)", "`changes/`") + "\n")
    return "\n".join(parts)


def shielded(text: str) -> str:
    """Text in which Markdown finds no link where none was meant."""
    return re.sub(r"(?<!`)<(?=\w)", "&lt;", text)
