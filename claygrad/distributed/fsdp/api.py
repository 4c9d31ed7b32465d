"""The words of `FullyShardedDataParallel`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from claygrad._lazy import lazy
from claygrad.core import dtype
from claygrad.nn.modules.batchnorm import _BatchNorm
from claygrad.nn.modules.module import Module

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "FullOptimStateDictConfig",
    "FullStateDictConfig",
    "LocalOptimStateDictConfig",
    "LocalStateDictConfig",
    "MixedPrecision",
    "OptimStateDictConfig",
    "OptimStateKeyType",
    "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig",
    "ShardingStrategy",
    "StateDictConfig",
    "StateDictSettings",
    "StateDictType",
]


class ShardingStrategy(Enum):
    """What is kept in shares: all, or parameters only outside of forward and backward."""

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """When the parameters of the next unit are fetched in backward."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


@dataclass
class MixedPrecision:
    """The dtypes of parameters in forward and backward, of gradients while they are averaged, and of buffers."""

    param_dtype: dtype | None = None
    reduce_dtype: dtype | None = None
    buffer_dtype: dtype | None = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Sequence[type[Module]] = (_BatchNorm,)


@dataclass
class CPUOffload:
    """Whether shares are kept in main memory, where they are in any case on the CPU."""

    offload_params: bool = False


class StateDictType(Enum):
    """What `state_dict()` gives: whole tensors, or this rank's shares."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


class OptimStateKeyType(Enum):
    """What the parameters of an optimizer's state are called: names, or numbers."""

    PARAM_NAME = auto()
    PARAM_ID = auto()


@dataclass
class StateDictConfig:
    """How `state_dict()` gives tensors."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Whole tensors; with `rank0_only` on rank 0 alone."""

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """Shares."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Shares."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """How `optim_state_dict()` gives tensors."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Whole tensors; with `rank0_only` on rank 0 alone."""

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Shares."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Shares."""

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """What `state_dict()` gives, and how."""

    state_dict_type: StateDictType = StateDictType.FULL_STATE_DICT
    state_dict_config: StateDictConfig = field(default_factory=FullStateDictConfig)
    optim_state_dict_config: OptimStateDictConfig = field(default_factory=FullOptimStateDictConfig)


__getattr__ = lazy(__name__)
