"""`make coverage`: how much of PyTorch's operator database claygrad does as PyTorch does. Prints totals and every gap.

With --write FILE the table of all entries goes to that file too.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import multiprocessing
import os
from collections import Counter
from pathlib import Path

from tests.oracle.opdb.checks import CHECKS, DTYPES, PLAIN, supports
from tests.oracle.opdb.database import LEFT_OUT, entries, ours
from tests.oracle.opdb.gaps import ABSENT, GAPS
from tests.oracle.opdb.run import problems

Cell = tuple[str, str]       # what was checked, in which dtype
# The checks as the page calls them.
TITLES = {"variants": "methods and in-place forms", "layouts": "strided and transposed inputs", "edges": "empty and 0-dim inputs",
          "special": "NaN and infinities", "errors": "wrong inputs"}


def judge(name: str, limit: int | None) -> tuple[str, dict[Cell, bool]]:
    """Whether each check of an entry passed; what the database does not ask for is not there. Gaps count as failed."""
    import torch

    torch.set_num_threads(1)
    found: dict[Cell, bool] = {("present", ""): ours(name) is not None}
    if ours(name) is None:
        return name, found
    smooth = entries()[name].supports_autograd
    for check, dtype, texts in problems(name, limit=limit, gaps={}):
        if check == "special" and not isinstance(entries()[name], PLAIN):
            continue
        if check != "gradients":
            found[check, dtype] = not texts
        elif smooth and DTYPES[dtype] in entries()[name].supported_backward_dtypes("cpu"):
            found["gradient", dtype] = not any("first derivative" in text for text in texts)
            if entries()[name].supports_gradgrad:
                found["second gradient", dtype] = not texts
    return name, found


def declared(name: str) -> tuple[str, dict[Cell, bool]]:
    """The same from the gaps that are declared, without a run: the tests fail on any other difference, and on a gap that
    is none any more. A gap of derivatives counts against the first and the second."""
    found: dict[Cell, bool] = {("present", ""): name not in ABSENT}
    if name in ABSENT:
        return name, found
    op = entries()[name]
    for check, (_, dtypes) in CHECKS.items():
        for dtype in dtypes:
            if not supports(name, dtype) or (check == "special" and not isinstance(op, PLAIN)):
                continue
            passed = (name, check) not in GAPS and (name, check, dtype) not in GAPS
            if check != "gradients":
                found[check, dtype] = passed
            elif op.supports_autograd and DTYPES[dtype] in op.supported_backward_dtypes("cpu"):
                found["gradient", dtype] = passed
                if op.supports_gradgrad:
                    found["second gradient", dtype] = passed
    if op.error_inputs_func is not None:
        found["errors", ""] = (name, "errors") not in GAPS
    return name, found


def table(results: dict[str, dict[Cell, bool]]) -> list[str]:
    """Totals: a row for each check, a column for each dtype, entries that pass of entries that are asked."""
    lines = ["| check | " + " | ".join(DTYPES) + " |", "|---|" + "--:|" * len(DTYPES)]
    for check in ("forward", "gradient", "second gradient", *(c for c in CHECKS if c not in ("forward", "gradients"))):
        cells = []
        for dtype in DTYPES:
            asked = [found[check, dtype] for found in results.values() if (check, dtype) in found]
            cells.append(f"{sum(asked)} of {len(asked)}" if asked else "")
        lines.append(f"| {TITLES.get(check, check)} | " + " | ".join(cells) + " |")
    wrong = [found["errors", ""] for found in results.values() if ("errors", "") in found]
    return [*lines, f"| wrong inputs, any dtype | {sum(wrong)} of {len(wrong)} |" + " |" * (len(DTYPES) - 1)]


def gaps(results: dict[str, dict[Cell, bool]]) -> list[str]:
    """Every entry that fails somewhere: where, and why."""
    lines = ["| entry | differs in | why |", "|---|---|---|"]
    for name, found in results.items():
        if not all(found.values()):
            why = dict.fromkeys([ABSENT[name]] if name in ABSENT else [r for key, r in GAPS.items() if key[0] == name])
            lines.append(f"| `{name}` | {differences(found)} | {'; '.join(why) or 'not known yet'} |")
    return lines


def differences(found: dict[Cell, bool]) -> str:
    """The checks that fail, with their dtypes where others pass: `gradient (float32), layouts`."""
    texts = []
    for check in dict.fromkeys(check for check, _ in found):
        failed = [dtype for (of, dtype), passed in found.items() if of == check and not passed]
        some = any(passed for (of, _), passed in found.items() if of == check)
        if failed:
            dtypes = f" ({', '.join(failed)})" if some else ""
            texts.append(TITLES.get(check, check) + dtypes)
    return ", ".join(texts)


def totals(results: dict[str, dict[Cell, bool]]) -> str:
    whole = Counter(all(found.values()) for found in results.values())
    present = sum(found["present", ""] for found in results.values())
    return f"{present} of {len(results)} entries of PyTorch's operator database are there; {whole[True]} agree in every check."


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--write", type=Path, help="the whole table goes here too")
    ask.add_argument("--limit", type=int, help="so many samples of each entry")
    ask.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    ask.add_argument("--declared", action="store_true", help="no run: what the declared gaps say")
    told = ask.parse_args()
    names = list(entries())
    if told.declared:
        publish(dict(map(declared, names)), told.write, "make coverage COVERAGE_ARGS=--declared")
        return
    with concurrent.futures.ProcessPoolExecutor(told.workers, multiprocessing.get_context("spawn")) as pool:
        results = {}
        for n, (name, found) in enumerate(pool.map(judge, names, [told.limit] * len(names)), 1):
            results[name] = found
            print(f"\r{n} of {len(names)} {name:60.60}", end="", flush=True)
    print("\r" + " " * 80)
    publish(results, told.write, "make coverage")


def publish(results: dict[str, dict[Cell, bool]], path: Path | None, made_by: str) -> None:
    out = "; ".join(f"{kind} ({', '.join(f'`{name}`' for name in which)})" for kind, which in LEFT_OUT.items())
    text = [totals(results), "", *table(results), "", f"Left out: {out}; and names that begin with an underscore.", "",
            *gaps(results)]
    print("\n".join(text))
    if path:
        head = ["# Agreement with PyTorch", "",
                "PyTorch tests itself with a database of its operators: each entry is an operation with sample inputs. Tests run every entry on both libraries, and compare results,",
                "gradients and errors. The first table says how many entries agree, by check and dtype; the second lists every entry that does not, with the reason.",
                f"`{made_by}` writes this page.", ""]
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join([*head, *text]) + "\n")


if __name__ == "__main__":
    main()
