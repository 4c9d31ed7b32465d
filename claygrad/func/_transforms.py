"""Derivatives of functions. They can be nested: each transform differentiates by tensors of its own."""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from claygrad.autograd import grad as gradients
from claygrad.autograd._batched import batched_like, in_every_batch, innermost
from claygrad.autograd._function_tangents import register
from claygrad.autograd._tangents import cut, enter, leave, levels
from claygrad.autograd.grad_mode import enable_grad
from claygrad.core import AccumulateGrad, Tensor
from claygrad.core.cpython.entry_points import guard
from claygrad.ops.fill import ones_like, zeros_like
from claygrad.utils.pytree import tree_flatten, tree_map, tree_unflatten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

register()
_JVP = "jvp(f, primals, tangents)"


# --- arguments -------------------------------------------------------------------------------------------------

def chosen(args: tuple[Any, ...], argnums: Any) -> tuple[int, ...]:
    """The numbers of the arguments to differentiate by."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    wrapped = []
    for number in numbers:
        if not isinstance(number, int):
            raise RuntimeError(f"argnum must be int, got: {type(number)}")
        if not -len(args) <= number < len(args):
            raise RuntimeError(f"Got argnum={number}, but only {len(args)} positional inputs")
        wrapped.append(number % len(args))
    if not wrapped:
        raise RuntimeError("argnums must be non-empty")
    if len(set(wrapped)) != len(wrapped):
        raise RuntimeError(f"argnums elements must be unique, got {tuple(wrapped)}")
    return tuple(wrapped)


def with_chosen(args: tuple[Any, ...], numbers: tuple[int, ...], values: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments with other values in those places."""
    given = list(args)
    for number, value in zip(numbers, values, strict=True):
        given[number] = value
    return tuple(given)


def fresh(x: Any) -> Any:
    """A tensor of its own to differentiate by; history and tangents of the transforms around stay with it."""
    if not isinstance(x, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
    x = in_every_batch(x)
    return x.view_as(x) if x.requires_grad else cut(x).requires_grad_()


def _check_differentiable(x: Tensor, what: str) -> None:
    if not (x.is_floating_point() or x.is_complex()):
        raise ValueError(f"Expected {what} to be floating point or complex, but got: {x.dtype}\n"
                         "  numbers of this dtype have no derivatives: pass x.float(), or close over the tensor")


def outer(x: Any, own: set[int]) -> Any:
    """A result without the history that leads to nothing but tensors of the transform itself (`own`, by their ids)."""
    if not isinstance(x, Tensor) or not x.requires_grad or (x.grad_fn is None and id(innermost(x)) not in own):
        return x
    if _leads_out(x, own):
        return x
    made = x.detach()
    for level in levels():
        if (tangent := level.get(x)) is not None:
            level._put(made, outer(tangent, own))
    return made


def _leads_out(x: Tensor, own: set[int]) -> bool:
    if x.grad_fn is None:
        return False
    seen, todo = set(), [x.grad_fn]
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, AccumulateGrad) and id(node.variable) not in own:
            return True
        todo.extend(following for following, _ in node.next_functions if following is not None)
    return False


def own_leaves(tensors: Sequence[Tensor]) -> set[int]:
    """The ids of those that are leaves: made by `fresh` of tensors without a history."""
    return {id(innermost(x)) for x in tensors if x.grad_fn is None}


def pulled(outputs: Sequence[Tensor], inputs: Sequence[Tensor], starts: Sequence[Tensor | None]) -> list[Tensor]:
    """Gradients that can be differentiated again; zeros where an output does not depend on an input."""
    pairs = [(out, start) for out, start in zip(outputs, starts, strict=True) if out.requires_grad]
    wanted = [x for x in inputs if x.requires_grad]
    made: dict[int, Tensor | None] = {}
    if pairs and wanted:
        found = gradients([out for out, _ in pairs], wanted, [start for _, start in pairs], create_graph=True,
                          allow_unused=True)
        made = {id(x): g for x, g in zip(wanted, found, strict=True)}
    return [zeros_like(x).detach() if (g := made.get(id(x))) is None else g for x in inputs]


# --- reverse mode ----------------------------------------------------------------------------------------------

def grad_and_value(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0,
                   has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of `func`, which returns a scalar, and its value."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with enable_grad():
            numbers = chosen(args, argnums)
            values = [tree_map(fresh, args[i]) for i in numbers]
            leaves, spec = tree_flatten(values)
            output = func(*with_chosen(args, numbers, values), **kwargs)
            aux = None
            if has_aux:
                if not (isinstance(output, tuple) and len(output) == 2):
                    raise RuntimeError("grad_and_value(f)(*args): output of function f should be a tuple: (output, "
                                       "aux) if "
                                       "has_aux is True")
                output, aux = output
            if not isinstance(output, Tensor):
                raise RuntimeError("grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got "
                                   f"{type(output)}")
            if output.dim() != 0:
                raise RuntimeError("grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor "
                                   "with "
                                   f"{output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?")
            found = pulled((output,), leaves, (ones_like(output).detach(),))
            own = own_leaves(leaves)
            made = tree_unflatten([outer(g, own) for g in found], spec)
            result = made[0] if isinstance(argnums, int) else tuple(made)
            value = outer(output, own)
            return (result, (value, tree_map(lambda x: outer(x, own), aux))) if has_aux else (result, value)

    return guard(wrapper)          # Note [Entry points]


def grad(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of `func`, which returns a scalar, by the arguments of these numbers.

    >>> claygrad.func.grad(claygrad.func.grad(lambda x: x**3))(claygrad.tensor(2.0))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        found, rest = both(*args, **kwargs)
        return (found, rest[1]) if has_aux else found

    return guard(wrapper)          # Note [Entry points]


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """func(*primals), and a function from cotangents of that to cotangents of the primals."""
    output, pull, aux = vjp_by(func, primals, tuple(range(len(primals))), has_aux)
    return (output, pull, aux) if has_aux else (output, pull)


def vjp_by(func: Callable[..., Any], args: tuple[Any, ...], numbers: tuple[int, ...], has_aux: bool = False,
           alone: bool = False) -> tuple[Any, Callable[..., Any], Any]:
    """The same by some arguments; `alone`: the pulled-back cotangent of a single one comes without its tuple."""
    with enable_grad():
        values = [tree_map(fresh, args[i]) for i in numbers]
        leaves, spec = tree_flatten(values)
        output = func(*with_chosen(args, numbers, values))
        aux = None
        if has_aux:
            if not (isinstance(output, tuple) and len(output) == 2):
                raise RuntimeError("vjp(f, *primals): output of function f should be a tuple: (output, aux) if "
                                   "has_aux is True")
            output, aux = output
        outputs, out_spec = tree_flatten(output)
        _check_outputs(outputs, "vjp(f, *primals)")
        for out in outputs:
            if not (out.is_floating_point() or out.is_complex()):
                raise RuntimeError("vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got "
                                   "Tensor with "
                                   f"dtype {out.dtype}")
        own = own_leaves(leaves)
        shown = tree_unflatten([outer(out, own) for out in outputs], out_spec)

    def pull(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given, given_spec = tree_flatten(cotangents)
        if given_spec != out_spec:
            raise RuntimeError("Expected pytree structure of cotangents to be the same as pytree structure of outputs "
                               "to the "
                               f"function. cotangents: {given_spec}, primal output: {out_spec}")
        with enable_grad():
            found = pulled(outputs, leaves, given)
            made = tree_unflatten([outer(g, own) for g in found], spec)
        return made[0] if alone and len(made) == 1 else tuple(made)

    return shown, pull, tree_map(lambda x: outer(x, own), aux)


def _check_outputs(outputs: list[Any], api: str) -> None:
    if len(outputs) < 1 or (len(outputs) == 1 and outputs[0] is None):
        raise RuntimeError(f"{api}: Expected f to be a function that has non-empty output (got output = {outputs})")
    for out in outputs:
        if not isinstance(out, Tensor):
            raise RuntimeError(f"{api}: expected f(*primals) to return only tensors, got unsupported type {type(out)}")


# --- forward mode ----------------------------------------------------------------------------------------------

def _check_tensors(leaves: list[Any], name: str) -> None:
    if not leaves:
        raise RuntimeError(f"{_JVP}: Expected {name} to contain at least one Tensor.")
    for x in leaves:
        if not isinstance(x, Tensor):
            raise RuntimeError(f"{_JVP}: Expected {name} to only contain Tensors, got {type(x)}")


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """func(*primals), and its derivative in the direction of the tangents."""
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{_JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    return jvp_by(func, primals, tuple(range(len(primals))), tangents, strict, has_aux)


def jvp_by(func: Callable[..., Any], args: tuple[Any, ...], numbers: tuple[int, ...], tangents: Any,
           strict: bool = False, has_aux: bool = False) -> Any:
    """The same in the directions of some arguments."""
    flat, spec = tree_flatten(tuple(args[i] for i in numbers))
    directions, directions_spec = tree_flatten(tangents)
    if spec != directions_spec:
        raise RuntimeError(f"{_JVP}: Expected primals and tangents to have the same python structure. For example, if "
                           "primals is "
                           f"a tuple of 3 tensors, tangents also must be. Got primals with structure {spec} and "
                           "tangents with "
                           f"structure {directions_spec}")
    _check_tensors(flat, "primals")
    _check_tensors(directions, "tangents")
    level = enter()
    try:
        duals = []
        for x, tangent in zip(flat, directions, strict=True):
            _check_differentiable(x, "primal")
            _check_differentiable(tangent, "tangent")
            with level.below():
                dual = batched_like(x, tangent)
                dual = x.view_as(x) if dual is x else dual.clone()
            level.set(dual, tangent)
            duals.append(dual)
        result = func(*with_chosen(args, numbers, tree_unflatten(duals, spec)))
        aux = None
        if has_aux:
            if not (isinstance(result, tuple) and len(result) == 2):
                raise RuntimeError(f"{_JVP}: output of function f should be a tuple: (output, aux) if has_aux is True")
            result, aux = result
        outputs, out_spec = tree_flatten(result)
        _check_outputs(outputs, _JVP)
        values, pushed = [], []
        for out in outputs:
            tangent = level.get(out)
            with level.below():
                if tangent is None:
                    if strict:
                        raise RuntimeError("jvp(f, primals, tangents, strict=True): The output of f is independent of "
                                           "the "
                                           "inputs. This is not allowed with strict=True.")
                    tangent = zeros_like(out).detach()
                values.append(out.view_as(out))
                pushed.append(tangent)
    finally:
        leave()
    answer = tree_unflatten(values, out_spec), tree_unflatten(pushed, out_spec)
    return (*answer, aux) if has_aux else answer


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """func(*primals), and the linear function from tangents of the primals to those of the output, computed only
    once."""
    for x in tree_flatten(primals)[0]:
        if isinstance(x, Tensor):
            _check_differentiable(x, "primal")
    with enable_grad():
        values = tree_map(fresh, tuple(primals))
        leaves, spec = tree_flatten(values)
        output = func(*values)
        outputs, out_spec = tree_flatten(output)
        _check_outputs(outputs, "linearize(f, *primals)")
        starts = [zeros_like(out).detach().requires_grad_() for out in outputs]
        by_start = pulled(outputs, leaves, starts)
        own = own_leaves(leaves) | {id(start) for start in starts}
        shown = tree_unflatten([outer(out, own) for out in outputs], out_spec)

    def push(*tangents: Any) -> Any:
        given, given_spec = tree_flatten(tangents)
        if given_spec != spec:
            raise RuntimeError("Expected the tangents "
                               f"{given_spec} to have the same argspec as the primals {spec}")
        for i, (tangent, x) in enumerate(zip(given, leaves, strict=True)):
            for what, ours, wanted in (("shape", tangent.shape, x.shape), ("device", tangent.device, x.device),
                                       ("dtype", tangent.dtype, x.dtype)):
                if ours != wanted:
                    raise RuntimeError(f"tangent:{i} with {what} {ours} in flattened pytree doesn't match the {what} "
                                       f"{wanted} of "
                                       "the corresponding primal.")
        with enable_grad():
            found = pulled(by_start, starts, given)
            return tree_unflatten([outer(x, own) for x in found], out_spec)

    return shown, push


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """The function as it is. In PyTorch compilers then see no writes in place, and with
    `remove="mutations_and_views"` no views; results, and what is written to the arguments, are the same."""
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. "
                           "Valid options are:\n     remove='mutations': all inplace and out= operators will be "
                           "removed from the program, and replaced with their out-of-place equivalents.\n     "
                           "remove='mutations_and_views': In addition to the above, all aliasing operators {view} will "
                           "be replaced with their non-aliasing counterparts, {view}_copy.\n")

    @functools.wraps(func)
    def as_written(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return as_written
