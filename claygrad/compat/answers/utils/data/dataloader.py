"""Names of `torch.utils.data.dataloader` that other packages ask for."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from claygrad.utils.data.dataloader import Epoch, _Here
from claygrad.utils.data.worker import Fetcher
from claygrad.utils.data.workers import Workers

_BaseDataLoaderIter, _SingleProcessDataLoaderIter, _MultiProcessingDataLoaderIter = Epoch, _Here, Workers
_worker_init_fn_t: TypeAlias = Callable[[int], None]
_collate_fn_t: TypeAlias = Callable[[list[Any]], Any]


class _DatasetKind:
    """How samples are fetched: by their index, or one after the other."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(kind: int, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> Fetcher:
        """What fetches the samples of a batch."""
        return Fetcher(dataset, auto_collation, collate_fn, drop_last)
