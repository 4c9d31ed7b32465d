"""The time of every operation of PyTorch's operator database, claygrad's divided by PyTorch's: python
benchmarks/every.py [NAME ...]

Each operation is timed on a sample of a few elements (--size small), on the sample repeated to some 10^5 elements
(medium), or to some 10^7 (large); with --backward together with its gradient. The table lists the slowest first.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import itertools
import re
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

import claygrad

sys.path.append(str(Path(__file__).parents[1]))          # for the samples and their translation
from turns import LONG, seconds

from tests.oracle.opdb.checks import samples, translated
from tests.oracle.opdb.compare import is_float, leaves
from tests.oracle.opdb.database import entries, ours

ELEMENTS = {"small": 0, "medium": 200_000, "large": 10_000_000}
MIN_SHARE = 50                  # samples that cannot reach 1 / MIN_SHARE of the wanted elements are left out
MEMORY = 1 << 30                # bytes for one call: operations that need more (outer) get smaller inputs


def tiled(value: Any, factor: int, axes: int | None) -> Any:
    """Tensors repeated along every axis longer than 1, or the first ones alone."""
    if isinstance(value, torch.Tensor):
        ends = value.ndim if axes is None else axes
        times = [factor if size > 1 and i < ends else 1 for i, size in enumerate(value.shape)]
        return value.detach().repeat(times).requires_grad_(value.requires_grad) if times and factor > 1 else value
    if isinstance(value, (tuple, list)):
        return type(value)([tiled(v, factor, axes) for v in value])
    return {k: tiled(v, factor, axes) for k, v in value.items()} if isinstance(value, dict) else value


def tensors_of(sample: Any, lib: ModuleType = torch) -> list[Any]:
    return [t for t in leaves((sample.input, sample.args, sample.kwargs)) if isinstance(t, lib.Tensor)]


def enlarged(sample: Any, elements: int, axes: int | None) -> Iterator[Any]:
    """The sample made larger and larger: in all directions, or along its first axes."""
    if not elements:
        yield sample
        return
    tensors = tensors_of(sample)
    largest = max((t.numel() for t in tensors), default=0)
    if not largest:
        return
    ndim = max(sum(size > 1 for size in t.shape[:axes]) for t in tensors) or 1
    last = int((elements / largest) ** (1 / ndim))
    for factor in sorted({last >> i for i in range(last.bit_length() - 1)}):
        given, args, kwargs = (tiled(v, factor, axes) for v in (sample.input, sample.args, sample.kwargs))
        larger = type(sample)(given, args=args, kwargs=kwargs)
        larger.output_process_fn_grad = sample.output_process_fn_grad
        if max(t.numel() for t in tensors_of(larger)) >= elements // MIN_SHARE:
            yield larger


def bound(function: Callable | None, sample: Any) -> Callable[[], object]:
    assert function is not None
    return functools.partial(function, sample.input, *sample.args, **sample.kwargs)


def with_gradient(lib: ModuleType, function: Callable | None, sample: Any) -> Callable[[], object]:
    """A call of the operation and of backward, for all inputs that require gradients."""
    forward = bound(function, sample)
    inputs = [t for t in tensors_of(sample, lib) if t.requires_grad]

    def outputs() -> list[Any]:
        results = leaves(sample.output_process_fn_grad(forward()))
        return [t for t in results if isinstance(t, lib.Tensor) and is_float(t) and t.requires_grad]

    directions = [lib.ones_like(t) for t in outputs()]
    if not inputs or not directions:
        raise ValueError("no gradient")
    return lambda: lib.autograd.grad(outputs(), inputs, directions, allow_unused=True)


def measured(name: str, elements: int, backward: bool) -> list[float] | None:
    """Seconds of claygrad and of PyTorch for the first sample that both support, as large as possible; None if there is
    none."""
    theirs, mine = entries()[name].op, ours(name)
    if backward and not entries()[name].supports_autograd:
        return None
    for sample, axes in itertools.product(samples(name, "float32", grad=backward, limit=4), (None, 1)):
        selected = None
        with contextlib.suppress(Exception):
            for larger in enlarged(sample, elements, axes):
                call = with_gradient(torch, theirs, larger) if backward else bound(theirs, larger)
                began = time.perf_counter()
                call()
                if time.perf_counter() - began > LONG:
                    break                                # smaller inputs are tried
                selected = call, larger
        with contextlib.suppress(Exception):
            if selected:
                call, larger = selected[0], translated(selected[1])
                own = with_gradient(claygrad, mine, larger) if backward else bound(mine, larger)
                return seconds([own, call], claygrad.get_num_threads())
    return None


def limit_memory() -> None:
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY, resource.RLIM_INFINITY))


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("names", nargs="*", help="regular expressions")
    ask.add_argument("--threads", type=int, action="append")
    ask.add_argument("--size", action="append", choices=ELEMENTS)
    ask.add_argument("--backward", action="store_true", help="with gradients")
    ask.add_argument("--slower", type=float, default=1.0, help="list those above this ratio")
    told = ask.parse_args()
    warnings.simplefilter("ignore")
    selected = [name for name in entries() if ours(name)]
    if told.names:
        selected = [name for name in selected if any(re.search(pattern, name) for pattern in told.names)]
    torch.randn(1000, 1000) @ torch.randn(1000, 1000)          # starts PyTorch's threads
    limit_memory()
    for threads in told.threads or (1, 2):
        torch.set_num_threads(threads)
        claygrad.set_num_threads(threads)
        for size in told.size or ("small", "medium"):
            found = {}
            for i, name in enumerate(selected):
                print(f"\r{i + 1:4} of {len(selected)}  {name:60.60}", end="", file=sys.stderr, flush=True)
                if both := measured(name, ELEMENTS[size], told.backward):
                    found[name] = both
            print("\r" + " " * 74 + "\r", end="", file=sys.stderr, flush=True)
            slow = {name: both for name, both in found.items() if both[0] > told.slower * both[1]}
            print(f"{size}, {threads} threads{', with gradients' * told.backward}: "
                  f"{len(slow)} of {len(found)} above {told.slower}")
            for name, (a, b) in sorted(slow.items(), key=lambda item: -item[1][0] / item[1][1]):
                print(f"  {a / b:7.2f}  {a * 1e6:10.1f} µs  {b * 1e6:10.1f} µs  {name}", flush=True)


if __name__ == "__main__":
    main()
