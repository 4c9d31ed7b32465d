"""Collectives that gradients flow through: they return new tensors, and their derivatives are collectives again.

All ranks must run backward through the same calls, in the same order. The names are
`torch.distributed.nn.functional`'s.
"""

from __future__ import annotations

from typing import Any

from claygrad._lazy import lazy
from claygrad.autograd import Function
from claygrad.core import Tensor
from claygrad.core.cpython.entry_points import guard_package
from claygrad.distributed import collectives
from claygrad.distributed._group import get_rank, get_world_size
from claygrad.distributed._reduce import ReduceOp
from claygrad.ops.fill import empty, empty_like, zeros_like
from claygrad.ops.join import cat

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        out = tensor.clone()
        collectives.broadcast(out, src, group=group)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        back = _Reduce.apply(ctx.src, ReduceOp.SUM, ctx.group, grad)
        return None, None, back if get_rank() == ctx.src else zeros_like(grad)


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.dst, ctx.group = dst, group
        out = tensor.clone()
        collectives.reduce(out, dst, op=op, group=group)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, None, _Broadcast.apply(ctx.dst, ctx.group, grad)


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.op, ctx.group = op, group
        out = tensor.clone()
        collectives.all_reduce(out, op=op, group=group)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grad)


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Tensor) -> Any:
        ctx.group = group
        out = [empty_like(tensor) for _ in range(get_world_size(group))]
        collectives.all_gather(out, tensor.contiguous(), group=group)
        return tuple(out)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        mine = get_rank(ctx.group)
        return None, _ReduceScatter.apply(ReduceOp.SUM, ctx.group, grads[mine], *grads)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, like: Tensor, *tensors: Tensor) -> Tensor:
        ctx.group = group
        out = empty_like(like)
        collectives.reduce_scatter(out, [one.contiguous() for one in tensors], op=op, group=group)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, None, *_AllGather.apply(ctx.group, grad)


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, group: Any, tensor: Tensor) -> Any:
        ctx.dst, ctx.group = dst, group
        out = [zeros_like(tensor) for _ in range(get_world_size(group))]
        here = get_rank() == dst
        collectives.gather(tensor.contiguous(), out if here else None, dst, group=group)
        return tuple(out)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *grads)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        out = zeros_like(tensors[0])
        here = get_rank() == src
        collectives.scatter(out, [one.contiguous() for one in tensors] if here else None, src, group=group)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, *_Gather.apply(ctx.src, ctx.group, grad)


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, shapes: list[tuple[int, ...]], *tensors: Tensor) -> Any:
        ctx.group, ctx.shapes = group, [tuple(one.shape) for one in tensors]
        out = [empty(shape, dtype=tensors[0].dtype, device=tensors[0].device) for shape in shapes]
        collectives.all_to_all(out, [one.contiguous() for one in tensors], group=group)
        return tuple(out)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, *_AllToAll.apply(ctx.group, ctx.shapes, *grads)


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The tensor of rank `src`, on all ranks. Its gradient is the sum of all ranks' gradients."""
    return _Broadcast.apply(src, group, tensor)


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The reduction of all ranks' tensors on rank `dst`; on the others, their own."""
    return _Reduce.apply(dst, op, group, tensor)


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The reduction of all ranks' tensors, on all ranks."""
    return _AllReduce.apply(op, group, tensor)


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """All ranks' tensors, on all ranks."""
    return _AllGather.apply(group, tensor)


def reduce_scatter(output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """This rank's part of the reduction of all ranks' lists; `output` says its shape."""
    return _ReduceScatter.apply(op, group, output, *input_list)


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """All ranks' tensors on rank `dst`; zeros on the others."""
    return _Gather.apply(dst, group, tensor)


def scatter(tensors: list[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """This rank's tensor of the list of rank `src`."""
    return _Scatter.apply(src, group, *tensors)


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """What each rank has for this one; `output_tensor_list` says the shapes."""
    return _AllToAll.apply(group, [tuple(one.shape) for one in output_tensor_list], *input_tensor_list)


def all_to_all_single(
    output: Tensor, input: Tensor, output_split_sizes: Any = None, input_split_sizes: Any = None, group: Any = None
) -> Tensor:
    """The rows that each rank has for this one, as one tensor; `output` says its shape."""
    size = get_world_size(group)
    rows = [output.shape[0] // size] * size if not output_split_sizes else list(output_split_sizes)
    parts = input.split(input_split_sizes or input.shape[0] // size)
    shapes = [(n, *output.shape[1:]) for n in rows]
    return cat(_AllToAll.apply(group, shapes, *parts))


__getattr__ = lazy(__name__)

guard_package(__name__)          # Note [Entry points]
