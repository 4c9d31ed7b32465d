"""Tensors that stand for a batch, inside a function under `vmap`.

Such a tensor shows the shape of one example; its `_value` is a tensor with the batch as first axis. An operation that
is given one is asked for before it runs (Note [Interception] in core/graph/intercept.pxd) and becomes an operation on
the whole batch: the rules are in func/_batch_rules.py, and what has none runs once per example. Derivatives of both
modes belong to the values: nothing is recorded for the tensors that stand for them. Nested vmaps have a level each; a
tensor of an inner level may have a tensor of an outer level as its value.
"""
from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any, TypeGuard

from claygrad.core import UPCALLS, Tensor
from claygrad.core.graph.intercept import Operation, begin_reason, end_reason, set_batches
from claygrad.core.overrides import _disabled_torch_function_impl
from claygrad.core.python_api import new_wrapper

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ITEM = ("vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a "
         "Tensor, please try to rewrite what you're doing with other operations. If error is occurring somewhere "
         "inside PyTorch internals, please file a bug report.")
_CONTROL = ("vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't "
            "support that yet, please file an issue at https://github.com/pytorch/pytorch/issues .")
_RANDOM = ("vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
           "randomness flags on vmap or perform the randomness operation out of vmap")


class Batch:
    """A vmap that is running: its level (1 for the outermost), how many examples there are, what random draws do."""

    def __init__(self, level: int, size: int, randomness: str) -> None:
        self.level, self.size, self.randomness = level, size, randomness


_local = threading.local()


def running() -> list[Batch]:
    """The vmaps that operations of this thread look at, the innermost last."""
    try:
        found: list[Batch] = _local.running
    except AttributeError:
        found = _local.running = []
    return found


def inner_level() -> int:
    """The level of the innermost of them, 0 without any."""
    return running()[-1].level if running() else 0


@contextlib.contextmanager
def entered(size: int, randomness: str) -> Iterator[Batch]:
    """Run a function under one more vmap."""
    around = running()
    batch = Batch(around[-1].level + 1 if around else 1, size, randomness)
    _local.running = [*around, batch]
    begin_reason()
    set_batches(len(around) + 1)
    try:
        yield batch
    finally:
        _local.running = around
        set_batches(len(around))
        end_reason()


@contextlib.contextmanager
def seen(batches: list[Batch]) -> Iterator[None]:
    """Operations look at these vmaps only."""
    was = running()
    _local.running = batches
    set_batches(len(batches))
    try:
        yield
    finally:
        _local.running = was
        set_batches(len(was))


def outside(level: int) -> contextlib.AbstractContextManager[None]:
    """Operations look at the vmaps around this level only."""
    return seen([batch for batch in running() if batch.level < level])


class BatchedTensor(Tensor):
    """One example of a batch, which is `_value`; see above."""

    _value: Tensor
    _level: int
    __torch_function__ = _disabled_torch_function_impl  # type: ignore[assignment]

    @property
    def requires_grad(self) -> bool:
        """Whether the batch does."""
        return self._value.requires_grad

    @requires_grad.setter
    def requires_grad(self, on: bool) -> None:
        self._value.requires_grad_(on)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Let the batch require gradients."""
        self._value.requires_grad_(requires_grad)
        return self

    @property
    def grad_fn(self) -> Any:
        """That of the batch."""
        return self._value.grad_fn

    @property
    def is_leaf(self) -> bool:
        """Whether the batch is."""
        return self._value.is_leaf

    @property
    def _version(self) -> int:
        return self._value._version

    @property
    def _base(self) -> Tensor | None:
        return None

    @property
    def grad(self) -> Tensor | None:
        """The gradients of the batch, where a backward pass put them."""
        found = self._value.grad
        return None if found is None else wrap(found, self._level)

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        self._value.grad = None if value is None else value_at(value, self._level, len(self._value))

    @property
    def data(self) -> Tensor:
        """The batch without its history."""
        return wrap(self._value.data, self._level)

    @data.setter
    def data(self, value: Tensor) -> None:
        self._value.data = value_at(value, self._level, len(self._value))
        Tensor.data.__set__(self, wrap(self._value, self._level))  # type: ignore[attr-defined]

    def detach(self) -> Tensor:
        """The batch cut from the graph."""
        return wrap(self._value.detach(), self._level)

    def detach_(self) -> Tensor:
        """Cut the batch from the graph."""
        self._value.detach_()
        return self

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Any:
        """Call hook(gradient) with the gradients of the batch."""
        level, size = self._level, len(self._value)

        def hooked(g: Tensor) -> Tensor | None:
            made = hook(wrap(g, level))
            return None if made is None else value_at(made, level, size)

        return self._value.register_hook(hooked)

    def retain_grad(self) -> None:
        """Keep the gradients of the batch."""
        self._value.retain_grad()

    def backward(self, gradient: Tensor | None = None, retain_graph: bool | None = None, create_graph: bool = False,
                 inputs: Any = None) -> None:
        """Refused: gradients of single examples come from `func.grad`."""
        raise RuntimeError("backward() called inside a functorch transform. This is not supported, please use "
                           "functorch.grad or functorch.vjp instead or call backward() outside of functorch "
                           "transforms.")

    def item(self) -> Any:
        """Refused: there is a number for every example."""
        raise RuntimeError(_ITEM)

    def tolist(self) -> Any:
        """Refused: there is a list for every example."""
        raise RuntimeError(_ITEM)

    def numpy(self, *, force: bool = False) -> Any:
        """Refused: there is an array for every example."""
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage\n  it stands for a batch "
                           "inside vmap: return it, and convert what vmap gives")

    def __bool__(self) -> bool:
        raise RuntimeError(_CONTROL)

    def __float__(self) -> float:
        raise RuntimeError(_ITEM)

    __int__ = __index__ = __complex__ = __float__  # type: ignore[assignment]

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"BatchedTensor(lvl={self._level}, bdim=0, value=\n    {self._value!r}\n)"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RuntimeError("a tensor inside vmap cannot be pickled: return it, and pickle what vmap gives")


def wrap(value: Tensor, level: int) -> Tensor:
    """The tensor that stands for a batch."""
    steps = value.stride()
    made: Tensor = new_wrapper(BatchedTensor, value.shape[1:], steps[1:], value.storage_offset(), value.dtype,
                               value.device, False)
    made._value, made._level = value, level  # type: ignore[attr-defined]
    return made


def level_of(x: Any) -> int:
    """The level of a tensor that stands for a batch, 0 of anything else."""
    return x._level if type(x) is BatchedTensor else 0


def is_batch(x: Any) -> TypeGuard[BatchedTensor]:
    """Whether a tensor stands for a batch."""
    return type(x) is BatchedTensor


def value_at(x: Tensor, level: int, size: int) -> Tensor:
    """The batch of a tensor at a level: the same example `size` times, on one memory, of one that is no batch there."""
    if type(x) is BatchedTensor and x._level == level:
        return x._value
    made: Tensor = x.unsqueeze(0).expand(size, *x.shape)
    return made


def innermost(x: Tensor) -> Tensor:
    """The tensor of all batches together, to which derivatives belong."""
    while type(x) is BatchedTensor:
        x = x._value
    return x


def in_every_batch(x: Tensor) -> Tensor:
    """The tensor as a batch of every vmap that is running: what is differentiated by has a gradient per example."""
    return _with_levels(x, {batch.level: batch.size for batch in running()})


def batched_like(x: Tensor, other: Tensor) -> Tensor:
    """A tensor as a batch wherever another one is."""
    wanted = {}
    while type(other) is BatchedTensor:
        wanted[other._level] = len(other._value)
        other = other._value
    return _with_levels(x, wanted)


def _with_levels(x: Tensor, wanted: dict[int, int]) -> Tensor:
    level = max(level_of(x), max(wanted, default=0))
    if level == 0:
        return x
    rest = {n: size for n, size in wanted.items() if n < level}
    if level_of(x) == level:
        inner = _with_levels(x._value, rest)  # type: ignore[attr-defined]
        return x if inner is x._value else wrap(inner, level)  # type: ignore[attr-defined]
    inner = _with_levels(x, rest)
    return wrap(value_at(inner, level, wanted[level]), level)


# --- operations ------------------------------------------------------------------------------------------------

def highest(values: Any) -> int:
    """The highest level among arguments, lists of them included."""
    found = 0
    for x in values:
        if type(x) is BatchedTensor:
            found = max(found, x._level)
        elif type(x) is list or type(x) is tuple:
            found = max(found, highest(x))
    return found


class Call:
    """A call of an operation on a batch: its arguments as values of the level, and which of them are batches."""

    def __init__(self, operation: Operation, level: int) -> None:
        self.operation, self.level = operation, level
        self.around = [batch for batch in running() if batch.level <= level]
        self.name = operation.name.removesuffix("_") if operation.in_place else operation.name
        self.params: tuple[str, ...] = tuple(operation.op.params)
        self.size = -1
        self.values: list[Any] = []
        self.given: list[Any] = operation.values
        self.flags: list[Any] = []              # of each argument: whether it is a batch; of lists a list
        for value in operation.values:
            if type(value) is list or type(value) is tuple:
                self.flags.append([self._is(x) for x in value])
                self.values.append([self._inner(x) for x in value] if any(self.flags[-1]) else value)
            else:
                self.flags.append(self._is(value))
                self.values.append(self._inner(value))

    def _is(self, x: Any) -> bool:
        return type(x) is BatchedTensor and x._level == self.level

    def _inner(self, x: Any) -> Any:
        if not self._is(x):
            return x
        self.size = len(x._value)
        return x._value

    def run(self, values: list[Any]) -> Any:
        """The operation itself on these arguments, which are bound already: what was a tuple or a list stays one."""
        bound = [tuple(x) if type(was) is tuple and type(x) is list else
                 list(x) if type(was) is list and isinstance(x, tuple) else x
                 for x, was in zip(values, self.given, strict=True)]
        return self.operation.run(bound)

    def by_examples(self, function: Callable[..., Tensor], *numbers: int) -> Tensor:
        """A rule made of other operations: function(arguments of these numbers, as examples), as a batch."""
        with seen(self.around):
            made = function(*(wrap(self.values[i], self.level) if self.flags[i] else self.values[i] for i in numbers))
        return value_at(made, self.level, self.size)

    def wrapped(self, result: Any) -> Any:
        """The result of a rule: tensors whose first axis is the batch."""
        if isinstance(result, Tensor):
            return wrap(result, self.level)
        if isinstance(result, (tuple, list)):
            outs = [wrap(x, self.level) if isinstance(x, Tensor) else x for x in result]
            return tuple(outs) if type(result) in (tuple, list) else type(result)(outs)
        return result


def batched(operation: Operation) -> Any:
    """The result of an operation of which an argument stands for a batch; None if none does."""
    level = highest(operation.values)
    if level == 0:
        if operation.name in rules().DRAWS:
            return rules().draw(operation)
        return None
    call = Call(operation, level)
    if call.name in rules().DRAWS:
        return rules().draw_batch(call)
    with outside(level):
        if operation.in_place and not call.flags[0]:
            raise RuntimeError(
                f"vmap: aten::{call.name}_(self, *extra_args) is not possible because there exists a Tensor `other` in "
                "extra_args that has more elements than `self`. This happened due to `other` being vmapped over but "
                f"`self` not being vmapped over in a vmap. Please try to use out-of-place operators instead of "
                f"{call.name}_. If said operator is being called inside the PyTorch framework, please file a bug "
                "report instead.")
        result = rules().answer(call)
    if operation.in_place:
        return operation.values[0]
    return call.wrapped(result)


def rules() -> Any:
    """The module of the rules, in the floor above."""
    return UPCALLS["batch_rules"]


def batched_make(factory: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The same of functions that bind their own arguments: those that draw, and those that change a shape in place."""
    return rules().make(factory, args, kwargs)


# --- gradients -------------------------------------------------------------------------------------------------

def batched_backward(run: Callable[..., Any], roots: tuple[Any, ...], seeds: list[Any], retain_graph: bool,
                     create_graph: bool, targets: tuple[Any, ...], allow_unused: bool) -> Any:
    """Gradients of batches by batches: those of the values; None where neither roots nor targets are batches."""
    level = max(highest(roots), highest(targets))
    if level == 0:
        return None
    size = next(len(x._value) for x in (*roots, *targets) if level_of(x) == level)
    pairs = [(root, seed) for root, seed in zip(roots, seeds, strict=True) if level_of(root) == level]
    if not pairs or any(level_of(x) != level for x in targets):
        raise RuntimeError("vmap: the gradient of one example by a tensor that is not mapped over cannot be told from "
                           "those of the others\n  use torch.func.grad or torch.func.vjp inside the function that "
                           "vmap is given")
    with seen([batch for batch in running() if batch.level != level]):
        values = tuple(root._value for root, _ in pairs)
        starts = [None if seed is None else laid_open(seed, level, size) for _, seed in pairs]
        inputs = tuple(x._value for x in targets)
        found = batched_backward(run, values, starts, retain_graph, create_graph, inputs, allow_unused)
        if found is None:
            found = run(values, starts, retain_graph, create_graph, inputs, allow_unused, False)
        return tuple(None if g is None else closed(g, level) for g in found)


def backward_of_seeds(run: Callable[..., Any], roots: tuple[Any, ...], seeds: list[Tensor], retain_graph: bool,
                      create_graph: bool, targets: tuple[Any, ...], allow_unused: bool) -> tuple[Tensor | None, ...]:
    """Gradients for every row of the seeds in one backward pass, in which gradients are batches."""
    with entered(len(seeds[0]), "error") as batch:
        given = [wrap(seed, batch.level) for seed in seeds]
        found = run(roots, given, retain_graph, create_graph, targets, allow_unused, False)
    return tuple(None if g is None else value_at(g, batch.level, batch.size) for g in found)


def laid_open(x: Tensor, level: int, size: int) -> Tensor:
    """A tensor with its batch of a level as first axis, below those of inner vmaps."""
    if level_of(x) <= level:
        return value_at(x, level, size)
    return wrap(laid_open(x._value, level, size).movedim(1, 0), x._level)  # type: ignore[attr-defined]


def closed(x: Tensor, level: int) -> Tensor:
    """The reverse."""
    if level_of(x) <= level:
        return wrap(x, level)
    return wrap(closed(x._value.movedim(1, 0), level), x._level)  # type: ignore[attr-defined]


UPCALLS.update(batched=batched, batched_make=batched_make, batched_backward=batched_backward,
               backward_of_seeds=backward_of_seeds)
