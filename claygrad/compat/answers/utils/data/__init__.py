"""Names of `torch.utils.data` that other packages ask for."""
from __future__ import annotations

from typing import Any

from claygrad.utils.data.dataset import Dataset
from claygrad.utils.data.datapipes.datapipe import (  # type: ignore[import-not-found]
    IterDataPipe,
    MapDataPipe,
)


class functional_datapipe:
    """A decorator of a class of pipes: pipes get a method of this name, which makes one of the class."""

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name

    def __call__(self, cls: Any) -> Any:
        if not issubclass(cls, Dataset):        # all pipes are, and they are only names here
            raise TypeError("Can only decorate IterDataPipe or MapDataPipe")
        home: Any = MapDataPipe if issubclass(cls, MapDataPipe) else IterDataPipe
        if hasattr(home, self.name):
            raise Exception(f"Unable to add DataPipe function name {self.name} as it is already taken")
        setattr(home, self.name, lambda pipe, *args, **kwargs: cls(pipe, *args, **kwargs))
        return cls
