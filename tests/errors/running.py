"""Runs the mistakes: a program of its own file, with torch, nn, F and np in it."""

from __future__ import annotations

import importlib
import linecache
import re
import traceback
import warnings
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np

from tests.errors import (
    mistakes_autograd,
    mistakes_data,
    mistakes_fresh_1,
    mistakes_fresh_2,
    mistakes_fresh_3,
    mistakes_fresh_4,
    mistakes_fresh_5,
    mistakes_fresh_6,
    mistakes_fresh_7,
    mistakes_fresh_8,
    mistakes_fresh_9,
    mistakes_fresh_10,
    mistakes_fresh_11,
    mistakes_later,
    mistakes_layers,
    mistakes_models,
    mistakes_named_1,
    mistakes_named_2,
    mistakes_python,
    mistakes_training,
    mistakes_values,
)

MISTAKES = {**mistakes_autograd.MISTAKES, **mistakes_values.MISTAKES, **mistakes_models.MISTAKES, **mistakes_layers.MISTAKES,
            **mistakes_training.MISTAKES, **mistakes_later.MISTAKES, **mistakes_data.MISTAKES, **mistakes_python.MISTAKES,
            **mistakes_fresh_1.MISTAKES, **mistakes_fresh_2.MISTAKES, **mistakes_fresh_3.MISTAKES,
            **mistakes_fresh_4.MISTAKES, **mistakes_fresh_5.MISTAKES,
            **mistakes_fresh_6.MISTAKES, **mistakes_fresh_7.MISTAKES,
            **mistakes_fresh_8.MISTAKES, **mistakes_fresh_9.MISTAKES, **mistakes_fresh_10.MISTAKES, **mistakes_fresh_11.MISTAKES,
            **mistakes_named_1.MISTAKES, **mistakes_named_2.MISTAKES}
MARK = "  # <-"
PARTS = ("optim", "optim.lr_scheduler", "utils.data", "utils.checkpoint", "distributions", "nn.utils.rnn", "nn.utils.prune",
         "nn.utils.parametrize", "func", "amp", "autograd.forward_ad")


class Outcome(NamedTuple):
    kind: str               # the exception's type
    text: str               # what it says
    files: list[str]        # of the traceback, the outermost frame first
    printed: str            # the traceback as Python prints it

    @property
    def first(self) -> str:
        """The first line, in PyTorch's names."""
        return self.text.split("\n")[0].replace("claygrad.", "torch.")

    @property
    def added(self) -> str:
        return self.text.partition("\n")[2]


def marked(program: str) -> list[int]:
    return [number for number, line in enumerate(program.splitlines(), 1) if line.endswith(MARK)]


def run(program: str, torch: ModuleType, path: Path) -> Outcome | None:
    """What the program raises; None if it comes to its end."""
    path.write_text(program.replace(MARK, ""))
    linecache.checkcache(str(path))
    for part in PARTS:
        importlib.import_module(f"{torch.__name__}.{part}")
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "np": np, "__name__": "mistake"}
    ours = hasattr(torch, "as_torch")
    torch.manual_seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(path.read_text(), str(path), "exec"), names)
    except Exception as error:
        if ours:
            from claygrad.errors._uncaught import note
            error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
            note(error)                      # what the hook does before Python shows an error that nobody catches
        trace = error.__traceback__ if ours else error.__traceback__.tb_next
        files = [frame.filename for frame in traceback.extract_tb(trace)]
        printed = "".join(traceback.format_exception(type(error), error, trace))
        text = "\n".join([str(error), *getattr(error, "__notes__", [])])
        return Outcome(type(error).__name__.lstrip("_"), text, files, printed)
    finally:
        torch.set_grad_enabled(True)                 # a mistake that some of them make
    return None


def faults(name: str, said: Outcome | None, path: Path) -> list[str]:
    """What is missing in claygrad's message: the lines, the way out, frames that should not be there."""
    way_out, program = MISTAKES[name]
    if said is None:
        return ["nothing was raised"]
    missing = [f"line {number}" for number in marked(program)
               if f"{path}:{number}" not in said.text and f'"{path}", line {number},' not in said.printed]
    if not re.search(way_out, said.added):
        missing.append(f"the way out, {way_out!r}")
    library = [file for file in said.files if "claygrad" in file]
    if library:
        missing.append(f"frames of {library}")
    return missing
