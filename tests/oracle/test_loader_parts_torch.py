"""What packages with data loaders of their own build on: attributes of loaders and their iterators, and what is asked about processes."""
from __future__ import annotations

import dataclasses
import inspect
import os
import subprocess
import sys

import claygrad.utils.data._utils.signal_handling
import claygrad.utils.data._utils.worker
import pytest
import torch
import torch.utils.data._utils.signal_handling
import torch.utils.data._utils.worker

import claygrad

PAIR = (torch, claygrad)


@pytest.mark.parametrize("options", [{}, {"batch_size": None}, {"shuffle": True}, {"pin_memory_device": "cuda"}], ids=str)
def test_loaders_and_their_iterators_have_the_same_attributes(options) -> None:
    loaders = [lib.utils.data.DataLoader(range(5), **options) for lib in PAIR]
    theirs, ours = map(vars, loaders)
    assert theirs.keys() <= ours.keys()
    theirs, ours = (vars(iter(loader)) for loader in loaders)
    assert theirs.keys() <= ours.keys()
    simple = {name for name, value in theirs.items() if value is None or isinstance(value, (int, bool))} - {"_base_seed"}
    assert {name: ours[name] for name in simple} == {name: theirs[name] for name in simple}


@pytest.mark.parametrize("name", ["WorkerInfo", "_IterableDatasetStopIteration", "_ResumeIteration"])
def test_messages_of_workers_are_made_of_the_same_fields(name) -> None:
    theirs, ours = (getattr(lib.utils.data._utils.worker, name) for lib in PAIR)
    assert [field.name for field in dataclasses.fields(theirs)] == [field.name for field in dataclasses.fields(ours)]
    values = range(sum(one.default is inspect.Parameter.empty for one in inspect.signature(theirs).parameters.values()))
    assert repr(theirs(*values)) == repr(ours(*values))
    assert ours(*values) == ours(*values)


def _asks(handling, pid):
    """What each call about processes gives or raises."""
    for call in (lambda: handling._set_worker_pids(7, [pid]), lambda: handling._remove_worker_pids(7),
                 lambda: handling._set_worker_pids(7, (pid,)), lambda: handling._set_worker_pids(7, (pid,)),
                 handling._error_if_any_worker_fails, handling._error_if_any_worker_fails,
                 lambda: handling._remove_worker_pids(7), lambda: handling._remove_worker_pids(7)):
        try:
            yield call()
        except Exception as error:
            yield type(error), str(error)


@pytest.mark.parametrize("end", ["sys.exit(3)", "os.kill(os.getpid(), 9)", "os.kill(os.getpid(), 7)", "sys.exit(0)"])
def test_a_process_that_fails_is_told_once(end) -> None:
    told = []
    for lib in PAIR:
        with subprocess.Popen([sys.executable, "-c", f"import os, sys; {end}"], stdout=subprocess.PIPE) as ended:
            ended.stdout.read()
            os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
            told.append(str(list(_asks(lib.utils.data._utils.signal_handling, ended.pid))).replace(str(ended.pid), "PID"))
    assert told[0] == told[1]
