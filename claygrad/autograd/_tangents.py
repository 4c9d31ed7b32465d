"""Forward mode: the tangent of every operation, from its own derivative rules.

An operation is asked for before it runs (Note [Interception] in core/graph/intercept.pxd) if an argument has a tangent.
A view of a dual tensor has the same view of the tangent. Of an elementwise operation between real tensors the Jacobian
is diagonal, so its rules, given tangents in place of gradients, give the tangent. Of any other operation the rules are
the product u ↦ uᵀJ, which is linear in u: its derivative by u, in the direction of the tangents, is J times them.
"""
from __future__ import annotations

import contextlib
import threading
import weakref
from typing import TYPE_CHECKING, Any

from claygrad.autograd._batched import is_batch, value_at, wrap
from claygrad.autograd._run import grad
from claygrad.autograd.grad_mode import enable_grad, is_grad_enabled, no_grad
from claygrad.core import UPCALLS, Tensor, is_wrapper, op_named
from claygrad.core.dispatch.intercepted import begin_node, end_node, rule_alone
from claygrad.core.graph.intercept import Operation, begin_reason, end_reason, get_levels, set_levels
from claygrad.core.graph.record import note_tangent
from claygrad.ops.fill import zeros_like

if TYPE_CHECKING:
    from collections.abc import Iterator


class Level:
    """One level of forward mode: who has which tangent."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.tangents: dict[int, tuple[weakref.ref[Tensor], Tensor]] = {}
        self.primals: dict[int, weakref.ref[Tensor]] = {}

    @contextlib.contextmanager
    def below(self) -> Iterator[None]:
        """Operations look at the levels below this one only."""
        was = set_levels(min(self.number, get_levels()))
        try:
            yield
        finally:
            set_levels(was)

    def own(self, x: Tensor) -> Tensor | None:
        """The tangent that was given to this very tensor."""
        if is_batch(x):                            # inside vmap: that of the batch
            found = self.own(x._value)
            return None if found is None else wrap(found, x._level)
        entry = self.tangents.get(id(x))
        return entry[1] if entry is not None and entry[0]() is x else None

    def get(self, x: Tensor) -> Tensor | None:
        """The tangent of a tensor; of a view, what it sees of the tangent of its base."""
        if not is_enabled():
            return None
        if is_batch(x):
            found = self.get(x._value)
            return None if found is None else wrap(found, x._level)
        found = self.own(x)
        base = None if self.primals and self.is_primal(x) else x._base
        if found is None and base is not None and (whole := self.own(base)) is not None:
            with self.below():
                found = _same_view(base, x, whole)
            if found is not None:
                self._put(x, found)
        return found

    def is_primal(self, x: Tensor) -> bool:
        """Whether this view has no tangent here, though its base may have one."""
        x = x._value if is_batch(x) else x
        entry = self.primals.get(id(x))
        return entry is not None and entry() is x

    def set_primal(self, x: Tensor) -> None:
        """Make it so, as for the value that `unpack_dual` gives, and for views of that."""
        if is_batch(x):
            self.set_primal(x._value)
            return
        key, primals = id(x), self.primals
        primals[key] = weakref.ref(x, lambda _: primals.pop(key, None))

    def _put(self, x: Tensor, tangent: Tensor) -> None:
        if is_batch(x):
            self._put(x._value, value_at(tangent, x._level, len(x._value)))
            return
        key, tangents = id(x), self.tangents
        tangents[key] = weakref.ref(x, lambda _: tangents.pop(key, None)), tangent
        note_tangent(x, self, tangent)

    def set(self, x: Tensor, tangent: Tensor, written: bool = False) -> None:
        """Give a tensor its tangent; `written`: by an operation in place, so that its base gets one too."""
        if is_batch(x):
            self.set(x._value, value_at(tangent, x._level, len(x._value)), written)
            return
        if self.own(tangent) is not None:
            raise RuntimeError("Setting a forward grad that itself has a forward gradient at the same level "
                               f"{self.number} is not supported.")
        if tangent.shape != x.shape:
            raise RuntimeError("Trying to set a forward gradient that has a different size than that of the original "
                               "Tensor, "
                               f"this is not supported. Tensor is of size {list(x.shape)} while the given forward "
                               "gradient is "
                               f"of size {list(tangent.shape)}.")
        base = x._base
        with self.below():
            if written and base is not None and self.own(base) is None:
                whole = _zeros_laid_out(base, tangent)
                self._put(base, whole)
                seen = _same_view(base, x, whole)
                if seen is not None:
                    seen.copy_(tangent)
                    tangent = seen
            if not _laid_out_alike(x, tangent):
                tangent, given = _zeros_laid_out(x, tangent), tangent
                _once(tangent, given).copy_(_once(given, tangent))
        self._put(x, tangent)


_local = threading.local()


def levels() -> list[Level]:
    """The levels of this thread, the innermost last."""
    try:
        found: list[Level] = _local.levels
    except AttributeError:
        found = _local.levels = []
    return found


def level_at(number: int) -> Level:
    """The level of a number, which must be there."""
    if number >= len(levels()):
        raise RuntimeError("Trying to access a forward AD level with an invalid index. This index was either not "
                           "created or is "
                           f"already deleted.\n  there are {len(levels())} levels, and level {number} was named")
    return levels()[number]


def enter() -> Level:
    """One more level."""
    level = Level(len(levels()))
    levels().append(level)
    begin_reason()
    set_levels(len(levels()) if is_enabled() else 0)
    return level


def leave() -> None:
    """Without the innermost level."""
    level = levels().pop()
    level.tangents.clear()
    level.primals.clear()
    end_reason()
    set_levels(len(levels()) if is_enabled() else 0)


def is_enabled() -> bool:
    """Whether operations of this thread compute tangents, and tensors show them."""
    return getattr(_local, "enabled", True)


def enable(on: bool) -> None:
    """Switch that."""
    _local.enabled = bool(on)
    set_levels(len(levels()) if on else 0)


# --- layouts ---------------------------------------------------------------------------------------------------

def _laid_out_alike(x: Tensor, tangent: Tensor) -> bool:
    """Whether views of one are the same views of the other: equal strides, offset, bits and size of the memory."""
    if x.layout.name != "strided" or tangent.layout.name != "strided" or is_wrapper(x) or is_wrapper(tangent):
        return True
    if x.is_conj() != tangent.is_conj() or x.is_neg() != tangent.is_neg():
        return False
    if any(a != b for n, a, b in zip(x.shape, x.stride(), tangent.stride(), strict=True) if n > 1):
        return False
    return x.numel() == 0 or (x.storage_offset() == tangent.storage_offset() and _places(x) == _places(tangent))


def _places(x: Tensor) -> int:
    """How many elements the memory has room for."""
    return int(x.untyped_storage().nbytes()) // x.element_size()


def _zeros_laid_out(x: Tensor, like: Tensor) -> Tensor:
    """Zeros in the dtype of one tensor, in memory laid out as another's."""
    if x.layout.name != "strided" or is_wrapper(x):
        return zeros_like(like).detach()
    out: Tensor = like.detach().new_zeros(_places(x)).as_strided(x.shape, x.stride(), x.storage_offset())
    if x.is_conj() and out.is_complex():
        out = op_named("_conj")(out)
    return op_named("_neg_view")(out) if x.is_neg() else out


def _once(x: Tensor, other: Tensor) -> Tensor:
    """Without what repeats along the axes where both tensors are expanded."""
    for d in range(x.ndim):
        if x.shape[d] > 1 and x.stride(d) == 0 and other.stride(d) == 0:
            x = x.narrow(d, 0, 1)
    return x


def _same_view(base: Tensor, view: Tensor, whole: Tensor) -> Tensor | None:
    """What a view of `base` is of `whole`, which is laid out as the base; None where strides alone do not tell."""
    if view.dtype != base.dtype or view.is_conj() != base.is_conj() or view.is_neg() != base.is_neg():
        return _other_view(base, view, whole)
    made: Tensor = whole.as_strided(view.shape, view.stride(), view.storage_offset())
    return made


def _other_view(base: Tensor, view: Tensor, whole: Tensor) -> Tensor | None:
    """The same of a view as real numbers, or of a conjugate."""
    if view.dtype == base.dtype:
        turned = op_named("_conj")(whole) if view.is_conj() != base.is_conj() else whole
        if view.is_neg() != base.is_neg():
            turned = op_named("_neg_view")(turned)
        made: Tensor = turned.as_strided(view.shape, view.stride(), view.storage_offset())
        return made
    if base.is_complex() and not view.is_complex() and not base.is_conj():
        pairs = op_named("view_as_real")(whole)
        seen: Tensor = pairs.as_strided(view.shape, view.stride(), view.storage_offset())
        return op_named("_neg_view")(seen) if view.is_neg() else seen
    return None


# --- operations ------------------------------------------------------------------------------------------------

def _tensors(values: list[Any]) -> Iterator[tuple[tuple[int, int], Tensor]]:
    """Tensors among the arguments with their places: number of the argument, and number in its list (-1: no list)."""
    for i, value in enumerate(values):
        if isinstance(value, Tensor):
            yield (i, -1), value
        elif isinstance(value, (list, tuple)):
            for k, x in enumerate(value):
                if isinstance(x, Tensor):
                    yield (i, k), x


def forward_mode(call: Operation) -> Any:
    """The result of an operation with its tangent, or None if no argument has one."""
    for number in range(get_levels() - 1, -1, -1):
        level = levels()[number]
        if not level.tangents:
            continue
        duals = {place: tangent for place, x in _tensors(call.values) if (tangent := level.get(x)) is not None}
        if duals:
            with level.below():
                return _written(level, call, duals) if call.in_place else _result(level, call, duals)
        if level.primals and call.kind in ("view", "views") and level.is_primal(call.values[0]):
            with level.below():
                result = call.run()
            for x in _as_tuple(result):
                level.set_primal(x)
            return result
    return None


def _result(level: Level, call: Operation, duals: dict[tuple[int, int], Tensor]) -> Any:
    if call.kind in ("view", "views"):
        result = call.run()
        if (0, -1) in duals and call.op.has_rules:
            seen = call.run([duals[0, -1], *call.values[1:]])
            for x, tangent in zip(_as_tuple(result), _as_tuple(seen), strict=True):
                level.set(x, tangent)
        return result
    if not call.op.has_rules:
        return _without_rules(call)
    if _only_constants(call, duals):
        return call.run()
    push = _Push(call, duals)
    result = call.run()
    for x, tangent in zip(_as_tuple(result), push.tangents(_as_tuple(result)), strict=True):
        if tangent is not None:
            level.set(x, tangent)
    return result


def _only_constants(call: Operation, duals: dict[tuple[int, int], Tensor]) -> bool:
    """Whether none of the arguments with tangents has a derivative. One that has none, beside others that do, is
    refused: its tangent would be lost."""
    constant = [name for name in call.op.tensor_params if call.op.word(name) == "constant"]
    given = {call.op.params[i] for i, _ in duals}
    if given.intersection(constant) and not given.issubset(constant) and call.name.lstrip("_") not in _FOLLOWING:
        raise RuntimeError(f"{call.name.lstrip('_')} is not differentiable wrt {' and '.join(constant)}, they cannot "
                           "have forward grad defined.")
    return given.issubset(constant)


# Gradients: what is constant there is a result, whose derivative is in that of the input, or tells the side of an edge.
_FOLLOWING = frozenset("clamp_backward gelu_from gelu_tanh_from silu_from".split())
# Operations that have no derivative by what they read, and give floating numbers all the same.
_CONSTANT = frozenset("_ones bernoulli normal poisson _binomial multinomial".split())


def _without_rules(call: Operation) -> Any:
    result = call.run()
    if call.name not in _CONSTANT and any(isinstance(x, Tensor) and (x.is_floating_point() or x.is_complex())
                                          for x in _as_tuple(result)):
        raise _not_there(call.name, "it has no derivative")
    return result


def _not_there(name: str, why: str) -> NotImplementedError:
    return NotImplementedError(
        f"Trying to use forward AD with {name} that does not support it because it has not been implemented "
        "yet.\nPlease file an "
        "issue to PyTorch at https://github.com/pytorch/pytorch/issues/new?template=feature-request.yml so that we "
        "can prioritize "
        f"its implementation or submit a PR adding the implementation to derivatives.yaml.\n  {why}")


def _written(level: Level, call: Operation, duals: dict[tuple[int, int], Tensor]) -> Any:
    target = call.values[0]
    before = level.get(target)
    push = _Push(call, duals) if call.op.has_rules else None
    result = call.run()
    tangent = push.tangents((target,))[0] if push is not None else None
    if tangent is None:
        if before is not None:
            before.zero_()
        return result
    if before is None:
        level.set(target, tangent, written=True)
    else:
        before.copy_(tangent)
        note_tangent(target, level, before)
    return result


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


class _Push:
    """The tangents of one operation. Made before it runs, for it may write to its arguments."""

    def __init__(self, call: Operation, duals: dict[tuple[int, int], Tensor]) -> None:
        self.call = call
        self.duals = duals
        given = list(_tensors(call.values))
        self.recorded = is_grad_enabled() and any(
            x.requires_grad for x in (*(x for _, x in given), *duals.values()))
        values = [list(value) if isinstance(value, tuple) and any(isinstance(x, Tensor) for x in value) else
                  value.copy() if isinstance(value, list) else value for value in call.values]
        self.inputs: dict[tuple[int, int], Tensor] = {}
        for place, x in given:
            if place in duals:
                made = self.inputs[place] = _to_differentiate_by(x, self.recorded, call.in_place)
                if place[1] < 0:
                    values[place[0]] = made
                else:
                    values[place[0]][place[1]] = made
        self.elementwise = call.kind == "pointwise" and not any(
            x.is_complex() for x in (*(x for _, x in given), *duals.values())) and all(k < 0 for _, k in self.inputs)
        with enable_grad():
            self.node = begin_node(call, values)

    def tangents(self, results: tuple[Any, ...]) -> list[Tensor | None]:
        """One for each result; None of those that have no derivative."""
        with enable_grad():
            outs = end_node(self.call, self.node, list(results))
        for out, result in zip(outs, results, strict=True):
            if isinstance(out, Tensor) and out.requires_grad:
                _share_tangents(result, out)
        if not any(isinstance(x, Tensor) and x.requires_grad for x in outs):
            return [None] * len(outs)
        try:
            if self.elementwise and len(outs) == 1 and not outs[0].is_complex():
                found = self._along_the_diagonal(outs[0])
                if found is not None:
                    return [found]
            return self._by_transposing(outs)
        except RuntimeError as error:
            if "derivative for" not in (said := str(error).partition("\n")[0]) or "not implemented" not in said:
                raise
            raise _not_there(self.call.name, f"it has no derivative in reverse mode either: {error}") from None

    def _along_the_diagonal(self, out: Tensor) -> Tensor | None:
        """Of an elementwise operation; None if a rule sums, as that of a number for all elements does."""
        total: Tensor | None = None
        names = self.call.op.tensor_params
        with contextlib.nullcontext() if self.recorded else no_grad():
            for (i, _), tangent in self.duals.items():
                g = tangent if tangent.dtype == out.dtype else tangent.to(out.dtype)
                g = g if g.shape == out.shape else g.expand(out.shape)
                part = rule_alone(self.node, g, names.index(self.call.op.params[i]), self.recorded)
                if part is not None:
                    if part.shape != out.shape:
                        return None
                    part = part if part.dtype == out.dtype else part.to(out.dtype)
                    total = part if total is None else total + part
        return zeros_like(out).detach() if total is None else total

    def _by_transposing(self, outs: list[Any]) -> list[Tensor | None]:
        at = [i for i, x in enumerate(outs) if isinstance(x, Tensor) and x.requires_grad]
        chosen = [outs[i] for i in at]
        inputs = list(self.inputs.values())
        with enable_grad():
            starts = [zeros_like(x).detach().requires_grad_() for x in chosen]
            pulled = grad(chosen, inputs, starts, create_graph=True, allow_unused=True)
            pairs = [(g, _fitting(tangent, g)) for g, tangent in zip(pulled, self.duals.values(), strict=True)
                     if g is not None and g.requires_grad]
            made: tuple[Tensor | None, ...] = (None,) * len(at)
            if pairs:
                made = grad([g for g, _ in pairs], starts, [tangent for _, tangent in pairs],
                            create_graph=self.recorded, allow_unused=True)
        found: list[Tensor | None] = [None] * len(outs)
        for i, x, tangent in zip(at, chosen, made, strict=True):
            found[i] = zeros_like(x).detach() if tangent is None else tangent if self.recorded else cut(tangent)
        return found


def _fitting(tangent: Tensor, g: Tensor) -> Tensor:
    if tangent.dtype == g.dtype:
        return tangent
    return tangent.real.to(g.dtype) if tangent.is_complex() and not g.is_complex() else tangent.to(g.dtype)


def _to_differentiate_by(x: Tensor, recorded: bool, in_place: bool) -> Tensor:
    """The tensor again, apart from its other uses: with its history where that matters, and with its tangents of the
    levels below. A write in place would give an alias its own history."""
    if recorded and x.requires_grad:
        with enable_grad():
            made: Tensor = x.clone() if in_place else op_named("alias")(x)
            return made
    return cut(x).requires_grad_()


def cut(x: Tensor) -> Tensor:
    """Without its history, but with its tangents."""
    out = x.detach()
    if out is x:
        out = x.view_as(x)
    _share_tangents(x, out)
    return out


def _share_tangents(x: Tensor, out: Tensor) -> None:
    """Give a tensor that stands for the same value the tangents of the levels that operations look at now."""
    for level in levels()[:get_levels()]:
        if (tangent := level.get(x)) is not None:
            level._put(out, tangent)


# --- what is saved for backward --------------------------------------------------------------------------------

def _tangents_of(x: Tensor) -> dict[Level, Tensor] | None:
    found = {level: _kept(level, tangent) for level in levels() if (tangent := level.get(x)) is not None}
    return found or None


def _kept(level: Level, tangent: Tensor) -> Tensor:
    """A tangent as it is now: operations in place write to it, too."""
    with level.below(), enable_grad() if tangent.requires_grad else no_grad():
        if type(tangent) is Tensor and not tangent.is_sparse and 0 in tangent.stride():        # it stays expanded
            return _once(tangent, tangent).clone().expand(tangent.shape)
        return tangent.clone()


def _with_tangents(x: Tensor, tangents: dict[Level, Tensor]) -> None:
    for level in levels():
        if level in tangents and level.own(x) is None:
            level.set(x, tangents[level])


def _forget(x: Tensor) -> None:
    for level in levels():
        level.tangents.pop(id(x), None)


# --- functions that bind their own arguments -------------------------------------------------------------------

_RANDOM = frozenset("bernoulli_ cauchy_ exponential_ geometric_ log_normal_ normal_ random_ uniform_".split())
_TURNED = frozenset("as_strided_ squeeze_ swapaxes_ swapdims_ t_ transpose_ unsqueeze_".split())


def _make(function: Any, args: list[Any], kwargs: dict[str, Any], result: Any) -> Any:
    name = function.__name__
    if name not in _RANDOM and name not in _TURNED:
        return result
    for level in levels()[:get_levels()]:
        if (tangent := level.own(args[0])) is not None:
            with level.below():
                if name in _RANDOM:
                    tangent.zero_()
                else:
                    getattr(tangent, name)(*args[1:], **kwargs)
    return result


UPCALLS.update(forward_mode=forward_mode, tangents=_tangents_of, kept_tangent=_kept, with_tangents=_with_tangents,
            forward_make=_make, forget_tangents=_forget)
