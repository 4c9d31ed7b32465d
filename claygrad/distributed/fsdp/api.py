"""The words of `FullyShardedDataParallel`."""

from __future__ import annotations

from enum import Enum, auto

from claygrad._late import late

__all__ = ["BackwardPrefetch", "ShardingStrategy", "StateDictType"]


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


class StateDictType(Enum):
    """What `state_dict()` gives: whole tensors, or this rank's shares."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


__getattr__ = late(__name__)
