"""Averages of a model's weights over its training: stochastic weight averaging and exponential moving averages."""
from __future__ import annotations

import math
from copy import deepcopy
from itertools import chain
from typing import TYPE_CHECKING, Any

from claygrad.autograd.grad_mode import no_grad
from claygrad.core import Tensor, int64
from claygrad.nn.modules.batchnorm import _BatchNorm
from claygrad.nn.modules.module import Module
from claygrad.ops.creation import tensor
from claygrad.optim._schedule import LRScheduler, per_group

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from claygrad.core import device
    from claygrad.optim.optimizer import Optimizer

    Tensors = Sequence[Tensor]

__all__ = ["SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
           "update_bn"]


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[[Tensors, Tensors, Any], None]:
    """average = decay * average + (1 - decay) * weight, for lists of weights."""
    _check_decay(decay)

    @no_grad()
    def update(averages: Tensors, weights: Tensors, num_averaged: Any) -> None:
        for average, weight in zip(averages, weights, strict=True):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(weight, 1 - decay)
            else:
                average.copy_(average * decay + weight * (1 - decay))

    return update


def get_swa_multi_avg_fn() -> Callable[[Tensors, Tensors, Any], None]:
    """The mean of all weights so far, for lists of weights."""

    @no_grad()
    def update(averages: Tensors, weights: Tensors, num_averaged: Any) -> None:
        count = num_averaged.item() if isinstance(num_averaged, Tensor) else num_averaged
        for average, weight in zip(averages, weights, strict=True):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(weight, 1 / (count + 1))
            else:
                average.copy_(average + (weight - average) / (count + 1))

    return update


def get_ema_avg_fn(decay: float = 0.999) -> Callable[[Tensor, Tensor, Any], Tensor]:
    """decay * average + (1 - decay) * weight."""
    _check_decay(decay)

    @no_grad()
    def update(average: Tensor, weight: Tensor, num_averaged: Any) -> Tensor:
        return decay * average + (1 - decay) * weight

    return update


def get_swa_avg_fn() -> Callable[[Tensor, Tensor, Any], Tensor]:
    """The mean of all weights so far."""

    @no_grad()
    def update(average: Tensor, weight: Tensor, num_averaged: Any) -> Tensor:
        return average + (weight - average) / (num_averaged + 1)

    return update


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


class AveragedModel(Module):
    """A copy of a model whose weights are averages of the model's, taken at each `update_parameters`."""

    n_averaged: Tensor

    def __init__(self, model: Module, device: device | str | int | None = None,
                 avg_fn: Callable[[Tensor, Tensor, Any], Tensor] | None = None,
                 multi_avg_fn: Callable[[Tensors, Tensors, Any], None] | None = None,
                 use_buffers: bool = False) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model gives."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the model's weights into the averages; its buffers too, or else copy them."""
        if self.use_buffers:
            pairs = zip(chain(self.module.parameters(), self.module.buffers()), chain(model.parameters(),
                                                                                      model.buffers()),
                        strict=False)
        else:
            pairs = zip(self.parameters(), model.parameters(), strict=False)
        found = [(average.detach(), weight.detach().to(average.device)) for average, weight in pairs]
        if self.n_averaged == 0:
            for average, weight in found:
                average.copy_(weight)
        elif self.multi_avg_fn is None:
            update = self.avg_fn or get_swa_avg_fn()
            for average, weight in found:
                average.copy_(update(average, weight, self.n_averaged.to(average.device)))
        else:
            kinds: dict[Any, list[tuple[Tensor, Tensor]]] = {}
            for pair in found:                        # the function of lists may expect one dtype
                kinds.setdefault((pair[0].device, pair[0].dtype), []).append(pair)
            for (where, _), pairs_of_kind in kinds.items():
                averages, weights = zip(*pairs_of_kind, strict=True)
                self.multi_avg_fn(list(averages), list(weights), self.n_averaged.to(where))
        if not self.use_buffers:
            for kept, buffer in zip(self.module.buffers(), model.buffers(), strict=True):
                kept.detach().copy_(buffer.detach().to(kept.device))
        self.n_averaged += 1


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: device | str | int | None = None) -> None:
    """Compute the running statistics of the model's batch norms anew, from one pass over the data."""
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    momenta = [norm.momentum for norm in norms]
    if not norms:
        return
    was_training = model.training
    model.train()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None                          # the plain mean of all batches
    for batch in loader:
        batch = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(batch if device is None else batch.to(device))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """To swa_lr in anneal_epochs epochs, along a cosine or straight, and constant from then on."""

    def __init__(self, optimizer: Optimizer, swa_lr: Any, anneal_epochs: int = 10, anneal_strategy: str = "cos",
                 last_epoch: int = -1) -> None:
        for lr, group in zip(per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t: float) -> float:
        """How far the rate has come at that share of the way."""
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self) -> list[Any]:
        self._asked()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        epochs = max(1, self.anneal_epochs)
        before, now = (self.anneal_func(max(0, min(1, at / epochs))) for at in (step - 1, step))
        return [group["swa_lr"] * now + _start(group["lr"], group["swa_lr"], before) * (1 - now)
                for group in self.optimizer.param_groups]


def _start(lr: Any, swa_lr: Any, share: float) -> Any:
    """The rate at the beginning, from the one after that share of the way."""
    return swa_lr if share == 1 else (lr - share * swa_lr) / (1 - share)
