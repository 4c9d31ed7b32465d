"""Checkpoints that all ranks write together, and that another number of ranks can read."""

from claygrad._lazy import lazy
from claygrad.distributed.checkpoint.files import FileSystemReader, FileSystemWriter, load, save
from claygrad.distributed.checkpoint.shards import FlatShard

__all__ = ["FileSystemReader", "FileSystemWriter", "FlatShard", "load", "save"]
__getattr__ = lazy(__name__, ("state_dict",))
