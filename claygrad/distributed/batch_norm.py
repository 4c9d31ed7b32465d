"""Batch normalisation with the statistics of the inputs of all ranks: what `nn.SyncBatchNorm` does in a group."""
from __future__ import annotations

from typing import Any

from claygrad.autograd.grad_mode import no_grad
from claygrad.core import Tensor
from claygrad.distributed._group import is_initialized, of
from claygrad.distributed.nn.functional import all_reduce
from claygrad.ops.creation import tensor as new_tensor
from claygrad.ops.join import cat


def is_wanted(group: Any) -> bool:
    """Whether there are other ranks to ask."""
    return is_initialized() and of(group).size() > 1


def synced_batch_norm(
    x: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    momentum: float,
    eps: float,
    group: Any,
) -> Tensor:
    """Each channel less its mean over all ranks, by its standard deviation; the running statistics are updated.

    The mean first and then the squares of what is left: two sums over the ranks, and no cancellation.
    """
    over = [dim for dim in range(x.dim()) if dim != 1]
    shape = [1, -1] + [1] * (x.dim() - 2)
    mine = new_tensor([float(x.numel() // x.shape[1])], dtype=x.dtype, device=x.device)
    sums = all_reduce(cat([x.sum(over), mine]), group=group)
    count = sums[-1].detach()
    if count.item() <= 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {tuple(x.shape)}")
    mean = sums[:-1] / count
    rest = x - mean.view(shape)
    var = all_reduce((rest * rest).sum(over), group=group) / count
    with no_grad():
        for running, now in ((running_mean, mean), (running_var, var * (count / (count - 1)))):
            if running is not None:
                running.mul_(1 - momentum).add_(now.detach().to(running.dtype), alpha=momentum)
    out = rest * (var + eps).rsqrt().view(shape)
    if weight is not None:
        out = out * weight.view(shape)
    return out if bias is None else out + bias.view(shape)
