"""Steps of optimizers on `cuda`: all parameters of a dtype in one launch (optim.cu)."""
from __future__ import annotations

from collections import defaultdict
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from claygrad.core import array_of, increment_version
from claygrad.core.graph.intercept import differentiated
from claygrad.core.python_api import prepare_write
from claygrad.cuda._kernels.forms import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from claygrad.core import Tensor
    from claygrad.devices._table import Table

THREADS, BLOCKS = 256, 128


class Steps:
    """Sgd and Adam; each answers False, and has done nothing, where the tensors are not such as the kernels take."""

    def __init__(self, table: Table, kernels: Any) -> None:
        self.table, self.kernels = table, kernels

    def _lines(self, columns: Sequence[Sequence[Any]]) -> list[list[Any]] | None:
        """For each parameter its arrays: its own, the gradient's, the states'. None: they do not fit."""
        where, lines = columns[0][0].device, []
        if differentiated(*(t for column in columns for t in column if t is not None)):
            return None
        for tensors in zip(*columns, strict=True):
            if any(t is None or t.device != where or not t.is_contiguous() or t.shape != tensors[0].shape
                   or t.is_sparse for t in tensors):
                return None
            arrays = [array_of(t) for t in tensors]
            if kind_of(*arrays) is None:
                return None
            lines.append(arrays)
        return lines

    def _run(self, name: str, columns: Sequence[Sequence[Any]], numbers: Callable[[int], tuple[float, float]],
             *rest: Any) -> bool:
        lines = self._lines(columns)
        if lines is None:
            return False
        for tensors in zip(*columns, strict=True):
            for i, t in enumerate(tensors):
                if i != 1:                                       # the gradient is only read
                    prepare_write(t)
        lines = self._lines(columns) or []                       # a write may have moved memory that others had saved
        together = defaultdict(list)
        for i, arrays in enumerate(lines):
            if arrays[0].size:
                together[kind_of(arrays[0])].append(i)
        index: int = columns[0][0].device.index
        with self.table.on(index):
            for kind, members in together.items():
                addresses = np.zeros((len(members), 5), np.uint64)
                facts = np.zeros((len(members), 3), np.int64)
                for row, i in enumerate(members):
                    for k, array in enumerate(lines[i]):
                        addresses[row, k] = self.table.pointer(array)
                    facts[row, 0] = lines[i][0].size
                    facts[row, 1:] = np.array(numbers(i), np.float64).view(np.int64)
                blocks = min(BLOCKS, -(-int(facts[:, 0].max()) // THREADS))
                self.kernels.run("optim", f"{name}_{kind}", (blocks, len(members)), THREADS,
                                 self.table.from_host(addresses, index), self.table.from_host(facts, index), *rest)
        return True

    def sgd(self, params: list[Tensor], grads: list[Tensor], buffers: list[Tensor | None], lr: float, momentum: float,
            damping: float, decay: float, nesterov: bool, maximize: bool) -> bool:
        columns: list[list[Any]] = [params, grads, buffers] if momentum != 0 else [params, grads]
        return self._run("sgd", columns, lambda i: (-lr, 0.0), momentum, damping, decay, nesterov, maximize)

    def adam(self, params: list[Tensor], grads: list[Tensor], averages: list[Tensor], squares: list[Tensor],
             largest: list[Tensor], steps: list[Tensor], lr: float, beta1: float, beta2: float, decay: float,
             eps: float, amsgrad: bool, maximize: bool, decoupled: bool) -> bool:
        columns = [params, grads, averages, squares, *([largest] if amsgrad else [])]
        if any(step.device.type != "cpu" for step in steps) or self._lines(columns) is None:
            return False
        counts = []
        for step in steps:
            step += 1
            counts.append(step.item())

        def numbers(i: int) -> tuple[float, float]:
            return -(lr / (1 - beta1 ** counts[i])), sqrt(1 - beta2 ** counts[i])

        self._run("adam", columns, numbers, beta1, beta2, eps, decay, 1 - lr * decay, decoupled, maximize)
        for param in params if decoupled and decay != 0 else ():
            increment_version(param)                             # PyTorch writes twice
        return True
