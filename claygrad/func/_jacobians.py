"""Jacobians in full: all vectors of the standard basis at once, by `vmap`."""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from claygrad.autograd._batched import inner_level, is_batch
from claygrad.core import Tensor
from claygrad.core.cpython.entry_points import guard
from claygrad.func._transforms import chosen, jvp_by, vjp_by
from claygrad.func._vmap import vmap
from claygrad.utils.pytree import tree_flatten, tree_map, tree_unflatten

if TYPE_CHECKING:
    from collections.abc import Callable


def _refuse_complex(name: str, tensors: list[Any], what: str) -> None:
    for i, x in enumerate(tensors):
        if isinstance(x, Tensor) and x.is_complex():
            raise RuntimeError(f"{name}: Expected all {what} to be real but received complex tensor at flattened input "
                               f"idx: {i}")


def _basis(tensors: list[Tensor]) -> list[Tensor]:
    """Vectors like all tensors together with a one for one element of one of them: stacked, a row for every element."""
    count, start, made = sum(x.numel() for x in tensors), 0, []
    for x in tensors:
        block = x.detach().new_zeros((count, x.numel()))
        block[start:start + x.numel()].fill_diagonal_(1)
        made.append(block.view(count, *x.shape))
        start += x.numel()
    return made


def jacrev(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, *, has_aux: bool = False,
           chunk_size: int | None = None, _preallocate_and_copy: bool = False) -> Callable[..., Any]:
    """A function that gives the Jacobian of `func`, in reverse mode: all rows at once, or `chunk_size` of them."""
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
        rows = _rows(lambda *row: tuple(tree_flatten(pull(tree_unflatten(list(row), out_spec)))[0]), _basis(outputs),
                     inputs, chunk_size, "same")
        made, start = [], 0
        for out in outputs:
            columns = [x[start:start + out.numel()].reshape(*out.shape, *x.shape[1:]) for x in rows]
            start += out.numel()
            made.append(_by_argument(tree_unflatten(columns, spec), argnums))
        result = tree_unflatten(made, out_spec)
        return (result, aux) if has_aux else result

    return guard(wrapper)          # Note [Entry points]


def jacfwd(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False, *,
           randomness: str = "error") -> Callable[..., Any]:
    """A function that gives the Jacobian of `func`, in forward mode: all columns at once.
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
        kept: list[Any] = []

        def push(*column: Tensor) -> tuple[Tensor, ...]:
            answer = jvp_by(func, args, numbers, tree_unflatten(list(column), spec), has_aux=has_aux)
            found, out_spec = tree_flatten(answer[0])
            _refuse_complex("jacfwd", found, "outputs")
            kept[:] = [out_spec, answer[2] if has_aux else None, [x.shape for x in found]]
            return tuple(tree_flatten(answer[1])[0])

        basis = _basis(inputs)
        if len(basis[0]):
            columns = vmap(push, randomness=randomness)(*basis)
        else:                                      # nothing to differentiate by: the value tells the shapes
            answer = func(*args)
            found, out_spec = tree_flatten(answer[0] if has_aux else answer)
            kept[:] = [out_spec, answer[1] if has_aux else None, [x.shape for x in found]]
            columns = tuple(x.new_zeros((0, *x.shape)) for x in found)
        out_spec, aux, shapes = kept
        aux = tree_map(_one_of_all, aux)
        made = []
        for column, shape in zip(columns, shapes, strict=True):
            start, parts = 0, []
            for x in inputs:
                part = column[start:start + x.numel()].reshape(*x.shape, *shape)
                start += x.numel()
                parts.append(part.permute((*range(x.ndim, x.ndim + len(shape)), *range(x.ndim))))
            made.append(_by_argument(tree_unflatten(parts, spec), argnums))
        result = tree_unflatten(made, out_spec)
        return (result, aux) if has_aux else result

    return guard(wrapper)          # Note [Entry points]


def hessian(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """A function that gives the second derivatives of `func`: reverse mode inside forward mode."""
    return jacfwd(jacrev(func, argnums), argnums)


def _rows(pull: Callable[..., Any], basis: list[Tensor], inputs: list[Tensor], chunk_size: int | None,
          randomness: str) -> tuple[Tensor, ...]:
    if not len(basis[0]):
        return tuple(x.new_zeros((0, *x.shape)) for x in inputs)
    found: tuple[Tensor, ...] = vmap(pull, chunk_size=chunk_size, randomness=randomness)(*basis)
    return found


def _one_of_all(x: Any) -> Any:
    """What was computed beside the columns is the same for all of them."""
    return x._value[0] if is_batch(x) and x._level > inner_level() else x


def _by_argument(parts: tuple[Any, ...], argnums: int | tuple[int, ...]) -> Any:
    return parts[0] if isinstance(argnums, int) else parts
