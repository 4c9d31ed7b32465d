"""Batches of a dataset: by indices, or the next of a stream."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from claygrad.utils.data.dataset import rows_of


class _BaseDatasetFetcher:
    """What a loader, or a worker of one, fetches its batches with."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable, drop_last: bool) -> None:
        self.dataset, self.auto_collation, self.collate_fn, self.drop_last = (dataset, auto_collation, collate_fn,
                                                                              drop_last)

    def fetch(self, possibly_batched_index: Any) -> Any:
        """The batch of these indices, or the sample of this one."""
        raise NotImplementedError


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    """The next samples of a stream: as many as there are indices."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable, drop_last: bool) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.dataset_iter = iter(dataset)
        self.ended = False

    def fetch(self, possibly_batched_index: Any) -> Any:
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.dataset_iter))
        batch: list[Any] = []
        for _ in possibly_batched_index:
            try:
                batch.append(next(self.dataset_iter))
            except StopIteration:
                self.ended = True
                break
        if not batch or (self.drop_last and len(batch) < len(possibly_batched_index)):
            raise StopIteration
        return self.collate_fn(batch)


class _MapDatasetFetcher(_BaseDatasetFetcher):
    """Samples by their indices."""

    def fetch(self, possibly_batched_index: Any) -> Any:
        if self.auto_collation:
            return self.collate_fn(rows_of(self.dataset, possibly_batched_index))
        return self.collate_fn(self.dataset[possibly_batched_index])


class _DatasetKind:
    """How samples are fetched: by their index, or one after the other."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(kind: int, dataset: Any, auto_collation: bool, collate_fn: Callable, drop_last: bool
                       ) -> _BaseDatasetFetcher:
        """What fetches the samples of a batch."""
        made = _MapDatasetFetcher if kind == _DatasetKind.Map else _IterableDatasetFetcher
        return made(dataset, auto_collation, collate_fn, drop_last)
