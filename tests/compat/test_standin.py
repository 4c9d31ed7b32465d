"""claygrad in torch's place: each program runs in a process of its own, where no torch is ever loaded."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_one_object_two_names() -> None:
    assert run("""
        import claygrad
        claygrad.as_torch()
        import torch, torch.nn as nn, torch.utils.data, torch.optim.lr_scheduler
        from torch.nn import functional as F
        from torch.utils import _pytree
        assert torch is claygrad and nn is claygrad.nn and F.relu is claygrad.nn.functional.relu
        assert torch.optim.lr_scheduler.StepLR is claygrad.optim.lr_scheduler.StepLR
        assert claygrad.nn.__spec__.name == "claygrad.nn"
        print(_pytree.tree_map(lambda x: x + 1, [1]))
    """) == "[2]\n"


def test_what_names_itself_says_torch() -> None:
    assert run("""
        import claygrad, pickle
        claygrad.as_torch()
        import torch
        from torch.optim.lr_scheduler import StepLR
        print(torch.Tensor, torch.nn.Linear, torch.float32, torch.ones(2).shape, StepLR.__module__.split(".")[0])
        print(b"torch.nn" in pickle.dumps(torch.nn.Linear(1, 1)), b"claygrad" in pickle.dumps(torch.nn.Linear(1, 1)))
    """) == ("<class 'torch.Tensor'> <class 'torch.nn.modules.linear.Linear'> torch.float32 torch.Size([2]) torch\n"
             "True False\n")


def test_versions() -> None:
    assert run("""
        import claygrad, importlib.metadata
        claygrad.as_torch()
        import torch
        print(importlib.metadata.version("torch"), torch.__version__.startswith("2.13.0+claygrad"))
        print(torch.__version__ >= "2.1", torch.__version__ > (2, 9), torch.__version__ < "3", torch.__version__ == "2.0")
    """) == "2.13.0+claygrad True\nTrue True True False\n"


def test_as_a_context() -> None:
    assert run("""
        import claygrad, sys
        with claygrad.as_torch() as torch:
            with claygrad.as_torch():
                import torch.nn
            print(torch.float32, torch.nn.Linear.__module__)
        print(claygrad.float32, claygrad.nn.Linear.__module__, "torch" in sys.modules, claygrad.__version__)
    """).splitlines()[0] == "torch.float32 torch.nn.modules.linear"


def test_the_context_leaves_nothing_behind() -> None:
    assert run("""
        import claygrad, sys
        before = claygrad.__version__, list(sys.meta_path)
        with claygrad.as_torch():
            import torch.distributions
        assert (claygrad.__version__, list(sys.meta_path)) == before
        print(claygrad.float32, claygrad.distributions.Normal.__module__, [m for m in sys.modules if m.startswith("torch")])
    """) == "claygrad.float32 claygrad.distributions.normal []\n"


def test_refused_where_torch_is_loaded() -> None:
    assert run("""
        import sys, types
        sys.modules["torch"] = types.ModuleType("torch")
        import claygrad
        try:
            claygrad.as_torch()
        except ImportError as error:
            print(str(error).splitlines()[0])
    """) == "claygrad cannot stand in for torch: torch itself is imported already.\n"


@pytest.mark.parametrize(("program", "line"), [
    ("import torch; torch.vmap", "module 'claygrad' has no attribute 'vmap'"),
    ("import torch.distributed.pipeline", "No module named 'torch.distributed.pipeline'"),
])
def test_absent_names_say_why(program: str, line: str) -> None:
    told = run(f"""
        import claygrad
        claygrad.as_torch()
        try:
            {program}
        except (AttributeError, ImportError) as error:
            print(error)
    """).splitlines()
    assert told[0] == line
    assert len(told) > 1
    assert "complex" not in told[1]
