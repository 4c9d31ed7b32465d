"""Build the site: gather its pages in build/docs, write those that are generated, let mkdocs make build/site of them.

    make docs                                       # all of it; fails on any warning
    python tools/docs/build.py --no-notebooks       # quicker, for work on pages: notebooks are shown without outputs
    python tools/docs/build.py --serve              # and show the site on this machine

The pages in docs/ are plain Markdown that also reads well without a site; what the site adds is added here.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))           # last: claygrad is the installed one

from tools.docs import changelog, notebooks, outside, pages, reference  # noqa: E402

DOCS, STAGE, SITE = ROOT / "docs", ROOT / "build" / "docs", ROOT / "build" / "site"
LEFT_OUT = {"examples", "tutorials"}         # read by the generators, not shown as they are


def stage(*, run_notebooks: bool = True) -> None:
    """Everything that the site shows, as Markdown and pictures, in one folder."""
    shutil.rmtree(STAGE, ignore_errors=True)
    shutil.copytree(DOCS, STAGE, ignore=shutil.ignore_patterns(*LEFT_OUT))
    shutil.copy(ROOT / "CONTRIBUTING.md", STAGE / "contributing.md")
    (STAGE / "changelog.md").write_text(changelog.page())
    reference.write(STAGE / "reference")
    notebooks.write(DOCS / "tutorials", STAGE / "tutorials", run=run_notebooks)
    for path in sorted(STAGE.rglob("*.md")):
        path.write_text(pages.prepared(path.read_text(), path.relative_to(STAGE)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-notebooks", action="store_true", help="do not execute the tutorials")
    parser.add_argument("--serve", action="store_true", help="show the site at localhost:8000")
    told = parser.parse_args()
    stage(run_notebooks=not told.no_notebooks)
    command = ["serve"] if told.serve else ["build", "--strict"]          # not --quiet: then strict sees no warnings
    done = subprocess.run([sys.executable, "-m", "mkdocs", *command, "-f", ROOT / "mkdocs.yml"], check=False,
                          env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    return done.returncode if done.returncode or told.serve else looked_over()


def looked_over() -> int:
    """List the links that leave the site, which nothing here can check; fail if a page would fetch something."""
    links, fetched = outside.read(SITE)
    lines = [f"{address}  {pages[0]}" for address, pages in sorted(links.items())]
    (ROOT / "build" / "outside-links.txt").write_text("".join(f"{line}\n" for line in lines))
    print(f"{SITE.relative_to(ROOT)}/index.html; {len(links)} links leave the site: build/outside-links.txt")
    for address, where in fetched.items():
        print(f"fetched from elsewhere: {address} by {where[0]} and {len(where) - 1} others", file=sys.stderr)
    return 1 if fetched else 0


if __name__ == "__main__":
    sys.exit(main())
