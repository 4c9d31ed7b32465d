"""Custom Functions inside vmap: by their `vmap` method, or by their own forward and backward on examples."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from claygrad.autograd._batched import entered, highest, level_of, outside, running, value_at, wrap
from claygrad.core import Function, Tensor
from claygrad.utils.pytree import broadcast_to_and_flatten, tree_flatten, tree_unflatten

if TYPE_CHECKING:
    from claygrad.autograd._batched import Batch


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
    given, spec = tree_flatten(args)
    dims = tree_unflatten([0 if level_of(x) == batch.level else None for x in given], spec)
    values = tree_unflatten([x._value if level_of(x) == batch.level else x for x in given], spec)
    with outside(batch.level):
        answer = cls.vmap(VmapInfo(batch.size, batch.randomness), dims, *values)
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise RuntimeError(f"Expected the vmap staticmethod to have two returns, an output and out_dims, got {answer}")
    out, out_dims = answer
    outs, out_spec = tree_flatten(out)
    flat = broadcast_to_and_flatten(out_dims, out_spec)
    if flat is None:
        raise RuntimeError(f"{cls.__name__}.vmap returned out_dims that do not fit its output\n  {out_dims} for "
                           f"{out_spec}")
    with outside(batch.level):
        made = [x if dim is None else wrap(x.movedim(dim, 0), batch.level) for x, dim in zip(outs, flat, strict=True)]
    return tree_unflatten(made, out_spec)


class _Context:
    """What forward and backward of examples see: what is saved for them are batches of the node's own context."""

    def __init__(self, ctx: Any, batch: Batch) -> None:
        self.__dict__.update(_ctx=ctx, _level=batch.level, _mapped=())

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for backward."""
        self.__dict__["_mapped"] = tuple(level_of(x) == self._level for x in tensors)
        self._ctx.save_for_backward(*(x._value if mapped else x for x, mapped in
                                      zip(tensors, self._mapped, strict=True)))

    save_for_forward = save_for_backward

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was saved."""
        return tuple(wrap(x, self._level) if mapped else x
                     for x, mapped in zip(self._ctx.saved_tensors, self._mapped, strict=True))

    def mark_dirty(self, *tensors: Any) -> None:
        """Refused: forward is given copies."""
        raise RuntimeError("vmap: a Function with generate_vmap_rule=True cannot write to its inputs\n  give it a "
                           "vmap staticmethod")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_ctx"], name)


def _generated(cls: Any, args: tuple[Any, ...], batch: Batch) -> Any:
    level, size, randomness = batch.level, batch.size, batch.randomness
    mapped = [level_of(x) == level for x in args]
    state: dict[str, Any] = {}

    def examples(values: Any, flags: Any) -> list[Any]:
        return [wrap(x, level) if flag else x for x, flag in zip(values, flags, strict=True)]

    class Generated(Function):
        """The Function of a whole batch."""

        @staticmethod
        def forward(ctx: Any, *values: Any) -> Any:
            proxy = state["proxy"] = _Context(ctx, batch)
            with entered(size, randomness):
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
            with entered(size, randomness):
                given = [wrap(g, level) if isinstance(g, Tensor) else g for g in grads]
                found = cls.backward(state["proxy"], *given)
            found = found if isinstance(found, tuple) else (found,)
            return tuple(None if g is None else value_at(g, level, size) if flag else value_at(g, level, size).sum(0)
                         for g, flag in zip(found, mapped, strict=True))

    Generated.__name__ = Generated.__qualname__ = cls.__name__
    with outside(level):
        values = [x._value if flag else x for x, flag in zip(args, mapped, strict=True)]
        outs = Generated.apply(*values)
    made = tuple(wrap(x, level) if tensor else x for x, tensor in zip(outs, state["tensors"], strict=True))
    return made if state["several"] else made[0]
