"""What the tests share: two libraries behind one body of test, torch's texts, comparisons."""

from tests.support.compare import close, exact
from tests.support.library import (
    backward_name,
    fresh,
    is_torch,
    leaf,
    lend,
    raises,
    renamed,
    same_text,
    silent,
    warns,
)

__all__ = [
    "backward_name",
    "close",
    "exact",
    "fresh",
    "is_torch",
    "leaf",
    "lend",
    "raises",
    "renamed",
    "same_text",
    "silent",
    "warns",
]
