"""Writes in place to tensors with gaps or turned axes: what they give for a contiguous one, and nothing around it touched."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import claygrad
from claygrad import Tensor

SHAPE = (6, 8)
VIEWS: dict[str, Callable[[Tensor], Tensor]] = {
    "every second row": lambda x: x[::2, :8], "every second column": lambda x: x[:6, ::2], "turned": lambda x: x[:8, :6].t(),
    "a block": lambda x: x[3:9, 2:10], "an axis of one": lambda x: x[:6, :8].unsqueeze(1).transpose(0, 1).squeeze(0),
}
WRITES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "zero_": lambda x, y: x.zero_(), "fill_": lambda x, y: x.fill_(2.5), "fill_ of a tensor": lambda x, y: x.fill_(y[0, 0]),
    "copy_": lambda x, y: x.copy_(y), "copy_ of a row": lambda x, y: x.copy_(y[0]), "copy_ of a column": lambda x, y: x.copy_(y[:, :1]),
    "copy_ of an element": lambda x, y: x.copy_(y[1, 1]), "copy_ of another dtype": lambda x, y: x.copy_(y.double()),
    "copy_ of what is turned": lambda x, y: x.copy_(y.t().contiguous().t()), "add_": lambda x, y: x.add_(y), "mul_ by a row": lambda x, y: x.mul_(y[0]),
    "sub_ of a share": lambda x, y: x.sub_(y, alpha=0.5), "relu_": lambda x, y: x.relu_(), "exp_": lambda x, y: x.exp_(),
    "clamp_": lambda x, y: x.clamp_(-0.5, 0.5), "masked_fill_": lambda x, y: x.masked_fill_(y > 0, -1.0), "lerp_": lambda x, y: x.lerp_(y, 0.3),
    "addcmul_": lambda x, y: x.addcmul_(y, y, value=0.1), "sigmoid_": lambda x, y: x.sigmoid_(), "cumsum_": lambda x, y: x.cumsum_(1),
    "tril_": lambda x, y: x.tril_(), "index_fill_": lambda x, y: x.index_fill_(0, claygrad.tensor([1, 2]), 3.0), "pow_": lambda x, y: x.pow_(2),
}


def drawn(*shape: int) -> Tensor:
    return claygrad.randn(shape, generator=claygrad.Generator().manual_seed(sum(shape)))


def part(whole: Tensor, view: str) -> Tensor:
    found = VIEWS[view](whole)
    return found[:SHAPE[0], :SHAPE[1]]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", WRITES)
def test_as_a_contiguous_one(name: str, view: str):
    whole = drawn(16, 16)
    before, x = whole.clone(), part(whole, view)
    y = drawn(*x.shape)
    wanted = WRITES[name](x.clone().contiguous(), y)
    address, version = x.data_ptr(), x._version
    assert WRITES[name](x, y) is x
    assert x.data_ptr() == address
    assert x._version == version + 1
    assert claygrad.allclose(x, wanted, rtol=1e-6, atol=1e-7)
    part(before, view).copy_(x)                          # what is around it stays
    assert claygrad.equal(before, whole)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", ["copy_", "copy_ of a row", "fill_ of a tensor", "zero_", "mul_ by a row", "sigmoid_"])
def test_gradients_flow_through_and_around(name: str, view: str):
    def gradients(strided: bool) -> list[Tensor | None]:
        a, y = drawn(16, 16).requires_grad_(), drawn(6, 8)[:, :part(drawn(16, 16), view).shape[1]].clone().requires_grad_()
        whole = a * 1
        x = part(whole, view)
        if strided:
            WRITES[name](x, y)
        else:
            made = WRITES[name](x.clone(memory_format=claygrad.contiguous_format), y)
            index = part(claygrad.arange(256).reshape(16, 16), view)
            whole = whole.reshape(-1).index_put((index,), made).reshape(16, 16)
        (whole * drawn(16, 16)).sum().backward()
        return [a.grad, y.grad]
    for got, wanted in zip(gradients(True), gradients(False)):
        assert (got is None) == (wanted is None)
        assert got is None or claygrad.allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_onto_its_own_memory():
    x = claygrad.arange(12.0).reshape(3, 4)
    x[:, 1:].copy_(x[:, :-1].clone())
    assert x.tolist() == [[0, 0, 1, 2], [4, 4, 5, 6], [8, 8, 9, 10]]
    part = x[:, :3]                                      # with gaps: the old elements are what is read
    part.copy_(part.t())
    assert part.tolist() == [[0, 4, 8], [0, 4, 8], [1, 5, 9]]


def test_a_shape_that_does_not_fit_is_refused_and_nothing_written():
    whole = claygrad.zeros(4, 6)
    with pytest.raises(RuntimeError):
        whole[:, ::2].copy_(claygrad.ones(4, 2))
    with pytest.raises(RuntimeError):
        whole[:, ::2].add_(claygrad.ones(2, 4, 3))
    assert not whole.any()
