"""Every entry of PyTorch's operator database, in every form. A part of them a day; all of them with `-m ""`."""

from __future__ import annotations

import datetime
import zlib

import pytest
import torch

from tests.oracle.opdb.checks import CHECKS
from tests.oracle.opdb.database import entries, ours
from tests.oracle.opdb.gaps import ABSENT, GAPS, ROUNDING
from tests.oracle.opdb.run import problems

torch.set_num_threads(1)
PARTS = 12        # so many days until every entry has had its turn
TURN = datetime.date.today().toordinal() % PARTS
NAMES = [name for name in entries() if name not in ABSENT]


def turns(name: str) -> object:
    """An entry, marked slow unless it is its turn today."""
    mine = zlib.crc32(name.encode()) % PARTS == TURN
    return pytest.param(name, marks=() if mine else pytest.mark.slow)


@pytest.mark.timeout(1200)      # some samples have millions of elements, and there are hundreds of forms
@pytest.mark.parametrize("name", map(turns, NAMES))
def test_as_torch(name):
    found = [f"{check} {dtype}: {text}" for check, dtype, texts in problems(name) for text in texts]
    if found:
        pytest.fail(f"{len(found)} differences:\n" + "\n".join(found[:40]), pytrace=False)


def test_every_entry_is_there_or_named_as_a_gap():
    assert {name for name in entries() if ours(name) is None} == set(ABSENT)


def test_gaps_name_what_is_there():
    for name, check, *dtypes in GAPS:
        assert name in entries()
        assert check in (*CHECKS, "errors")
        assert not dtypes or dtypes[0] in CHECKS[check][1]


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("gap", [gap for gap in GAPS if gap not in ROUNDING], ids=" ".join)
def test_a_gap_is_one_still(gap):
    name, check, *dtypes = gap
    assert any(texts for _, _, texts in problems(name, [check], dtypes or None, gaps={})), "it agrees by now: strike it"
