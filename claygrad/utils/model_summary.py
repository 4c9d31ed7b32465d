"""A model at a glance: its layers, the shapes they return, their parameters and bytes."""
from __future__ import annotations

import math
from typing import Any, NamedTuple

from claygrad.autograd import no_grad
from claygrad.core import Tensor
from claygrad.core.cpython.entry_points import guard_package
from claygrad.nn.modules.module import Module
from claygrad.nn.parameter import is_lazy
from claygrad.random import get_rng_state, set_rng_state

__all__ = ["ModelSummary", "Row", "summary"]


class Row(NamedTuple):
    """One call of a module; or, in a summary without inputs, one module."""

    name: str               # the path from the model, empty for the model itself
    kind: str               # the class
    depth: int
    output: Any             # the shape it returned, nested as the result is; None if it was not called
    parameters: int         # its own and those inside it, each counted once
    trainable: int
    bytes: int              # of parameters and buffers
    output_bytes: int
    again: bool             # a call of a module that an earlier row stands for


class ModelSummary:
    """The rows of a summary and their totals. Its text is a table."""

    def __init__(self, rows: list[Row], model: Module, input_bytes: int, depth: int | None = None) -> None:
        self.rows = [row for row in rows if depth is None or row.depth <= depth]
        tensors = list(model.parameters())
        self.total_parameters = sum(map(_size, tensors))
        self.trainable_parameters = sum(_size(p) for p in tensors if p.requires_grad)
        self.parameter_bytes = sum(map(_bytes, tensors))
        self.buffer_bytes = sum(map(_bytes, model.buffers()))
        self.input_bytes = input_bytes
        # Of layers that call no others: what a container returns is what one of its layers did.
        callers = {above for row in rows for above in _above(row.name)}
        self.output_bytes = sum(row.output_bytes for row in rows if row.name not in callers)

    def __repr__(self) -> str:
        lines = [("Layer", "Output shape", "Parameters", "Bytes")]
        for row in self.rows:
            label = f"{row.name.rpartition('.')[2]}: {row.kind}" if row.name else row.kind
            counts = ("(again)", "") if row.again else (f"{row.parameters:,}", human(row.bytes))
            lines.append(("  " * row.depth + label, _shape_text(row.output), *counts))
        widths = [max(len(line[i]) for line in lines) for i in range(4)]
        rule = "-" * (sum(widths) + 6)
        table = ["  ".join((a.ljust(widths[0]), b.ljust(widths[1]), c.rjust(widths[2]), d.rjust(widths[3]))).rstrip()
                 for a, b, c, d in lines]
        frozen = self.total_parameters - self.trainable_parameters
        totals = [f"Parameters: {self.total_parameters:,} ({self.trainable_parameters:,} trainable, {frozen:,} frozen)",
                  (f"Bytes: parameters {human(self.parameter_bytes)}, buffers {human(self.buffer_bytes)}, "
                   f"inputs {human(self.input_bytes)}, outputs of layers {human(self.output_bytes)}")]
        return "\n".join([table[0], rule, *table[1:], rule, *totals])

    __str__ = __repr__


def summary(model: Module, *inputs: Any, depth: int | None = None, **kwargs: Any) -> ModelSummary:
    """A table of a model's layers.

    With inputs, the model is called on them, in eval mode and without gradients, and the table has the calls in their
    order with the shapes that they return; without, just the layers.

    `depth` limits how far inside the table goes. Random numbers, training flags and gradients stay as they were.

    >>> model = claygrad.nn.Sequential(claygrad.nn.Linear(4, 2), claygrad.nn.ReLU())
    >>> print(claygrad.utils.model_summary.summary(model, claygrad.ones(3, 4)))
    Layer        Output shape  Parameters  Bytes
    --------------------------------------------
    Sequential   [3, 2]                10   40 B
      0: Linear  [3, 2]                10   40 B
      1: ReLU    [3, 2]                 0    0 B
    --------------------------------------------
    Parameters: 10 (10 trainable, 0 frozen)
    Bytes: parameters 40 B, buffers 0 B, inputs 48 B, outputs of layers 48 B
    """
    if not isinstance(model, Module):
        raise TypeError(f"summary() wants a module first, not {type(model).__name__}")
    if not inputs and not kwargs:
        rows = [_row(path, module, None, False) for path, module in model.named_modules()]
    else:
        rows = _called(model, inputs, kwargs)
    return ModelSummary(rows, model, _output_bytes((inputs, kwargs)), depth)


def _called(model: Module, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Row]:
    """The rows of one forward, parents before children."""
    paths = {module: path for path, module in reversed(list(model.named_modules(remove_duplicate=False)))}
    calls: list[tuple[Module, Any]] = []
    under_way: list[int] = []

    def before(module: Module, args: Any) -> None:
        under_way.append(len(calls))
        calls.append((module, None))

    def after(module: Module, args: Any, output: Any) -> None:
        calls[under_way.pop()] = (module, output)

    training = [(module, module.training) for module in paths]
    state = get_rng_state()
    handles = []
    try:
        for module in paths:
            handles += [module.register_forward_pre_hook(before, prepend=True),
                        module.register_forward_hook(after)]
            module.training = False
        with no_grad():
            model(*inputs, **kwargs)
    finally:
        for handle in handles:
            handle.remove()
        for module, was in training:
            module.training = was
        set_rng_state(state)
    seen: set[Module] = set()
    rows = []
    for module, output in calls:
        rows.append(_row(paths[module], module, output, module in seen))
        seen.add(module)
    return rows


def _row(path: str, module: Module, output: Any, again: bool) -> Row:
    parameters = list(module.parameters())
    return Row(path, module._get_name(), path.count(".") + 1 if path else 0, _shapes(output),
               sum(map(_size, parameters)), sum(_size(p) for p in parameters if p.requires_grad),
               sum(map(_bytes, (*parameters, *module.buffers()))), _output_bytes(output), again)


def _above(path: str) -> list[str]:
    steps = path.split(".") if path else []
    return [".".join(steps[:i]) for i in range(len(steps))]


# --- sizes -------------------------------------------------------------------------------------------------------
def _size(tensor: Tensor) -> int:
    return 0 if is_lazy(tensor) else tensor.numel()


def _bytes(tensor: Tensor) -> int:
    return 0 if is_lazy(tensor) else tensor.numel() * tensor.element_size()


def _output_bytes(value: Any) -> int:
    if isinstance(value, Tensor):
        return _bytes(value)
    if isinstance(value, dict):
        value = list(value.values())
    return sum(map(_output_bytes, value)) if isinstance(value, (list, tuple)) else 0


def _shapes(value: Any) -> Any:
    if isinstance(value, Tensor):
        return list(value.shape)
    if isinstance(value, dict):
        return {key: _shapes(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple(_shapes(inner) for inner in value)
    return None


def _shape_text(shapes: Any) -> str:
    if isinstance(shapes, tuple):
        return "(" + ", ".join(map(_shape_text, shapes)) + ")"
    if isinstance(shapes, dict):
        return "{" + ", ".join(f"{key}: {_shape_text(inner)}" for key, inner in shapes.items()) + "}"
    return "-" if shapes is None else str(shapes)


def human(count: int) -> str:
    """A number of bytes as a person says it.

    >>> claygrad.utils.model_summary.human(3_500_000)
    '3.3 MiB'
    """
    if count < 1024:
        return f"{count} B"
    power = min(int(math.log(count, 1024)), 4)
    return f"{count / 1024 ** power:.1f} {'KMGT'[power - 1]}iB"

guard_package(__name__)          # Note [Entry points]
