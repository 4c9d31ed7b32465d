"""Names of `torch.utils.data.dataloader` that other packages ask for."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

_worker_init_fn_t: TypeAlias = Callable[[int], None]
_collate_fn_t: TypeAlias = Callable[[list[Any]], Any]
