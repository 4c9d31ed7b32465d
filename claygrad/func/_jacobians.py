"""Jacobians in full: a vector of the standard basis at a time."""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from claygrad import random
from claygrad.core import Tensor
from claygrad.func._transforms import chosen, jvp_by, vjp_by
from claygrad.ops.fill import zeros_like
from claygrad.ops.join import stack
from claygrad.utils.pytree import tree_flatten, tree_unflatten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def _refuse_complex(name: str, tensors: list[Any], what: str) -> None:
    for i, x in enumerate(tensors):
        if isinstance(x, Tensor) and x.is_complex():
            raise RuntimeError(f"{name}: Expected all {what} to be real but received complex tensor at flattened input "
                               f"idx: {i}")


def _basis(tensors: list[Tensor]) -> Iterator[list[Tensor]]:
    """For every element of every tensor, zeros like all of them with a one in that place."""
    zeros = [zeros_like(x).detach() for x in tensors]
    for k, x in enumerate(tensors):
        for i in range(x.numel()):
            one = zeros_like(x).detach().contiguous()
            one.view(-1)[i] = 1
            yield [one if j == k else zero for j, zero in enumerate(zeros)]


def jacrev(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, *, has_aux: bool = False,
           chunk_size: int | None = None, _preallocate_and_copy: bool = False) -> Callable[..., Any]:
    """A function that gives the Jacobian of `func`, in reverse mode: a row at a time. `chunk_size`, how many at once,
    must be positive and changes nothing."""
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        numbers = chosen(args, argnums)
        _refuse_complex("jacrev", tree_flatten(args)[0], "inputs")
        output, pull, aux = vjp_by(func, args, numbers, has_aux)
        outputs, out_spec = tree_flatten(output)
        _refuse_complex("jacrev", outputs, "outputs")
        inputs, spec = tree_flatten(tuple(args[i] for i in numbers))
        rows = [tree_flatten(pull(tree_unflatten(row, out_spec)))[0] for row in _basis(outputs)]
        made, start = [], 0
        for out in outputs:
            part = rows[start:start + out.numel()]
            start += out.numel()
            columns = [_stacked([row[j] for row in part], (*out.shape, *x.shape), x) for j, x in enumerate(inputs)]
            made.append(_by_argument(tree_unflatten(columns, spec), argnums))
        result = tree_unflatten(made, out_spec)
        return (result, aux) if has_aux else result

    return wrapper


def jacfwd(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False, *,
           randomness: str = "error") -> Callable[..., Any]:
    """A function that gives the Jacobian of `func`, in forward mode: a column at a time, so func is run for each.
    `randomness` says what random operations in it do: "error", or numbers that are the "same" or "different" in
    each."""
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        numbers = chosen(args, argnums)
        _refuse_complex("jacfwd", tree_flatten(args)[0], "inputs")
        primals = tuple(args[i] for i in numbers)
        inputs, spec = tree_flatten(primals)
        columns: list[list[Tensor]] = []
        outputs: list[Any] = []
        aux, out_spec = None, None
        state = random.get_rng_state()
        for column in _basis(inputs):
            if randomness == "same":
                random.set_rng_state(state)
            answer = jvp_by(func, args, numbers, tree_unflatten(column, spec), has_aux=has_aux)
            aux = answer[2] if has_aux else None
            if randomness == "error" and not random.get_rng_state().equal(state):
                raise RuntimeError("vmap: called random operation while in randomness error mode. Please either use "
                                   "the 'same' or "
                                   "'different' randomness flags on vmap or perform the randomness operation out of "
                                   "vmap")
            outputs, out_spec = tree_flatten(answer[0])
            _refuse_complex("jacfwd", outputs, "outputs")
            columns.append(tree_flatten(answer[1])[0])
        if out_spec is None:                       # nothing to differentiate by: the value tells the shapes
            answer = func(*args)
            answer, aux = answer if has_aux else (answer, None)
            outputs, out_spec = tree_flatten(answer)
        made = []
        for k, out in enumerate(outputs):
            start, parts = 0, []
            for x in inputs:
                part = [column[k] for column in columns[start:start + x.numel()]]
                start += x.numel()
                parts.append(_stacked(part, (*x.shape, *out.shape), out).permute(
                    (*range(x.ndim, x.ndim + out.ndim), *range(x.ndim))))
            made.append(_by_argument(tree_unflatten(parts, spec), argnums))
        result = tree_unflatten(made, out_spec)
        return (result, aux) if has_aux else result

    return wrapper


def hessian(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """A function that gives the second derivatives of `func`: reverse mode inside forward mode."""
    return jacfwd(jacrev(func, argnums), argnums)


def _stacked(parts: list[Tensor], shape: tuple[int, ...], like: Tensor) -> Tensor:
    if not parts:
        return like.new_zeros(shape)
    made: Tensor = stack(parts).view(shape)
    return made


def _by_argument(parts: tuple[Any, ...], argnums: int | tuple[int, ...]) -> Any:
    return parts[0] if isinstance(argnums, int) else parts
