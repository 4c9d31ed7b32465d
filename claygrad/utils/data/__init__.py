"""`torch.utils.data`: datasets, samplers and the loader that makes batches of them."""
from claygrad.core.cpython.entry_points import guard_package
from claygrad._lazy import lazy
from claygrad.utils.data import dataloader, dataset, distributed, sampler
from claygrad.utils.data.collate import default_collate, default_convert
from claygrad.utils.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from claygrad.utils.data.dataloader import DataLoader
from claygrad.utils.data.distributed import DistributedSampler
from claygrad.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from claygrad.utils.data.worker import get_worker_info

__all__ = ["BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler",
           "IterableDataset", "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset",
           "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "default_collate", "default_convert",
           "get_worker_info", "random_split"]

__getattr__ = lazy(__name__)

guard_package(__name__)          # Note [Entry points]
