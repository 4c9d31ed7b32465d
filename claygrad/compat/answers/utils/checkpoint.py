"""Names of `torch.utils.checkpoint` that other packages ask for: selective checkpoints are made of dispatch modes."""
from __future__ import annotations

import enum
from typing import Any

from claygrad.compat.refusing import refusing_class, refusing_function


class CheckpointPolicy(enum.Enum):
    """What a selective checkpoint does with the result of an operation."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


SelectiveCheckpointContext: Any = refusing_class("torch.utils.checkpoint.SelectiveCheckpointContext")
create_selective_checkpoint_contexts = refusing_function("torch.utils.checkpoint.create_selective_checkpoint_contexts")
