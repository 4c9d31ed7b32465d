"""The text of a tensor, character for character as PyTorch writes it.

`tensor_text` first picks the elements that will be seen, as nested lists in which `...` marks what was
left out, and works from these alone: a tensor too big to show is never read whole. One format then serves
all numbers shown, so that columns line up.
"""

from __future__ import annotations

from contextlib import contextmanager
from math import inf, isfinite
from typing import TYPE_CHECKING

from claygrad import core
from claygrad.core.cpython.entry_points import guard_package
from claygrad.core.graph.intercept import set_levels
from claygrad.core.sparse_tensor import parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from claygrad.core import Tensor

_options: dict[str, Any] = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
_extras: dict[str, bool] = {}        # options that PyTorch has not: `shape`, `picture`
_profiles: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": inf, "edgeitems": 3, "linewidth": 80},
}

# Classes other than Tensor itself that print as `tensor(...)`; nn adds Parameter, which it cannot do from below.
plain_classes: list[type] = []


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
    *,
    shape: bool | None = None,
    picture: bool | None = None,
) -> None:
    """Choose how tensors are printed; what is not given stays, except `sci_mode`, which None makes automatic.

    precision: digits after the point. threshold: more elements than this are summarised, showing `edgeitems`
    at each end of a dimension. linewidth: where lines wrap. profile: "default", "short" or "full". Beyond PyTorch's,
    shape: say the shape of every tensor; picture: let notebooks show a small picture below.

    >>> claygrad.set_printoptions(precision=2)
    >>> claygrad.tensor([1.12345])
    tensor([1.12])
    >>> claygrad.set_printoptions(profile="default")
    """
    if profile is not None:
        _options.update(_profiles.get(profile, {}))
        _extras.clear()
    for name, wanted in (("shape", shape), ("picture", picture)):
        if wanted is not None:
            _extras[name] = bool(wanted)
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _options.update({name: value for name, value in given.items() if value is not None})
    _options["sci_mode"] = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The current options, as keyword arguments that `set_printoptions` would take."""
    return {**_options, **{name: True for name, on in _extras.items() if on}}


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """The arguments of `set_printoptions`, for the length of a `with` block."""
    before, extras = dict(_options), dict(_extras)
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)
        _extras.clear()
        _extras.update(extras)


def tensor_text(t: Tensor, tensor_contents: str | None = None) -> str:
    """What `repr(t)` says. `tensor_contents`, if given, stands where the elements would."""
    was = set_levels(0)                               # what is computed to print needs no tangents
    try:
        return _tensor_text(t, tensor_contents)
    finally:
        set_levels(was)


def _tensor_text(t: Tensor, tensor_contents: str | None) -> str:
    plain = type(t) is core.Tensor or type(t) in plain_classes
    opening = "tensor(" if plain else f"{type(t).__name__}("
    if tensor_contents is None and not plain and core.is_wrapper(t):
        tensor_contents = "..."                       # its class knows what it holds
    if tensor_contents is None and t.layout.name != "strided":
        text = _sparse_text(t, opening)
    else:
        contents = _contents(t, len(opening)) if tensor_contents is None else tensor_contents
        text = _with_suffixes(opening + contents, _suffixes(t), len(opening))
    if not plain:
        for family in plain_classes:
            if isinstance(t, family):
                return f"{family.__name__}({text})"
    return text


# ---- what follows the elements --------------------------------------------------------------------------------------


def _suffixes(t: Tensor) -> list[str]:
    suffixes = []
    shape = tuple(t.shape)
    meta = t.device.type == "meta"
    if t.device.type != "cpu":
        suffixes.append(f"device='{t.device}'")
    empty = 0 in shape
    if _extras.get("shape"):
        suffixes.append(f"shape={shape}")
    elif meta or (len(shape) != 1 if empty else not _options["edgeitems"]):
        suffixes.append(f"size={shape}")
    # Elements tell int64, bool and complex by themselves; where none are shown only the default dtype is left unsaid.
    obvious = (core.default_dtype(),) if meta or empty else _unmistakable()
    if t.dtype not in obvious:
        suffixes.append(f"dtype={t.dtype!r}")
    history = _history(t)
    if history is not None:
        suffixes.append(history)
    for tangent in (core.UPCALLS["tangents"](t) or {}).values():
        suffixes.append(f"tangent={tensor_text(tangent)}")
    return suffixes


def _unmistakable() -> tuple[core.dtype, ...]:
    default = core.default_dtype()
    default_complex = core.complex128 if default is core.float64 else core.complex64
    return default, default_complex, core.int64, core.bool


def _history(t: Tensor) -> str | None:
    try:
        node = t.grad_fn
    except RuntimeError:  # a view whose base was overwritten in a way that leaves it no history
        return "grad_fn=<Invalid>"
    if node is not None:
        return f"grad_fn=<{node.name().rpartition('::')[2]}>"
    return "requires_grad=True" if t.requires_grad else None


def _with_suffixes(text: str, suffixes: list[str], indent: int) -> str:
    column = len(text) - text.rfind("\n") + 1  # PyTorch counts two more than there are
    for suffix in suffixes:
        if column + len(suffix) + 2 > _options["linewidth"]:
            text += ",\n" + " " * indent + suffix
            column = indent + len(suffix)
        else:
            text += ", " + suffix
            column += len(suffix) + 2
    return text + ")"


def _sparse_text(t: Tensor, opening: str) -> str:
    """Indices, values and what follows them, a part to a line."""
    indent, of = len(opening), parts(t)
    names = {"sparse_coo": ("indices",), "sparse_csr": ("crow_indices", "col_indices"),
             "sparse_csc": ("ccol_indices", "row_indices")}[of.layout.name]
    told = []
    for name, part in zip((*names, "values"), (*of.indices, of.values), strict=True):
        text = f"{name}=tensor("
        text += _contents(part, indent + len(text))
        told.append(text + (f", size={tuple(part.shape)})" if 0 in part.shape else ")"))
    text = opening + (",\n" + " " * indent).join(told)
    suffixes = [f"size={tuple(t.shape)}", f"nnz={of.values.shape[0]}"]
    if t.dtype not in _unmistakable():
        suffixes.append(f"dtype={t.dtype!r}")
    suffixes.append(f"layout={t.layout!r}")
    history = _history(t)
    suffixes += [] if history is None else [history]
    if not t.is_sparse:
        return _with_suffixes(text, suffixes, indent)
    first = f"{text},\n{' ' * indent}{suffixes[0]}"
    return _with_suffixes(first, suffixes[1:], indent)


# ---- the elements ---------------------------------------------------------------------------------------------------


def _contents(t: Tensor, indent: int) -> str:
    if t.device.type == "meta":
        return "..."
    array = core.host_array(t)
    if array.size == 0:
        return "[]"
    if array.dtype.names:
        if not t.is_complex():
            raise NotImplementedError(f"\"_local_scalar_dense_cpu\" not implemented for '{t.dtype.legacy}'")
        array = core.recast_array(array, "complex64")
    shown = _shown(array, array.size > _options["threshold"])
    text, width = _style(list(_leaves(shown)), t.dtype)
    if array.ndim == 0:
        return text(shown)
    return _block(shown, array.ndim, indent, text, width)


def _shown(array: Any, summarise: bool) -> Any:
    """The elements to print: Python numbers in nested lists, `...` where a dimension was cut short."""
    if array.ndim == 0:
        return array.tolist()
    size, edge = array.shape[0], _options["edgeitems"]
    if not summarise or size <= 2 * edge:
        return array.tolist() if array.ndim == 1 or not summarise else [_shown(row, True) for row in array]
    if array.ndim == 1:
        return [*array[:edge].tolist(), ..., *array[size - edge :].tolist()]
    head = [_shown(array[i], True) for i in range(edge)]
    tail = [_shown(array[i], True) for i in range(size - edge, size)]
    return [*head, ..., *tail]


def _leaves(shown: Any) -> Iterator[Any]:
    if isinstance(shown, list):
        for item in shown:
            yield from _leaves(item)
    elif shown is not ...:
        yield shown


def _block(shown: list[Any], ndim: int, indent: int, text: Callable[[Any], str], width: int) -> str:
    """The elements in brackets, from column `indent` on."""
    if shown == [...]:
        return "[...]"
    if ndim > 1:
        parts = ["..." if item is ... else _block(item, ndim - 1, indent + 1, text, width) for item in shown]
        return "[" + ("," + "\n" * (ndim - 1) + " " * (indent + 1)).join(parts) + "]"
    words = [" ..." if item is ... else text(item) for item in shown]
    per_line = max(1, (_options["linewidth"] - indent) // (width + 2))
    lines = [", ".join(words[i : i + per_line]) for i in range(0, len(words), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


# ---- one number -----------------------------------------------------------------------------------------------------


def _style(leaves: list[Any], dtype: core.dtype) -> tuple[Callable[[Any], str], int]:
    """How to write each of these elements, and the width that one takes."""
    if dtype.is_complex:
        return _complex_style(leaves)
    if dtype.is_floating_point:
        return _float_style(leaves)
    width = max((len(str(value)) for value in leaves), default=1)
    return lambda value: str(value).rjust(width), width


def _float_style(values: list[float]) -> tuple[Callable[[float], str], int]:
    # Zeros and non-finite numbers have no say, even where that leaves them out of line.
    telling = [value for value in values if value != 0 and isfinite(value)]
    sizes = [abs(value) for value in telling]
    whole = all(value.is_integer() for value in telling)
    if not telling:
        scientific = False
    elif _options["sci_mode"] is not None:
        scientific = _options["sci_mode"]
    else:
        scientific = max(sizes) / min(sizes) > 1000.0 or max(sizes) > 1.0e8 or min(sizes) < 1.0e-4
    digits = _options["precision"]
    spec = f".{digits}e" if scientific else ".0f" if whole else f".{digits}f"
    point = "." if whole and not scientific else ""
    width = max((len(format(value, spec)) for value in telling), default=0) + len(point)

    def text(value: float) -> str:
        return (format(value, spec) + (point if isfinite(value) else "")).rjust(width)

    return text, width


def _complex_style(values: list[complex]) -> tuple[Callable[[complex], str], int]:
    # Real and imaginary parts are measured separately, but only the real part is padded.
    real_text, real_width = _float_style([value.real for value in values])
    imag_text, imag_width = _float_style([value.imag for value in values])

    def text(value: complex) -> str:
        imag = imag_text(value.imag).lstrip()
        return real_text(value.real) + ("" if imag.startswith("-") else "+") + imag + "j"

    return text, real_width + imag_width + 1

guard_package(__name__)          # Note [Entry points]
