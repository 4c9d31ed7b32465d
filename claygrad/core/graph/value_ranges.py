"""Tensors in a line of an error: shape, dtype, range, and what is not finite."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from claygrad.core.graph.node import Node
    from claygrad.core.tensor import Tensor

MAX_VALUES = 8            # values of a node that an error shows


def described(t: Tensor) -> str:
    """Such as `float32 (3, 4), from -1.5 to 2, 3 of 12 nan`."""
    text = f"{t.dtype.name} {tuple(t.shape)}"
    if t.device.type == "meta" or not t.numel():
        return text
    if t.dtype.category < 2:
        return f"{text}, from {t.min().item()} to {t.max().item()}"
    t = t.detach().abs() if t.is_complex() else t.detach()
    finite = t[t.isfinite()]
    if finite.numel():
        text += f", from {_number(finite.min().item())} to {_number(finite.max().item())}"
    for name, count in odd_counts(t).items():
        text += f", {count:,} of {t.numel():,} {name}"
    return text


def odd_counts(t: Tensor) -> dict[str, int]:
    """How many elements are nan, inf and -inf; those that there are."""
    t = t.detach()
    if t.is_complex():
        t = t.abs()
    counts = {"nan": t.isnan(), "inf": t.isposinf(), "-inf": t.isneginf()}
    return {name: found for name, which in counts.items() if (found := int(which.sum().item()))}


def first_odd(t: Tensor) -> tuple[int, ...]:
    """The index of the first element that is not finite."""
    at = int((~t.detach().isfinite()).reshape(-1).byte().argmax().item())
    index = []
    for n in reversed(t.shape):
        at, k = divmod(at, n)
        index.append(k)
    return tuple(reversed(index))


def saved_in(node: Node) -> dict[str, Tensor]:
    """What a node saved for backward, by the names of the forward's arguments."""
    found: dict[str, Any] = {}
    for name in dir(node):
        if name.startswith("_saved_") and not name.endswith("_sym_int"):
            try:
                value = getattr(node, name)
            except (AttributeError, RuntimeError):          # freed, or not readable
                continue
            if hasattr(value, "isfinite"):
                found[name.removeprefix("_saved_")] = value
    return dict(list(found.items())[:MAX_VALUES])


def around(node: Node, grads: list[Any]) -> str:
    """The inputs of a node, for an error about its result: its module, its gradients, its saved values."""
    module = node.module
    lines = [] if module is None else [f"in {module}"]
    lines += [f"gradient {i}: {described(g)}" if len(grads) > 1 else f"gradient: {described(g)}"
              for i, g in enumerate(grads) if g is not None]
    lines += [f"saved {name}: {described(t)}" for name, t in saved_in(node).items()]
    return "".join(f"\n  {line}" for line in lines)


def _number(x: float) -> str:
    return f"{x:.6g}"
