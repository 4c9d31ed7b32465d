"""`vmap`: a function of one example as a function of a batch.

This module is `torch._functorch.vmap` too: packages with containers of tensors (tensordict) put functions of their own
in the place of `_process_batched_inputs`, `_create_batched_inputs` and `_unwrap_batched`, whose names and arguments are
PyTorch's therefore.
"""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from claygrad import random
from claygrad.autograd._batched import entered, level_of, value_at, wrap
from claygrad.core import UPCALLS, Tensor
from claygrad.core.cpython.entry_points import guard
from claygrad.func import _batch_functions, _batch_rules
from claygrad.ops._registry import NAMESPACES
from claygrad.utils.pytree import broadcast_to_and_flatten as _broadcast_to_and_flatten
from claygrad.utils.pytree import tree_flatten, tree_unflatten

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["vmap"]
UPCALLS.update(batch_rules=_batch_rules, batched_function=_batch_functions.batched_function,
               batched_operator=_batch_functions.batched_operator)


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
         chunk_size: int | None = None) -> Callable[..., Any]:
    """A function that applies `func` to every example of a batch at once.

    `in_dims` says along which axis each argument has its examples (None: all examples share it), as an int or in the
    structure of the arguments; `out_dims` where the results shall have them. `randomness`: random operations raise
    ("error"), or draw the "same" or "different" numbers for each example. `chunk_size`: not more examples at a time.

    >>> claygrad.func.vmap(claygrad.dot)(claygrad.ones(3, 2), claygrad.ones(3, 2))
    tensor([2., 2., 2.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        size, dims, given, spec = _process_batched_inputs(in_dims, args, func)
        if chunk_size is None or size <= chunk_size:
            return _mapped(func, size, dims, given, spec, out_dims, randomness, kwargs)
        return _in_chunks(func, size, chunk_size, dims, given, spec, out_dims, randomness, kwargs)

    return guard(functools.wraps(func)(wrapper) if hasattr(func, "__name__") else wrapper)    # Note [Entry points]


def _get_name(func: Any) -> str:
    """What messages call a function."""
    if hasattr(func, "__name__"):
        return str(func.__name__)
    if isinstance(func, functools.partial):
        return f"functools.partial({_get_name(func.func)}, ...)"
    return repr(func)


def _process_batched_inputs(in_dims: Any, args: tuple[Any, ...],
                            func: Any) -> tuple[int, list[int | None], list[Any], Any]:
    """How many examples there are, along which axis each tensor among the arguments has them, and their structure."""
    where = f"vmap({_get_name(func)}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple, list)):
        raise ValueError(f"{where}expected `in_dims` to be int or a (potentially nested) tuple matching the structure "
                         f"of inputs, got: {type(in_dims)}.")
    if not args:
        raise ValueError(f"vmap({_get_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you "
                         "are trying to vmap over a function with no inputs. The latter is unsupported.")
    given, spec = tree_flatten(args)
    dims = _broadcast_to_and_flatten(tuple(in_dims) if isinstance(in_dims, list) else in_dims, spec)
    if dims is None:
        raise ValueError(f"{where}in_dims is not compatible with the structure of `inputs`. in_dims has structure "
                         f"{tree_flatten(in_dims)[1]} but inputs has structure {spec}.")
    found: list[int | None] = []
    sizes = []
    for x, dim in zip(given, dims, strict=True):
        if not isinstance(dim, int) and dim is not None:
            raise ValueError(f"{where}Got in_dim={dim} for an input but in_dim must be either an integer dimension or "
                             "None.")
        if isinstance(dim, int) and not isinstance(x, Tensor):
            raise ValueError(f"{where}Got in_dim={dim} for an input but the input is of type {type(x)}. We cannot vmap "
                             "over non-Tensor arguments, please use None as the respective in_dim")
        if dim is not None and not -x.dim() <= dim < x.dim():
            raise ValueError(f"{where}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality "
                             f"{x.dim()} so expected in_dim to satisfy -{x.dim()} <= in_dim < {x.dim()}.")
        found.append(None if dim is None else dim % x.dim())
        if dim is not None:
            sizes.append(x.size(dim))
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(size != sizes[0] for size in sizes):
        raise ValueError("vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                         f"{sizes} for the mapped dimension")
    return sizes[0], found, given, spec


def _mapped(func: Callable[..., Any], size: int, dims: list[int | None], given: list[Any], spec: Any, out_dims: Any,
            randomness: str, kwargs: dict[str, Any]) -> Any:
    with entered(size, randomness) as batch:
        result = func(*_create_batched_inputs(dims, given, batch.level, spec), **kwargs)
    return _unwrap_batched(result, out_dims, batch.level, size, func)


def _create_batched_inputs(flat_in_dims: list[int | None], flat_args: list[Any], vmap_level: int,
                           args_spec: Any) -> Any:
    """The arguments of the function: what has examples as tensors that stand for a batch."""
    inputs = [x if dim is None else _add_batch_dim(x, dim, vmap_level)
              for x, dim in zip(flat_args, flat_in_dims, strict=True)]
    return tree_unflatten(inputs, args_spec)


def _unwrap_batched(batched_outputs: Any, out_dims: Any, vmap_level: int, batch_size: int, func: Any) -> Any:
    """What the function returned, as batches."""
    outputs, spec = tree_flatten(batched_outputs)
    made = [_maybe_remove_batch_dim(_get_name(func), x, vmap_level, batch_size, dim)
            for x, dim in zip(outputs, _out_dims(out_dims, outputs, spec, func), strict=True)]
    return tree_unflatten(made, spec)


def _add_batch_dim(x: Tensor, in_dim: int, vmap_level: int) -> Tensor:
    """The tensor that stands for the examples along an axis."""
    x = x.resolve_conj().resolve_neg()
    return wrap(x.movedim(in_dim, 0) if in_dim else x, vmap_level)


def _remove_batch_dim(x: Tensor, vmap_level: int, batch_size: int, out_dim: int) -> Tensor:
    """The batch that a tensor stands for, with its examples along an axis."""
    value = value_at(x, vmap_level, batch_size)
    if not -value.ndim <= out_dim < value.ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-value.ndim}, {value.ndim - 1}], but "
                         f"got {out_dim})")
    return value.movedim(0, out_dim) if out_dim not in (0, -value.ndim) else value


def _out_dims(out_dims: Any, outputs: list[Any], spec: Any, func: Any) -> list[Any]:
    if isinstance(outputs, list) and len(outputs) == 1 and spec.is_leaf():
        if isinstance(out_dims, int) or out_dims is None:
            return [out_dims]
        if isinstance(out_dims, tuple) and len(out_dims) == 1:
            return [out_dims[0]]
    flat, _ = tree_flatten(out_dims)
    for dim in flat:
        if not isinstance(dim, int) and dim is not None:
            raise ValueError(f"vmap({_get_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a "
                             "python collection of ints representing where in the outputs the vmapped dimension "
                             "should appear.")
    found = _broadcast_to_and_flatten(out_dims, spec)
    if found is None:
        raise ValueError(f"vmap({_get_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible "
                         f"with the structure of `outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but "
                         f"outputs has structure {spec}.")
    return list(found)


def _maybe_remove_batch_dim(name: str, x: Any, vmap_level: int, batch_size: int, out_dim: int | None) -> Any:
    if out_dim is None:
        if level_of(x) == vmap_level:
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return x
    if not isinstance(x, Tensor):
        raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(x)}. Did you mean to "
                         "set out_dims= to None for output?")
    return _remove_batch_dim(x, vmap_level, batch_size, out_dim)


def _in_chunks(func: Callable[..., Any], size: int, chunk_size: int, dims: list[int | None], given: list[Any],
               spec: Any, out_dims: Any, randomness: str, kwargs: dict[str, Any]) -> Any:
    """Some examples at a time; with the "same" randomness each chunk draws what the first one did."""
    state = random.get_rng_state() if randomness == "same" else None
    chunks: list[list[Any]] = []
    out_spec: Any = None
    flat_dims: list[Any] = []
    for start in range(0, size, chunk_size):
        count = min(chunk_size, size - start)
        part = [x if dim is None else x.narrow(dim, start, count) for x, dim in zip(given, dims, strict=True)]
        if state is not None:
            random.set_rng_state(state)
        outputs, out_spec = tree_flatten(
            _mapped(func, count, dims, part, spec, out_dims, randomness, kwargs))
        flat_dims = _out_dims(out_dims, outputs, out_spec, func)
        chunks.append(outputs)
    joined = [parts[0] if dim is None else NAMESPACES["torch"]["cat"](parts, dim)
              for parts, dim in zip(zip(*chunks, strict=True), flat_dims, strict=True)]
    return tree_unflatten(joined, out_spec)
