"""`torch.utils.data._utils.fetch`."""
from claygrad.utils.data.fetch import (  # noqa: F401
    _BaseDatasetFetcher,
    _IterableDatasetFetcher,
    _MapDatasetFetcher,
)
