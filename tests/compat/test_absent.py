"""The table of what is absent: complete, true, and on the page that is made of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import claygrad
from claygrad.cli import main
from claygrad.compat import names
from claygrad.compat.absent import ABSENT, explanation
from claygrad.compat.refusing import is_only_a_name

TOOL = Path(__file__).parents[2] / "tools" / "make_absent.py"


def test_the_page_is_up_to_date() -> None:
    done = subprocess.run([sys.executable, TOOL, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_page_calls_no_module_absent_that_works() -> None:
    whole, parts = (TOOL.parents[1] / "docs" / "absent.md").read_text().split("## Absent in part")
    for name in ("accelerator", "cuda", "distributed", "fx", "jit", "library", "masked", "profiler", "sparse", "xpu"):
        assert f"| `torch.{name}` |" not in whole
        assert f"| `torch.{name}` |" in parts
    for name in ("func", "hub", "utils.checkpoint"):            # all of their public names work
        assert f"| `torch.{name}` |" not in whole + parts


@pytest.mark.parametrize("name", sorted(ABSENT))
def test_entries_say_why_and_what_instead(name: str) -> None:
    entry = ABSENT[name]
    assert entry.why
    assert entry.instead
    assert not entry.why.endswith(".")


def test_every_name_that_is_only_a_name_has_a_reason() -> None:
    for module, known in names.table().items():
        for name in known:
            assert explanation(f"{module}.{name}")


def test_what_works_is_not_called_absent() -> None:
    for name in ("torch.compile", "torch.jit.script", "torch.library.custom_op", "torch.hub.load", "torch.distributed.all_reduce",
                 "torch.distributed.fsdp.FullyShardedDataParallel", "torch.nn.parallel.DistributedDataParallel"):
        value = claygrad
        for part in name.split(".")[1:]:
            value = getattr(value, part)
        assert not is_only_a_name(value)
        assert name not in ABSENT


def test_check_tells_names_from_what_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "program.py"
    program.write_text("import torch\nfrom torch.distributed.tensor import DTensor\n"
                       "torch.relu\ntorch.compile\ntorch.nope\n")
    assert main(["check", str(program)]) == 1
    told = capsys.readouterr().out
    assert "a name   torch.distributed.tensor.DTensor" in told
    assert "processes communicate through MPI" in told
    assert "missing  torch.nope" in told
    assert "5 names of torch, 3 there, 1 only names, 1 missing" in told
