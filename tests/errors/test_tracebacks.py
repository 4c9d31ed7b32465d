"""Tracebacks show the user's frames alone, and errors in a model say where in it."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import re
import subprocess
import sys
import textwrap
import traceback
import types
from pathlib import Path

import pytest

import claygrad as torch
from claygrad import nn
from claygrad.core.cpython.entry_points import guard

CORE = Path(__file__).parents[2] / "claygrad" / "core"


def printed(program: str, tmp_path: Path, **environment: str) -> str:
    """What Python prints of a program that fails."""
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(program))
    made = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, env={**os.environ, **environment}, check=False)
    assert made.returncode == 1
    return made.stderr


LAYER = """
    import claygrad as torch
    from claygrad import nn
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1 = nn.Linear(8, 4)
        def forward(self, x):
            return self.fc1(x)
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([Block(), nn.Sequential(nn.ReLU(), Block())])
        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x
    model = Net()
    model(torch.randn(2, 8))
"""


def test_plain_python_prints_the_users_frames_alone(tmp_path):
    text = printed(LAYER, tmp_path)
    files = re.findall(r'File "(.*?)"', text)
    assert files
    assert set(files) == {str(tmp_path / "program.py")}
    assert "in model.layers[1][1].fc1: Linear(in_features=8, out_features=4, bias=True) got (2, 4)" in text


def test_a_setting_brings_the_frames_back(tmp_path):
    text = printed(LAYER, tmp_path, CLAYGRAD_TRACEBACK="full")
    assert "linear.py" in text
    assert ".pyx" in text
    assert "in model.layers[1][1].fc1" in text


class Asks(nn.Module):
    def forward(self, x):
        return x.trasnpose(0, 1)


ENTRY_POINTS = {
    "operation": lambda: torch.zeros(3).view(5),
    "function": lambda: torch.nn.functional.linear(torch.ones(2, 3), torch.ones(2, 2)),
    "operator": lambda: torch.ones(2, 3) @ torch.ones(2, 3),
    "in place": lambda: torch.ones(2).add_(torch.ones(3)),
    "reading": lambda: torch.ones(3)[7],
    "writing": lambda: torch.ones(3).__setitem__(7, 1),
    "method": lambda: torch.ones(3).item(),
    "property": lambda: setattr(torch.ones(3), "grad", 3),
    "factory": lambda: torch.tensor([[1], [1, 2]]),
    "module": lambda: nn.Linear(2, 3)(torch.ones(3)),
    "class": lambda: nn.GroupNorm(3, 4),
    "method of a module": lambda: nn.Linear(2, 3).load_state_dict({}),
    "attribute of a module": lambda: nn.Linear(2, 3).wieght,
    "assignment to a module": lambda: setattr(nn.Linear(2, 3), "weight", 3),
    "backward": lambda: torch.ones(3).sum().backward(),
    "autograd": lambda: torch.autograd.grad(torch.ones(()), torch.ones(())),
    "optimizer": lambda: torch.optim.SGD([]),
    "name of the package": lambda: torch.frobnicate,
    "initialisation": lambda: nn.init.xavier_uniform_(torch.ones(3)),
    "distribution": lambda: torch.distributions.Normal(0.0, -1.0),
    "data": lambda: torch.utils.data.DataLoader([1], batch_size=-1),
    "function of the core": lambda: torch.set_num_threads("a"),
    "function of the core without arguments": lambda: torch.set_num_threads(),
    "name of another package": lambda: torch.utils.data.Dataloader,
    "method of a tensor in a model": lambda: Asks()(torch.ones(2)),
    "apply": lambda: torch.autograd.Function.apply(torch.ones(2)),
}


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_no_entry_point_shows_a_frame(entry: str):
    with pytest.raises(Exception) as caught:
        ENTRY_POINTS[entry]()
    error: BaseException | None = caught.value
    while error is not None:
        files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        assert [file for file in files if "claygrad" in file and not file.startswith(str(Path(__file__).parent))] == []
        error = error.__context__


@pytest.mark.parametrize("times", [1, 40])       # CPython runs what is called often in other ways: Note [Guarded functions]
@pytest.mark.parametrize("entry", sorted(set(ENTRY_POINTS) - {"name of the package", "method of a tensor in a model"}))
def test_every_entry_point_names_the_line(entry: str, times: int):
    for _ in range(times):
        with pytest.raises(Exception) as caught:
            ENTRY_POINTS[entry]()
    line = ENTRY_POINTS[entry].__code__.co_firstlineno
    assert f"\n  at {__file__}:{line}, in <lambda>" in str(caught.value)


# What an entry point must leave as it is

def test_an_error_of_the_users_own_keeps_its_text():
    class Odd(nn.Module):
        def forward(self, x):
            raise ValueError("my own words")
    with pytest.raises(ValueError, match=r"\Amy own words\Z"):
        nn.Sequential(Odd())(torch.ones(2))


def test_hasattr_and_getattr_stay_quiet():
    layer = nn.Linear(2, 2)
    assert not hasattr(layer, "nothing")
    assert getattr(layer, "nothing", 3) == 3
    with pytest.raises(AttributeError, match=r"\A'Linear' object has no attribute 'nothing'\Z"):
        getattr(layer, *["nothing"])


def test_a_caught_error_of_the_users_stays_in_the_chain():
    with pytest.raises(RuntimeError) as caught:
        try:
            raise KeyError("before")
        except KeyError:
            torch.ones(2) @ torch.ones(3, 3)
    assert isinstance(caught.value.__context__, KeyError)


def test_an_error_goes_to_another_process_and_through_copies():
    with pytest.raises(RuntimeError) as caught:
        torch.ones(2, 3) @ torch.ones(2, 3)
    for other in (pickle.loads(pickle.dumps(caught.value)), copy.copy(caught.value)):
        assert str(other) == str(caught.value)
    with multiprocessing.get_context("fork").Pool(1) as pool, pytest.raises(RuntimeError, match="cannot be multiplied"):
        pool.apply(_fail)


def _fail():
    return torch.ones(2, 3) @ torch.ones(2, 3)


def test_an_error_keeps_no_tensor_alive():
    import gc
    import weakref
    x = torch.ones(2, 3)
    alive = weakref.ref(x)
    try:
        x @ x
    except RuntimeError as caught:
        error = caught
    error.__traceback__ = None
    del x
    gc.collect()
    assert alive() is None
    assert "(2, 3) float32" in str(error)


# Guarded functions

def test_a_guarded_function_is_a_function_in_every_other_way():
    import inspect
    f = nn.init.zeros_
    assert isinstance(f, types.FunctionType)
    assert inspect.isfunction(f)
    assert str(inspect.signature(f)) == "(tensor: 'Tensor') -> 'Tensor'"
    assert f.__name__ == "zeros_"
    assert pickle.loads(pickle.dumps(f)) is f
    assert copy.deepcopy(f) is f
    assert inspect.ismethod(nn.Linear(1, 1).load_state_dict)


def test_guarded_functions_come_and_go():
    import gc

    def make():
        held = [1]

        def inner(x, *, k=2):
            return x + k + held[0]
        return guard(inner)
    for _ in range(1000):
        assert make()(1, k=3) == 5
    gc.collect()


def test_methods_that_catch_are_no_doors():
    """Cython lets go of a traceback without looking whether there is one where it catches: entry_points.h."""
    found = set()
    for path in CORE.glob("*.pyx"):
        owner = None
        for text in path.read_text().splitlines():
            if match := re.match(r"(?:cdef )?class (\w+)", text):
                owner = match[1]
            elif re.match(r"[^\s@#]", text):
                owner = None
            elif owner and re.match(r"\s+except\b.*:", text):
                found.add(owner)
    assert {name for name in found if not name.startswith("_")} <= {"Run"}


def test_a_copied_layer_is_not_said_to_be_made_in_pythons_library():
    second = copy.deepcopy(torch.nn.Linear(3, 4))
    with pytest.raises(RuntimeError) as caught:
        second(torch.randn(2, 5))
    assert "in second: Linear" in str(caught.value)
    assert "copy.py" not in str(caught.value)


BATCHES = """
import claygrad
from claygrad.utils.data import DataLoader

class Images(claygrad.utils.data.Dataset):
    def __len__(self): return 4
    def __getitem__(self, i): return claygrad.randn(3, 8 + i, 8)

if __name__ == "__main__":
    for batch in DataLoader(Images(), batch_size=2, num_workers=1):
        pass
"""


def test_a_batch_that_a_worker_cannot_make_is_explained(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(BATCHES)
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    assert "sample 1 of the batch is (3, 9, 8), and the first (3, 8, 8); it is Images[1]" in done.stderr
    assert f"{program}:10, in <module>: for batch in DataLoader" in done.stderr
    assert "site-packages" not in done.stderr
    assert ".pyx" not in done.stderr


def test_all_ways_out_are_there_for_the_first_errors_of_several_threads():
    program = """
import concurrent.futures, claygrad
def cut(n):
    try: claygrad.arange(10).reshape(3, n)
    except RuntimeError as error: return str(error)
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    for text in pool.map(cut, [4] * 8): print("the input has 10 elements" in text)
"""
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["True"] * 8, done.stderr
