"""`_lazy_clone`: two storages read the same bytes until one is written (Note [Lazy clones] in core/data/storage.pxd)."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import claygrad
from claygrad.core.data.lazy_clones import address_of, has_lazy_clones


def at(x: Any) -> int:
    return address_of(x.untyped_storage())


def shares(x: Any) -> bool:
    return has_lazy_clones(x.untyped_storage())


WRITES: dict[str, Callable[[Any], object]] = {
    "in place": lambda x: x.add_(1),
    "through a view": lambda x: x[1:].mul_(3),
    "through .data": lambda x: x.data.zero_(),
    "an index": lambda x: x.__setitem__(0, 9.0),
    "a mask": lambda x: x.__setitem__(x > 1, 9.0),
    "out=": lambda x: claygrad.exp(claygrad.ones(4), out=x),
    "random numbers": lambda x: x.normal_(),
    "scatter": lambda x: x.scatter_(0, claygrad.tensor([1]), 5.0),
    "bytes of the storage": lambda x: x.untyped_storage().fill_(1),
    "an array": lambda x: x.numpy().fill(7),
    "DLPack": lambda x: claygrad.from_dlpack(x).fill_(7),
    "a larger storage": lambda x: x.resize_(9).fill_(2),
    "shared memory": lambda x: x.share_memory_().fill_(2),
    "another order": lambda x: claygrad.sort(x.clone(), out=(x, claygrad.empty(4, dtype=claygrad.int64))),
    "an optimizer": lambda x: _step(x),
    "clipping": lambda x: _clip(x),
}


def _step(x: Any) -> None:
    parameter = claygrad.nn.Parameter(claygrad.zeros(4))
    parameter.data = x
    parameter.grad = claygrad.ones(4)
    claygrad.optim.SGD([parameter], 0.5, momentum=0.9).step()


def _clip(x: Any) -> None:
    parameter = claygrad.nn.Parameter(claygrad.zeros(4))
    parameter.grad = x
    claygrad.nn.utils.clip_grad_norm_([parameter], 0.1)


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("of_the_clone", [False, True])
def test_a_write_is_seen_by_one_alone(write: Callable[[Any], object], of_the_clone: bool) -> None:
    first = claygrad.tensor([2.0, 1.0, 3.0, 0.5])
    second = first._lazy_clone()
    assert at(first) == at(second)
    assert shares(first)
    assert shares(second)
    written, other = (second, first) if of_the_clone else (first, second)
    before = written.tolist()
    write(written)
    assert other.tolist() == [2.0, 1.0, 3.0, 0.5]
    assert written.tolist() != before
    assert not shares(written)
    assert shares(other)
    assert at(written) != at(other)


def test_reading_does_not_part_them() -> None:
    first = claygrad.arange(6.0).view(2, 3)
    second = first.t()._lazy_clone()
    assert second.stride() == (1, 3)
    assert (first + second.t()).sum().item() == 30.0
    assert claygrad.equal(first, second.t())
    assert shares(first)
    assert shares(second)


def test_the_last_takes_over_the_bytes() -> None:
    first = claygrad.ones(4)
    second, third = first._lazy_clone(), first._lazy_clone()
    place = at(first)
    del second
    first.add_(1)
    assert at(first) != place
    assert at(third) == place
    third.add_(2)
    assert at(third) == place
    assert third.tolist() == [3.0] * 4
    assert first.tolist() == [2.0] * 4


def test_an_address_is_its_own() -> None:
    first = claygrad.ones(4)
    second = first._lazy_clone()
    assert first.data_ptr() != at(second)
    assert second.data_ptr() == at(second)
    assert not shares(first)
    assert not shares(second)


def test_saved_values_stay_what_they_were() -> None:
    x = claygrad.full((3,), 2.0, requires_grad=True)
    y = claygrad.full((3,), 5.0)
    clone = y._lazy_clone()
    z = (x * y * clone).sum()
    y.zero_()
    clone.fill_(7.0)
    z.backward()
    assert x.grad.tolist() == [25.0] * 3
    assert y.tolist() == [0.0] * 3
    assert clone.tolist() == [7.0] * 3


@pytest.mark.parametrize("make", [
    lambda: claygrad.ones(3, requires_grad=True), lambda: claygrad.tensor([1 + 2j]).conj(), lambda: claygrad.ones(2, device="meta"),
    lambda: claygrad.eye(2).to_sparse(), lambda: claygrad.empty(0)], ids=["leaf", "conj", "meta", "sparse", "empty"])
def test_others_are_copied_as_ever(make: Callable[[], Any]) -> None:
    x = make()
    made = x._lazy_clone()
    assert made.shape == x.shape
    assert made.dtype is x.dtype
    assert made.layout == x.layout
    assert made.device == x.device
    assert made.requires_grad == x.requires_grad
    if not x.is_meta and not x.is_sparse:
        assert made.tolist() == x.tolist()


def test_memory_that_an_array_shows_is_copied_at_once() -> None:
    x = claygrad.ones(3)
    array = x.numpy()
    clone = x._lazy_clone()
    array[:] = 5
    assert clone.tolist() == [1.0] * 3
    assert x.tolist() == [5.0] * 3


def test_chains_of_clones_die_without_recursion() -> None:
    x = claygrad.ones(2)
    for _ in range(100_000):
        x = x._lazy_clone()
    assert x.tolist() == [1.0, 1.0]
    x.add_(1)
    assert x.tolist() == [2.0, 2.0]
