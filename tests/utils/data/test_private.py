"""The private classes of the loader that packages subclass, patch or give loaders of their own."""

from __future__ import annotations

import importlib
import itertools

import pytest

import claygrad as torch
from claygrad.utils.data import DataLoader, IterableDataset, TensorDataset, dataloader
from claygrad.utils.data.dataloader import (
    _BaseDataLoaderIter,
    _DatasetKind,
    _InfiniteConstantSampler,
    _MultiProcessingDataLoaderIter,
    _SingleProcessDataLoaderIter,
)

DATA = TensorDataset(torch.arange(6.0))


class Count(IterableDataset):
    def __iter__(self):
        return iter(range(5))


def test_iterators_are_of_the_classes_that_packages_name():
    here, there = iter(DataLoader(DATA, 2)), iter(DataLoader(DATA, 2, num_workers=1))
    assert type(here) is _SingleProcessDataLoaderIter
    assert type(there) is _MultiProcessingDataLoaderIter
    assert isinstance(here, _BaseDataLoaderIter)
    assert len(there._workers) == 1
    there._shutdown_workers()
    assert (here._num_yielded, here._index_sampler.batch_size, here._auto_collation, here._drop_last) == (0, 2, True, False)
    next(here)
    assert here._num_yielded == 1
    here._reset(None)
    assert here._num_yielded == 0
    assert DataLoader(DATA)._dataset_kind == _DatasetKind.Map
    assert DataLoader(Count())._dataset_kind == _DatasetKind.Iterable
    assert isinstance(DataLoader(Count()).sampler, _InfiniteConstantSampler)


def test_an_iterator_of_ones_own():
    class Twice(_SingleProcessDataLoaderIter):
        def _next_data(self):
            return [x * 2 for x in super()._next_data()]

    class Loader(DataLoader):
        def _get_iterator(self):
            return Twice(self)

    assert [x.tolist() for x, in Loader(DATA, 3)] == [[0, 2, 4], [6, 8, 10]]


@pytest.mark.parametrize("workers", [0, 1])
def test_a_loader_of_ones_own_that_is_no_dataloader(workers):
    class Fake:
        _auto_collation, drop_last, _dataset_kind, _IterableDataset_len_called = False, False, _DatasetKind.Iterable, None
        generator, prefetch_factor, persistent_workers, pin_memory, timeout = None, 2, False, False, 0
        worker_init_fn = multiprocessing_context = None
        pin_memory_device, num_workers, dataset = "", workers, [torch.ones(2), torch.zeros(2)]

        @staticmethod
        def collate_fn(x):
            return x

        _index_sampler = itertools.repeat(None)

    kind = (_SingleProcessDataLoaderIter, _MultiProcessingDataLoaderIter)[workers]
    assert [x.tolist() for x in kind(Fake)] == [[1, 1], [0, 0]]


def test_a_loader_whose_sampler_is_replaced_after_it_is_made():
    class Again:
        def __init__(self, sampler):
            self.sampler = sampler

        def __iter__(self):
            while True:
                yield from iter(self.sampler)

        def __len__(self):
            return len(self.sampler)

    loader = DataLoader(DATA, 4)
    with pytest.raises(ValueError, match="batch_sampler attribute should not be set"):
        loader.batch_sampler = None
    loader._DataLoader__initialized = False
    loader.batch_sampler = Again(loader.batch_sampler)
    loader._DataLoader__initialized = True
    batches = iter(loader)
    assert [len(next(batches)[0]) for _ in range(len(loader) * 2)] == [4, 2, 4, 2]


@pytest.mark.parametrize("name", ["collate.default_collate_fn_map", "collate.default_convert", "fetch._MapDatasetFetcher",
                                  "fetch._IterableDatasetFetcher", "worker.WorkerInfo", "worker.get_worker_info", "pin_memory.pin_memory"])
def test_names_below_utils(name):
    module, attribute = name.split(".")
    assert hasattr(importlib.import_module(f"claygrad.utils.data._utils.{module}"), attribute)


def test_fetchers_by_kind():
    fetcher = dataloader._DatasetKind.create_fetcher(_DatasetKind.Map, [3, 4, 5], True, list, False)
    assert fetcher.fetch([0, 2]) == [3, 5]
    fetcher = dataloader._DatasetKind.create_fetcher(_DatasetKind.Iterable, [3, 4, 5], True, list, True)
    assert fetcher.fetch([0, 0]) == [3, 4]
    with pytest.raises(StopIteration):
        fetcher.fetch([0, 0])


def test_batches_of_workers_are_copied_also_where_tensors_would_be_shared():
    import claygrad.multiprocessing  # noqa: F401
    batch, = next(iter(DataLoader(DATA, 3, num_workers=1)))
    assert batch.tolist() == [0, 1, 2]
    assert not batch.is_shared()


class WholeBatches:
    """Gives the columns of a batch at once, as Keras does."""

    def __len__(self):
        return 6

    def __getitems__(self, indices):
        return DATA.tensors[0][indices], DATA.tensors[0][indices] * 2


def test_datasets_may_return_a_batch_of_their_own_making():
    batches = list(DataLoader(WholeBatches(), batch_size=4, collate_fn=lambda batch: batch))
    assert [[column.tolist() for column in batch] for batch in batches] == [[[0, 1, 2, 3], [0, 2, 4, 6]], [[4, 5], [8, 10]]]
    assert [column.tolist() for column in torch.utils.data.Subset(WholeBatches(), [5, 3]).__getitems__([0, 1])] == [[5, 3], [10, 6]]
