"""`make demo`: the network learns, and draws what it learnt."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[1] / "examples" / "digits.py"


def test_the_demo_reads_more_than_95_percent_of_the_digits_it_never_saw(tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("tqdm")
    picture = tmp_path / "out" / "digits.png"
    done = subprocess.run([sys.executable, DEMO, "--out", picture], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    match = re.search(r"test accuracy ([\d.]+)%", done.stdout)
    assert match is not None, done.stdout
    assert float(match[1]) > 95
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "epoch" in done.stderr       # the progress bar


def test_the_data_is_whole_and_says_where_it_comes_from():
    import numpy as np

    folder = DEMO.parent / "data" / "optdigits"
    rows = np.loadtxt(folder / "optdigits.csv.gz", delimiter=",", dtype=np.int64)
    assert rows.shape == (1797, 65)
    assert (rows[:, :64].min(), rows[:, :64].max()) == (0, 16)
    assert sorted(set(rows[:, 64].tolist())) == list(range(10))
    assert "CC BY 4.0" in (folder / "SOURCE.md").read_text()
