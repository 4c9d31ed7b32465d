"""From a page in docs/ to a page of the site: links into the tree, formulas, sessions, charts."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path, PurePosixPath

from tools.docs import charts

ROOT = Path(__file__).parents[2]
# Files outside of docs/ that are pages of the site.
OUTSIDE_DOCS = {"CONTRIBUTING.md": "contributing.md", "changes": "changelog.md", "changes/README.md": "changelog.md"}
LINK = re.compile(r"(?<!!)\[((?:[^\[\]`]|`[^`]*`)+)\]\(([^()\s]+)\)")
FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>```+)(?P<words>[^\n`]*)\n(?P<body>.*?)^(?P=indent)(?P=ticks)$",
                   re.MULTILINE | re.DOTALL)
DISPLAY = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)
INLINE = re.compile(r"(?<![\\$\w])\$(?=\S)([^$\n]+?)(?<=\S)\$(?![\w$])")


def prepared(text: str, page: PurePosixPath | Path) -> str:
    """The Markdown that mkdocs gets. Blocks of code stay as they are, but for the name of their language."""
    if page.name == "mistakes.md":
        text = re.sub(r"^(## .+\n\n```)text$", r"\1python", text, flags=re.MULTILINE)
        text = re.sub(r"^(PyTorch|claygrad)\n\n```text$", r'```text title="\1"', text, flags=re.MULTILINE)
    parts, end = [], 0
    for match in FENCE.finditer(text):
        parts += [prose(text[end:match.start()], page), fence(match)]
        end = match.end()
    return "".join([*parts, prose(text[end:], page)])


def fence(match: re.Match[str]) -> str:
    words = match["words"]
    if words.startswith("python") and ">>>" in match["body"]:
        words = "pycon" + words.removeprefix("python")
    return f"{match['indent']}{match['ticks']}{words}\n{match['body']}{match['indent']}{match['ticks']}"


def prose(text: str, page: PurePosixPath | Path) -> str:
    text = charts.drawn(text)
    text = LINK.sub(lambda match: link(match[1], match[2], page), text)
    pieces = re.split(r"(`[^`\n]+`)", text)          # no formula inside of code
    return "".join(piece if piece.startswith("`") else formulas(piece) for piece in pieces)


def link(words: str, target: str, page: PurePosixPath | Path) -> str:
    """A link to another page stays one. One to a file of the tree, which the site does not have, becomes its name."""
    if re.match(r"[a-z]+:|#", target):
        return f"[{words}]({target})"
    path, _, anchor = target.partition("#")
    folder = "" if page.name == "contributing.md" else posixpath.join("docs", *page.parent.parts)
    where = posixpath.normpath(posixpath.join(folder, path))
    if where in OUTSIDE_DOCS or where.startswith("docs/"):
        to = OUTSIDE_DOCS.get(where) or where.removeprefix("docs/").replace(".ipynb", ".md")
        to = posixpath.relpath(to, posixpath.join(*page.parent.parts) if page.parent.parts else ".")
        return f"[{words}]({to}{'#' * bool(anchor)}{anchor})"
    if not (ROOT / where).exists():
        raise FileNotFoundError(f"{page}: {target}")
    name = words.strip("`")
    return f"`{name}`" if name.rstrip("/") == where.rstrip("/") else f"{words} (`{where}`)"


def formulas(text: str) -> str:
    """TeX between dollars as MathML, which browsers draw without a script."""
    text = DISPLAY.sub(lambda match: mathml(match[1].strip(), "block"), text)
    return INLINE.sub(lambda match: mathml(match[1], "inline"), text)


def mathml(tex: str, display: str) -> str:
    from latex2mathml.converter import convert
    out = convert(tex, display=display)
    return f'<div class="formula">{out}</div>' if display == "block" else out
