"""Samples put together to a batch, and data turned into tensors."""
from __future__ import annotations

import collections.abc
import copy
from collections.abc import Callable
from typing import Any

import numpy

from claygrad.core import DTYPES, Tensor
from claygrad.ops.creation import as_tensor, tensor
from claygrad.ops.join import stack

_REFUSED = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
Map = dict[Any, Callable]


def collate(batch: Any, *, collate_fn_map: Map | None = None) -> Any:
    """A batch of samples as one sample of batches, by the function for their type; containers are entered."""
    first = batch[0]
    kind = type(first)
    for known in collate_fn_map or ():
        if kind is known or (isinstance(known, tuple) and kind in known):
            return collate_fn_map[known](batch, collate_fn_map=collate_fn_map)      # type: ignore[index]
    for known, function in (collate_fn_map or {}).items():
        if isinstance(first, known):
            return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, collections.abc.Mapping):
        made = {key: collate([one[key] for one in batch], collate_fn_map=collate_fn_map) for key in first}
        return _mapping(first, made)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)))
    if isinstance(first, collections.abc.Sequence):
        if any(len(one) != len(first) for one in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)]
        return columns if isinstance(first, tuple) else _sequence(first, columns)
    raise TypeError(_REFUSED.format(kind))


def _mapping(first: Any, made: dict[Any, Any]) -> Any:
    """The batches in a mapping like the samples', with what else it carries."""
    try:
        if isinstance(first, collections.abc.MutableMapping):
            clone = copy.copy(first)
            clone.update(made)
            return clone
        return type(first)(made)
    except TypeError:                      # a mapping that can be neither copied and changed nor made from another
        return made


def _sequence(first: Any, columns: list[Any]) -> Any:
    try:
        if isinstance(first, collections.abc.MutableSequence):
            clone = copy.copy(first)
            for n, column in enumerate(columns):
                clone[n] = column
            return clone
        return type(first)(columns)
    except TypeError:                      # range, say
        return columns


def _tensors(batch: Any, *, collate_fn_map: Map | None = None) -> Tensor:
    return stack(list(batch), 0)


def _arrays(batch: Any, *, collate_fn_map: Map | None = None) -> Any:
    if batch[0].dtype.kind in "SUO":
        raise TypeError(_REFUSED.format(batch[0].dtype))
    return collate([as_tensor(one) for one in batch], collate_fn_map=collate_fn_map)


def _array_numbers(batch: Any, *, collate_fn_map: Map | None = None) -> Tensor:
    return as_tensor(numpy.asarray(batch))


def _floats(batch: Any, *, collate_fn_map: Map | None = None) -> Tensor:
    return tensor(batch, dtype=DTYPES["float64"])


def _ints(batch: Any, *, collate_fn_map: Map | None = None) -> Tensor:
    return tensor(batch)


def _as_they_are(batch: Any, *, collate_fn_map: Map | None = None) -> Any:
    return batch


# Users add to it: the function for elements of a type, asked in this order.
default_collate_fn_map: Map = {
    Tensor: _tensors, numpy.ndarray: _arrays, (numpy.bool_, numpy.number, numpy.object_): _array_numbers,
    float: _floats, int: _ints, str: _as_they_are, bytes: _as_they_are,
}


def default_collate(batch: Any) -> Any:
    """Tensors are stacked, numbers become tensors, text stays; lists, tuples and dicts are entered."""
    return collate(batch, collate_fn_map=default_collate_fn_map)


def default_convert(data: Any) -> Any:
    """Arrays and their numbers as tensors, inside containers too; all else as it is."""
    if isinstance(data, Tensor):
        return data
    if isinstance(data, numpy.ndarray | numpy.generic):
        return data if isinstance(data, numpy.ndarray) and data.dtype.kind in "SUO" else as_tensor(data)
    if isinstance(data, collections.abc.Mapping):
        return _mapping(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, tuple):
        return [default_convert(one) for one in data]
    if isinstance(data, collections.abc.Sequence) and not isinstance(data, str | bytes):
        return _sequence(data, [default_convert(one) for one in data])
    return data
