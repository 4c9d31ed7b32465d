"""Parts of `torch.autograd.profiler` that belong to PyTorch's own recorder; the rest is in claygrad.autograd."""
from __future__ import annotations

from claygrad.compat.refusing import refusing_class

NAMES = ("EnforceUnique", "KinetoStepTracker", "MemRecordsAcc", "ProfilerConfig", "ProfilerState")
globals().update({name: refusing_class(f"torch.autograd.profiler.{name}") for name in NAMES})
