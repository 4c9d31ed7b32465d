"""Same seed, same batches: datasets, samplers, collating and loaders, with workers and without, beside PyTorch's."""

from __future__ import annotations

import collections
import random
import warnings
from types import ModuleType
from typing import Any

import numpy
import pytest

import claygrad

torch = pytest.importorskip("torch")

Point = collections.namedtuple("Point", "x y")


def plain(value: Any) -> Any:
    """Without the library: values, shapes by nesting, dtypes by name, kinds of containers."""
    if isinstance(value, claygrad.Tensor | torch.Tensor):
        return ("tensor", str(value.dtype).partition(".")[2], value.tolist())
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return (type(value).__name__, [plain(one) for one in value])
    return value


def items(lib: ModuleType, kind: str) -> Any:
    """A dataset of seven samples of some kind."""
    D = lib.utils.data

    class Seven(D.Dataset):
        def __len__(self):
            return 7

        def __getitem__(self, i):
            return {
                "random": lambda: (i, lib.rand(1), numpy.random.rand(), random.random()),     # noqa: NPY002
                "dict": lambda: {"a": i, "b": {"c": float(i)}, "t": f"t{i}"},
                "named": lambda: Point(lib.tensor([i]), numpy.float32(i)),
                "list": lambda: [i, [i * 2.0, b"x"], lib.ones(2) * i],
                "numpy": lambda: (numpy.full(3, i, dtype=numpy.int16), numpy.float64(i), numpy.bool_(i % 2), numpy.uint8(i)),
                "bool": lambda: (i > 3, i, str(i)),
                "ordered": lambda: collections.OrderedDict(b=i, a=-i),
                "none": lambda: None if i == 5 else i,
            }[kind]()
    return Seven()


def stream(lib: ModuleType, count: int = 10) -> Any:
    D = lib.utils.data

    class Stream(D.IterableDataset):
        def __iter__(self):
            info = D.get_worker_info()
            first, step = (0, 1) if info is None else (info.id, info.num_workers)
            return iter(range(first, count, step))
    return Stream()


def rows(lib: ModuleType) -> Any:
    return lib.utils.data.TensorDataset(lib.arange(46.).reshape(23, 2), lib.arange(23))


def mine(batch: list) -> int:
    return len(batch)


def first(worker: int) -> None:
    import torch.utils.data as theirs

    import claygrad.utils.data as data
    info = data.get_worker_info() or theirs.get_worker_info()
    info.dataset.start = worker * 100


class Told:
    """What worker_init_fn left behind."""

    start = -1

    def __len__(self):
        return 6

    def __getitem__(self, i):
        return self.start + i


CASES = {
    "rows in order": (rows, {"batch_size": 5}),
    "rows, last dropped": (rows, {"batch_size": 5, "drop_last": True}),
    "rows shuffled": (rows, {"batch_size": 5, "shuffle": True}),
    "rows shuffled, last dropped": (rows, {"batch_size": 5, "shuffle": True, "drop_last": True}),
    "rows, one batch": (rows, {"batch_size": 23, "shuffle": True}),
    "rows, larger than all": (rows, {"batch_size": 50}),
    "rows one by one": (rows, {"batch_size": None}),
    "rows by weight": (rows, lambda D: {"batch_size": 4, "sampler": D.WeightedRandomSampler([1., 2.] * 11 + [0.], 9)}),
    "rows by weight, none twice": (rows, lambda D: {"sampler": D.WeightedRandomSampler(range(1, 24), 9, replacement=False)}),
    "rows of a subset": (rows, lambda D: {"batch_size": 3, "sampler": D.SubsetRandomSampler([1, 4, 9, 16])}),
    "rows drawn again and again": (rows, lambda D: {"batch_size": 8, "sampler": D.RandomSampler(range(23), True, 70)}),
    "rows, more than there are": (rows, lambda D: {"batch_size": 8, "sampler": D.RandomSampler(range(23), num_samples=50)}),
    "rows, fewer than there are": (rows, lambda D: {"batch_size": 4, "sampler": D.RandomSampler(range(23), num_samples=9)}),
    "own batches": (rows, lambda D: {"batch_sampler": [[0, 1], [5], [9, 8, 7]]}),
    "batches of a sampler": (rows, lambda D: {"batch_sampler": D.BatchSampler(D.RandomSampler(range(23)), 4, True)}),
    "rows of a process": (rows, lambda D: {"batch_size": 4, "sampler": D.distributed.DistributedSampler(range(23), 3, 1)}),
    "own collate": (rows, {"batch_size": 5, "collate_fn": mine}),
    "a stream": (stream, {"batch_size": 3}),
    "a stream, last dropped": (stream, {"batch_size": 3, "drop_last": True}),
    "a stream one by one": (stream, {"batch_size": None}),
    "a list": (lambda lib: [lib.tensor(i) for i in range(5)], {"batch_size": 2}),
    "none at all": (lambda lib: [], {"batch_size": 2}),
    "init of workers": (lambda lib: Told(), {"batch_size": 2, "worker_init_fn": first}),
    **{f"{kind}s": (lambda lib, kind=kind: items(lib, kind), {"batch_size": 3, "shuffle": True})
       for kind in ("random", "dict", "named", "list", "numpy", "bool", "ordered")},
}


def batches(lib: ModuleType, case: str, epochs: int = 2, **more: Any) -> list[Any]:
    make, options = CASES[case]
    lib.manual_seed(5)
    random.seed(0)
    numpy.random.seed(0)                       # noqa: NPY002
    if callable(options):
        options = options(lib.utils.data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loader = lib.utils.data.DataLoader(make(lib), **options, **more)
        return [plain([list(loader) for _ in range(epochs)]), lib.rand(3).tolist(), random.random()]


@pytest.mark.parametrize("case", CASES)
def test_batches_of_two_epochs_in_this_process(case):
    assert batches(claygrad, case) == batches(torch, case)


@pytest.mark.parametrize("case", ["rows shuffled", "rows one by one", "own batches", "a stream", "a stream, last dropped",
                                  "a stream one by one", "randoms", "dicts", "init of workers", "none at all"])
@pytest.mark.parametrize("more", [{"num_workers": 2}, {"num_workers": 2, "persistent_workers": True, "prefetch_factor": 1}],
                         ids=["fresh", "persistent"])
def test_batches_of_two_epochs_from_workers(case, more):
    assert batches(claygrad, case, **more) == batches(torch, case, **more)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_generator_of_the_users_is_drawn_from_at_the_same_moments(workers):
    found = []
    for lib in (claygrad, torch):
        generator = lib.Generator().manual_seed(7)
        loader = lib.utils.data.DataLoader(rows(lib), batch_size=5, shuffle=True, generator=generator, num_workers=workers)
        between = [] if workers else [(plain(batch), lib.rand(1, generator=generator).item()) for batch in loader]
        found.append([between, plain([list(loader) for _ in range(2)]), lib.rand(2, generator=generator).tolist()])
    assert found[0] == found[1]


def test_splits():
    found = []
    for lib in (claygrad, torch):
        D, data = lib.utils.data, rows(lib)
        lib.manual_seed(1)
        halves = D.random_split(data, [0.3, 0.7])
        parts = D.random_split(data, [3, 20], generator=lib.Generator().manual_seed(3))
        found.append([list(part.indices) for part in (*halves, *parts)]
                     + [plain(list(D.DataLoader(halves[0], batch_size=2, shuffle=True))),
                        plain(list(D.DataLoader(D.Subset(data, [3, -1, 2]), batch_size=2))),
                        plain(list(D.DataLoader(D.Subset(halves[0], [1, 0]), batch_size=2)))])
    assert found[0] == found[1]


def test_datasets_joined():
    found = []
    for lib in (claygrad, torch):
        D, data = lib.utils.data, rows(lib)
        joined = D.ConcatDataset([data, D.Subset(data, [5, 6])]) + D.TensorDataset(lib.ones(1, 2), lib.tensor([9]))
        stacked = D.StackDataset(data, D.Subset(data, range(23)))
        named = D.StackDataset(a=data, b=range(23))
        chained = stream(lib, 3) + stream(lib, 2)
        found.append([len(joined), plain(joined[-1]), plain(joined[24]), plain(list(D.DataLoader(joined, batch_size=7))),
                      plain(list(D.DataLoader(stacked, batch_size=9))), plain(stacked[3]), plain(named[4]),
                      plain(list(D.DataLoader(named, batch_size=9))), list(chained)])
    assert found[0] == found[1]


def test_processes_share_a_dataset():
    for kept in (False, True):
        for count in (3, 30):
            found = []
            for lib in (claygrad, torch):
                samplers = [lib.utils.data.distributed.DistributedSampler(range(23), count, n, seed=2, drop_last=kept)
                            for n in range(count)]
                for sampler in samplers:
                    sampler.set_epoch(4)
                if kept and count == 30:
                    found.append([len(sampler) for sampler in samplers])
                else:
                    found.append([(len(sampler), list(sampler)) for sampler in samplers])
            assert found[0] == found[1], (kept, count)


COLLATED = [
    lambda lib: [lib.ones(2), lib.zeros(2)], lambda lib: [1, 2], lambda lib: [1.5, 2], lambda lib: [True, False],
    lambda lib: ["a", "b"], lambda lib: [b"a"], lambda lib: [(1, "a"), (2, "b")], lambda lib: [[1, 2], [3, 4]],
    lambda lib: [{"a": (1, [2.0])}, {"a": (3, [4.0])}], lambda lib: [Point(1, 2), Point(3, 4)],
    lambda lib: [numpy.arange(2), numpy.arange(2)], lambda lib: [numpy.float32(1)] * 2, lambda lib: [range(2), range(2)],
    lambda lib: [collections.defaultdict(list, a=1)] * 2, lambda lib: [numpy.array(3)] * 2,
    lambda lib: [lib.ones(2), lib.ones(3)], lambda lib: [[1], [1, 2]], lambda lib: [None], lambda lib: [object()],
    lambda lib: [numpy.array(["a"])], lambda lib: [{"a": 1}, {"b": 1}], lambda lib: [], lambda lib: [1, "a"],
    lambda lib: [lib.ones(2, dtype=lib.int64), lib.ones(2)], lambda lib: [lib.ones(2, dtype=lib.bool)] * 2,
]


@pytest.mark.parametrize("number", range(len(COLLATED)))
@pytest.mark.parametrize("name", ["default_collate", "default_convert"])
def test_collating(number, name):
    found = []
    for lib in (claygrad, torch):
        try:
            found.append(plain(getattr(lib.utils.data, name)(COLLATED[number](lib))))
        except Exception as error:
            text = str(error).splitlines()[0] if str(error) else ""
            found.append((type(error), text.split("claygrad")[0].split("torch")[0].split(" at ")[0]))
    if name == "default_convert" and isinstance(found[0], tuple) and "object at" in str(found[0]):
        found = [type(one) for one in found]
    assert found[0] == found[1]


REFUSED = [
    lambda D: D.DataLoader([1], num_workers=-1), lambda D: D.DataLoader([1], timeout=-1), lambda D: D.DataLoader([1], batch_size=0),
    lambda D: D.DataLoader([1], prefetch_factor=2), lambda D: D.DataLoader([1], persistent_workers=True),
    lambda D: D.DataLoader([1], shuffle=True, sampler=[0]), lambda D: D.DataLoader([1], batch_size=2, batch_sampler=[[0]]),
    lambda D: D.DataLoader([1], batch_size=None, drop_last=True), lambda D: D.DataLoader([], shuffle=True),
    lambda D: D.DataLoader([1], multiprocessing_context="spawn"), lambda D: D.DataLoader([1], num_workers=1, prefetch_factor=-1),
    lambda D: D.DataLoader([1], num_workers=1, multiprocessing_context="moon"),
    lambda D: D.DataLoader([1], num_workers=1, multiprocessing_context=3),
    lambda D: setattr(D.DataLoader([1]), "batch_size", 3), lambda D: setattr(D.DataLoader([1]), "sampler", []),
    lambda D: D.RandomSampler([1], replacement=1), lambda D: D.RandomSampler([1], num_samples=0),
    lambda D: D.WeightedRandomSampler([1.], 0), lambda D: D.WeightedRandomSampler([[1.]], 1),
    lambda D: D.WeightedRandomSampler([1.], 1, replacement=2), lambda D: D.BatchSampler([1], 0, False),
    lambda D: D.BatchSampler([1], 1, 1), lambda D: D.BatchSampler([1], True, False), lambda D: D.ConcatDataset([]),
    lambda D: D.random_split([1, 2], [3]), lambda D: D.random_split([1, 2], [1.5, -0.5]), lambda D: D.StackDataset(),
    lambda D: D.StackDataset([1], a=[1]), lambda D: D.StackDataset([1], [1, 2]), lambda D: D.Dataset()[0],
    lambda D: len(D.DataLoader(D.IterableDataset())), lambda D: D.DataLoader(D.IterableDataset(), shuffle=True),
    lambda D: D.DataLoader(D.IterableDataset(), sampler=[1]), lambda D: D.DistributedSampler([1], 2, 2),
    lambda D: D.DataLoader(D.IterableDataset(), batch_sampler=[[1]]), lambda D: next(iter(D.DataLoader([1], timeout=1))),
    lambda D: D.ConcatDataset([[1]])[-5], lambda D: list(D.ChainDataset([[1]])), lambda D: D.ConcatDataset([D.IterableDataset()]),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refusals(number):
    found = []
    for lib in (claygrad, torch):
        try:
            REFUSED[number](lib.utils.data)
        except Exception as error:
            found.append((type(error), str(error).splitlines()[0].split("<")[0]))
    assert len(found) == 2
    assert found[0] == found[1]


def test_lengths():
    found = []
    for lib in (claygrad, torch):
        D = lib.utils.data
        stream = type("Stream", (D.IterableDataset,), {"__len__": lambda self: 10, "__iter__": lambda self: iter(range(10))})()
        found.append([len(D.DataLoader(rows(lib), batch_size=b, drop_last=d)) for b in (1, 5, 23) for d in (False, True)]
                     + [len(D.DataLoader(rows(lib), batch_size=None)), len(D.DataLoader(stream, batch_size=3)),
                        len(D.DataLoader(stream, batch_size=3, drop_last=True)), len(D.DataLoader(stream, batch_size=None))])
    assert found[0] == found[1]


def test_a_stream_that_is_longer_than_it_said_warns():
    for lib in (claygrad, torch):
        D = lib.utils.data
        long = type("Long", (D.IterableDataset,), {"__len__": lambda self: 2, "__iter__": lambda self: iter(range(4))})()
        loader = D.DataLoader(long, batch_size=None)
        assert len(loader) == 2
        with pytest.warns(UserWarning, match="was reported to be 2"):
            assert list(loader) == [0, 1, 2, 3]
