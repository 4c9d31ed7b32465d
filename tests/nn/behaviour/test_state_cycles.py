"""Loading a state leaves no reference cycles, which would keep its tensors until the next collection."""
from __future__ import annotations

import copy
import gc


def test_loading_a_state_leaves_no_cycles(lib):
    m = lib.nn.Sequential(lib.nn.LSTM(3, 3, bidirectional=True), lib.nn.Linear(6, 2))
    state = copy.deepcopy(m).state_dict()
    for assign in (False, True):        # what the first call loads besides is not counted
        m.load_state_dict(state, assign=assign)
    gc.collect()
    gc.disable()
    try:
        m.load_state_dict(state)
        m.load_state_dict(state, assign=True)
        assert gc.collect() == 0
    finally:
        gc.enable()
