"""The reference: a page for each group of public names, from the declarations of the operations and from docstrings."""

from __future__ import annotations

import html
import importlib
import re
import sys
from pathlib import Path
from types import ModuleType

import claygrad
from claygrad.core import dtype
from claygrad.ops._registry import METHODS
from tools.docs import examples
from tools.docs.catalogue import PAGES, Page
from tools.docs.entries import Entry, declaration, first_sentence, is_method, members, signature, words_of
from tools.docs.words import WORDS

# Names of the package that are parts of its machinery, or that Python itself puts there.
INNER = {"annotations", "DTYPES", "LATE", "tensor_text", "TYPE_CHECKING", "default_generator"}

OWN = {"debug", "memory", "array_api", "serialization.safetensors", "utils.model_summary"}        # PyTorch has them not


def names_in(module: ModuleType) -> list[str]:
    """The public names of a module."""
    given = getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]
    return sorted(name for name in given if name not in INNER and not name.startswith("_")
                  and not isinstance(getattr(module, name), ModuleType))


def entry(name: str, value: object) -> Entry:
    words = words_of(value, WORDS.get(name))
    shown = signature(name, value) if callable(value) and not isinstance(value, dtype) else name
    last = name.rpartition(".")[2]
    return Entry(name, value, shown, words, method=name.count(".") == 1 and is_method(last), members=members(value))


def family_of(value: object) -> str:
    said = declaration(value)
    return said.fn.__module__.rpartition(".")[2] if said is not None else ""


def operations() -> dict[str, list[Entry]]:
    """The operations of the torch namespace by family; in-place forms and other names of one go into its entry."""
    space = {name: getattr(claygrad, name) for name in names_in(claygrad)}
    found: dict[str, list[Entry]] = {}
    first: dict[int, Entry] = {}
    for name, value in sorted(space.items(), key=lambda item: (canonical(*item) != item[0], item[0])):
        family = family_of(value)
        if not family:
            continue
        base = name.removesuffix("_")
        if name.endswith("_") and base in space and declaration(space[base]) is declaration(value):
            continue
        if id(value) in first:
            first[id(value)].aliases.append(f"torch.{name}")
            continue
        made = first[id(value)] = entry(f"torch.{name}", value)
        if f"{name}_" in METHODS:
            made.in_place = f"{name}_"
        found.setdefault(family, []).append(made)
    for entries in found.values():
        entries.sort(key=lambda made: made.name)
    return found


def canonical(name: str, value: object) -> str:
    said = declaration(value)
    return said.name if said is not None else name


def module_entries(path: str) -> list[Entry]:
    """The names of `torch.path`; of torch itself those that are no operations."""
    module = importlib.import_module("claygrad" if path == "torch" else f"claygrad.{path}")
    prefix = "torch" if path == "torch" else spelled(path)
    found: list[Entry] = []
    first: dict[int, Entry] = {}
    for name in names_in(module):
        value = getattr(module, name)
        if path == "torch" and family_of(value):
            continue
        if id(value) in first and callable(value):
            first[id(value)].aliases.append(f"{prefix}.{name}")
            continue
        made = first[id(value)] = entry(f"{prefix}.{name}", value)
        found.append(made)
    return found


def spelled(path: str) -> str:
    """What PyTorch has is called torch, what it has not claygrad."""
    own = path.partition(".")[0] in OWN or path in OWN
    return f"claygrad.{path}" if own else f"torch.{path}"


def tensor_entries() -> list[Entry]:
    return [entry(f"Tensor.{name}", getattr(claygrad.Tensor, name)) for name in dir(claygrad.Tensor)
            if not name.startswith("_")]


def sections(page: Page) -> list[tuple[str, str, list[Entry]]]:
    """Title, words and names of each section of a page."""
    if page.slug == "tensor":
        return [("", "", tensor_entries())]
    found, by_family = [], operations()
    for family in page.families:
        words = (sys.modules[f"claygrad.ops.{family}"].__doc__ or "").strip().partition("\n")[0]
        if family in by_family:
            found.append((words.partition(":")[0].rstrip("."), words, by_family[family]))
    for path in page.modules:
        entries = module_entries(path)
        module = importlib.import_module("claygrad" if path == "torch" else f"claygrad.{path}")
        title = "Types, modes and settings" if path == "torch" else spelled(path)
        found.append((title, "" if path == "torch" else first_sentence(module.__doc__ or ""), entries))
    return found


def escaped(text: str) -> str:
    """Text in which Markdown sees code between backticks, and nothing else."""
    pieces = re.split(r"(``?[^`]+``?)", text)
    plain = (re.sub(r"([*_\[\]$\\|~^#])", r"\\\1", html.escape(piece, quote=False)) for piece in pieces)
    return "".join(piece if piece.startswith("`") else words for piece, words in zip(pieces, plain))


def docstring(words: str) -> str:
    """A docstring as Markdown: paragraphs, and sessions as blocks."""
    parts: list[str] = []
    for block in re.split(r"\n\s*\n", words.strip()):
        lines = block.splitlines()
        cut = next((i for i, line in enumerate(lines) if line.lstrip().startswith(">>>")), len(lines))
        if prose := "\n".join(lines[:cut]).strip():
            indented = any(line.startswith("    ") for line in lines[:cut])
            parts.append(f"```text\n{prose}\n```" if indented else escaped(prose))
        if session := "\n".join(lines[cut:]).strip("\n"):
            parts.append(f"```python\n{session}\n```")
    return "\n\n".join(parts)


def block(made: Entry, known: dict[str, examples.Example], links: dict[str, str]) -> str:
    """What a page says of a name."""
    also = [f"`{name}`" for name in made.aliases]
    parts = [f"### {escaped(made.name)} {{ #{made.name} }}",
             f"```python {{ .signature }}\n{wrapped(made.signature)}\n```"]
    function = made.name.replace("Tensor.", "torch.", 1)
    if made.name.startswith("Tensor.") and (target := links.get(function)):
        parts.append(f"{escaped(made.sentence)} See [{escaped(function)}]({target}).")
    else:
        parts.append(docstring(made.words))
    if example := known.get(made.name):
        if example.formula:
            parts.append(f"$${example.formula}$$")
        if example.session:
            parts.append(f"```python\n{example.session}```")
    notes = []
    if made.method and made.name.startswith("torch."):
        notes.append("also a method of `Tensor`")
    if made.in_place:
        notes.append(f"in place: `{made.in_place}`")
    if also:
        notes.append(f"also called {', '.join(also)}")
    if notes:
        text = "; ".join(notes)
        parts.append(f"{text[0].upper()}{text[1:]}.")
    if made.members:
        rows = [f"| `{how}` | {escaped(words)} |" for how, words in made.members]
        parts.append("| member | |\n|---|---|\n" + "\n".join(rows))
    return "\n\n".join(part for part in parts if part)


def wrapped(text: str, width: int = 88) -> str:
    """A signature on several lines, if it is long."""
    if len(text) <= width:
        return text
    head, _, inside = text.partition("(")
    lines, line = [], "    "
    for part in inside.removesuffix(")").split(", "):
        if len(line) + len(part) > width and line.strip():
            lines.append(line.rstrip())
            line = "    "
        line += f"{part}, "
    return "\n".join([f"{head}(", *lines, line.rstrip(" ,"), ")"])


def write(folder: Path) -> None:
    """All pages of the reference, and their index."""
    folder.mkdir(parents=True, exist_ok=True)
    known = {name: example for example in examples.load() for name in example.names}
    made = {page: sections(page) for page in PAGES}
    links = {one.name: f"{page.slug}.md#{one.name}" for page, parts in made.items() if page.slug != "tensor"
             for _, _, entries in parts for one in entries}
    total = 0
    rows = []
    for page, parts in made.items():
        text = [f"# {page.title}\n", f"{page.about}\n"]
        count = 0
        for title, words, entries in parts:
            if title and len(parts) > 1:
                text.append(f"## {escaped(title)}\n")
                if words and words.rstrip(".") != title:
                    text.append(f"{escaped(words)}\n")
            text += [block(one, known, links) + "\n" for one in entries]
            count += sum(1 + len(one.aliases) + bool(one.in_place) for one in entries)
        (folder / f"{page.slug}.md").write_text("\n".join(text))
        rows.append(f"| [{page.title}]({page.slug}.md) | {count} | {page.about} |")
        total += count
    (folder / "index.md").write_text(INDEX.format(total=f"{total:,}", rows="\n".join(rows)))


INDEX = """# Reference

{total} public names, from the declarations of the operations and the docstrings of the rest.
Examples suppose `import claygrad as torch`, `from claygrad import nn` and `F = nn.functional`, and print the same in
PyTorch. Names that PyTorch has not are written `claygrad.…`. What a name does
is what it does in [PyTorch 2.13](https://docs.pytorch.org/docs/2.13/) on the CPU, so its own reference holds, too;
[what differs](../operations.md) and [what is absent](../absent.md) is listed.

| page | names | |
|---|--:|---|
{rows}
"""
