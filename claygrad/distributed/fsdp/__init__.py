"""Parameters in shares: every rank keeps a part of each, and has them whole only while they are used."""

from claygrad._late import late
from claygrad.distributed.fsdp.api import ShardingStrategy, StateDictType
from claygrad.distributed.fsdp.fully_sharded_data_parallel import FullyShardedDataParallel

__all__ = ["FullyShardedDataParallel", "ShardingStrategy", "StateDictType"]
__getattr__ = late(__name__, ("wrap",))
