"""`torch.distributed.checkpoint.filesystem`: where PyTorch keeps readers and writers of folders."""

from claygrad._lazy import lazy
from claygrad.distributed.checkpoint.files import FileSystemReader, FileSystemWriter

__all__ = ["FileSystemReader", "FileSystemWriter"]
__getattr__ = lazy(__name__)
