"""Loading a state leaves nothing behind that only the garbage collector could free."""

from __future__ import annotations

import copy
import gc
from types import FunctionType


def test_loading_a_state_leaves_no_cycles(lib):
    m = lib.nn.Sequential(lib.nn.LSTM(3, 3, bidirectional=True), lib.nn.Linear(6, 2))
    state = copy.deepcopy(m).state_dict()
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        m.load_state_dict(state)
        m.load_state_dict(state, assign=True)
        gc.collect()
        # A function that calls itself by name is a cycle. Garbage of others in the process is not counted.
        left = [one.__qualname__ for one in gc.garbage if isinstance(one, FunctionType) and "load" in one.__qualname__]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert left == []
