"""Texts of the kernels: `common.cuh`, a file of templates, and an entry for each dtype that its first line names."""
from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent
FAMILIES = ("softmax", "norm", "loss", "attention", "pool", "columns", "index", "sums", "optim")
TYPES = {"f4": "float", "f8": "double", "u1": "unsigned char", "u2": "unsigned short", "u4": "unsigned int",
         "u8": "unsigned long long", "u16": "pair16"}


class Kernel(NamedTuple):
    name: str                                     # softmax_rows
    entry: str                                    # softmax_rows_f4
    type: str                                     # float
    parameters: tuple[tuple[str, str], ...]       # ("const float*", "x"), …


@cache
def text_of(family: str) -> str:
    return (FOLDER / f"{family}.cu").read_text()


@cache
def kernels_of(family: str) -> tuple[Kernel, ...]:
    """The kernels of a family, by the lines that begin with `template <typename T> KERNEL`."""
    text = text_of(family)
    kinds = text.splitlines()[0].removeprefix("// types: ").split()
    macro = re.search(r"#define WINDOWS ((?:.*\\\n)*.*)", text)
    out = []
    for name, listed in re.findall(r"^template <typename T> KERNEL (\w+)\(([^)]*)\)", text, re.MULTILINE):
        if macro is not None:
            listed = re.sub(r"\bWINDOWS\b", macro[1].replace("\\\n", " "), listed)
        words = [word.strip() for word in listed.split(",")]
        for kind in kinds:
            parameters = tuple((re.sub(r"\bT\b", TYPES[kind], word[:word.rindex(" ")]), word[word.rindex(" ") + 1:])
                               for word in words)
            out.append(Kernel(name, f"{name}_{kind}", TYPES[kind], parameters))
    return tuple(out)


@cache
def source_of(family: str) -> str:
    """What is compiled: the templates, and a C function for each of them and each dtype."""
    entries = []
    for kernel in kernels_of(family):
        listed = ", ".join(f"{kind} {name}" for kind, name in kernel.parameters)
        given = ", ".join(name for _, name in kernel.parameters)
        entries.append(f'extern "C" __global__ void {kernel.entry}({listed}) '
                       f"{{ {kernel.name}<{kernel.type}>({given}); }}")
    return "\n".join([(FOLDER / "common.cuh").read_text(), text_of(family), *entries, ""])
