"""Whole modules and optimizers, pickled by one library under the name of torch and read by the other."""
from __future__ import annotations

import re
import subprocess
import sys

import pytest

# Each is evaluated by both libraries; an input where both are called.
OBJECTS = {
    "nn.Linear(2, 3)": "torch.ones(4, 2)",
    "nn.Bilinear(2, 3, 4)": None,
    "nn.Conv1d(2, 3, 2)": "torch.ones(1, 2, 5)",
    "nn.Conv2d(2, 3, 2, padding='same')": "torch.ones(1, 2, 5, 5)",
    "nn.ConvTranspose2d(2, 3, 2)": "torch.ones(1, 2, 5, 5)",
    "nn.BatchNorm2d(3)": "torch.ones(2, 3, 2, 2)",
    "nn.InstanceNorm2d(3, affine=True, track_running_stats=True)": None,
    "nn.RNN(2, 3)": "torch.ones(4, 2)",
    "nn.LSTM(2, 3, 2, bidirectional=True, proj_size=2)": "torch.ones(4, 2)",
    "nn.GRU(2, 3, bias=False)": "torch.ones(4, 2)",
    "nn.RNNCell(2, 3)": "torch.ones(4, 2)",
    "nn.LSTMCell(2, 3)": "torch.ones(4, 2)",
    "nn.GRUCell(2, 3)": "torch.ones(4, 2)",
    "nn.Embedding(4, 3, padding_idx=0)": "torch.tensor([1, 2])",
    "nn.MultiheadAttention(4, 2, kdim=3, vdim=2, add_bias_kv=True)": None,
    "nn.TransformerEncoderLayer(4, 2, 8, activation='gelu', dropout=0.0)": "torch.ones(3, 1, 4)",
    "nn.TransformerDecoderLayer(4, 2, 8, dropout=0.0)": None,
    "nn.Transformer(4, 2, 1, 1, 8, dropout=0.0)": None,
    "nn.Sequential(nn.Linear(2, 2), nn.GELU('tanh'), nn.Dropout(0.2))": "torch.ones(1, 2)",
    "nn.ModuleDict({'a': nn.Linear(2, 2)})": None,
    "nn.ParameterList([nn.Parameter(torch.ones(2))])": None,
    "nn.ParameterDict({'a': nn.Parameter(torch.ones(2))})": None,
    "nn.LazyLinear(3)": "torch.ones(4, 2)",
    "nn.LazyConv2d(3, 2)": "torch.ones(1, 2, 5, 5)",
    "nn.CrossEntropyLoss(torch.ones(3), label_smoothing=0.1)": None,
    "nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2])": None,
    "torch.optim.Adafactor([nn.Parameter(torch.ones(2))])": None,
    "torch.optim.AdamW([nn.Parameter(torch.ones(2))], amsgrad=True)": None,
    "torch.optim.lr_scheduler.OneCycleLR(torch.optim.SGD([nn.Parameter(torch.ones(2))], 0.1), 1.0, total_steps=9)": None,
    "torch.optim.lr_scheduler.CosineAnnealingLR(torch.optim.SGD([nn.Parameter(torch.ones(2))], 0.1), 5)": None,
    "(nn.functional.relu, torch.add, nn.functional.cross_entropy, torch.utils.data.default_collate)": None,
}
PROGRAM = """
import sys, torch, warnings
from torch import nn
warnings.simplefilter("ignore")
def told(made, given):
    yield type(made).__module__, type(made).__name__
    if isinstance(made, nn.Module):
        if given:
            torch.manual_seed(1)            # a lazy module draws its parameters now
            out = made(eval(given))
            yield [x.tolist() for x in out if isinstance(x, torch.Tensor)] if isinstance(out, tuple) else out.tolist()
        yield sorted(made.state_dict())
        yield [round(float(p.sum()), 4) for p in made.parameters()]
    elif isinstance(made, torch.optim.Optimizer):
        yield made.state_dict()
    elif not isinstance(made, tuple):
        yield sorted(made.state_dict()), made.get_last_lr()
OBJECTS = {objects!r}
for i, (text, given) in enumerate(OBJECTS.items()):
    if sys.argv[1] == "write":
        torch.manual_seed(0)
        torch.save(eval(text), sys.argv[2] + f"/{{i}}.pt")
    else:
        for one in told(torch.load(sys.argv[2] + f"/{{i}}.pt", weights_only=False), given):
            print(i, one)
"""


def _run(library: str, what: str, folder: str, program: str) -> str:
    start = [sys.executable, "-P"] if library == "torch" else [sys.executable, "-P", "-m", "claygrad", "run"]
    done = subprocess.run([*start, program, what, folder], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("writer", ["claygrad", "torch"])
def test_whole_objects_are_read_by_both(writer: str, tmp_path) -> None:
    program = str(tmp_path / "program.py")
    (tmp_path / "program.py").write_text(PROGRAM.format(objects=OBJECTS))
    _run(writer, "write", str(tmp_path), program)
    ours, theirs = (_run(library, "read", str(tmp_path), program) for library in ("claygrad", "torch"))
    for mine, own in zip(ours.splitlines(), theirs.splitlines(), strict=True):
        if mine != own:                                 # numbers, in another rounding
            assert NUMBER.sub("", mine) == NUMBER.sub("", own)
            assert _numbers(mine) == pytest.approx(_numbers(own), rel=1e-4, abs=1e-5)


NUMBER = re.compile(r"-?[0-9]+\.[0-9]+(e[-+][0-9]+)?")


def _numbers(line: str) -> list[float]:
    return [float(found.group()) for found in NUMBER.finditer(line)]
