"""Instance normalization: each channel of each sample is normalized by its own mean and variance."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad.core.user_warnings import warn
from claygrad.nn import functional as F
from claygrad.nn.modules.batchnorm import _LazyNormBase, _NormBase

if TYPE_CHECKING:
    from claygrad.core import Tensor

__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d",
           "LazyInstanceNorm3d"]


class _InstanceNorm(_NormBase):
    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
                 track_running_stats: bool = False, device: Any = None, dtype: Any = None, *,
                 bias: bool = True) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _apply_instance_norm(self, input: Tensor) -> Tensor:
        return F.instance_norm(input, self.running_mean, self.running_var, self.weight, self.bias,
                               self.training or not self.track_running_stats,
                               0.0 if self.momentum is None else self.momentum, self.eps)

    def _get_no_batch_dim(self) -> int:
        """The rank of a sample without a batch."""
        return self._ranks[0]

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any],
                              strict: bool, missing_keys: list[str], unexpected_keys: list[str],
                              error_msgs: list[str]) -> None:
        if local_metadata.get("version") is None and not self.track_running_stats:
            stale = [prefix + name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if stale:
                name, keys = type(self).__name__, " and ".join(f'"{key}"' for key in stale)
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {keys} for {name} with track_running_stats=False. If "
                    "state_dict is a checkpoint saved before 0.4.0, this may be expected because "
                    f"{name} does not track running stats by default since 0.4.0. Please remove these keys from "
                    "state_dict. If the running stats are actually needed, instead set track_running_stats=True in "
                    f"{name} to enable them. See the documentation of {name} for details.")
                for key in stale:
                    state_dict.pop(key)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                                      error_msgs)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        alone = self._get_no_batch_dim()
        axis = input.dim() - alone
        if input.size(axis) != self.num_features:
            if self.affine:
                raise ValueError(f"expected input's size at dim={axis} to match num_features ({self.num_features}), "
                                 f"but got: {input.size(axis)}.")
            warn(f"input's size at dim={axis} does not match num_features. You can silence this warning by "
                 "not passing in num_features, which is not used because affine=False")
        if input.dim() == alone:
            return self._apply_instance_norm(input.unsqueeze(0)).squeeze(0)
        return self._apply_instance_norm(input)


class InstanceNorm1d(_InstanceNorm):
    """Instance normalization of sequences (N, C, L) or (C, L): each channel of each sample by its own mean and
    variance."""

    _ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Instance normalization of images (N, C, H, W) or (C, H, W): each channel of each sample by its own mean and
    variance."""

    _ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalization of volumes (N, C, D, H, W) or (C, D, H, W): each channel of each sample by its own mean
    and variance."""

    _ranks = (4, 5)


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm):
    """An InstanceNorm1d that takes `num_features` from its first input."""

    cls_to_become = InstanceNorm1d
    _ranks = InstanceNorm1d._ranks


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm):
    """An InstanceNorm2d that takes `num_features` from its first input."""

    cls_to_become = InstanceNorm2d
    _ranks = InstanceNorm2d._ranks


class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm):
    """An InstanceNorm3d that takes `num_features` from its first input."""

    cls_to_become = InstanceNorm3d
    _ranks = InstanceNorm3d._ranks
