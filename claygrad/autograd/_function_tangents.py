"""Forward mode through custom Functions: their `jvp`, and what it must hand back."""
from __future__ import annotations

from typing import Any

from claygrad.autograd._tangents import Level, levels
from claygrad.core import UPCALLS, Function, Tensor
from claygrad.core.graph.intercept import get_levels
from claygrad.ops.fill import zeros_like


def _before(args: tuple[Any, ...]) -> list[tuple[Level, list[Tensor | None], list[int]]]:
    """By level, the innermost first: the tangents of the arguments, and their versions."""
    found = []
    for level in reversed(levels()[:get_levels()]):
        tangents = [level.get(x) if isinstance(x, Tensor) else None for x in args]
        if any(x is not None for x in tangents):
            found.append((level, tangents, [-1 if x is None else x._version for x in tangents]))
    return found


def _differentiable(x: Any) -> bool:
    return isinstance(x, Tensor) and (x.is_floating_point() or x.is_complex())


def _after(cls: Any, ctx: Any, args: tuple[Any, ...], made: Any, outs: Any,
           before: list[tuple[Level, list[Tensor | None], list[int]]], dirty: tuple[Any, ...],
           constant: tuple[Any, ...], materialize: bool) -> None:
    """Give the outputs their tangents."""
    if not before:
        return
    if cls.jvp is Function.jvp:
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with "
                                  "forward mode AD.")
    for level, tangents, versions in reversed(before):        # the outermost first: tangents of tangents are its own
        _at_level(cls, ctx, args, made, outs, level, tangents, versions, dirty, constant, materialize)


def _at_level(cls: Any, ctx: Any, args: tuple[Any, ...], made: Any, outs: Any, level: Level,
              tangents: list[Tensor | None], versions: list[int], dirty: tuple[Any, ...], constant: tuple[Any, ...],
              materialize: bool) -> None:
    with level.below():
        given = [zeros_like(x).detach() if tangent is None and materialize and _differentiable(x) else tangent
                 for x, tangent in zip(args, tangents, strict=True)]
        returned = cls.jvp(ctx, *given)
    raw = made if isinstance(made, tuple) else (made,)
    results = outs if isinstance(outs, tuple) else (outs,)
    pushed = returned if isinstance(returned, tuple) else (returned,)
    if len(pushed) != len(results):
        raise RuntimeError("Function's jvp returned an invalid number of forward gradients (expected "
                           f"{len(results)} but got {len(pushed)})")
    for i, (x, was, tangent) in enumerate(zip(results, raw, pushed, strict=True)):
        if tangent is not None and not isinstance(tangent, Tensor):
            raise RuntimeError(f"expected Variable or None (got {type(tangent).__name__}) for grad output {i}.")
        differentiable = _differentiable(x) and all(was is not one for one in constant)
        if not differentiable:
            if tangent is not None:
                raise RuntimeError(f"Function's jvp returned a gradient at position {i}, but  the corresponding "
                                   "forward output is "
                                   "not a differentiable Tensor.You should return None at that position instead.")
            continue
        if tangent is not None:
            _give(level, x, was, tangent, args, tangents, versions, dirty)


def _give(level: Level, x: Tensor, was: Any, tangent: Tensor, args: tuple[Any, ...], tangents: list[Tensor | None],
          versions: list[int], dirty: tuple[Any, ...]) -> None:
    at = next((i for i, arg in enumerate(args) if arg is was), None)
    if any(was is one for one in dirty):
        if at is None:
            raise RuntimeError("Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, "
                               "there is no "
                               "need to pass it to mark_dirty().")
        former = tangents[at]
        if former is None:
            level.set(x, tangent, written=True)
            return
        if tangent._version == versions[at]:
            raise RuntimeError("An inplace custom Function is not modifying the forward mode gradients inplace. If "
                               "the forward is "
                               "modifying an input inplace, then the jvp function must modify the corresponding "
                               "gradient "
                               "inplace.")
        if tangent is not former:
            raise RuntimeError("An inplace custom Function is not returning the forward mode gradients as-is. If the "
                               "forward is "
                               "modifying an input inplace, then the jvp function must modify the gradient inplace "
                               "and return "
                               "it as-is.")
        level.set(x, tangent)
        return
    base = x._base
    if base is not None:
        at = next((i for i, arg in enumerate(args) if isinstance(arg, Tensor)
                   and (arg is base or arg._base is base)), None)
        if at is not None:
            former = tangents[at]
            if former is None:
                level.set(x, tangent, written=True)
                return
            if not tangent._is_view():
                raise RuntimeError("A custom Function's forward is returning a view (or an input as-is) but the jvp "
                                   "is not returning "
                                   "a view.")
            if tangent._base is not (former if former._base is None else former._base):
                given = "given grad input." if former._base is None else "same base as the given grad input."
                raise RuntimeError("A custom Function is returning a view but the jvp is not returning a view of the "
                                   + given)
    level.set(x, tangent)


def register() -> None:
    """Let custom Functions take part in forward mode."""
    UPCALLS.update(before_function=_before, after_function=_after)
