"""In which order samples are taken, with PyTorch's draws for the same seed."""
from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

from claygrad.core import DTYPES, Tensor, empty
from claygrad.native.random import Generator
from claygrad.ops.creation import as_tensor
from claygrad.ops.random import multinomial, randint, randperm
from claygrad.ops.ranges import arange

T_co = TypeVar("T_co", covariant=True)


class Sampler(Generic[T_co]):
    """Gives indices, or lists of them, anew every time it is iterated. Subclasses define `__iter__`."""

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """Every index once, in order."""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices shuffled, or drawn with replacement."""

    def __init__(self, data_source: Sized, replacement: bool = False, num_samples: int | None = None,
                 generator: Generator | None = None) -> None:
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._num_samples = num_samples
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError("num_samples should be a positive integer value, but got "
                             f"num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        for part in self.drawn():
            yield from part.tolist()

    def drawn(self) -> Iterator[Tensor]:
        """The indices, as the tensors in which they are drawn."""
        n, total = len(self.data_source), self.num_samples
        generator = Generator().manual_seed(fresh_seed()) if self.generator is None else self.generator
        if self.replacement:
            for _ in range(total // 32):
                yield randint(high=n, size=(32,), generator=generator)
            yield randint(high=n, size=(total % 32,), generator=generator)
        else:
            for _ in range(total // n):
                yield randperm(n, generator=generator)
            if total % n or self.generator is not None:            # drawn even if none is used, as in PyTorch, where
                yield randperm(n, generator=generator)[:total % n]     # the generator is the user's, who would see it

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Some indices, shuffled."""

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn in proportion to weights."""

    def __init__(self, weights: Sequence[float], num_samples: int, replacement: bool = True,
                 generator: Generator | None = None) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = as_tensor(weights, dtype=DTYPES["float64"])
        if self.weights.ndim != 1:
            raise ValueError("weights should be a 1d sequence but given weights have shape "
                             f"{tuple(self.weights.shape)}")
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        yield from multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """The indices of another sampler, by the batch."""

    def __init__(self, sampler: Sampler[int] | Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def in_tensors(self) -> Iterator[Tensor] | None:
        """The same batches as index tensors, where the sampler's order is known as one; else None."""
        if type(self.sampler) is SequentialSampler:
            return self._cut(iter([arange(len(self.sampler))]))
        if type(self.sampler) is RandomSampler and not self.sampler.replacement:
            return self._cut(self.sampler.drawn())
        return None

    def _cut(self, parts: Iterator[Tensor]) -> Iterator[Tensor]:
        """A part is drawn when the one before it does not fill a batch, as it would be index by index."""
        from claygrad.ops.join import cat
        left, at, size = arange(0), 0, self.batch_size
        while True:
            while len(left) - at < size:
                part = next(parts, None)
                if part is None:
                    break
                if len(part):
                    left, at = cat([left[at:], part]) if at < len(left) else part, 0
            batch = left[at:at + size]
            at += size
            if not len(batch) or (len(batch) < size and self.drop_last):
                return
            yield batch


class _InfiniteConstantSampler(Sampler[None]):
    """None, for ever: a stream has no indices."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


def fresh_seed(generator: Generator | None = None) -> int:
    """A seed drawn from a generator, or the default one."""
    drawn: Any = empty((), DTYPES["int64"]).random_(generator=generator)
    return int(drawn.item())
