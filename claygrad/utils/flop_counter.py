"""Counting the operations with numbers of a program, by operation and by module: `torch.utils.flop_counter`."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from claygrad._lazy import lazy
from claygrad.core.graph.module_call import running
from claygrad.core.graph.observe import Observer
from claygrad.core.user_warnings import warn
from claygrad.profiler._flops import attention_backward_flops, attention_flops, conv_flops, product_flops

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from claygrad.core.graph.module_call import ModuleCall
    from claygrad.core.graph.observe import Call

__all__ = ["FlopCounterMode"]

__getattr__ = lazy(__name__)

suffixes = ["", "K", "M", "B", "T"]


def mm_flop(a_shape: Any, b_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    return product_flops(a_shape, b_shape)


def bmm_flop(a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any) -> int:
    return product_flops(a_shape, b_shape)


def addmm_flop(self_shape: Any, a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any) -> int:
    return product_flops(a_shape, b_shape)


def baddbmm_flop(self_shape: Any, a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any) -> int:
    return product_flops(a_shape, b_shape)


def conv_flop_count(x_shape: list[int], w_shape: list[int], out_shape: list[int], transposed: bool = False) -> int:
    return conv_flops(x_shape, w_shape, out_shape, transposed)


def sdpa_flop_count(query_shape: Any, key_shape: Any, value_shape: Any) -> int:
    return attention_flops(query_shape, key_shape, value_shape)


def sdpa_backward_flop_count(grad_out_shape: Any, query_shape: Any, key_shape: Any, value_shape: Any) -> int:
    return attention_backward_flops(query_shape, key_shape, value_shape)


def get_suffix_str(number: int) -> str:
    """The unit in which a number has two to four digits before the point."""
    return suffixes[max(0, min(len(suffixes) - 1, (len(str(number)) - 2) // 3))]


def convert_num_with_suffix(number: float, suffix: str) -> str:
    return f"{number / 1000 ** suffixes.index(suffix):.3f}{suffix}"


def convert_to_percent_str(num: float, denom: float) -> str:
    return "0%" if denom == 0 else f"{num / denom:.2%}"


def _shape(t: Any) -> tuple[int, ...]:
    return tuple(t.shape)


def _convolution(call: Call) -> int:
    """convolution(input, weight, bias, stride, padding, dilation, transposed, ...)"""
    return conv_flops(_shape(call.args[0]), _shape(call.args[1]), _shape(call.result), bool(call.args[6]))


_FORWARD: dict[str, tuple[str, Callable[[Call], int]]] = {
    "mm": ("aten.mm", lambda call: product_flops(_shape(call.args[0]), _shape(call.args[1]))),
    "addmm": ("aten.addmm", lambda call: product_flops(_shape(call.args[1]), _shape(call.args[2]))),
    "bmm": ("aten.bmm", lambda call: product_flops(_shape(call.args[0]), _shape(call.args[1]))),
    "baddbmm": ("aten.baddbmm", lambda call: product_flops(_shape(call.args[1]), _shape(call.args[2]))),
    "convolution": ("aten.convolution", _convolution),
    "_scaled_dot_product_flash_attention_for_cpu": (
        "aten._scaled_dot_product_flash_attention",
        lambda call: attention_flops(*(_shape(t) for t in call.args[:3])),
    ),
}


def _products(first: int) -> Callable[[Call], int]:
    """Of a product's backward: one product for each factor whose gradient is wanted, from place `first` on."""

    def count(call: Call) -> int:
        g = call.args[0]
        a, b = call.result[first : first + 2]
        inner = a.shape[-1] if a is not None else b.shape[-2] if b is not None else 0
        return ((a is not None) + (b is not None)) * 2 * math.prod(g.shape) * inner

    return count


def _convolution_backward(call: Call) -> int:
    """As many as the forward for each gradient that is wanted; as in torch, of the weight as if without groups."""
    node, g = call.what, _shape(call.args[0])
    size = tuple(node._saved_self_sym_sizes) if node._saved_transposed else g
    once = 2 * size[0] * math.prod(node._saved_weight_sym_sizes) * math.prod(size[2:])
    x, w = call.result[:2]
    return once * (x is not None) + once * node._saved_groups * (w is not None)


def _attention_backward(call: Call) -> int:
    node = call.what
    return attention_backward_flops(_shape(node._saved_query), _shape(node._saved_key), _shape(node._saved_value))


# What a node computes is counted as one; the operations inside it are not counted again.
_BACKWARD: dict[str, tuple[str, Callable[[Call], int]]] = {
    "MmBackward0": ("aten.mm", _products(0)),
    "AddmmBackward0": ("aten.mm", _products(1)),
    "BmmBackward0": ("aten.bmm", _products(0)),
    "BaddbmmBackward0": ("aten.bmm", _products(1)),
    "ConvolutionBackward0": ("aten.convolution_backward", _convolution_backward),
    "ScaledDotProductFlashAttentionForCpuBackward0": (
        "aten._scaled_dot_product_flash_attention_backward",
        _attention_backward,
    ),
}


class _Counter(Observer):
    """Adds up while a FlopCounterMode is active."""

    def __init__(self, mode: FlopCounterMode) -> None:
        super().__init__()
        self.mode = mode
        self.inside = 0  # nodes that are counted as one and run now
        self.calls: list[int] = []  # how often was counted when each of the running operations began

    def before(self, call: Call) -> None:
        self.calls.append(self.mode._count)
        self.inside += call.kind == "backward" and call.name in _BACKWARD

    def after(self, call: Call) -> None:
        began = self.calls.pop()
        if call.kind == "backward" and call.name in _BACKWARD:
            self.inside -= 1
            if not call.failed and not self.inside:
                name, formula = _BACKWARD[call.name]
                self.mode._add(name, formula(call), call.what.module)
        elif call.kind == "forward" and not call.failed and not self.inside:
            self.forward(call, began)

    def forward(self, call: Call, began: int) -> None:
        custom = self.mode.custom.get(call.name)
        if custom is not None:
            self.mode._add(
                f"aten.{call.name}",
                custom(*[_shape(x) if hasattr(x, "shape") else x for x in call.args], out_shape=_shape(call.result)),
                running(),
            )
        elif call.name in _FORWARD:
            name, formula = _FORWARD[call.name]
            self.mode._add(name, formula(call), running())
        elif (
            call.name == "matmul" and self.mode._count == began and call.args[0].dim() > 1 and call.args[1].dim() > 1
        ):
            self.mode._add(
                "aten.bmm", 2 * call.result.numel() * call.args[0].shape[-1], running()
            )  # by a kernel of its own


class FlopCounterMode:
    """Counts inside its context, forward and backward: in total, by module and operation, and as a table.

    display: whether to print the table at the end, with modules down to `depth`. custom_mapping: formulas by the name
    of an operation, called with the shapes of its arguments and out_shape=.
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: Mapping[Any, Callable[..., int]] | None = None,
    ) -> None:
        if mods is not None:
            warn("mods argument is not needed anymore, you can stop passing it")
        self.depth, self.display = depth, display
        self.custom = {
            key if isinstance(key, str) else getattr(key, "__name__", str(key)): formula
            for key, formula in (custom_mapping or {}).items()
        }
        self.flop_counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._count = 0
        self._observer: _Counter | None = None

    def _add(self, name: str, flops: int, call: ModuleCall | None) -> None:
        self._count += 1
        for module in {"Global", *_modules(call)}:
            self.flop_counts[module][name] += flops

    def get_total_flops(self) -> int:
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        """By module, such as `Net.layers.0` (and `Global` for everything), and by operation."""
        return {module: dict(counts) for module, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        depth = depth if depth is not None else self.depth if self.depth is not None else 999999
        whole = self.get_total_flops()
        unit = get_suffix_str(whole)
        rows: list[list[str]] = []
        covered = False

        def module_rows(module: str, indent: int) -> list[list[str]]:
            nonlocal covered
            total = sum(self.flop_counts[module].values())
            covered |= total >= whole
            entries = [(module, total)] + [(f" - {name}", n) for name, n in self.flop_counts[module].items()]
            return [
                [" " * indent + name, convert_num_with_suffix(n, unit), convert_to_percent_str(n, whole)]
                for name, n in entries
            ]

        for module in sorted(self.flop_counts):
            if module != "Global" and module.count(".") + 1 <= depth:
                rows += module_rows(module, module.count("."))
        if "Global" in self.flop_counts and not covered:
            rows = module_rows("Global", 0) + [[" " + row[0], *row[1:]] for row in rows]
        return _simple_table(rows or [["Global", "0", "0%"]])

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self._observer = _Counter(self)
        self._observer.add()
        return self

    def __exit__(self, *error: object) -> None:
        if self._observer is None:
            raise AssertionError("Internal error: FlopCounter.__exit__ called but mode is None")
        self._observer.remove()
        self._observer = None
        if self.display:
            print(self.get_table(self.depth))


def _modules(call: ModuleCall | None) -> list[str]:
    """The modules that run, the innermost first, by the names that torch's ModuleTracker gives them."""
    chain = []
    while call is not None:
        chain.append(call)
        call = call.outer
    root = "" if not chain else getattr(chain[-1].kind, "__name__", "")
    return [f"{root}.{at.path}" if at.path else root for at in chain]


def _simple_table(rows: list[list[str]]) -> str:
    rows = [["Module", "FLOP", "% Total"], *rows]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    lines = [f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}".rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])
