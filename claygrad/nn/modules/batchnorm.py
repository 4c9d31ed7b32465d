"""Batch normalization: each channel is normalized by its mean and variance over the batch."""
from __future__ import annotations

import importlib
import sys
from typing import Any

from claygrad.core import DTYPES, Tensor
from claygrad.nn import functional as F
from claygrad.nn import init
from claygrad.nn.modules.lazy import LazyModuleMixin
from claygrad.nn.modules.module import Module
from claygrad.nn.modules.utils import new_parameter
from claygrad.nn.parameter import UninitializedBuffer, UninitializedParameter
from claygrad.ops.creation import tensor
from claygrad.ops.fill import ones, zeros

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d",
           "SyncBatchNorm"]


def _count(device: Any = None) -> Tensor:
    return tensor(0, dtype=DTYPES["int64"], device=device)


class _NormBase(Module):
    """Scale and shift of each channel, and the running statistics."""

    _version = 2
    _ranks: tuple[int, ...] = ()
    weight: Any
    bias: Any
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, new_parameter(num_features, device, dtype) if wanted else None)
        track = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, device=device, dtype=dtype) if track else None)
        self.register_buffer("running_var", ones(num_features, device=device, dtype=dtype) if track else None)
        self.register_buffer("num_batches_tracked", _count(device) if track else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Reset the running statistics."""
        if self.track_running_stats:
            self.running_mean.zero_()  # type: ignore[union-attr]
            self.running_var.fill_(1)  # type: ignore[union-attr]
            self.num_batches_tracked.zero_()  # type: ignore[union-attr]

    def reset_parameters(self) -> None:
        """Set the weight to 1 and the bias to 0, and reset the running statistics."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if not self._ranks:
            raise NotImplementedError
        if input.dim() not in self._ranks:
            expected = " or ".join(f"{rank}D" for rank in self._ranks)
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}")

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any],
                              *rest: Any) -> None:
        version = local_metadata.get("version")
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            count = self.num_batches_tracked        # state of the time before batches were counted
            known = count is not None and count.device.type != "meta"
            state_dict[key] = count if known else _count()
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    def _share_of_batch(self) -> float:
        """Counts this batch; how much of it the running statistics take: all batches alike if momentum is None."""
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                return 1.0 / float(self.num_batches_tracked)
        return 0.0 if self.momentum is None else self.momentum

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        share = self._share_of_batch()
        of_batch = self.training or (self.running_mean is None and self.running_var is None)
        kept = not self.training or self.track_running_stats
        return F.batch_norm(input, self.running_mean if kept else None, self.running_var if kept else None,
                            self.weight, self.bias, of_batch, share, self.eps)


class BatchNorm1d(_BatchNorm):
    """Batch normalization of inputs (N, C) or (N, C, L): `(x - mean) / sqrt(var + eps) * weight + bias` for each
    channel.

    In training, mean and variance are those of the batch, and the running statistics move towards them by `momentum`
    (None: they are the average over all batches). In evaluation the running statistics are used, or with
    track_running_stats=False those of the batch.
    """

    _ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalization of images (N, C, H, W): `(x - mean) / sqrt(var + eps) * weight + bias` for each channel.

    In training, mean and variance are those of the batch, and the running statistics move towards them by `momentum`
    (None: they are the average over all batches). In evaluation the running statistics are used, or with
    track_running_stats=False those of the batch.
    """

    _ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalization of volumes (N, C, D, H, W): `(x - mean) / sqrt(var + eps) * weight + bias` for each channel.

    In training, mean and variance are those of the batch, and the running statistics move towards them by `momentum`
    (None: they are the average over all batches). In evaluation the running statistics are used, or with
    track_running_stats=False those of the batch.
    """

    _ranks = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalization with statistics over the inputs of all ranks. In a single process it equals plain batch
    normalization."""

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, process_group: Any = None, device: Any = None, dtype: Any = None, *,
                 bias: bool = True) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def forward(self, input: Tensor) -> Tensor:
        of_batch = self.training or (self.running_mean is None and self.running_var is None)
        if of_batch and "claygrad.distributed" in sys.modules:          # otherwise there is no group
            synced = importlib.import_module("claygrad.distributed.batch_norm")
            if synced.is_wanted(self.process_group):
                self._check_input_dim(input)
                share = self._share_of_batch()
                kept = self.training and self.track_running_stats
                out: Tensor = synced.synced_batch_norm(
                    input, self.running_mean if kept else None, self.running_var if kept else None, self.weight,
                    self.bias, share, self.eps, self.process_group)
                return out
        return super().forward(input)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Replace every batch normalization inside a module by one of this class, with the same parameters and buffers.
        """
        out: Any = module
        if isinstance(module, _BatchNorm):
            out = cls(module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats,
                       process_group, bias=module.bias is not None)
            if module.affine:
                out.weight, out.bias = module.weight, module.bias
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                setattr(out, name, getattr(module, name))
            out.training = module.training
        for name, child in module.named_children():
            out.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return out


# Lazy forms: the number of channels is that of the first input

class _LazyNormBase(LazyModuleMixin, _NormBase):
    def __init__(self, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = _count(device)

    def reset_parameters(self) -> None:
        """Reset parameters and statistics; does nothing before the first input."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Create parameters and statistics for inputs of this shape."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            tensors: list[Any] = [self.weight, self.bias] if self.affine else []
            tensors += [self.running_mean, self.running_var] if self.track_running_stats else []
            for unfilled in tensors:
                if unfilled is not None:
                    unfilled.materialize((self.num_features,))
            self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """A BatchNorm1d that takes `num_features` from its first input."""

    cls_to_become = BatchNorm1d
    _ranks = BatchNorm1d._ranks


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """A BatchNorm2d that takes `num_features` from its first input."""

    cls_to_become = BatchNorm2d
    _ranks = BatchNorm2d._ranks


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """A BatchNorm3d that takes `num_features` from its first input."""

    cls_to_become = BatchNorm3d
    _ranks = BatchNorm3d._ranks
