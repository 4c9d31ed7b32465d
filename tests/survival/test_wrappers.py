"""Tensors without memory, whose class is not asked: every operation on them ends in a result or an exception."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support import fresh

PROGRAM = """
import claygrad as torch
from claygrad.ops._registry import REGISTRY
from claygrad.utils._python_dispatch import _DisableTorchDispatch
from tests.ops.cases import ours
from tests.ops.factory import Build, Factory

class Wrapper(torch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return NotImplemented

def wrapped(value):
    if isinstance(value, torch.Tensor) and value.layout == torch.strided:
        return torch.Tensor._make_wrapper_subclass(Wrapper, value.size(), strides=value.stride(), dtype=value.dtype,
                                                   requires_grad=value.requires_grad)
    return type(value)(map(wrapped, value)) if type(value) in (list, tuple) else value

calls = 0
for key, said in REGISTRY.items():
    for call in said.samples(Factory(key)) if said.samples else ():
        args, kwargs = call.build(Build(torch, grad=True))
        for given in ([wrapped(x) for x in args], [*map(wrapped, args[:1]), *args[1:]], [*args[:1], *map(wrapped, args[1:])]):
            print(key, flush=True)
            with _DisableTorchDispatch():
                try:
                    out = ours(torch, said)(*given, **kwargs)
                    repr(out)
                    if isinstance(out, torch.Tensor) and out.requires_grad:
                        out.sum().backward()
                except Exception:
                    continue
            calls += 1
print("ended", calls)
"""


def test_nothing_crashes():
    root = str(Path(__file__).parents[2])
    program = f"import sys; sys.path.append({root!r})\n{PROGRAM}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=False,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.stdout.splitlines()[-1].startswith("ended"), (done.returncode, done.stdout[-100:], done.stderr[-2000:])


def _with(answer, call):
    import claygrad as torch
    from claygrad.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return answer

    x = torch.ones(3, requires_grad=True)
    with Mode():
        return call(torch, x)


def test_a_mode_that_answers_the_same_tensor_again_and_again():
    """It is asked for the copy of that tensor too: none may become a view of itself."""
    import claygrad as torch

    for make in (lambda: torch.ones(3), lambda: torch.ones(3, requires_grad=True) * 1, lambda: torch.ones(3, dtype=torch.int64)):
        for call in (lambda t, x: x.mul(2).cumsum(0).unsqueeze(0).expand(4, 3).add_(1), lambda t, x: x.view(3)[1:].mul_(2).sum(),
                     lambda t, x: x.t().split(1)[0].add_(x), lambda t, x: x.detach().view(3).relu_().view(1, 3).neg_()):
            try:
                y = _with(make(), call)
                _ = y._base, y.grad_fn, y.is_leaf
                y.sum().backward()
            except (RuntimeError, TypeError, IndexError, AttributeError):
                continue


def test_an_answer_that_is_no_tensor_is_not_written_to_out():
    import pytest

    import claygrad as torch

    plain = torch.zeros(3)
    for answer in (0, "a", [], {}, object()):
        for call in (lambda t, x: t.add(plain, plain, out=plain), lambda t, x: t.linalg.vector_norm(plain, out=plain),
                     lambda t, x: t.max(plain, 0, out=(plain, plain))):
            with pytest.raises((TypeError, ValueError, RuntimeError)):
                _with(answer, call)


SLOTS = ("iter(x)", "list(x)", "bool(x)", "float(x)", "int(x)", "complex(x)", "x.__index__()", "len(x)", "reversed(x)", "x in x", "repr(x)",
         "format(x, '')", "format(x, '.2f')", "x.tolist()", "x.item()", "x.__array__()", "x[0]", "x[x]", "x.__setitem__(0, x)", "-x", "abs(x)",
         "round(x)", "copy.copy(x)", "copy.deepcopy(x)", "x.T", "x.data", "x.grad", "x.numpy()", "torch.tensor(x)", "torch.stack([x, x])",
         "[1, 2, 3][x]", "x == x", "divmod(x, x)", "pow(x, x)", "torch.zeros(x)", "x.view(x)", "math.floor(x)", "max(x)", "sum(x)", "sorted(x)",
         "f(*x)", "x.backward()", "x.split(1)", "x.to(x)", "hash(x)", "torch.Size(x)")
ANSWERS = ("torch.tensor(1.0)", "torch.ones(3)", "torch.arange(3)", "x")


def test_an_answer_that_is_asked_the_same_again_ends_in_an_exception(lib):
    """What Python asks of a tensor through a slot (`iter`, `bool`, `x in y`) it asks of the answer too: in C nobody counts such calls."""
    fresh(lib, f"""
    import contextlib, copy, math, warnings
    from claygrad.utils._python_dispatch import TorchDispatchMode
    warnings.simplefilter("ignore")
    def f(*args): return args
    for call in {SLOTS!r}:
        for text in {ANSWERS!r}:
            class Asked(torch.Tensor):
                @classmethod
                def __torch_function__(cls, func, types, args=(), kwargs=None):
                    return answer
            class Function(torch.overrides.TorchFunctionMode):
                def __torch_function__(self, func, types, args=(), kwargs=None):
                    return answer
            class Dispatch(TorchDispatchMode):
                def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                    return answer
            for made, mode in ((False, Function()), (False, Dispatch()), (True, contextlib.nullcontext())):
                x = torch.ones(3).as_subclass(Asked) if made else torch.ones(3)
                answer = eval(text)
                answer = answer.as_subclass(Asked) if made and text != "x" else answer
                with contextlib.suppress(Exception), mode:
                    eval(call)
    for wrong in (5, None, print, object()):
        for enter in (torch.overrides.TorchFunctionMode.__enter__, TorchDispatchMode.__enter__):
            try:
                enter(wrong)
            except TypeError:
                continue
            assert False, wrong
    """)
