"""Signal processing: window functions."""
from claygrad.signal import windows

__all__ = ["windows"]
