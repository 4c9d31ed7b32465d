"""Checkpoints that all ranks write together, and that another number of ranks can read."""

from claygrad.core.cpython.entry_points import guard_package
from claygrad._lazy import lazy
from claygrad.distributed.checkpoint.files import FileSystemReader, FileSystemWriter, async_save, load, save
from claygrad.distributed.checkpoint.shards import FlatShard

__all__ = ["FileSystemReader", "FileSystemWriter", "FlatShard", "async_save", "load", "save"]
__getattr__ = lazy(__name__, ("filesystem", "state_dict", "state_dict_loader", "state_dict_saver", "stateful"))

guard_package(__name__)          # Note [Entry points]
