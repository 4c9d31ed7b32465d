"""Count the lines of the compiled parts by what they are for: the table of docs/architecture.md.

    python tools/lines.py             # writes the table
    python tools/lines.py --show      # prints it

Every file of core/, native/ and kernels/ is in the first row that names it. tests/core/test_architecture.py compares
the table with the tree: a row may be off by a twentieth before the table is written again.
"""
from __future__ import annotations

import argparse
import re
import sys
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- tools/lines.py: begin -->\n", "<!-- tools/lines.py: end -->\n"
CODE = (".pyx", ".pxd", ".pyi", ".py", ".h", ".c", ".hpp", ".cpp")

# Folder and purpose, then patterns below claygrad/.
ROWS = """
core    stubs for type checkers; one is generated from the declarations
        core/*.pyi
core    forward mode, vmap and dispatch modes: what may run in place of an operation
        core/graph/intercept.* core/dispatch/intercepted.*
core    `__torch_function__`
        core/overrides.*
core    observers: profilers, timelines, memory reports, the search for NaN
        core/graph/observe.* core/graph/timeline.* core/graph/memory_*.* core/graph/finite.* core/graph/value_ranges.py
core    provenance, module paths, tracebacks and error texts
        core/graph/provenance.* core/graph/module_paths.py core/graph/anomaly.py core/cpython/frames.* core/errors.py
        core/cpython/entry_points.* core/cpython/guarded_function.h core/user_warnings.py
core    module calls: the native path, and which module is running
        core/graph/module_call.* core/cpython/module_*.h
core    other devices: the reference over their array modules, copies between them
        core/dispatch/accelerator.* core/data/transfer.* core/dispatch/kernel_names.py
core    sparse tensors
        core/sparse_tensor.*
core    mapped, shared and lazily copied memory
        core/data/mapped_memory.* core/shared_memory.py core/data/lazy_clones.* core/cpython/file_faults.h
core    functions and hooks that users write, and saved values
        core/graph/function.* core/graph/hooks.* core/graph/saved_*.* core/graph/handles.py core/graph/reentrant.*
core    storages, layouts, dtypes, devices
        core/data/*
core    the graph: recording, in-place writes, views, backward
        core/graph/*
core    the call: binding, guard, ladder, promotion, reference
        core/dispatch/*
core    what depends on CPython's types and slots
        core/cpython/*
core    tensors, operations, and what Python sees of them
        core/*
native  elementwise and reductions
        native/elementwise* native/reduce.* native/statistics.* native/sort.* native/unique.*
native  products, decompositions, Fourier transforms
        native/matmul.* native/einsum.* native/linalg* native/fft.*
native  new tensors and random numbers
        native/factory* native/random.*
native  views, copies, indexing
        native/view.* native/split.* native/rearrange.* native/pad.* native/assign.* native/getitem.* native/index_put.*
        native/scatter.* native/mask.* native/search.*
native  composites
        native/*composites.*
native  layers, losses, optimizers
        native/*
kernels threads, memory, choice of the instruction set
        kernels/platform/*
kernels vectors and their functions for five instruction sets
        kernels/simd/*
kernels elementwise and special functions
        kernels/elementwise/* kernels/special/*
kernels reductions, sorting, copies, indexing
        kernels/reduce/* kernels/sort/* kernels/copy/* kernels/index/*
kernels products, convolutions, Fourier transforms, decompositions
        kernels/matmul/* kernels/conv/* kernels/fft/* kernels/linalg/*
kernels loops of layers, losses and optimizers
        kernels/nn/* kernels/optim/*
kernels random streams
        kernels/random/*
"""


def rows() -> list[tuple[str, str, list[str]]]:
    """Folder, purpose, patterns."""
    found = re.findall(r"^(\w+) +(.+)\n((?: +\S.*\n)+)", ROWS, re.MULTILINE)
    return [(folder, purpose, patterns.split()) for folder, purpose, patterns in found]


def files() -> list[Path]:
    return [path for folder in ("core", "native", "kernels") for path in sorted((ROOT / "claygrad" / folder).rglob("*"))
            if path.suffix in CODE and "__pycache__" not in path.parts]


def counted() -> dict[tuple[str, str], int]:
    """Lines by row. A file that no row names is an error."""
    table = rows()
    lines = {(folder, purpose): 0 for folder, purpose, _ in table}
    for path in files():
        name = path.relative_to(ROOT / "claygrad").as_posix()
        row = next((row for *row, patterns in table if any(fnmatch(name, pattern) for pattern in patterns)), None)
        if row is None:
            raise LookupError(f"no row of {Path(__file__).name} names {name}")
        lines[row[0], row[1]] += len(path.read_text().splitlines())
    return lines


def table(lines: dict[tuple[str, str], int]) -> str:
    out = ["| folder | lines | for |", "|---|--:|---|"]
    for folder in dict.fromkeys(folder for folder, _ in lines):
        out.append(f"| **{folder}/** | **{sum(n for (f, _), n in lines.items() if f == folder):,}** | |")
        out += [f"| | {n:,} | {purpose} |" for (f, purpose), n in lines.items() if f == folder]
    out.append(f"| **together** | **{sum(lines.values()):,}** | |")
    return "\n".join(out) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--show", action="store_true")
    text = table(counted())
    if parser.parse_args().show:
        sys.stdout.write(text)
        return
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + "\n" + text + "\n" + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
