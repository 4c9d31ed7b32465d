"""Reductions of cut, stepped, stretched, overlapping and permuted tensors: the same as of their copies in order."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

import claygrad

REDUCTIONS: dict[str, Callable] = {
    **{name: lambda x, dim, name=name: getattr(claygrad, name)(x, dim)
       for name in ("sum", "mean", "amax", "amin", "any", "all", "count_nonzero", "var", "logsumexp", "nansum")},
    **{f"norm {p}": lambda x, dim, p=p: claygrad.linalg.vector_norm(x, p, dim) for p in (0, 1, 2, float("inf"), -float("inf"))},
    "kept": lambda x, dim: x.sum(dim, keepdim=True),
    "prod": lambda x, dim: x.clamp(-1, 1).prod(dim) if isinstance(dim, int) else x.clamp(-1, 1).prod(),
}

VIEWS: dict[str, Callable] = {
    "cut": lambda x: x[1:, 1:-1, 2:],
    "rows": lambda x: x[:, 1:-1],
    "every other": lambda x: x[::2],
    "stepped": lambda x: x[:, :, ::2],
    "permuted": lambda x: x.permute(2, 0, 1),
    "permuted and cut": lambda x: x[:, 1:, 3:].permute(1, 2, 0),
    "stretched": lambda x: x[:, :1].expand(-1, 7, -1),
    "stretched at the end": lambda x: x[:, :, :1].expand(-1, -1, 9),
    "stretched in front": lambda x: x[0].expand(5, -1, -1),
    "stretched all over": lambda x: x[:1, :1, :1].expand(4, 5, 6),
    "windows": lambda x: x[0].unfold(-1, 4, 1),
    "few wide windows": lambda x: x[1:3, 0].unfold(-1, 30, 1),
    "windows apart": lambda x: x[0].unfold(-1, 3, 2),
    "an axis of one": lambda x: x[1:2, :, 1:],
    "four axes": lambda x: x[:, :, 1:].unflatten(0, (2, 3)).transpose(1, 2),
}


def whole(shape: tuple[int, ...], dtype: str) -> claygrad.Tensor:
    """Small whole numbers, whose sums are exact in any order."""
    claygrad.manual_seed(0)
    return claygrad.randint(-3, 4, shape).to(getattr(claygrad, dtype))


def same(got: claygrad.Tensor, want: claygrad.Tensor) -> bool:
    if got.is_floating_point() or got.is_complex():
        return got.shape == want.shape and got.stride() == want.stride() and claygrad.allclose(got, want, rtol=1e-5, atol=1e-6, equal_nan=True)
    return got.shape == want.shape and got.stride() == want.stride() and claygrad.equal(got, want)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_view_reduces_as_its_copy_does(name: str, view: str):
    reduction = REDUCTIONS[name]
    x = VIEWS[view](whole((6, 8, 37), "float32"))
    for count in range(1, x.ndim + 1):
        for dim in itertools.combinations(range(x.ndim), count):
            over = dim[0] if count == 1 else dim
            assert same(reduction(x, over), reduction(x.clone(memory_format=claygrad.contiguous_format), over)), dim


@pytest.mark.parametrize("dtype", ["float64", "int64", "bool", "complex64", "complex128"])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", ["sum", "mean", "any", "count_nonzero", "kept"])
def test_in_other_dtypes(name: str, view: str, dtype: str):
    if name == "mean" and dtype in ("int64", "bool"):
        name = "sum"
    reduction = REDUCTIONS[name]
    x = VIEWS[view](whole((6, 8, 37), dtype))
    for dim in (0, 1, -1, (0, 1), (1, 2), (0, 2)):
        assert same(reduction(x, dim), reduction(x.clone(memory_format=claygrad.contiguous_format), dim)), dim


@pytest.mark.parametrize("view", ["cut", "permuted and cut", "stretched", "windows", "few wide windows"])
def test_large_enough_for_threads(view: str):
    x = VIEWS[view](whole((6, 300, 700), "float32"))
    for dim in (0, 1, -1, (0, 1), (1, 2), (0, 2), None):
        if not isinstance(dim, tuple) or x.ndim > max(dim):
            copy = x.clone(memory_format=claygrad.contiguous_format)
            assert same(x.sum(dim), copy.sum(dim))
            assert same(x.amax(dim if dim is not None else ()), copy.amax(dim if dim is not None else ()))


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65])
@pytest.mark.parametrize("rows", [1, 15, 16, 17, 23, 1000, 70_001])
def test_short_rows_are_added_together(width: int, rows: int):
    x = whole((rows, width), "float32")
    assert claygrad.equal(x.sum(0), x.t().contiguous().sum(1))
    assert claygrad.equal(x.amin(0), x.t().contiguous().amin(1))


@pytest.mark.parametrize("view", VIEWS)
def test_entries_of_a_view(view: str):
    """By index tensors along each axis, of numbers from either end; a few and many of them."""
    x = VIEWS[view](whole((6, 8, 37), "float32"))
    copy = x.clone(memory_format=claygrad.contiguous_format)
    for dim in range(x.ndim):
        n = x.shape[dim]
        for numbers in (claygrad.tensor([0]), claygrad.arange(n).flip(0), claygrad.arange(3 * n) % n):
            assert claygrad.equal(x.index_select(dim, numbers), copy.index_select(dim, numbers))
            for index in (numbers, numbers - n, numbers[:, None].expand(-1, 2)):
                key = (*(slice(None),) * dim, index)
                assert claygrad.equal(x[key], copy[key])
                assert x[key].shape == (*x.shape[:dim], *index.shape, *x.shape[dim + 1:])
        with pytest.raises(IndexError):
            x[(*(slice(None),) * dim, claygrad.tensor([n]))]
