"""What docs/distributed.md and docs/parallel-work.md show is run, and prints what they say."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.distributed.starting import start

DOCS = Path(__file__).parents[3] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CASES = [pytest.param(page, match[1], match[2], id=f"{page}-{number}") for page in ("distributed", "parallel-work")
         for number, match in enumerate(BLOCK.finditer((DOCS / f"{page}.md").read_text()))]


@pytest.mark.parametrize(("page", "program", "printed"), CASES)
def test_a_program_prints_what_the_page_says(page: str, program: str, printed: str, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(program)
    mpiexec = [str(Path(sys.executable).with_name("mpiexec")), "-n", "2"] if page == "distributed" else []
    done = start([*mpiexec, sys.executable, str(file)], 60, cwd=tmp_path)
    assert (done.code, done.out) == (0, printed), done.err


def test_every_program_of_the_pages_is_run() -> None:
    shown = sum((DOCS / f"{page}.md").read_text().count("```python") for page in ("distributed", "parallel-work"))
    assert len(CASES) == shown == 8
