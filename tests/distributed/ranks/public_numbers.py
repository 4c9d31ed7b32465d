"""What public programs print, as PyTorch's torchrun printed it: `python -m tests.distributed.ranks.public_numbers torchrun` records.

Programs print lines `value name number`. PyTorch has no FullyShardedDataParallel and no SyncBatchNorm without a GPU."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PUBLIC = Path(__file__).parent / "programs" / "public"
RECORDED = Path(__file__).parent / "public_numbers.json"
PROGRAMS = ("digits", "meters", "accumulate", "shards", "optimizers", "messages", "megatron", "contrast")
WITH_FOLDER = ("digits", "meters", "shards")


def values(text: str) -> dict[str, float]:
    return {name: float(number) for name, number in re.findall(r"^value (\S+) (\S+)$", text, re.MULTILINE)}


def command(start: list[str], program: str, folder: str | Path, *options: str) -> list[str]:
    return [*start, str(PUBLIC / f"{program}.py"), *([str(folder)] if program in WITH_FOLDER else []), *options]


def main(torchrun: str) -> None:
    found = {}
    for program in PROGRAMS:
        for n in (2, 4):
            with tempfile.TemporaryDirectory() as folder:
                start = [torchrun, "--standalone", "--nproc-per-node", str(n)]
                done = subprocess.run(command(start, program, folder), capture_output=True, text=True, check=True)
            found[f"{program} {n}"] = values(done.stdout)
    RECORDED.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
