"""Tensors in memory are batched by one gather; what comes out is what row by row would give."""

from __future__ import annotations

import pytest

import claygrad as torch
from claygrad.utils.data import BatchSampler, DataLoader, RandomSampler, SequentialSampler, Subset, TensorDataset
from claygrad.utils.data import dataloader as loading


class Slowly(TensorDataset):
    """The same dataset under another type, which nothing is known of."""


@pytest.mark.parametrize("options", [{}, {"shuffle": True}, {"drop_last": True}, {"shuffle": True, "drop_last": True}], ids=str)
@pytest.mark.parametrize("size", [1, 4, 5, 20, 30])
def test_the_same_batches_as_row_by_row(options, size):
    x, y = torch.rand(20, 3, 2), torch.arange(20)
    found = []
    for kind in (TensorDataset, Slowly):
        torch.manual_seed(4)
        loader = DataLoader(kind(x, y), batch_size=size, **options)
        assert (loading._Rows.of(loader) is not None) == (kind is TensorDataset)
        found.append([[part.tolist() for part in batch] for _ in range(2) for batch in loader])
        assert all(isinstance(batch, list) for batch in loader)
    assert found[0] == found[1]


def test_subsets_too():
    data = TensorDataset(torch.arange(20))
    for indices in ([3, 1, 4], range(5, 9), torch.tensor([2, 0]), [-1, 2]):
        loader = DataLoader(Subset(data, indices), batch_size=2)
        assert loading._Rows.of(loader) is not None
        assert torch.cat([batch[0] for batch in loader]).tolist() == [int(i) % 20 for i in indices]


def test_a_batch_is_the_users_own():
    x = torch.zeros(6)
    for shuffle in (False, True):
        for batch, in DataLoader(TensorDataset(x), batch_size=2, shuffle=shuffle):
            assert batch.is_contiguous()
            batch += 1
    assert x.tolist() == [0] * 6


def test_columns_that_are_not_contiguous_come_out_contiguous():
    x = torch.arange(12.).reshape(3, 4).t()
    for shuffle in (False, True):
        assert all(batch.is_contiguous() for batch, in DataLoader(TensorDataset(x), batch_size=2, shuffle=shuffle))


def test_gradients_flow_as_row_by_row():
    x = torch.ones(4, requires_grad=True)
    for batch, in DataLoader(TensorDataset(x), batch_size=2):
        batch.sum().backward()
    assert x.grad.tolist() == [1, 1, 1, 1]


def test_own_samplers_of_known_kinds():
    data = TensorDataset(torch.arange(10))
    sampler = BatchSampler(SequentialSampler(data), 4, True)
    assert [batch[0].tolist() for batch in DataLoader(data, batch_sampler=sampler)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    torch.manual_seed(0)
    many = torch.cat([b[0] for b in DataLoader(data, batch_size=4, sampler=RandomSampler(data, num_samples=25))])
    assert sorted(many[:10].tolist()) == sorted(many[10:20].tolist()) == list(range(10))
    assert len(many) == 25


def test_an_index_beyond_the_rows():
    with pytest.raises(IndexError):
        list(DataLoader(Subset(TensorDataset(torch.arange(3)), [5])))


def test_tensors_of_other_lengths():
    with pytest.raises(AssertionError, match=r"^Size mismatch between tensors"):
        TensorDataset(torch.ones(2), torch.ones(3))
