"""Values on the user's line whose own methods raise: the error is explained without them."""
from __future__ import annotations

import pytest

import claygrad as torch


class Number(int):
    def __repr__(self):
        raise ValueError("no text")


class Word(str):
    def __repr__(self):
        raise SystemExit


class Listed(list):
    def __repr__(self):
        raise KeyError


class Endless:
    def __len__(self):
        raise SystemExit

    def __getitem__(self, index):
        return index


@pytest.mark.parametrize("held", [Number(3), Word("a"), Listed([1]), Endless(), [Number(1)], {"a": Word("b")}],
                         ids=["int", "str", "list", "len", "in a list", "in a dict"])
def test_the_way_out_is_there_all_the_same(held):
    with pytest.raises(RuntimeError, match="write -1 for the one") as caught:
        torch.ones(2, 3).view(4 if held is None else 5)
    assert str(caught.value).startswith("shape '[5]' is invalid for input of size 6")
