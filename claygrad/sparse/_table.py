"""Which operation does what with sparse tensors; every other one refuses them."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad.core import UPCALLS, op_named, refuse_unwritable
from claygrad.core.sparse_tensor import parts, relabel, replace
from claygrad.ops._geometry import text
from claygrad.sparse._parts import NAMES, coalesced, entries, is_sparse, recorded, with_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from claygrad.core import Op, Tensor

TABLE: dict[str, Callable[..., Any]] = {}

# Functions that give zero for zero are computed of the values. Of linear ones entries of one place may stay apart.
LINEAR = frozenset(("neg", "deg2rad", "rad2deg"))
ON_VALUES = frozenset((
    "abs", "asin", "asinh", "atan", "atanh", "ceil", "erf", "erfinv", "expm1", "floor", "frac", "isinf", "isnan",
    "isneginf", "isposinf", "log1p", "nan_to_num", "relu", "round", "sgn", "sign", "signbit", "sin", "sinh", "sqrt",
    "tan", "tanh", "trunc", "square", "conj_physical", "threshold_backward", *LINEAR))
# Questions and composites that look at shape and dtype alone.
AS_DECLARED = frozenset((
    "is_complex", "is_floating_point", "is_signed", "is_same_size", "is_inference", "is_distributed", "get_device",
    "numel", "is_nonzero", "detach", "detach_", "resolve_conj", "resolve_neg", "positive", "type_as", "cpu", "cuda",
    "is_mps", "is_xpu", "is_ipu", "is_xla", "is_maia", "is_mtia", "is_vulkan", "is_mkldnn", "is_nested",
    "xpu", "ipu", "mtia", "eig", "symeig", "solve", "lstsq"))


def operation(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say what operations do with sparse tensors; the function takes all their parameters, in order."""
    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        TABLE.update(dict.fromkeys(names, function))
        return function
    return enter


_WORDS = {
    **dict.fromkeys(("reshape", "flatten", "ravel", "reshape_as"), "reshape is not implemented for sparse tensors"),
    **dict.fromkeys(("expand", "broadcast_to", "expand_as"), "expand is unsupported for Sparse tensors")}


def refusal(name: str, args: list[Any]) -> Exception:
    """PyTorch's words for an operation that sparse tensors do not have."""
    if name in _WORDS:
        return RuntimeError(_WORDS[name] + "\n  Work on its indices() and values(), or on to_dense().")
    flat = [x for one in args for x in (one if isinstance(one, (list, tuple)) else (one,))]
    kinds = {NAMES[parts(x).layout] for x in flat if is_sparse(x)}
    backend = "SparseCPU" if "Sparse" in kinds else "SparseCsrCPU"
    return NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the '{backend}' backend. This could be because the operator "
        "doesn't exist for this backend, or was omitted during the selective/custom build process (if using custom "
        "build).\n  Work on its values() and build a sparse tensor of the result, or on to_dense().")


def run(op: Op, args: list[Any]) -> Any:
    """An operation with a sparse tensor among its arguments."""
    made = _computed(op, args)
    label = op.node_label if op.node_label.endswith("Backward0") else ""
    for one in made if isinstance(made, tuple) else (made,):
        if label and getattr(one, "grad_fn", None) is not None and not any(one is x for x in args):
            relabel(one, label)
    return made


def _computed(op: Op, args: list[Any]) -> Any:
    if op.name in TABLE:
        return TABLE[op.name](*args)
    if op.name in ON_VALUES and is_sparse(args[0]) and not any(is_sparse(x) for x in args[1:]):
        return on_values(op, args[0], dict(zip(op.params[1:], args[1:])))
    if op.name in AS_DECLARED:
        return op.forward(*args)
    raise refusal(op.name, args)


def on_values(op: Op, x: Tensor, options: dict[str, Any]) -> Tensor:
    """A sparse tensor with the function of its values."""
    options.pop("inplace", None)
    of, values = entries(x if op.name in LINEAR else coalesced(x))
    return with_values(of, tuple(x.shape), op_named(op.name)(values, **options))


def run_in_place(op: Op, args: list[Any]) -> Any:
    """An operation that writes to its first argument, where a sparse tensor is among them."""
    target, name = args[0], op.name
    refuse_unwritable(target, any(recorded(x) for x in args if isinstance(x, type(target))))
    if name in TABLE and name.endswith("_"):
        return TABLE[name](*args)
    base = name.removesuffix("_")
    if base not in TABLE and base not in ON_VALUES:
        raise refusal(name, args)
    if is_sparse(target) and base in ON_VALUES and base not in LINEAR and not parts(target).coalesced:
        raise RuntimeError(f"{base}_ requires coalesced input")
    made = run(op_named(base), args)
    if tuple(made.shape) != tuple(target.shape):
        raise RuntimeError(f"output with shape {text(tuple(target.shape))} doesn't match the broadcast shape "
                           f"{text(tuple(made.shape))}")
    if made.dtype.category > target.dtype.category:
        raise RuntimeError(f"result type {made.dtype.legacy} can't be cast to the desired output type "
                           f"{target.dtype.legacy}")
    if is_sparse(target) != is_sparse(made):
        if is_sparse(target):
            raise refusal(name, args)
        raise RuntimeError(f"{name}: the result is sparse, and the tensor that is written to is dense")
    if not is_sparse(target):
        return target.copy_(made)
    return replace(target, made.to(target.dtype))


def no_view(target: Any, key: Any, value: Any) -> None:
    """Assignment to a part of a sparse tensor, or of one to a part of a dense tensor."""
    raise refusal("copy_" if is_sparse(value) and not is_sparse(target) else "index_put_", [target, value])


UPCALLS.update({"sparse": run, "sparse_": run_in_place, "sparse[]=": no_view})
