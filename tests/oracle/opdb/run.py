"""The differential run by hand: python -m tests.oracle.opdb.run [--match REGEX] [--check NAME] [--dtype NAME] [OP ...]

Prints what differs, an entry at a time. Without names: every entry.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Iterator

import torch

from tests.oracle.opdb.checks import CHECKS, errors, supports
from tests.oracle.opdb.database import entries, ours
from tests.oracle.opdb.gaps import GAPS


def problems(name: str, checks: list[str] | None = None, dtypes: list[str] | None = None,
             limit: int | None = None, gaps: dict[tuple[str, ...], str] = GAPS) -> Iterator[tuple[str, str, list[str]]]:
    """(check, dtype, differences) for all that was asked of an entry; gaps that were declared are left out."""
    if ours(name) is None:
        yield "present", "", ["claygrad has no such function"]
        return
    for check, (function, kinds) in CHECKS.items():
        if checks and check not in checks:
            continue
        for dtype in kinds:
            if (dtypes and dtype not in dtypes) or not supports(name, dtype) or (name, check, dtype) in gaps or (name, check) in gaps:
                continue
            yield check, dtype, _found(function, name, dtype, **({} if limit is None else {"limit": limit}))
    if (not checks or "errors" in checks) and (name, "errors") not in gaps:
        yield "errors", "", _found(errors, name)


def _found(check: Callable, *args: str, **options: int) -> list[str]:
    try:
        return list(check(*args, **options))
    except Exception as error:
        return [f"the check itself failed: {type(error).__name__}: {error}"]


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("names", nargs="*")
    ask.add_argument("--match", help="regular expression over the names")
    ask.add_argument("--check", action="append", choices=[*CHECKS, "errors"])
    ask.add_argument("--dtype", action="append")
    ask.add_argument("--limit", type=int, help="so many samples of each")
    ask.add_argument("--show", type=int, default=3, help="so many differences of each")
    ask.add_argument("--exact", action="store_true", help="names without their variants")
    ask.add_argument("--brief", action="store_true", help="one line an entry")
    told = ask.parse_args()
    torch.set_num_threads(1)
    chosen = [name for name, op in entries().items()
              if (not told.names or name in told.names or (not told.exact and op.name in told.names))
              and (not told.match or re.search(told.match, name))]
    clean = 0
    for name in chosen:
        began, lines = time.perf_counter(), []
        for check, dtype, found in problems(name, told.check, told.dtype, told.limit):
            if found:
                lines.append(f"  {check} {dtype}: {len(found)} differ")
                lines += [] if told.brief else [f"    {text[:600]}" for text in found[:told.show]]
        clean += not lines
        print(f"{name}: {'ok' if not lines else ''} {time.perf_counter() - began:.1f} s", *lines,
              sep=" |" if told.brief else "\n", flush=True)
    print(f"{clean} of {len(chosen)} clean")


if __name__ == "__main__":
    main()
