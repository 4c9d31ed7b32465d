"""The share of a dataset that one of several processes takes."""
from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from typing import Any

from claygrad.native.random import Generator
from claygrad.ops.random import randperm
from claygrad.utils.data.sampler import Sampler


class DistributedSampler(Sampler[int]):
    """Every `num_replicas`-th index, from `rank` on; filled up, or with `drop_last` cut, so that all have as many.

    `set_epoch` before an epoch makes its order another one.
    """

    def __init__(self, dataset: Any, num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True,
                 seed: int = 0, drop_last: bool = False) -> None:
        if num_replicas is None or rank is None:
            distributed = importlib.import_module("claygrad.distributed")
            if not distributed.is_available():
                raise RuntimeError("Requires distributed package to be available\n"
                                   "  pip install mpi4py mpich brings it; or say num_replicas and rank.")
            num_replicas = distributed.get_world_size() if num_replicas is None else num_replicas
            rank = distributed.get_rank() if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.epoch, self.shuffle, self.seed, self.drop_last = 0, shuffle, seed, drop_last
        each = len(dataset) / num_replicas
        self.num_samples = math.floor(each) if drop_last else math.ceil(each)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        indices = list(range(len(self.dataset)))
        if self.shuffle:
            indices = randperm(len(indices), generator=Generator().manual_seed(self.seed + self.epoch)).tolist()
        while 0 < len(indices) < self.total_size:
            indices += indices[:self.total_size - len(indices)]
        return iter(indices[self.rank:self.total_size:self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """The number of the epoch to come, on which the order hangs."""
        self.epoch = epoch
