"""Gradients in buckets: several parameters' gradients in one piece of memory, reduced by one collective."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from claygrad.autograd.grad_mode import no_grad
from claygrad.core import Tensor
from claygrad.core.python_api import array_of, prepare_write
from claygrad.distributed import _mpi
from claygrad.distributed._group import ProcessGroup
from claygrad.distributed._reduce import ReduceOp, Reduction
from claygrad.distributed._tensors import source
from claygrad.distributed._work import Collective
from claygrad.ops.fill import zeros
from claygrad.profiler import _marks

FIRST_CAP = 1024 * 1024  # bytes of the first bucket, so that communication begins early
CAP = 25 * 1024 * 1024


def assign(params: Sequence[Tensor], caps: Sequence[int]) -> list[list[int]]:
    """Indices of parameters by buckets, in this order. A cap for each bucket; the last is for all that follow."""
    open_ones: dict[Any, list[int]] = {}
    used: dict[Any, int] = {}
    done: list[list[int]] = []
    begun: dict[Any, int] = {}
    for index, param in enumerate(params):
        key = param.dtype, param.device
        open_ones.setdefault(key, []).append(index)
        used[key] = used.get(key, 0) + param.numel() * param.element_size()
        if used[key] >= caps[min(begun.get(key, 0), len(caps) - 1)]:
            done.append(open_ones.pop(key))
            begun[key] = begun.get(key, 0) + 1
            used[key] = 0
    return sorted([*done, *open_ones.values()], key=min)


class Bucket:
    """Some parameters' gradients, and where they are on their way through a backward pass."""

    def __init__(self, number: int, indices: list[int], params: Sequence[Tensor], last: bool) -> None:
        self.number, self.indices, self.last = number, indices, last
        self.params = [params[index] for index in indices]
        first = self.params[0]
        self.flat = zeros(sum(param.numel() for param in self.params), dtype=first.dtype, device=first.device)
        self.views: dict[int, Tensor] = {}
        at = 0
        for index, param in zip(indices, self.params):
            self.views[index] = self.flat[at : at + param.numel()].view(param.shape)
            at += param.numel()
        self.work: Any = None
        self.pending: set[int] = set()

    def reset(self) -> None:
        """Expect the gradients of all parameters anew."""
        self.pending = set(self.indices)
        self.work = None

    def put(self, index: int, grad: Tensor | None, factor: float) -> None:
        """Take a gradient, or zeros where there is none."""
        view = self.views[index]
        if grad is None:
            view.zero_()
        elif grad.data_ptr() == view.data_ptr() and grad.stride() == view.stride():
            if factor != 1:
                view.mul_(factor)
        elif factor == 1:
            view.copy_(grad.detach())
        else:
            view.copy_(grad.detach().mul(factor))

    def start(self, group: ProcessGroup, hook: Any, state: Any) -> None:
        """Begin to sum the gradients of all ranks, by the user's hook if there is one."""
        opened = [
            (timeline, timeline.enter(f"all_reduce: bucket {self.number}, {self.flat.numel()} elements"))
            for timeline in _marks.recording
        ]

        def end() -> None:
            for timeline, at in opened:
                with contextlib.suppress(Exception):  # the recording ended before
                    timeline.leave(at)

        if hook is not None:
            with no_grad():
                self.work = hook(state, GradBucket(self))
            if not hasattr(self.work, "wait"):
                raise RuntimeError(
                    "Communication hook: return annotation should be torch.futures.Future[torch.Tensor]\n"
                    f"  it returned {type(self.work).__name__}; return a future, such as that of "
                    "all_reduce(..., async_op=True).get_future().then(...)"
                )
            self._end = end
            return
        self._end = lambda: None
        how = Reduction("all_reduce", ReduceOp.SUM, self.flat.dtype, group.size())

        if self.flat.device.type != "cpu":
            held = source(self.flat, copied=True)
            back = lambda: write_back(self.flat, held)
        else:
            prepare_write(self.flat)
            held, back = array_of(self.flat), lambda: None

        def begin(comm: Any) -> list[Any]:
            return [comm.Iallreduce(_mpi.load().IN_PLACE, how.types(held)[0], how.operation())]

        self.work = Collective(group, "bucket", None, begin, back, [self.flat])
        if self.work._done:
            end()
        else:
            self.work._callbacks.append(end)

    def finish(self) -> None:
        """Wait for the sum."""
        result = self.work.wait()
        self._end()
        if isinstance(result, Tensor) or (
            isinstance(result, (list, tuple)) and result and isinstance(result[0], Tensor)
        ):
            value = result if isinstance(result, Tensor) else result[0]
            if value.data_ptr() != self.flat.data_ptr():
                self.flat.copy_(value.reshape(-1))


def write_back(flat: Tensor, held: Any) -> None:
    """Bring what was reduced on the host to the device."""
    from claygrad.core.python_api import share

    flat.copy_(share(held))


class GradBucket:
    """What a communication hook is given: the gradients of a bucket in one tensor."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    def index(self) -> int:
        """The number of the bucket; the lower, the earlier it is reduced."""
        return self._bucket.number

    def buffer(self) -> Tensor:
        """The gradients, flat and in one piece. Not divided by the number of ranks."""
        return self._bucket.flat

    def set_buffer(self, tensor: Tensor) -> None:
        """Replace the gradients."""
        self._bucket.flat.copy_(tensor)

    def gradients(self) -> list[Tensor]:
        """The gradients one by one, as views of the buffer."""
        return [self._bucket.views[index] for index in self._bucket.indices]

    def parameters(self) -> list[Tensor]:
        """The parameters."""
        return list(self._bucket.params)

    def is_last(self) -> bool:
        """Whether no bucket comes after this one."""
        return self._bucket.last
