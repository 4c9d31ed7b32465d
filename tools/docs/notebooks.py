"""Tutorials: notebooks are stored without outputs, executed here, and shown as pages.

Outputs are cached in build/notebooks by the notebook's text and claygrad's files, so that an unchanged notebook is not
executed again.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "notebooks"
CELL_FILE = re.compile(r"\S*/ipykernel_\d+/\d+\.py")        # what IPython calls the text of a cell
ANSI = re.compile(r"\x1b\[[0-9;]*m")
SECONDS = 120          # timeout of a cell


def write(folder: Path, to: Path, *, run: bool = True) -> None:
    """A page for each notebook of a folder, beside the notebook itself and the other files."""
    shutil.copytree(folder, to)
    for path in sorted(folder.glob("*.ipynb")):
        notebook = json.loads(path.read_text())
        if run:
            notebook = executed(path)
        (to / path.with_suffix(".md").name).write_text(page(notebook, path.stem, to))


def version_of_claygrad() -> str:
    """Changes with every build of claygrad: names, sizes and times of its files."""
    import claygrad
    home = Path(claygrad.__file__).parent
    seen = [(file.name, file.stat().st_size, int(file.stat().st_mtime)) for file in sorted(home.rglob("*"))
            if file.suffix in (".py", ".so")]
    return hashlib.sha256(repr(seen).encode()).hexdigest()


def executed(path: Path) -> dict[str, Any]:
    """The notebook with its outputs. An exception in a cell is one here."""
    key = hashlib.sha256((path.read_text() + version_of_claygrad()).encode()).hexdigest()[:20]
    kept = KEPT / f"{path.stem}-{key}.json"
    if not kept.exists():
        import nbformat
        from nbclient import NotebookClient
        from traitlets.config import Config
        os.environ["PYTHONSAFEPATH"] = "1"
        os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
        notebook = nbformat.read(path, as_version=4)
        no_port = Config({"KernelManager": {"transport": "ipc"}})
        NotebookClient(notebook, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}},
                       config=no_port).execute()
        KEPT.mkdir(parents=True, exist_ok=True)
        for old in KEPT.glob(f"{path.stem}-*.json"):
            old.unlink()
        kept.write_text(nbformat.writes(notebook))
    found: dict[str, Any] = json.loads(kept.read_text())
    return found


def joined(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)


def page(notebook: dict[str, Any], name: str, folder: Path) -> str:
    """Markdown of a notebook; its pictures become files beside it."""
    parts: list[str] = []
    pictures = 0
    for cell in notebook["cells"]:
        source = joined(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        hidden = "hide" in cell.get("metadata", {}).get("tags", [])
        if not hidden:
            parts.append(f"```python\n{source}\n```")
        for output in cell.get("outputs", []):
            text, picture = shown(output)
            if picture is not None:
                pictures += 1
                kind, data = picture
                (folder / f"{name}-{pictures}.{kind}").write_bytes(data)
                parts.append(f'![Drawn by the cell above]({name}-{pictures}.{kind}){{ .figure }}')
            elif text:
                parts.append(f'```text {{ .output }}\n{text}\n```')
    title, _, rest = "\n\n".join(parts).partition("\n")
    file = f'<a href="{name}.ipynb" download>{name}.ipynb</a>'
    note = f"*A notebook: {file}. Its outputs are from the build of this page.*"
    return f"{title}\n\n{note}\n{rest}\n"


def shown(output: dict[str, Any]) -> tuple[str, tuple[str, bytes] | None]:
    """What a page shows of an output: text, or a picture."""
    if output["output_type"] == "stream":
        return CELL_FILE.sub("cell.py", ANSI.sub("", joined(output["text"]))).rstrip("\n"), None
    if output["output_type"] == "error":
        return ANSI.sub("", "\n".join(output["traceback"])), None
    data = output.get("data", {})
    if "image/svg+xml" in data:
        return "", ("svg", joined(data["image/svg+xml"]).encode())
    if "image/png" in data:
        return "", ("png", base64.b64decode(joined(data["image/png"])))
    return joined(data.get("text/plain", "")), None
