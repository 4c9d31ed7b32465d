"""Programs in the manner of PyTorch's tutorials and examples, as they are: the numbers of PyTorch's torchrun, and those of one process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.distributed.ranks.public_numbers import PROGRAMS, RECORDED, command, values
from tests.distributed.ranks.test_public_programs import CLAYGRAD
from tests.distributed.starting import start


def printed(n: int, program: str, folder: Path, *options: str, env: dict[str, str] | None = None) -> dict[str, float]:
    done = start(command([CLAYGRAD, "launch", "-n", str(n)], program, folder, *options), 120, env)
    assert done.code == 0, f"{done.out}\n{done.err}"
    return values(done.out)


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_prints_what_it_prints_with_torchrun(program: str, n: int, tmp_path: Path) -> None:
    recorded = json.loads(RECORDED.read_text())[f"{program} {n}"]
    found = printed(n, program, tmp_path)
    # A rank that has joined takes ZeRO's step here with the gradients of those that go on, there with its last ones.
    for name in ("join", "joined") if program == "optimizers" else ():
        recorded.pop(name)
        found.pop(name)
    assert recorded
    assert found == pytest.approx(recorded, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(("program", "options"), [
    ("digits", ("--sync-bn",)), ("accumulate", ()), ("shards", ()), ("megatron", ()), ("wrapped", ()),
    ("wrapped", ("--policy", "size", "--orig")), ("wrapped", ("--policy", "wrap")), ("wrapped", ("--checkpoint",)),
    ("wrapped", ("--checkpoint", "--reentrant")), ("wrapped", ("--inside",))], ids=" ".join)
def test_ranks_print_what_one_process_prints(program: str, options: tuple[str, ...], tmp_path: Path) -> None:
    alone = printed(1, program, tmp_path, *options)
    assert alone
    for n in (2,) if options else (2, 4):
        assert printed(n, program, tmp_path, *options) == pytest.approx(alone, rel=2e-4, abs=1e-5)


@pytest.mark.parametrize(("program", "options", "env", "bound"), [
    ("accumulate", (), {"DTYPE": "bfloat16"}, 2e-2), ("accumulate", (), {"DTYPE": "float16"}, 1e-2), ("wrapped", ("--bf16",), {}, 2e-2)],
    ids=["autocast bfloat16", "autocast float16", "mixed precision"])
def test_half_precision_is_near_one_process(program, options, env, bound, tmp_path: Path) -> None:
    alone = printed(1, program, tmp_path, *options, env=env)
    assert alone
    assert printed(2, program, tmp_path, *options, env=env) == pytest.approx(alone, rel=bound)
