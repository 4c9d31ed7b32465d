"""`claygrad check train.py`: which names of torch a program uses and which claygrad lacks, without running it."""
from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from claygrad.cli._usage import UsageError


def add_to(parts: Any) -> None:
    parser = parts.add_parser("check", help="which names of torch a program needs, and what is missing",
                              description="List the names of torch that a file, a folder or an installed package uses, "
                                          "and those that claygrad lacks. Nothing of it is run. Exit code 1 if any is "
                                          "missing.")
    parser.add_argument("subject", metavar="FILE|FOLDER|PACKAGE")
    parser.add_argument("-a", "--all", action="store_true", help="list the names that are there, too")
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    from claygrad.compat.refusing import is_only_a_name
    found = Uses()
    for path in sources(options.subject):
        found.read(path)
    missing = {name: places for name, places in sorted(found.names.items()) if resolve(name) is MISSING}
    needed = {name: places for name, places in missing.items() if not all(place.guarded for place in places)}
    mentioned = {name: places for name, places in sorted(found.names.items())
                 if name not in missing and is_only_a_name(resolve(name))}
    if options.all:
        for name in sorted(found.names):
            state = "missing" if name in missing else "a name" if name in mentioned else "there"
            print(f"  {state:<9}{name}")
    for name, places in missing.items():
        first = places[0]
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        guarded = "" if name in needed else "  (the program says what to do without it)"
        print(f"missing  {name}  {first.path}:{first.line}{more}{guarded}")
        for line in reason(name):
            print(f"         {line}")
    for name, places in mentioned.items():
        print(f"a name   {name}  {places[0].path}:{places[0].line}  (there to be mentioned; used, it is refused)")
        for line in reason(name):
            print(f"         {line}")
    for path, why in found.unreadable:
        print(f"not read {path}: {why}")
    there = len(found.names) - len(missing) - len(mentioned)
    print(f"{len(found.names)} names of torch, {there} there, {len(mentioned)} only names, {len(missing)} missing")
    return 1 if needed else 0


def sources(subject: str) -> Iterator[Path]:
    """The Python files of a file, a folder or an installed package, which is found but not imported."""
    path = Path(subject)
    if path.is_file():
        yield path
        return
    if path.is_dir():
        yield from sorted(path.rglob("*.py"))
        return
    try:
        spec = importlib.util.find_spec(subject.partition(".")[0])
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        raise UsageError(f"{subject} is no file, no folder and no installed package")
    if spec.submodule_search_locations:
        for folder in spec.submodule_search_locations:
            yield from sorted(Path(folder, *subject.split(".")[1:]).rglob("*.py"))
    elif spec.origin:
        yield Path(spec.origin)


@dataclass
class Place:
    path: Path
    line: int
    guarded: bool        # inside a try that catches ImportError or AttributeError


@dataclass
class Uses:
    """The names of torch that files mention, as `torch.nn.functional.relu`, each with its places."""

    names: dict[str, list[Place]] = field(default_factory=dict)
    unreadable: list[tuple[Path, str]] = field(default_factory=list)

    def read(self, path: Path) -> None:
        try:
            tree = ast.parse(path.read_bytes(), str(path))
        except (SyntaxError, ValueError, OSError) as wrong:
            self.unreadable.append((path, str(wrong)))
            return
        reader = _Reader(path, self.names)
        reader.gather_imports(tree)
        reader.visit(tree)


_CAUGHT = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException", "RuntimeError"}


class _Reader(ast.NodeVisitor):
    def __init__(self, path: Path, names: dict[str, list[Place]]) -> None:
        self.path = path
        self.names = names
        self.bound: dict[str, str] = {}     # a name of the file -> the name of torch behind it
        self.guards = 0

    def gather_imports(self, tree: ast.AST) -> None:
        """First of all: a function may use what is imported further down."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for one in node.names:
                    if _of_torch(one.name):
                        self.bound[one.asname or "torch"] = one.name if one.asname else "torch"
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module and _of_torch(node.module):
                for one in node.names:
                    if one.name != "*":
                        self.bound[one.asname or one.name] = f"{node.module}.{one.name}"

    def add(self, name: str, node: ast.AST) -> None:
        self.names.setdefault(name, []).append(Place(self.path, getattr(node, "lineno", 0), self.guards > 0))

    def visit_Import(self, node: ast.Import) -> None:
        for one in node.names:
            if _of_torch(one.name):
                self.add(one.name, node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level == 0 and node.module and _of_torch(node.module):
            for one in node.names:
                self.add(node.module if one.name == "*" else f"{node.module}.{one.name}", node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        parts = [node.attr]
        inner: ast.expr = node.value
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id in self.bound:
            self.add(".".join([self.bound[inner.id], *reversed(parts)]), node)
        else:
            self.generic_visit(node)

    def visit_Try(self, node: ast.Try) -> None:
        guarded = any(_catches(handler.type) for handler in node.handlers)
        self.guards += guarded
        for one in node.body:
            self.visit(one)
        self.guards -= guarded
        for other in [*node.handlers, *node.orelse, *node.finalbody]:
            self.visit(other)


def _of_torch(name: str) -> bool:
    return name == "torch" or name.startswith("torch.")


def _catches(kind: ast.expr | None) -> bool:
    if kind is None:
        return True
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(isinstance(one, ast.Name) and one.id in _CAUGHT for one in kinds)


MISSING = object()


def resolve(name: str) -> object:
    """What a name of torch is in claygrad while it stands in for torch; MISSING if there is nothing."""
    import claygrad
    from claygrad.compat.names import find
    value: Any = claygrad
    path = "claygrad"
    parts = name.split(".")[1:]
    if parts[:1] == ["ops"] and parts[1:]:
        from claygrad.library._aten import is_known
        if parts[1] != "aten" and not is_known("".join(parts[2:3]), parts[1]):
            parts = parts[:2]               # the operators of a library are registered when the program runs
    for part in parts:
        path += f".{part}"
        try:
            value = getattr(value, part)
        except AttributeError:
            if not isinstance(value, ModuleType):
                # An attribute of an instance cannot be judged without running the program.
                return MISSING if isinstance(value, type) else value
            try:
                value = importlib.import_module(path)
            except ImportError:
                try:
                    value = find(value.__name__, part)          # private names, which packages alone ask for
                except AttributeError:
                    return MISSING
    return value


def reason(name: str) -> list[str]:
    """Why a name is absent and the way out, where that is known."""
    from claygrad.compat.absent import explanation
    return explanation(name)
