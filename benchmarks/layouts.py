"""Sliced, transposed and broadcast tensors, claygrad's time over PyTorch's: python benchmarks/layouts.py [NAME ...]

Every operation here is timed on a tensor of some 10^5 elements in each layout. The table lists the slowest first.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import torch
from turns import seconds

import claygrad

Layout = Callable[[Callable, int], Any]
Operation = Callable[[ModuleType, Any], Any]

# A tensor of n * n elements in each layout; new(*shape) makes a contiguous tensor
LAYOUTS: dict[str, Layout] = {
    "contiguous": lambda new, n: new(n, n),
    "transposed": lambda new, n: new(n, n).t(),
    "sliced": lambda new, n: new(n + 1, n + 3)[1:, 1:-2],
    "one off": lambda new, n: new(n * n + 1)[1:],
    "every other column": lambda new, n: new(n, 2 * n)[:, ::2],
    "every other row": lambda new, n: new(2 * n, n)[::2],
    "permuted": lambda new, n: new(8, n // 8, n).permute(1, 0, 2),
    "channels first": lambda new, n: new(n // 8, n, 8).permute(2, 0, 1),
    "a column broadcast": lambda new, n: new(n, 1).expand(n, n),
    "a row broadcast": lambda new, n: new(n).expand(n, n),
    "channels last": lambda new, n: new(n // 8, 8, 8, n // 8).permute(0, 3, 1, 2),
    "tall": lambda new, n: new(n * n // 4, 4),
    "tall, transposed": lambda new, n: new(4, n * n // 4).t(),
    "wide": lambda new, n: new(4, n * n // 4),
}

WHOLE: dict[str, Operation] = {
    "add": lambda lib, x: x + x,
    "multiply by a number": lambda lib, x: x * 2,
    "add a column": lambda lib, x: x + x[..., :1],
    "add a row": lambda lib, x: x + x[:1],
    "subtract sums": lambda lib, x: x - x.sum(0, keepdim=True),
    "less": lambda lib, x: x < 3,
    "where": lambda lib, x: lib.where(x < 3, x, -x),
    "abs": lambda lib, x: abs(x),
    "clamp": lambda lib, x: x.clamp(2, 5),
    "square": lambda lib, x: x ** 2,
    "remainder": lambda lib, x: x % 3,
    "divide": lambda lib, x: x / 3,
    "addcmul": lambda lib, x: lib.addcmul(x, x, x),
    "add in place": lambda lib, x: x.add_(0) if 0 not in x.stride() else x,
    "multiply in place": lambda lib, x: x.mul_(1) if 0 not in x.stride() else x,
    "clone": lambda lib, x: x.clone(),
    "contiguous": lambda lib, x: x.clone(memory_format=lib.contiguous_format),
    "to float64": lambda lib, x: x.to(lib.float64),
    "to int32": lambda lib, x: x.to(lib.int32),
    "to bool": lambda lib, x: x.bool(),
    "zeros_like": lambda lib, x: lib.zeros_like(x),
    "full_like": lambda lib, x: lib.full_like(x, 1),
    "sum": lambda lib, x: x.sum(),
    "sum of columns": lambda lib, x: x.sum(0),
    "sum of rows": lambda lib, x: x.sum(-1),
    "max": lambda lib, x: x.max(),
    "max of columns": lambda lib, x: x.max(0),
    "max of rows": lambda lib, x: x.max(-1),
    "amax of columns": lambda lib, x: x.amax(0),
    "argmax of rows": lambda lib, x: x.argmax(-1),
    "any": lambda lib, x: (x > 100).any(),
    "count": lambda lib, x: lib.count_nonzero(x),
    "prod of rows": lambda lib, x: x.prod(-1),
    "cumsum of columns": lambda lib, x: x.cumsum(0),
    "cumsum of rows": lambda lib, x: x.cumsum(-1),
    "flip rows": lambda lib, x: x.flip(0),
    "flip columns": lambda lib, x: x.flip(-1),
    "roll rows": lambda lib, x: x.roll(1, 0),
    "roll columns": lambda lib, x: x.roll(1, -1),
    "tril": lambda lib, x: x.tril() if x.ndim > 1 else x,
    "repeat": lambda lib, x: x.repeat(2, *[1] * (x.ndim - 1)),
    "cat rows": lambda lib, x: lib.cat([x, x], 0),
    "cat columns": lambda lib, x: lib.cat([x, x], -1),
    "stack": lambda lib, x: lib.stack([x, x]),
    "pad": lambda lib, x: lib.nn.functional.pad(x, (1, 1)),
    "diff": lambda lib, x: x.diff(dim=-1),
    "windows": lambda lib, x: x.unfold(-1, 2, 1).sum(-1),
    "every third row": lambda lib, x: x[lib.arange(0, x.shape[0], 3)],
    "every third column": lambda lib, x: x[..., lib.arange(0, x.shape[-1], 3)],
    "index_select": lambda lib, x: x.index_select(0, lib.arange(0, x.shape[0], 2)),
    "masked": lambda lib, x: x[x < 3],
    "masked_fill": lambda lib, x: x.masked_fill(x < 3, 0),
    "nonzero": lambda lib, x: (x < 3).nonzero(),
    "topk": lambda lib, x: x.topk(3, -1),
    "sort rows": lambda lib, x: x.sort(-1),
}

# For floating-point dtypes only
FLOATS: dict[str, Operation] = {
    "exp": lambda lib, x: x.exp(),
    "tanh": lambda lib, x: x.tanh(),
    "relu": lambda lib, x: x.relu(),
    "lerp": lambda lib, x: lib.lerp(x, x, 0.5),
    "to bfloat16": lambda lib, x: x.bfloat16(),
    "mean of columns": lambda lib, x: x.mean(0),
    "var of columns": lambda lib, x: x.var(0),
    "std of rows": lambda lib, x: x.std(-1),
    "norm": lambda lib, x: x.norm(),
    "softmax of rows": lambda lib, x: x.softmax(-1),
    "softmax of columns": lambda lib, x: x.softmax(0),
    "logsumexp of rows": lambda lib, x: x.logsumexp(-1),
    "product with itself": lambda lib, x: x @ x.transpose(-1, -2) if x.ndim > 1 and x.shape[-2] <= 2000 else x,
}


def tensor_in(lib: ModuleType, layout: str, side: int, kind: str) -> Any:
    return LAYOUTS[layout](lambda *shape: (lib.rand(*shape) * 9 + 1).to(getattr(lib, kind)), side)


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("names", nargs="*", help="regular expressions, of layouts and operations: 'sliced: sum'")
    ask.add_argument("--threads", type=int, default=1)
    ask.add_argument("--side", type=int, default=512, help="of a square of as many elements; a multiple of 8")
    ask.add_argument("--dtype", default="float32")
    ask.add_argument("--slower", type=float, default=1.15, help="list those above this ratio")
    told = ask.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(told.threads)
    claygrad.set_num_threads(told.threads)
    operations = WHOLE | (FLOATS if getattr(torch, told.dtype).is_floating_point else {})
    found = {}
    for layout in LAYOUTS:
        mine, theirs = (tensor_in(lib, layout, told.side, told.dtype) for lib in (claygrad, torch))
        for name, call in operations.items():
            if told.names and not any(re.search(pattern, f"{layout}: {name}") for pattern in told.names):
                continue
            print(f"\r{layout}: {name:60.60}", end="", file=sys.stderr, flush=True)
            both = [partial(call, claygrad, mine), partial(call, torch, theirs)]
            found[f"{layout}: {name}"] = seconds(both, told.threads)
    print("\r" + " " * 74 + "\r", end="", file=sys.stderr, flush=True)
    slow = {name: both for name, both in found.items() if both[0] > told.slower * both[1]}
    print(f"{told.dtype}, {told.threads} threads: {len(slow)} of {len(found)} above {told.slower}")
    for name, (a, b) in sorted(slow.items(), key=lambda item: -item[1][0] / item[1][1]):
        print(f"  {a / b:7.2f}  {a * 1e6:10.1f} µs  {b * 1e6:10.1f} µs  {name}", flush=True)


if __name__ == "__main__":
    main()
