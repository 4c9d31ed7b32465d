"""`DataLoader`: batches of a dataset, fetched here or by worker processes."""
from __future__ import annotations

import math
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from claygrad._lazy import lazy
from claygrad.core import Tensor
from claygrad.core.user_warnings import warn
from claygrad.native.random import Generator
from claygrad.ops._formats import contiguous_format
from claygrad.utils.data.collate import _tensors, default_collate, default_collate_fn_map, default_convert
from claygrad.utils.data.dataset import Dataset, IterableDataset, Subset, TensorDataset
from claygrad.utils.data.fetch import _DatasetKind
from claygrad.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    _InfiniteConstantSampler,
    fresh_seed,
)
from claygrad.utils.data.worker import get_worker_info as get_worker_info

T_co = TypeVar("T_co", covariant=True)


class DataLoader(Generic[T_co]):
    """Iterates over a dataset in batches, in order or shuffled, with `num_workers` processes or none.

    Tensors in memory (`TensorDataset`, or a `Subset` of one) are batched by one gather each, not row by row.
    """

    __initialized = False
    _FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")

    def __init__(self, dataset: Dataset[T_co], batch_size: int | None = 1, shuffle: bool | None = None,
                 sampler: Sampler | Iterable | None = None, batch_sampler: Sampler[list] | Iterable[list] | None = None,
                 num_workers: int = 0, collate_fn: Callable[[list], Any] | None = None, pin_memory: bool = False,
                 drop_last: bool = False, timeout: float = 0, worker_init_fn: Callable[[int], None] | None = None,
                 multiprocessing_context: Any = None, generator: Generator | None = None, *,
                 prefetch_factor: int | None = None, persistent_workers: bool = False, pin_memory_device: str = "",
                 in_order: bool = True) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset, self.num_workers, self.pin_memory = dataset, num_workers, pin_memory
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory_device, self.timeout, self.worker_init_fn = pin_memory_device, timeout, worker_init_fn
        self.multiprocessing_context, self.in_order = multiprocessing_context, in_order
        stream = isinstance(dataset, IterableDataset)
        self._dataset_kind = _DatasetKind.Iterable if stream else _DatasetKind.Map
        if stream:
            for name, given in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
                if given is not None:
                    raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                                     f"{name}={given}")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and "
                                 "drop_last")
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        sized: Any = dataset
        if sampler is None:
            sampler = (_InfiniteConstantSampler() if stream else RandomSampler(sized, generator=generator) if shuffle
                       else SequentialSampler(sized))
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)  # type: ignore[arg-type]
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.generator = generator
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self.persistent_workers = persistent_workers
        self._iterator: Any = None
        self._IterableDataset_len_called: int | None = None      # what len() said of a stream
        self.__initialized = True
        self.check_worker_number_rationality()

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._FIXED and self.__initialized:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self) -> Any:
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, given: Any) -> None:
        if given is not None and self.num_workers == 0:
            raise ValueError(f"multiprocessing_context can only be used with multi-process loading (num_workers > 0), "
                             f"but got num_workers={self.num_workers}")
        if isinstance(given, str):
            known = multiprocessing.get_all_start_methods()
            if given not in known:
                raise ValueError("multiprocessing_context option should specify a valid start method in "
                                 f"{known!r}, but got multiprocessing_context={given!r}")
            given = multiprocessing.get_context(given)
        elif given is not None and not isinstance(given, multiprocessing.context.BaseContext):
            raise TypeError("multiprocessing_context option should be a valid context object or a string specifying "
                            f"the start method, but got multiprocessing_context={given}")
        self.__multiprocessing_context = given

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def _get_iterator(self) -> _BaseDataLoaderIter:
        """A pass over the data."""
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        from claygrad.utils.data.workers import _MultiProcessingDataLoaderIter
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    def __iter__(self) -> Iterator[Any]:
        if not self.persistent_workers or self.num_workers == 0:
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self._index_sampler)
        count = self._IterableDataset_len_called = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else math.ceil(count / self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warn if there are more workers than cores that this process may use."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if self.num_workers and cores is not None and self.num_workers > cores:
            warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number "
                f"of worker in current system is {cores}, which is smaller than what this DataLoader is going to "
                "create. Please be aware that excessive worker creation might get DataLoader running slow or even "
                "freeze, lower the worker number to avoid potential slowness/freeze if necessary.")


def _check_workers(count: int, timeout: float, ahead: int | None, persistent: bool) -> None:
    if count < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if count == 0 and ahead is not None:
        raise ValueError("prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to "
                         "enable multiprocessing, otherwise set prefetch_factor to None.")
    if ahead is not None and ahead < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent and count == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _accelerated() -> bool:
    from claygrad.devices import first_there
    return first_there() is not None


def pinned(batch: Any) -> Any:
    """The batch with its tensors in memory that the accelerator reads by itself."""
    if isinstance(batch, Tensor):
        return batch.pin_memory()
    if hasattr(batch, "pin_memory"):
        return batch.pin_memory()
    if isinstance(batch, Mapping):
        return {key: pinned(value) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*map(pinned, batch))
    return type(batch)(map(pinned, batch)) if isinstance(batch, (list, tuple)) else batch


class _BaseDataLoaderIter:
    """One pass over the data. The seed is drawn when it begins, the sampler's own when it is first asked.

    A loader is asked for its settings once and not held: its workers end with it.
    """

    def __init__(self, loader: Any) -> None:
        self._pin_memory = bool(loader.pin_memory) and _accelerated()
        if loader.pin_memory and not self._pin_memory:
            warn("'pin_memory' argument is set as true but no accelerator is found, then device pinned memory "
                 "won't be used.")
        self._dataset, self._dataset_kind = loader.dataset, loader._dataset_kind
        self._IterableDataset_len_called: int | None = getattr(loader, "_IterableDataset_len_called", None)
        self._auto_collation, self._collate_fn, self._drop_last = (loader._auto_collation, loader.collate_fn,
                                                                   loader.drop_last)
        self._num_workers, self._timeout = loader.num_workers, loader.timeout
        self._persistent_workers = loader.persistent_workers
        self._pin_memory_device = loader.pin_memory_device if self._pin_memory else None
        self._shared_seed, self._pg, self._rank, self._world_size = None, None, 0, 1      # what pipes of data share
        self._num_yielded = 0
        self._index_sampler = loader._index_sampler
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = fresh_seed(loader.generator)
        self._profile_name = f"enumerate(DataLoader)#{type(self).__name__}.__next__"

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        """Begin anew."""
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = getattr(loader, "_IterableDataset_len_called", None)

    def __iter__(self) -> Any:
        return self

    def __len__(self) -> int:
        return len(self._index_sampler)

    def _next_index(self) -> Any:
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        batch = self._next_data()
        self._num_yielded += 1
        told = self._IterableDataset_len_called
        if told is not None and self._dataset_kind == _DatasetKind.Iterable and self._num_yielded > told:
            warn(f"Length of IterableDataset {self._dataset} was reported to be {told}(when accessing "
                 f"len(dataloader)), but {self._num_yielded} samples have been fetched. ")
        return pinned(batch) if self._pin_memory else batch

    def __getstate__(self) -> Any:
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """In this process."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        if self._num_workers != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires num_workers == 0")
        own = type(self) is _SingleProcessDataLoaderIter and isinstance(loader, DataLoader)
        self._rows = _Rows.of(loader) if own else None
        self._dataset_fetcher = _DatasetKind.create_fetcher(
            self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last)

    def _next_data(self) -> Any:
        if self._rows is not None:
            return next(self._rows)
        return self._dataset_fetcher.fetch(self._next_index())


class _Rows:
    """Batches of tensors in memory, each one gather; the draws of the sampler are those of the slow way."""

    def __init__(self, tensors: tuple[Tensor, ...], sampler: BatchSampler, chosen: Tensor | None) -> None:
        self.tensors, self.sampler, self.chosen = tensors, sampler, chosen
        self.batches: Iterator[Tensor] | None = None
        self.at = 0 if type(sampler.sampler) is SequentialSampler and chosen is None else -1

    @classmethod
    def of(cls, loader: DataLoader) -> _Rows | None:
        """For a loader whose batches are rows of tensors stacked; else None."""
        sampler, dataset, chosen = loader.batch_sampler, loader.dataset, None
        if type(dataset) is Subset:
            from claygrad.ops.creation import as_tensor
            try:
                chosen = as_tensor(dataset.indices)
            except (TypeError, ValueError, RuntimeError):
                return None
            dataset = dataset.dataset
            if chosen.ndim != 1 or chosen.dtype.name != "int64":
                return None
        if (type(dataset) is not TensorDataset or type(sampler) is not BatchSampler
                or loader.collate_fn is not default_collate or default_collate_fn_map.get(Tensor) is not _tensors):
            return None
        known = type(sampler.sampler) is SequentialSampler or (
            type(sampler.sampler) is RandomSampler and not sampler.sampler.replacement)
        plain = all(type(tensor) is Tensor and not tensor.requires_grad for tensor in dataset.tensors)
        return cls(dataset.tensors, sampler, chosen) if known and plain else None

    def __next__(self) -> list[Tensor]:
        if self.at >= 0:
            return self._in_order()
        if self.batches is None:
            self.batches = self.sampler.in_tensors()
        index = next(self.batches)         # type: ignore[arg-type]
        if self.chosen is not None:
            index = self.chosen[index]
        return [tensor[index] for tensor in self.tensors]

    def _in_order(self) -> list[Tensor]:
        size, total = self.sampler.batch_size, len(self.sampler.sampler)   # type: ignore[arg-type]
        begin, end = self.at, min(self.at + size, total)
        if begin >= total or (self.sampler.drop_last and end - begin < size):
            raise StopIteration
        self.at = end
        return [tensor[begin:end].clone(memory_format=contiguous_format) for tensor in self.tensors]    # to be changed

__getattr__ = lazy(__name__, names={"_MultiProcessingDataLoaderIter": "utils.data.workers"})
