"""Calls operations with hostile arguments, in a process of its own: python -m tests.survival.hostile_worker LOG FROM TO STEP KEY...

A line of LOG is written before every call, so that whoever started this process knows which call ended it.
"""

from __future__ import annotations

import gc
import math
import os
import resource
import signal
import sys
import warnings
from collections.abc import Iterator
from typing import Any

from tests.ops.cases import declared, ours, samples, tensors
from tests.ops.factory import Build, Call, Data

SECONDS = 12.0                   # of processor time that a call may take; a shared machine counts more than the call used
MEMORY = 1 << 30                 # addresses that the process may have: what is larger than that must be refused
MANY = 1 << 20                   # elements of a result that are still worth a backward pass
INTEGERS = (2**30 - 1, 2**31, 2**62, 2**63 - 1, -(2**63), 2**63, 10**30, -1, 0)
TENSORS = (
    "huge square_huge deep empty none meta inf nan one_inf one_nan largest smallest minus_one "
    "shorter longer scalar wider int32 complex half"
).split()
UNPACKED = "shorter longer scalar wider empty int32 complex half meta other minus_one largest".split()


class Changed(Data):
    """A tensor of a sample, changed after it was made."""

    def __init__(self, data: Data, how: str) -> None:
        super().__init__(data._array, data._dtype, data._requires_grad, data._steps)
        self._how = how

    def build(self, how: Build) -> Any:
        made = super().build(how)
        changed = change(how.lib, made.detach(), self._how)
        return changed.requires_grad_() if made.requires_grad and changed.dtype.is_floating_point else changed

    def __repr__(self) -> str:
        return f"{self._how}({super().__repr__()})"


def change(lib: Any, x: Any, how: str) -> Any:
    """Another tensor in the place of x."""
    if how == "huge":                            # the number of elements can be counted, that of bytes cannot
        return (x[..., :1] if x.dim() else x).expand(*x.shape[:-1], (1 << 62) // max(math.prod(x.shape[:-1]), 1))
    if how == "square_huge":                     # every axis is large, and the axes are not in the order of memory
        n = x.dim()
        one = x[(slice(0, 1),) * n].permute(tuple(range(n))[::-1])
        return one.expand([int(2 ** (60 // max(n, 1)))] * n)
    if how == "deep":
        return x.reshape((1,) * (64 - x.dim()) + tuple(x.shape))
    if how == "empty":
        return x[..., :0] if x.dim() else lib.zeros(0, dtype=x.dtype)
    if how == "none":
        return x[:0] if x.dim() else lib.zeros((0, 0), dtype=x.dtype)
    if how == "meta":
        return x.to("meta")
    if how in ("inf", "nan", "one_inf", "one_nan"):
        value = float(how[-3:]) if x.dtype.is_floating_point or x.dtype.is_complex else 2**7 - 1
        if not how.startswith("one"):
            return lib.full_like(x, value)
        y = x.clone()
        y.reshape(-1)[:1].fill_(value)
        return y
    if how in ("largest", "smallest", "minus_one"):
        if x.dtype.is_floating_point or x.dtype.is_complex or x.dtype is lib.bool:
            return lib.full_like(x, {"largest": 1, "smallest": 0, "minus_one": 1}[how]) * 1e30
        info = lib.iinfo(x.dtype)
        return lib.full_like(x, {"largest": info.max, "smallest": info.min, "minus_one": max(-1, info.min)}[how])
    if how == "shorter":
        return x[:1, ...] if x.dim() and x.shape[0] > 1 else x[..., :1] if x.dim() else x
    if how == "longer":
        return lib.cat([x, x]) if x.dim() else x.expand(3)
    if how == "scalar":
        return x.reshape(-1)[0] if x.numel() else lib.zeros((), dtype=x.dtype)
    if how == "wider":
        return x[None]
    if how == "other":                           # as many elements, in other memory
        return lib.zeros(x.shape[::-1], dtype=x.dtype).permute(tuple(range(x.dim()))[::-1]) + 7
    return x.to({"int32": lib.int32, "complex": lib.complex64, "half": lib.float16}[how])


def leaves(value: Any, path: tuple = ()) -> Iterator[tuple[tuple, Any]]:
    """Tensors and integers of a call, each with its path."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            yield from leaves(item, (*path, i))
    elif isinstance(value, Data) or type(value) is int:
        yield path, value


def replaced(value: Any, path: tuple, by: Any) -> Any:
    if not path:
        return by
    if isinstance(value, dict):
        return {k: replaced(v, path[1:], by) if k == path[0] else v for k, v in value.items()}
    made = [replaced(v, path[1:], by) if i == path[0] else v for i, v in enumerate(value)]
    return tuple(made) if isinstance(value, tuple) else made


# How often something is done is up to the caller.
REPEATED = {"niter"}


def hostile(said: Any, call: Call) -> Iterator[tuple[str, Call, str | None]]:
    """Every call that differs from a sample in one argument, or in what its saved tensors come back as."""
    whole = (call.args, call.kwargs)
    names = [str(name) for name in getattr(said.op, "params", ())]
    for path, value in leaves(whole):
        if path[0] == 0 and names[path[1] : path[1] + 1] and names[path[1]] in REPEATED:
            continue
        for by in INTEGERS if type(value) is int else TENSORS:
            other = replaced(whole, path, by if type(value) is int else Changed(value, by))
            yield f"{path} {by}", Call(*other), None
    given = set(call.kwargs)
    given.update(names[: len(call.args)])
    for name in names:
        if name not in given and name not in REPEATED and said.fn.__annotations__.get(name) == "int":
            for by in INTEGERS:
                yield f"{name}={by}", Call(call.args, call.kwargs | {name: by}), None
    if any(isinstance(value, Data) for _, value in leaves(whole)):
        for by in UNPACKED:
            yield f"saved tensors come back {by}", call, by


def cases(keys: list[str]) -> Iterator[tuple[str, Any, Call, str | None]]:
    known = declared()
    for key in keys:
        said = known[key]
        for i, call in enumerate(samples(key, said)):
            for text, other, unpacked in hostile(said, call):
                yield f"{key} sample {i}: {text}", said, other, unpacked


def too_long(lib: Any, function: Any, call: Call) -> bool:
    """Whether a call on tensors of 2**60 elements is honest work, as a sum is: what it makes is small."""
    try:
        args, kwargs = call.build(Build(lib, device="meta"))
        return sum(t.numel() for t in tensors(function(*args, **kwargs))) < 1 << 50
    except Exception:
        return True


def run(lib: Any, said: Any, call: Call, unpacked: str | None) -> None:
    function = ours(lib, said, raw=True)
    if "huge" in repr(call) and too_long(lib, function, call):
        return None
    grad = said.differentiable and not (said.inplace and not said.public and not said.method)
    args, kwargs = call.build(Build(lib, grad=grad, dtype="float32"))
    if unpacked is None:
        return backward(function(*args, **kwargs))
    with lib.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: change(lib, t.detach(), unpacked)):
        result = function(*args, **kwargs)
    return backward(result)


def backward(result: Any) -> None:
    for t in tensors(result):
        if t.requires_grad and t.numel() <= MANY and t.device.type == "cpu" and t.dtype.is_floating_point:
            t.sum().backward(retain_graph=True)


def main(log: str, start: str, stop: str, step: str, keys: list[str]) -> None:
    import claygrad

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    warnings.simplefilter("ignore")
    with open(log, "w", buffering=1) as out:
        for i, (text, said, call, unpacked) in enumerate(cases(keys)):
            if i < int(start) or i >= int(stop) or i % int(step):
                continue
            out.write(f"{i}\t{text}\n")
            claygrad.manual_seed(0)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            try:
                run(claygrad, said, call, unpacked)
            except SystemError as error:
                out.write(f"-1\t{text}: SystemError {error}\n")
            except Exception as error:           # any refusal is right here; the oracle says which one
                del error
            signal.setitimer(signal.ITIMER_PROF, 0)
            if i % 1000 == 0:
                gc.collect()
        out.write("done\n")
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:5], sys.argv[5:])
