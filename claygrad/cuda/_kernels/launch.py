"""Kernels found by name and started through CuPy."""
from __future__ import annotations

from typing import Any

import numpy as np

from claygrad.cuda._kernels.source import kernels_of, source_of

THREADS = 256
BLOCKS = 65535 * 16                     # of a grid whose threads take further elements in turn
_NUMBERS = {"i64": np.int64, "int": np.int32, "double": np.float64}


class Kernels:
    """The kernels over one array module; a family is compiled when the first of it is asked for."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.families: dict[str, Any] = {}
        self.found: dict[str, tuple[Any, tuple[Any, ...]]] = {}

    def _find(self, family: str, entry: str) -> tuple[Any, tuple[Any, ...]]:
        if family not in self.families:
            self.families[family] = self.module.RawModule(code=source_of(family), options=("--std=c++17",))
        kernel = next(k for k in kernels_of(family) if k.entry == entry)
        out = self.found[entry] = (self.families[family].get_function(entry),
                                    tuple(_NUMBERS.get(kind) for kind, _ in kernel.parameters))
        return out

    def run(self, family: str, entry: str, blocks: int | tuple[int, int], threads: int, *given: Any) -> None:
        """Start a kernel. Arrays are contiguous; None is a null pointer; numbers become what the kernel takes."""
        function, kinds = self.found.get(entry) or self._find(family, entry)
        if len(given) != len(kinds):
            raise TypeError(f"{entry} takes {len(kinds)} arguments, {len(given)} were given")
        args = tuple(kind(x) if kind is not None else np.uintp(0) if x is None else x
                     for x, kind in zip(given, kinds, strict=True))
        function(blocks if isinstance(blocks, tuple) else (blocks,), (threads,), args)

    def each(self, family: str, entry: str, total: int, *given: Any) -> None:
        """Start a kernel whose threads share `total` elements."""
        self.run(family, entry, max(1, min(-(-total // THREADS), BLOCKS)), THREADS, *given)

    def rows(self, family: str, entry: str, rows: int, width: int, *given: Any) -> None:
        """Start a kernel that has a block for each row, with as many threads as its width asks for."""
        self.run(family, entry, rows, min(1024, max(32, -(-width // 128) * 32)), *given)
