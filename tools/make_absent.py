"""Write docs/absent.md, the page of what PyTorch has and claygrad lacks, from the table in claygrad/compat/absent.py.

    python tools/make_absent.py            # write it
    python tools/make_absent.py --check    # fail if it is out of date
"""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

from claygrad.compat.absent import ABSENT
from claygrad.compat.names import our_name, table
from claygrad.compat.refusing import is_only_a_name

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "absent.md"
HEAD = """# What is not there

claygrad has PyTorch's tensors, autograd, modules, and what training needs. This page lists what it lacks, with the
reason and what to use instead. The error that a program gets when it uses one of these names says the same, and so does
`claygrad check program.py`.

Names that other packages import, annotate with or ask `isinstance` for are there all the same ({names:,} of them,
private ones included): they can be mentioned and subclassed, and raise `NotImplementedError` when they are used.

## Absent as a whole

| name | why | instead |
|---|---|---|
"""
PARTS = """
## Absent in part

These modules work, but for the names in the second column.

| module | lacks | why | instead |
|---|---|---|---|
"""
SHOWN = 4                    # names of a module that the second table shows; it counts the others


def only_names() -> list[str]:
    """The names of the list that can be mentioned and not used. Exceptions are caught, so they are not among these."""
    found = []
    for module, known in table().items():
        held = importlib.import_module(our_name(module))
        for name in known:
            value = getattr(held, name, None) if known[name][0] != "module" else None
            caught = isinstance(value, type) and issubclass(value, BaseException)
            if is_only_a_name(value) and not caught:
                found.append(f"{module}.{name}")
    return found


def works(name: str) -> bool:
    """Whether claygrad has this module itself: then only parts of it are absent."""
    path = ROOT / our_name(name).replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").exists()


def lacking(name: str, names: list[str]) -> str:
    """The first names that a module lacks, those of the module itself before those of its submodules."""
    public = [one for one in names if nearest(one) == name and "._" not in one]
    public.sort(key=lambda one: one.count("."))
    shown = ", ".join(f"`{one.removeprefix(name)[1:]}`" for one in public[:SHOWN])
    return shown + (f" and {len(public) - SHOWN} more" if len(public) > SHOWN else "")


def nearest(name: str) -> str:
    while name not in ABSENT:
        name = name.rpartition(".")[0]
    return name


def page() -> str:
    """The text of the page."""
    names = only_names()
    entries = [(name, entry) for name, entry in sorted(ABSENT.items()) if name != "torch"]
    whole = [f"| `{name}` | {entry.why} | {entry.instead} |" for name, entry in entries if not works(name)]
    whole.append(f"| anything else | {ABSENT['torch'].why} | {ABSENT['torch'].instead} |")
    parts = [f"| `{name}` | {lacks} | {entry.why} | {entry.instead} |" for name, entry in entries
             if works(name) and (lacks := lacking(name, names))]
    text = HEAD.format(names=len(names)) + "\n".join(whole) + "\n" + PARTS + "\n".join(parts) + "\n"
    return re.sub(r"docs/(\w+)\.md", r"[\1](\1.md)", text)


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(None if PAGE.exists() and PAGE.read_text() == page() else "docs/absent.md is out of date: run "
                 "tools/make_absent.py")
    PAGE.write_text(page())
