"""How much memory tensors use, and giving back what the pool keeps."""
from claygrad.core import empty_cache, memory_stats
from claygrad.core.graph.memory_ledger import reset_peak

__all__ = ["allocated", "empty_cache", "peak", "reserved", "reset_peak"]


def allocated() -> int:
    """Bytes of live CPU tensors that came from the pool."""
    return memory_stats()[0]


def reserved() -> int:
    """Bytes that the pool holds: live ones and those kept for reuse."""
    return memory_stats()[1]


def peak() -> int:
    """The most bytes that were live at once, since the start or `reset_peak()`."""
    return memory_stats()[2]
