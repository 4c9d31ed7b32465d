"""docs/architecture.md: every file and function that it names is there."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
STEPS = re.findall(r"`(\w+)`(?: in|,? *which is in)\s+`([\w/]+\.(?:py|pyx|h|cpp|hpp))`", PAGE)


def test_the_page_names_functions():
    assert len(STEPS) > 20


def test_every_function_stands_in_the_file_that_is_named():
    missing = [(name, file) for name, file in STEPS
               if not re.search(rf'(?<![\w.]){name}\b(?: "\w+")?\s*[(:=]', (ROOT / "claygrad" / file).read_text())]
    assert missing == []


def test_every_file_and_folder_is_there():
    named = re.findall(r"`((?:core|native|ops|kernels)/[\w/]*(?:\.\w+)?)`", PAGE)
    assert [name for name in named if not (ROOT / "claygrad" / name).exists()] == []


def test_every_note_is_there():
    sources = "\n".join(path.read_text() for folder in ("core", "native", "kernels") for path in (ROOT / "claygrad" / folder).rglob("*")
                        if path.suffix in (".pyx", ".pxd", ".h", ".hpp", ".cpp"))
    assert [note for note in re.findall(r"Note \[[\w ]+\]", PAGE) if note not in sources] == []


def test_the_picture_is_drawn_from_its_source():
    source, drawn = ((ROOT / "docs" / f"architecture.{kind}").read_text() for kind in ("dot", "svg"))
    labels = re.findall(r'label="([\w/]+)', source)
    assert labels
    assert [label for label in labels if label not in drawn] == []


def test_the_table_of_lines_is_true():
    """Within a twentieth of each row, or 40 lines: `python tools/lines.py` writes it again."""
    spec = importlib.util.spec_from_file_location("lines", ROOT / "tools" / "lines.py")
    assert spec is not None
    assert spec.loader is not None
    lines = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(lines)
    _, _, rest = PAGE.partition(lines.BEGIN)
    found = re.findall(r"^\| \| ([\d,]+) \| (.+) \|$", rest.partition(lines.END)[0], re.MULTILINE)
    written = {purpose: int(n.replace(",", "")) for n, purpose in found}
    counted = {purpose: n for (_, purpose), n in lines.counted().items()}
    assert list(written) == list(counted)
    assert {purpose: (written[purpose], n) for purpose, n in counted.items() if abs(written[purpose] - n) > max(n // 20, 40)} == {}
