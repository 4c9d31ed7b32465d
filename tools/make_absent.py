"""Write docs/absent.md, the page of what PyTorch has and claygrad lacks, from the table in claygrad/compat/absent.py.

    python tools/make_absent.py            # write it
    python tools/make_absent.py --check    # fail if it is out of date
"""

from __future__ import annotations

import sys
from pathlib import Path

from claygrad.compat.absent import ABSENT
from claygrad.compat.names import table

PAGE = Path(__file__).parents[1] / "docs" / "absent.md"
HEAD = """# What is not there

claygrad has PyTorch's tensors, autograd, modules, and what training needs. This page lists what it lacks, with the
reason and what to use instead. The error that a program gets when it uses one of these names says the same, and so does
`claygrad check program.py`.

Names that other packages import, annotate with or ask `isinstance` for are there all the same ({names} of them in
{modules} modules): they can be mentioned and subclassed, and raise `NotImplementedError` when they are used.

| name | why | instead |
|---|---|---|
"""


def page() -> str:
    """The text of the page."""
    known = table()
    rows = [f"| `{name}` | {entry.why} | {entry.instead} |" for name, entry in sorted(ABSENT.items())
            if name != "torch"]
    rows.append(f"| anything else | {ABSENT['torch'].why} | {ABSENT['torch'].instead} |")
    return HEAD.format(names=sum(map(len, known.values())), modules=len(known)) + "\n".join(rows) + "\n"


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(None if PAGE.exists() and PAGE.read_text() == page() else "docs/absent.md is out of date: run "
                 "tools/make_absent.py")
    PAGE.write_text(page())
