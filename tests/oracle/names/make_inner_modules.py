"""Write claygrad/compat/inner_modules.xz: the modules of PyTorch that claygrad and names.txt lack, with their names.

    python -m tests.oracle.names.make_inner_modules

They are read, not imported: many need compilers and accelerators.
"""

from __future__ import annotations

import ast
import lzma
from collections.abc import Iterator
from pathlib import Path

import torch

from claygrad.compat.names import table

ROOT = Path(__file__).parents[3]
TARGET = ROOT / "claygrad/compat/inner_modules.xz"
LEFT_OUT = ("testing", "benchmarks", "_vendor")             # PyTorch's own tests, and copies of other projects
PLAIN = (bool, int, str, type(None))


def modules() -> Iterator[tuple[str, Path]]:
    """The names and files of PyTorch's modules that are not in claygrad, with their packages."""
    home = Path(torch.__file__).parent
    for path in sorted(home.rglob("*.py")):
        parts = path.relative_to(home).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        ours = Path(ROOT, "claygrad", *parts)
        name = ".".join(["torch", *parts])
        if (parts and all(part.isidentifier() for part in parts) and not {*parts} & {*LEFT_OUT} and name not in table()
                and not ours.is_dir() and not any(one.with_suffix(".py").exists() for one in (ours, *ours.parents) if one.name)):
            yield name, path


def names(tree: ast.Module, package: list[str]) -> Iterator[tuple[str, str]]:
    """The kind and the text of each name that a module defines, as in names.txt, or imports from another of PyTorch's."""
    for part in tree.body:
        if isinstance(part, ast.ImportFrom):
            above = package[:len(package) - part.level + 1] if part.level else []
            home = ".".join([*above, *([part.module] if part.module else [])])
            if home.split(".")[0] == "torch":
                yield from (("same", f"{home}.{one.name}") for one in part.names if one.name != "*" and one.asname in (None, one.name))
        elif isinstance(part, ast.ClassDef):
            bases = {ast.unparse(base).rpartition(".")[2] for base in part.bases}
            members = [one.targets[0].id for one in part.body if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)]
            if bases & {"Enum", "IntEnum"} and members:
                yield "enum", " ".join([part.name, *members])
            elif any(base.endswith(("Error", "Exception")) for base in bases):
                yield "class(Exception)", part.name
            else:
                yield "class", part.name
        elif isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
            yield "function", part.name
        elif isinstance(part, ast.Assign | ast.AnnAssign):
            targets = part.targets if isinstance(part, ast.Assign) else [part.target]
            for name in (target.id for target in targets if isinstance(target, ast.Name)):
                if isinstance(part.value, ast.Constant) and isinstance(part.value.value, PLAIN):
                    text = repr(part.value.value)
                    if text.isprintable() and len(text) < 60:
                        yield "value", f"{name} {text}"
                elif isinstance(part.value, ast.Subscript | ast.BinOp) or (
                        isinstance(part.value, ast.Call) and ast.unparse(part.value.func).endswith(("TypeVar", "NewType", "ParamSpec"))):
                    yield "any", name
                else:
                    yield "object", name


def main() -> None:
    lines = []
    found = dict(modules())
    for name, path in found.items():
        lines.append(name)
        kinds: dict[str, set[str]] = {}
        package = name.split(".") if path.stem == "__init__" else name.split(".")[:-1]
        for kind, text in names(ast.parse(path.read_text()), package):
            home, _, last = text.rpartition(".")
            if kind == "same" and (home == name or not (home in found or last in table().get(home, ())
                                       or Path(ROOT, "claygrad", *home.split(".")[1:]).exists())):
                continue                                # not there, or a module of this package, which is found as one
            if not text.split()[0].rpartition(".")[2].startswith("__"):
                kinds.setdefault(kind, set()).add(text)
        for kind, texts in sorted(kinds.items()):
            if kind in ("enum", "value"):
                lines += [f"  {kind} {text}" for text in sorted(texts)]
            else:
                lines.append(f"  {kind} {' '.join(sorted(texts))}")
    TARGET.write_bytes(lzma.compress("\n".join([*lines, ""]).encode(), preset=9))
    print(f"{len(lines)} lines, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
