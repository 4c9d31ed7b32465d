"""Every declared operation on a device against the CPU: over its samples, values and gradients, layouts and dtypes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import claygrad
from tests.ops.cases import (
    declared,
    difference,
    first_line,
    flat,
    is_tensor,
    only_in_place,
    ours,
    samples,
    tensors,
)
from tests.ops.factory import Build, Call

SAID = declared()

# What is about main memory alone, or draws numbers (streams of a device are its own and tested by themselves).
HOST_ONLY = frozenset(
    "from_numpy frombuffer from_dlpack from_file numpy share_memory_ is_shared pin_memory is_pinned cpu data_ptr to "
    "__array__ __dlpack__ __dlpack_device__ untyped_storage storage type is_cpu get_device device is_privateuseone "
    "is_xpu empty empty_like new_empty empty_strided new_empty_strided empty_permuted _lazy_clone _pack_padded_sequence".split()
)


# Factors come in the order that LAPACK likes, or in that of the array module: strides are not compared.
FREE_ORDER = ("lu", "triangular_solve", "lstsq", "svd", "cholesky")


def on_cpu(value: Any) -> Any:
    """The result with its tensors brought to the CPU."""
    if is_tensor(value):
        return value.detach().cpu()
    if isinstance(value, list | tuple) and type(value).__name__ != "Size":
        made = [on_cpu(x) for x in value]
        return made if isinstance(value, list) else tuple(made)
    return value


def strayed(value: Any, device: str, key: str) -> str | None:
    """A result that is not on the device of the inputs."""
    for t in tensors(value):
        if t.device.type != device:
            return f"a result is on {t.device}"
    return None


def _gradients(result: Any, inputs: list[Any]) -> list[Any]:
    roots = [t for t in tensors(result) if t.requires_grad]
    if not roots or not inputs:
        return []
    total: Any = 0
    for i, root in enumerate(roots):
        weights = claygrad.linspace(0.5, 1.5 + i, root.numel(), dtype=claygrad.float64).reshape(root.shape)
        weights = weights.to(root.dtype).to(root.device)
        part = root * weights
        total = total + (part.abs() if part.is_complex() else part).sum()
    return list(claygrad.autograd.grad(total, inputs, allow_unused=True))


def outcome(said: Any, call: Call, how: Build) -> tuple[Any, Any]:
    """The result of a sample and the gradients of it, or the exception in the place of either."""
    function = ours(claygrad, said)
    claygrad.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            args, kwargs = call.build(how)
            factory = how.device != "cpu" and not tensors([args, list(kwargs.values())])
            inputs = [t for t in tensors([args, list(kwargs.values())]) if t.requires_grad]
            if only_in_place(said) and args and is_tensor(args[0]):
                args[0] = args[0] * 1
            with claygrad.device(how.device) if factory else nullcontext():
                result = function(*args, **kwargs)
        except Exception as error:
            return error, None
        try:
            return result, _gradients(result, inputs)
        except Exception as error:
            return result, error


def _brief(error: Exception) -> str:
    return f"{type(error).__name__}: {first_line(error)}"


def differences(key: str, device: str, dtype: str = "float32", layout: str = "contiguous", most: int | None = None
                ) -> Iterator[tuple[str, str]]:
    """How a device differs from the CPU, with a word for it: "lacks" (refused, with the way out) or "wrong"."""
    said = SAID[key]
    for call in samples(key, said)[:most]:
        if any(step[1] == "as_strided" for data in call.data() for step in data._steps):
            continue
        here, grads = outcome(said, call, Build(claygrad, dtype, grad=True, layout=layout))
        there, their_grads = outcome(said, call, Build(claygrad, dtype, grad=True, layout=layout, device=device))
        if isinstance(there, NotImplementedError) and "is not currently implemented for the" in str(there):
            if not isinstance(here, Exception):
                lines = str(there).splitlines()
                yield "lacks", f"{call}: {lines[0]} {lines[1] if len(lines) > 1 else ''}"
            continue
        if isinstance(here, Exception) or isinstance(there, Exception):
            found = difference(there, here, texts=False)
        else:
            found = strayed(there, device, key) or difference(on_cpu(there), on_cpu(here), 20 if dtype == "float32" else 4)
            if not found and list(flat(here)) and [t.requires_grad for t in tensors(here)] != [
                    t.requires_grad for t in tensors(there)]:
                found = "requires_grad differs"
            if not found and not said.options.get("contiguous") and said.namespaces[0] != "linalg" and not said.name.startswith(FREE_ORDER):
                found = _strides(there, here)
        if found:
            yield "wrong", f"{call}: {found.replace('claygrad ', device + ' ').replace('torch', 'cpu')}"
            continue
        if isinstance(grads, Exception) or isinstance(their_grads, Exception):
            if isinstance(their_grads, NotImplementedError) and "is not currently implemented for the" in str(their_grads):
                if not isinstance(grads, Exception):
                    lines = str(their_grads).splitlines()
                    yield "lacks", f"{call}, backward: {lines[0]} {lines[1]}"
            elif type(grads) is not type(their_grads):
                yield "wrong", f"{call}, backward: {their_grads!r:.300} against {grads!r:.300}"
            continue
        for mine, other in zip(their_grads or [], grads or [], strict=True):
            if mine is None or other is None:
                found = None if mine is other else f"gradient {mine} against {other}"
            else:
                found = difference(on_cpu(mine), on_cpu(other), 50 if dtype == "float32" else 8)
            if found:
                yield "wrong", f"{call}, gradient: {found.replace('torch', 'cpu')}"


def _strides(there: Any, here: Any) -> str | None:
    for a, b in zip(tensors(there), tensors(here), strict=True):
        if a.numel() and a.stride() != b.stride() and a.is_contiguous() != b.is_contiguous():
            return f"strides {a.stride()} against {b.stride()}"
    return None
