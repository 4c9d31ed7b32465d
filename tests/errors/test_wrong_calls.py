"""Wrong calls of every public name: what they raise names the line, and says what to do.

Each call is made of a good one by an argument of another kind, shape or dtype, one too few, twelve too many, or an
unknown keyword. A sample of them runs here, always the same.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import linecache
import random
import re
import traceback
import warnings

import numpy as np
import pytest

import claygrad
from claygrad import nn
from claygrad.core import Op

F = nn.functional
HOMES = {"torch": claygrad, "F": F, **{name: importlib.import_module(name.replace("torch", "claygrad").replace("nn.", "claygrad.nn."))
         for name in ("torch.linalg", "torch.fft", "torch.special", "nn.utils.rnn", "nn.init", "torch.func")}}
CLASSES = {name: importlib.import_module(name.replace("torch", "claygrad").replace("nn.", "claygrad.nn."))
           for name in ("torch.optim", "torch.optim.lr_scheduler", "torch.distributions", "torch.utils.data")} | {"nn": nn}
WRONG = ("None", "'abc'", "3.7", "-5", "[t, t]", "np.ones((2, 3))", "{'a': t}", "(t, t)", "nn.Linear", "lin", "t", "ti", "tb",
         "t.unsqueeze(0)", "t[0]", "torch.zeros(0)", "torch.zeros(7, 5)", "10**6", "'mean'", "tc", "(x for x in [1])",
         "torch.float32", "t.half()")
PROGRAM = "t = torch.randn(3, 4); ti = torch.arange(12).reshape(3, 4); tb = t > 0; tc = torch.complex(t, t); lin = nn.Linear(4, 2)"
SETTINGS = re.compile(r"set_|use_|manual_seed|seed|save|load|as_torch|from_file|graph|enable_grad|compile|backward|guard_package")
# What says nothing more than that something is wrong.
EMPTY = re.compile(r"^(?!.* (?:must|should) .*\bcame\b).*(?:leave out what the text names|give it what it takes|take a number that fits|choose a value that it knows|"
                   r"do each step once|give it as many as the text says)")
OPERAND = re.compile(r"(at |in [\w.\[\]]*:? ?\w+\(|where |[^:]+: \(.*?\) (float|int|bool|complex|bfloat)|and \d+ more)")


def good_argument(name: str, annotation: str) -> str:
    if "Tensor" in annotation or name in ("input", "x", "other", "target", "weight", "tensor", "loc", "scale"):
        return "t"
    if "int" in annotation or re.search(r"dim|size|features|channels|num", name):
        return "2"
    known = {"params": "lin.parameters()", "optimizer": "torch.optim.SGD(lin.parameters(), lr=0.1)", "module": "lin", "model": "lin",
             "tensors": "[t]", "sequences": "[t]", "dataset": "[t]", "func": "(lambda a: a)", "fn": "(lambda a: a)"}
    return known.get(name, "0.5" if "float" in annotation else "t")


def good_arguments(called) -> list[str]:
    if isinstance(called, Op):
        called = called.info["declaration"].fn if called.info.get("declaration") else called
    try:
        params = inspect.signature(called).parameters.values()
    except (TypeError, ValueError):
        return ["t"]
    return [good_argument(p.name, str(p.annotation)) for p in params if p.name not in ("self", "xp") and p.default is p.empty
            and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)] or ["t"]


def calls() -> list[tuple[str, list[str]]]:
    """Everything public that can be called, with arguments."""
    found = []
    for home, module in HOMES.items():
        for name, value in sorted(vars(module).items()):
            public = not name.startswith("_") and callable(value) and not isinstance(value, type) and not SETTINGS.match(name)
            if public and str(getattr(value, "__module__", "claygrad")).startswith("claygrad"):
                found.append((f"{home}.{name}", good_arguments(value)))
    for home, module in CLASSES.items():
        for name, value in sorted(vars(module).items()):
            if isinstance(value, type) and not name.startswith("_") and value.__init__ is not object.__init__ and not issubclass(
                    value, (BaseException, tuple)):
                found.append((f"{home}.{name}", good_arguments(value.__init__)))
    for name in sorted(dir(claygrad.Tensor)):
        held = getattr(claygrad, name, None)
        if isinstance(held, Op):
            found.append((f"t.{name}", good_arguments(held)[1:] or ["t"]))
    return found


def programs(seed: int, count: int) -> list[str]:
    draw = random.Random(seed)
    made = []
    for name, good in draw.sample(calls(), count):
        kind = draw.choice(("wrong", "wrong", "wrong", "wrong", "few", "many", "keyword"))
        given = list(good)
        if kind == "wrong":
            given[draw.randrange(len(good))] = draw.choice(WRONG)
        elif kind == "few":
            given.pop()
        else:
            given += ["t"] * 12 if kind == "many" else ["axxis=1"]
        made.append(f"{name}({', '.join(given)})")
    return made


def faults(program: str) -> list[str]:
    """What the message lacks; nothing for a call that runs."""
    from claygrad.errors._uncaught import note
    file = f"<{program}>"
    linecache.cache[file] = (len(program), None, [program + "\n"], file)
    names = {"torch": claygrad, "nn": nn, "F": F, "np": np}
    claygrad.manual_seed(0)
    exec(PROGRAM, names)
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(program, file, "exec"), names)
    except Exception as error:
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        note(error)
        text = "\n".join([str(error), *getattr(error, "__notes__", [])])
        printed = "".join(traceback.format_exception(error))
    else:
        return []
    lines = [line.strip() for line in text.split("\n")[1:] if line.strip()]
    told = [line for line in lines if not OPERAND.match(line)]
    empty = told and all(line.startswith("see ") or EMPTY.search(line) for line in told)
    library = [frame for frame in re.findall(r'File "([^"]+)"', printed) if "claygrad" in frame]
    return [*(["no line"] if file not in printed else []), *(["no way out"] if not told else ["an empty one"] if empty else []),
            *(f"a frame of {frame}" for frame in library)]


@pytest.mark.parametrize("seed", range(6))
def test_wrong_calls_are_explained(seed: int):
    made = programs(seed, 60)
    found = {program: missing for program in made if (missing := faults(program))}
    assert len(made) == 60
    assert found == {}
