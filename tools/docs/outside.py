"""Addresses outside the built site: links are allowed, loading something is not."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

OUTSIDE = re.compile(r"(?:https?:)?//")
IN_CSS = re.compile(r"url\(\s*['\"]?((?:https?:)?//[^)'\"]+)|@import\s+['\"]((?:https?:)?//[^'\"]+)")


class Reader(HTMLParser):
    """Gathers the addresses that a page links to, and those from which it would fetch something."""

    def __init__(self) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.fetched: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src", "srcset", "data", "poster", "action") and value and OUTSIDE.match(value):
                (self.links if tag == "a" else self.fetched).add(value)
            elif name == "style" and value:
                self.fetched |= {first or second for first, second in IN_CSS.findall(value)}


def read(site: Path) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Addresses linked to and addresses fetched from, each with the pages that have them."""
    links: dict[str, list[str]] = {}
    fetched: dict[str, list[str]] = {}
    for path in sorted(site.rglob("*.html")):
        reader = Reader()
        reader.feed(path.read_text())
        for found, addresses in ((links, reader.links), (fetched, reader.fetched)):
            for address in sorted(addresses):
                found.setdefault(address, []).append(path.relative_to(site).as_posix())
    for path in sorted(site.rglob("*.css")):
        for first, second in IN_CSS.findall(path.read_text()):
            fetched.setdefault(first or second, []).append(path.relative_to(site).as_posix())
    return links, fetched
