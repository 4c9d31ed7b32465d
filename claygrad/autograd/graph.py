"""The graph itself: its nodes and edges, what they save, and hooks on several of them at once."""

from __future__ import annotations

from collections import deque, namedtuple
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from claygrad._lazy import lazy
from claygrad.core import Node, Tensor
from claygrad.core.graph.engine import current_run, will_run
from claygrad.core.graph.modes import disable_saved_hooks, pop_saved_hooks, push_saved_hooks
from claygrad.core.graph.node import RemovableHandle
from claygrad.core.python_api import gradient_edge_of
from claygrad.core.python_api import increment_version as count_write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from claygrad.core import device

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class GradientEdge(namedtuple("GradientEdge", ["node", "output_nr", "ownership_token"], defaults=[None])):
    """Where a gradient flows: into an output of a node. `backward` and `grad` take it in place of the tensor."""

    __slots__ = ()


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge through which the tensor gets its gradient: the tensor itself may be dropped, its graph lives on."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*gradient_edge_of(tensor))


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Counts a write that claygrad could not see, so that `_version` tells of it."""
    if isinstance(tensor, Tensor):
        tensor = (tensor,)
    try:
        tensors = tuple(tensor)
    except TypeError:
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input") from None
    for t in tensors:
        if not isinstance(t, Tensor):
            raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
        count_write(t)


# ---- what nodes save ------------------------------------------------------------------------------------------------


class saved_tensors_hooks:
    """Inside, whatever a node saves passes through `pack_hook`, and through `unpack_hook` when backward needs it."""

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        push_saved_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *error: object) -> None:
        pop_saved_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Inside, saved values wait in CPU memory and return to their own device in backward.

    Page-locked memory (`pin_memory`) exists only beside an accelerator of type `device_type`; else the copy is plain.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        self.pin_memory = pin_memory
        self.device_type = device_type

        def pack(tensor: Tensor) -> tuple[device, Tensor]:
            # A copy even on the CPU: the value as it is now is what backward needs, whatever is written later.
            return tensor.device, tensor.detach().to("cpu", copy=True)

        def unpack(packed: tuple[device, Tensor]) -> Tensor:
            home, tensor = packed
            return tensor.to(home)

        super().__init__(pack, unpack)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Inside, using saved-tensor hooks is an error with this message."""
    former = disable_saved_hooks(error_message)
    try:
        yield
    finally:
        disable_saved_hooks(former)


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[None]:
    """Accepted for PyTorch's sake: claygrad always allows it, and gradients are always right."""
    yield


# ---- hooks on several tensors ---------------------------------------------------------------------------------------


class _Handles(RemovableHandle):
    """Removes several hooks at once."""

    def __init__(self, handles: tuple[RemovableHandle, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Any], None], *, mode: str = "all"
) -> RemovableHandle:
    """Calls fn once per backward pass: with the list of all the gradients when the last of those that take part is
    ready (None for the others), or, with mode "any", with the first one.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if mode == "any":
        return _Handles(_any_hooks(tensors, fn))
    return _Handles(_all_hooks(tensors, fn))


def _all_hooks(tensors: Sequence[Tensor], fn: Callable[[list[Tensor | None]], None]) -> tuple[RemovableHandle, ...]:
    if not all(t.requires_grad for t in tensors):
        raise AssertionError("Expected gradient function to be set")
    nodes: list[Any] = [gradient_edge_of(t)[0] for t in tensors]
    waiting: dict[int, list[Any]] = {}  # run -> [how many are still to come, the gradients so far]

    def arrived(i: int, g: Tensor) -> None:
        run = current_run()
        if run not in waiting:
            waiting[run] = [sum(will_run(node) for node in nodes), [None] * len(nodes)]
        state = waiting[run]
        state[0] -= 1
        state[1][i] = g
        if state[0] == 0:
            del waiting[run]
            fn(state[1])

    return tuple(t.register_hook(partial(arrived, i)) for i, t in enumerate(tensors))


def _any_hooks(tensors: Sequence[Tensor], fn: Callable[[Tensor], None]) -> tuple[RemovableHandle, ...]:
    seen: deque[int] = deque(maxlen=64)  # more than runs that can be under way at once

    def arrived(g: Tensor) -> None:
        run = current_run()
        if run not in seen:
            seen.append(run)
            fn(g)

    return tuple(t.register_hook(arrived) for t in tensors if t.requires_grad)

__getattr__ = lazy(__name__)
