"""The reference: a page for each group of public names, from the declarations of the operations and from docstrings."""

from __future__ import annotations

import functools
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import claygrad
from claygrad.core import dtype
from claygrad.ops._registry import METHODS
from tools.docs import examples
from tools.docs.catalogue import PAGES, Page
from tools.docs.entries import Entry, declaration, first_sentence, is_method, members, signature, words_of
from tools.docs.rules import rules_of
from tools.docs.words import WORDS

# Names of the package that are parts of its machinery, or that Python itself puts there.
INNER = {"annotations", "Any", "DTYPES", "UPCALLS", "tensor_text", "TYPE_CHECKING", "default_generator"}

MARKUP = re.compile(r"[<>&*_\[\]$\\|~^#]")
OWN = {"debug", "memory", "array_api", "serialization.safetensors", "utils.model_summary"}        # not in PyTorch


def names_in(module: ModuleType) -> list[str]:
    """The public names of a module."""
    # claygrad's own list has names that only other packages ask for.
    given = None if module.__name__ == "claygrad" else getattr(module, "__all__", None)
    given = given or names_at_import(module.__name__)
    return sorted(name for name in given if name not in INNER and not name.startswith("_")
                  and not isinstance(getattr(module, name), ModuleType))


@functools.cache
def names_at_import(module: str) -> tuple[str, ...]:
    """What a module without `__all__` has in a fresh process; standing in for torch brings more."""
    program = f"import json, importlib; print(json.dumps(dir(importlib.import_module({module!r}))))"
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    return tuple(json.loads(done.stdout))


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
        item = first[id(value)] = entry(f"torch.{name}", value)
        if f"{name}_" in METHODS:
            item.in_place = f"{name}_"
        found.setdefault(family, []).append(item)
    for entries in found.values():
        entries.sort(key=lambda item: item.name)
    return found


def canonical(name: str, value: object) -> str:
    said = declaration(value)
    return said.name if said is not None else name


def module_entries(path: str, first: dict[int, Entry]) -> list[Entry]:
    """The names of `torch.path` that `first` does not have already; of torch itself those that are no operations."""
    module = importlib.import_module("claygrad" if path == "torch" else f"claygrad.{path}")
    prefix = "torch" if path == "torch" else spelled(path)
    found: list[Entry] = []
    for name in names_in(module):
        value = getattr(module, name)
        if path == "torch" and family_of(value):
            continue
        if id(value) in first and callable(value) and not isinstance(value, dtype):
            first[id(value)].aliases.append(f"{prefix}.{name}")
            continue
        if name.endswith("_") and found and found[-1].name == f"{prefix}.{name[:-1]}" and family_of(value):
            found[-1].in_place = name          # its form that writes into its first argument
            continue
        item = first[id(value)] = entry(f"{prefix}.{name}", value)
        found.append(item)
    return found


def spelled(path: str) -> str:
    """The name as programs write it: torch.… for PyTorch's names, claygrad.… for others."""
    own = path.partition(".")[0] in OWN or path in OWN
    return f"claygrad.{path}" if own else f"torch.{path}"


def tensor_entries() -> list[Entry]:
    """Attributes and methods; in-place forms and other names of one go into its entry, unless an example is theirs."""
    names = [name for name in dir(claygrad.Tensor) if not name.startswith("_")]
    shown = {name for example in examples.load() for name in example.names}
    found: dict[str, Entry] = {}
    first: dict[int, Entry] = {}
    for name in sorted(names, key=lambda name: (canonical(name, getattr(claygrad.Tensor, name)) != name, name)):
        value = getattr(claygrad.Tensor, name)
        said, base = declaration(value), found.get(name[:-1])
        if f"Tensor.{name}" not in shown and said is not None:
            if name.endswith("_") and base is not None and declaration(base.value) is said:
                base.in_place = name
                continue
            if id(said) in first:
                first[id(said)].aliases.append(f"Tensor.{name}")
                continue
        item = found[name] = entry(f"Tensor.{name}", value)
        if said is not None:
            first.setdefault(id(said), item)
    return sorted(found.values(), key=lambda item: item.name)


def sections(page: Page) -> list[tuple[str, str, list[Entry]]]:
    """Title, words and names of each section of a page."""
    if page.slug == "tensor":
        return [("", "", tensor_entries())]
    found, by_family = [], operations()
    for family in page.families:
        words = (sys.modules[f"claygrad.ops.{family}"].__doc__ or "").strip().partition("\n")[0]
        if family in by_family:
            found.append((words.partition(":")[0].rstrip("."), words, by_family[family]))
    first: dict[int, Entry] = {}
    for path in page.modules:
        entries = module_entries(path, first)
        module = importlib.import_module("claygrad" if path == "torch" else f"claygrad.{path}")
        title = "Types, modes and settings" if path == "torch" else spelled(path)
        found.append((title, "" if path == "torch" else first_sentence(module.__doc__ or ""), entries))
    return found


def escaped(text: str) -> str:
    """Text in which Markdown sees code between backticks, and nothing else."""
    pieces = re.split(r"(``?[^`]+``?)", text)
    return "".join(piece if piece.startswith("`") else MARKUP.sub(lambda match: f"&#{ord(match[0])};", piece)
                   for piece in pieces)


def docstring(words: str, *, sessions: bool = True) -> str:
    """A docstring as Markdown: paragraphs, and sessions as blocks, if wanted."""
    parts: list[str] = []
    for block in re.split(r"\n\s*\n", words.strip()):
        lines = block.splitlines()
        cut = next((i for i, line in enumerate(lines) if line.lstrip().startswith(">>>")), len(lines))
        if prose := "\n".join(lines[:cut]).strip():
            indented = any(line.startswith("    ") for line in lines[:cut])
            parts.append(f"```text\n{prose}\n```" if indented else escaped(prose))
        if sessions and (session := "\n".join(lines[cut:]).strip("\n")):
            parts.append(f"```python\n{session}\n```")
    return "\n\n".join(parts)


def block(item: Entry, known: dict[str, examples.Example], links: dict[str, str]) -> str:
    """What a page says of a name."""
    also = [f"`{name}`" for name in item.aliases]
    last = item.name.rpartition(".")[2]
    parts = [f"### {escaped(item.name)} {{ #{item.name} data-toc-label='{last}' }}",
             f"```python {{ .signature }}\n{wrapped(item.signature)}\n```"]
    example = known.get(item.name)
    function = item.name.replace("Tensor.", "torch.", 1)
    if item.name.startswith("Tensor.") and (target := links.get(function)):
        parts.append(f"{escaped(item.sentence)} See [{escaped(function)}]({target}).")
    else:
        parts.append(docstring(item.words, sessions=example is None or not example.session))
    if example is not None:
        if example.formula:
            parts.append(f"$${example.formula}$$")
        if example.session:
            parts.append(f"```python\n{example.session}```")
    if rules := rules_of(declaration(item.value)):
        parts.append(f"Gradient: {', '.join(f'of {name} `{rule}`' for name, rule in rules.items())}.")
    notes = []
    if item.method and item.name.startswith("torch."):
        notes.append("also a method of `Tensor`")
    if item.in_place:
        notes.append(f"in place: `{item.in_place}`")
    if also:
        notes.append(f"also called {', '.join(also)}")
    if notes:
        text = "; ".join(notes)
        parts.append(f"{text[0].upper()}{text[1:]}.")
    if item.members:
        rows = [f"| `{how}` | {escaped(words)} |" for how, words in item.members]
        parts.append("| member | |\n|---|---|\n" + "\n".join(rows))
    return "\n\n".join(part for part in parts if part)


def methods(entries: list[Entry], links: dict[str, str]) -> list[str]:
    """A table of the methods that are functions of torch, too."""
    if not entries:
        return []
    rows = []
    for one in entries:
        names = [one.signature.removeprefix("Tensor."), *([one.in_place] if one.in_place else []),
                 *(alias.removeprefix("Tensor.") for alias in one.aliases)]
        function = one.name.replace("Tensor.", "torch.", 1)
        told = f"{escaped(one.sentence)} [{escaped(function)}]({links[function]})"
        rows.append(f"| {', '.join(f'`{name}`' for name in names)} | {told} |")
    return ["## Functions as methods\n", METHODS_ABOUT, "| method | |\n|---|---|\n" + "\n".join(rows) + "\n"]


METHODS_ABOUT = """These are functions of torch, with the tensor as their first argument. A name that ends in `_`
changes the tensor in place and returns it.
"""


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
    out = {page: sections(page) for page in PAGES}
    links = {one.name: f"{page.slug}.md#{one.name}" for page, parts in out.items() if page.slug != "tensor"
             for _, _, entries in parts for one in entries}
    total = 0
    rows = []
    for page, parts in out.items():
        text = [f"# {page.title}\n", f"{page.about}\n"]
        count = 0
        for title, words, entries in parts:
            if title and len(parts) > 1:
                text.append(f"## {escaped(title)}\n")
                if words and words.rstrip(".") != title:
                    text.append(f"{escaped(words)}\n")
            same = [one for one in entries if page.slug == "tensor" and one.name not in known
                    and one.name.replace("Tensor.", "torch.", 1) in links]
            text += [block(one, known, links) + "\n" for one in entries if one not in same]
            text += methods(same, links)
            count += sum(1 + len(one.aliases) + bool(one.in_place) for one in entries)
        (folder / f"{page.slug}.md").write_text("\n".join(text))
        rows.append(f"| [{page.title}]({page.slug}.md) | {count} | {page.about} |")
        total += count
    (folder / "index.md").write_text(INDEX.format(total=f"{total:,}", rows="\n".join(rows)))


INDEX = """# Reference

All {total} public names.

- Examples assume `import claygrad as torch`, `from claygrad import nn` and `F = nn.functional`. They print the same in
  PyTorch.
- *Gradient* lines show the derivative rule in claygrad, if it is short: `g` is the gradient of the result `out`,
  `conj` the complex conjugate.
- Names that do not exist in PyTorch are written `claygrad.…`.
- Every name does what it does in [PyTorch 2.13](https://docs.pytorch.org/docs/2.13/) on the CPU, so PyTorch's
  reference applies too. The exceptions are listed: [what differs](../operations.md), [what is absent](../absent.md).

| page | names | |
|---|--:|---|
{rows}
"""
