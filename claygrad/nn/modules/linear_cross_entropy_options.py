"""How `linear_cross_entropy` cuts its work into chunks."""
from __future__ import annotations

import dataclasses
from typing import Any

from claygrad.core import DTYPES

__all__ = ["LinearCrossEntropyOptions"]

_POLICIES = ("auto", "accurate", "balanced", "compact")
_HALF_DTYPES = ("float16", "bfloat16")


@dataclasses.dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """Options of `linear_cross_entropy`: the number of rows in a chunk, or a rule for it.

    The rule "aspect_ratio:N" makes the scores of a chunk an N-th of the size of the input. Sums are computed in
    `acc_dtype`, by default float32 for half precision on the CPU. A graph may always be retained.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        method = self.chunking_method
        if method is not None and method != "auto":
            name, colon, factor = method.partition(":")
            if name != "aspect_ratio" or (colon and not (factor.isdigit() and int(factor) > 0)):
                raise ValueError(f"invalid chunking_method: {method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        known = [DTYPES[name] for name in (*_HALF_DTYPES, "float32", "float64")]
        if self.acc_dtype is not None and self.acc_dtype not in known:
            raise ValueError("acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, "
                             f"torch.float64}}, got {self.acc_dtype!r}. Pass acc_dtype=None to let the op pick "
                             "automatically.")

    def _compute_batch_chunk_size(self, num_batches: int, in_features: int, num_classes: int, method: str) -> int:
        factor = int(method.partition(":")[2] or 1)
        wider = -(-num_classes // in_features)
        rows = -(-num_batches // wider)
        return min((1 << (rows - 1).bit_length()) // factor, num_batches)

    def _adjust(self, num_batches: int, in_features: int, num_classes: int, dtype: Any,
                device: Any = None) -> LinearCrossEntropyOptions:
        """The same with nothing left open, for an input of this size."""
        half = dtype.name in _HALF_DTYPES
        on_cpu = device is not None and device.type == "cpu"
        policy, method = self.acc_policy, self.chunking_method
        if method == "auto":
            method = "aspect_ratio" if half and on_cpu else "aspect_ratio:2"
            method = method if self.batch_chunk_size is None else None
        if policy == "auto":
            policy = "accurate" if half and on_cpu else "compact"
        size = num_batches if self.batch_chunk_size is None else min(self.batch_chunk_size, num_batches)
        if method is not None:
            size = self._compute_batch_chunk_size(num_batches, in_features, num_classes, method)
            if self.batch_chunk_size not in (None, size):
                raise ValueError(f"batch_chunk_size (={self.batch_chunk_size}) and chunking_method ('{method}') give "
                                 f"different chunk sizes ({self.batch_chunk_size} vs {size}); pass only one.")
        wide = DTYPES["float32"] if half and on_cpu and self.acc_policy == "auto" else dtype
        return dataclasses.replace(self, acc_policy=policy, chunking_method=method, batch_chunk_size=max(1, size),
                                   acc_dtype=wide if self.acc_dtype is None else self.acc_dtype)
