"""Custom Functions inside vmap: by their `vmap` method, or by their own forward and backward on examples."""
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple

from claygrad.autograd._batched import (
    Batch,
    closed,
    highest,
    inner_level,
    laid_open,
    level_of,
    outside,
    running,
    seen,
    value_at,
    wrap,
)
from claygrad.core import Function, Tensor
from claygrad.core.graph.intercept import begin_reason, end_reason
from claygrad.ops.join import stack
from claygrad.utils.pytree import broadcast_to_and_flatten, tree_flatten, tree_map, tree_unflatten

if TYPE_CHECKING:
    from collections.abc import Iterator


class VmapInfo(NamedTuple):
    """What the `vmap` method of a Function is told: how many examples there are, and what random draws do."""

    batch_size: int
    randomness: str


def batched_function(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any] | None:
    """The result of cls.apply in a tuple, if an argument stands for a batch; None otherwise."""
    level = highest([*tree_flatten(args)[0], *kwargs.values()])
    if level == 0:
        return None
    batch = next((one for one in running() if one.level == level), None)
    own = cls.vmap is not Function.vmap
    if batch is None or not (own or cls.generate_vmap_rule):
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement "
            "the vmap staticmethod or set generate_vmap_rule=True. For more details, please see "
            "https://pytorch.org/docs/main/notes/extending.func.html")
    if own and cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
            "ambiguity. For more details, please see https://pytorch.org/docs/main/notes/extending.func.html")
    if kwargs:
        raise RuntimeError(f"vmap: {cls.__name__}.apply takes positional arguments only")
    return (_by_method(cls, args, batch) if own else _generated(cls, args, batch),)


def _by_method(cls: Any, args: tuple[Any, ...], batch: Batch) -> Any:
    return by_rule(cls.vmap, f"{cls.__name__}.vmap", "the vmap staticmethod", args, {}, batch)


def by_rule(rule: Any, name: str, called: str, args: tuple[Any, ...], kwargs: dict[str, Any], batch: Batch) -> Any:
    """The result of a function that users wrote for batches: rule(info, in_dims, *args) gives (output, out_dims)."""
    def mapped(x: Any) -> bool:
        return level_of(x) == batch.level

    dims = tree_map(lambda x: 0 if mapped(x) else None, args)
    values, named = tree_map(lambda x: x._value if mapped(x) else x, (args, kwargs))
    with outside(batch.level):
        answer = rule(VmapInfo(batch.size, batch.randomness), dims, *values, **named)
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise RuntimeError(f"Expected {called} to have two returns, an output and out_dims, got {answer}")
    out, out_dims = answer
    outs, out_spec = tree_flatten(out)
    flat = broadcast_to_and_flatten(out_dims, out_spec)
    if flat is None:
        raise RuntimeError(f"{name} returned out_dims that do not fit its output\n  {out_dims} for {out_spec}")
    with outside(batch.level):
        made = [x if dim is None else wrap(x.movedim(dim, 0), batch.level) for x, dim in zip(outs, flat, strict=True)]
    return tree_unflatten(made, out_spec)


def batched_operator(call: Any, rule: Any, name: str, args: tuple[Any, ...],
                     kwargs: dict[str, Any]) -> tuple[Any] | None:
    """The result of an operator of `torch.library` in a tuple, if an argument stands for a batch; None otherwise.

    By its `rule`, or once per example by `call`, which is the operator.
    """
    level = highest([x for x in tree_flatten((args, kwargs))[0] if isinstance(x, Tensor)])
    batch = next((one for one in running() if one.level == level), None)
    if level == 0 or batch is None:
        return None
    if rule is not None:
        return (by_rule(rule, name, "the vmap function", args, kwargs, batch),)
    results = []
    with outside(level):
        for k in range(max(batch.size, 1)):
            given, named = tree_map(lambda x: _example(x, k, batch), (args, kwargs))   # noqa: B023 (used at once)
            results.append(tree_flatten(call(*given, **named)))
        made = [stack(column)[:batch.size] if isinstance(column[0], Tensor) else column[0]
                for column in zip(*(leaves for leaves, _ in results), strict=True)]
    return (tree_unflatten([wrap(x, level) if isinstance(x, Tensor) else x for x in made], results[0][1]),)


def _example(x: Any, k: int, batch: Batch) -> Any:
    if level_of(x) != batch.level:
        return x
    return x._value.select(0, k) if batch.size else x._value.new_zeros(x._value.shape[1:])


@contextlib.contextmanager
def _inside(batch: Batch) -> Iterator[None]:
    """Operations look at this vmap too, wherever the call comes from."""
    begin_reason()
    try:
        with seen(sorted([*(one for one in running() if one.level != batch.level), batch], key=lambda one: one.level)):
            yield
    finally:
        end_reason()


def _apart(batch: Batch) -> Batch:
    """The batch at a level of its own: when backward runs, another vmap may have that of the one that is over."""
    if any(one.level == batch.level and one is not batch for one in running()):
        return Batch(inner_level() + 1, batch.size, batch.randomness)
    return batch


class _Context:
    """What forward, backward and jvp of examples see: what is saved for them are batches of the node's own context."""

    def __init__(self, ctx: Any, batch: Batch) -> None:
        self.__dict__.update(_ctx=ctx, _level=batch.level, _for_backward=(), _for_forward=(), _in_jvp=False)

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for backward."""
        self.__dict__["_for_backward"] = [level_of(x) == self._level for x in tensors]
        self._ctx.save_for_backward(*self._values(tensors))

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for jvp."""
        self.__dict__["_for_forward"] = [level_of(x) == self._level for x in tensors]
        self._ctx.save_for_forward(*self._values(tensors))

    @contextlib.contextmanager
    def at(self, level: int) -> Iterator[None]:
        """What was saved is batches of this level."""
        was = self._level
        self.__dict__["_level"] = level
        try:
            yield
        finally:
            self.__dict__["_level"] = was

    def _values(self, tensors: tuple[Any, ...]) -> list[Any]:
        return [x._value if level_of(x) == self._level else x for x in tensors]

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was saved."""
        flags = self._for_forward if self._in_jvp else self._for_backward
        return tuple(wrap(x, self._level) if mapped else x
                     for x, mapped in zip(self._ctx.saved_tensors, flags, strict=True))

    def mark_dirty(self, *tensors: Any) -> None:
        """Refused: forward is given copies."""
        raise RuntimeError("vmap: a Function with generate_vmap_rule=True cannot write to its inputs\n  give it a "
                           "vmap staticmethod")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_ctx"], name)


def _generated(cls: Any, args: tuple[Any, ...], batch: Batch) -> Any:
    level, size = batch.level, batch.size
    mapped = [level_of(x) == level for x in args]
    state: dict[str, Any] = {}

    def examples(values: Any, flags: Any) -> list[Any]:
        return [closed(x, level) if flag else x for x, flag in zip(values, flags, strict=True)]

    class Generated(Function):
        """The Function of a whole batch."""

        generate_vmap_rule = True                  # for the vmap around this one

        @staticmethod
        def forward(ctx: Any, *values: Any) -> Any:
            proxy = state["proxy"] = _Context(ctx, batch)
            with _inside(batch):
                given = examples(values, mapped)
                if cls.setup_context is not Function.setup_context:
                    out = cls.forward(*given)
                    cls.setup_context(proxy, tuple(given), out)
                else:
                    out = cls.forward(proxy, *given)
            state["several"] = isinstance(out, tuple)
            outs = out if isinstance(out, tuple) else (out,)
            state["tensors"] = [isinstance(x, Tensor) for x in outs]
            return tuple(value_at(x, level, size) if isinstance(x, Tensor) else x for x in outs)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            apart = _apart(batch)
            with _inside(apart), state["proxy"].at(apart.level):
                given = [closed(g, apart.level) if isinstance(g, Tensor) else g for g in grads]
                found = cls.backward(state["proxy"], *given)
                found = found if isinstance(found, tuple) else (found,)
                opened = [g if g is None else laid_open(g, apart.level, size) for g in found]
            return tuple(g if g is None or flag else g.sum(0) for g, flag in zip(opened, mapped, strict=True))

    if cls.jvp is not Function.jvp:
        def jvp(ctx: Any, *tangents: Any) -> Any:
            flags = [flag and isinstance(t, Tensor) for t, flag in zip(tangents, mapped, strict=True)]
            state["proxy"].__dict__["_in_jvp"] = True
            try:
                with _inside(batch):
                    found = cls.jvp(state["proxy"], *examples(tangents, flags))
            finally:
                state["proxy"].__dict__["_in_jvp"] = False
            found = found if isinstance(found, tuple) else (found,)
            return tuple(laid_open(t, level, size) if isinstance(t, Tensor) else t for t in found)

        Generated.jvp = staticmethod(jvp)  # type: ignore[method-assign]
    Generated.__name__ = Generated.__qualname__ = cls.__name__
    with outside(level):
        values = [x._value if flag else x for x, flag in zip(args, mapped, strict=True)]
        outs = Generated.apply(*values)
    made = tuple(wrap(x, level) if tensor else x for x, tensor in zip(outs, state["tensors"], strict=True))
    return made if state["several"] else made[0]
