"""Two hosts, as network namespaces with a link that takes a millisecond: the same training, over TCP."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.distributed import two_hosts
from tests.distributed.starting import PROGRAMS, Done, start


def on_two_hosts(program: str, *options: str) -> Done:
    done = start([sys.executable, two_hosts.__file__, *options, str(PROGRAMS / program)], 120)
    if done.code == two_hosts.NO_RIGHT:
        pytest.skip(done.err.strip().splitlines()[-1])
    assert done.code == 0, done.out + done.err
    return done


def test_the_link_takes_a_millisecond_and_all_goes_through_it() -> None:
    out = on_two_hosts("pingpong.py").out
    assert float(re.search(r"8 bytes one way ([\d.]+) ms", out)[1]) > 1.0
    assert all(int(n) > 30_000_000 for n in re.search(r"(\d+) and (\d+) bytes", out).groups())
    assert not list(Path("/run/netns").glob("clay*")), "a namespace is left"


def test_training_across_the_link_is_training_in_one_process() -> None:
    done = on_two_hosts("data_parallel.py")
    assert done.out.count("done") == 2
    assert all(int(n) > 1_000_000 for n in re.search(r"(\d+) and (\d+) bytes", done.out).groups())
