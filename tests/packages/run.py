"""The packages of the table in docs/ecosystem.md: install them without torch, run them on claygrad, compare, write the table.

    python run.py install                         # an environment .venv-ecosystem: claygrad, the shim, all packages
    .venv-ecosystem/bin/python run.py compare --write docs/ecosystem.md
    .venv-ecosystem/bin/python run.py compare [NAME…]
    python run.py record [NAME…]                  # in an environment with PyTorch: its numbers, into numbers/
"""
from __future__ import annotations

import argparse
import importlib.metadata
import json
import subprocess
import sys
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from compare import Outcome, differences, run
from uses import HERE, USES, Use

LIGHT = ("einops", "gpytorch", "pyro", "safetensors", "torchinfo")     # for every change; the others now and then


def install(folder: Path, light: bool) -> int:
    """Make an environment with claygrad under the name torch and the packages, none of which may bring torch itself."""
    print(f"{folder}: claygrad, the shim and the packages of {'light' if light else 'requirements'}.txt", flush=True)
    venv.create(folder, clear=True, with_pip=True)
    python = str(folder / "bin" / "python")
    wheels = [str(path) for path in sorted((HERE.parents[1] / "build" / "wheel").glob("*.whl"))]
    listed = str(HERE / ("light.txt" if light else "requirements.txt"))
    for command in (["-m", "pip", "install", "--quiet", "--no-deps", "-r", listed],
                    ["-m", "pip", "install", "--quiet", *(wheels or [str(HERE.parents[1])])],       # `make wheel` is quicker
                    ["-m", "claygrad", "shim", "--install"]):
        done = subprocess.run([python, "-P", *command], check=False)          # -P: not the claygrad of the current folder
        if done.returncode:
            return done.returncode
    names = subprocess.run([python, "-m", "pip", "list", "--format=freeze"], capture_output=True, text=True, check=True).stdout.split()
    unwanted = [name for name in names if name.startswith(("nvidia-", "triton==")) or (name.startswith("torch==") and "claygrad" not in name)]
    if unwanted:
        print(f"PyTorch came along: {', '.join(unwanted)}", file=sys.stderr)
        return 1
    subprocess.run([python, "-m", "pip", "check"], check=False)          # what a package says it needs and no program uses
    print(f"{len(names)} packages. Now: {folder / 'bin' / 'python'} {Path(__file__)} compare")
    return 0


def record(use: Use) -> str:
    """Keep what PyTorch gives."""
    outcome = run([sys.executable], use.program, PYTHONPATH=str(HERE / "recording"))
    if outcome.error:
        return f"{use.name}: {outcome.error}"
    use.numbers.parent.mkdir(exist_ok=True)
    versions = {name: importlib.metadata.version(name) for name in (*use.packages, "torch", "numpy")}
    lines = ",\n".join("  " + json.dumps(pair) for pair in outcome.numbers)
    use.numbers.write_text(f'{{"versions": {json.dumps(versions)},\n"numbers": [\n{lines}\n]}}\n')
    return f"{use.name}: {len(outcome.numbers)} lines in {outcome.seconds:.1f} s"


def compare(use: Use) -> tuple[Outcome, list[str]]:
    """Run on claygrad; what is different."""
    outcome = run([sys.executable, "-m", "claygrad", "run"], use.program)
    wanted = json.loads(use.numbers.read_text())["numbers"]
    if outcome.error:
        return outcome, [outcome.error]
    return outcome, differences([tuple(pair) for pair in wanted], outcome.numbers, use.rtol, use.atol)


def table(results: list[tuple[Use, list[str], int]]) -> str:
    """The page of the documentation."""
    rows = []
    for use, found, count in results:
        versions = json.loads(use.numbers.read_text())["versions"]
        names = ", ".join(f"{name} {versions[name]}" for name in use.packages)
        rows.append(f"| {names} | {use.what} | {f'equal ({count})' if not found else _cell(found[0])} |")
    equal = sum(not found for _, found, _ in results)
    return _PAGE.format(equal=equal, all=len(results), rows="\n".join(rows))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")[:300]


_PAGE = """# Packages written for PyTorch

The packages below were written for PyTorch, and run on claygrad without a change, in an environment where PyTorch is not installed.

How each is tested: a small [program](../tests/packages/programs) uses the package as a user would, with a fixed seed, and prints losses, gradients, predictions or generated tokens. The
printed numbers must equal those that PyTorch 2.13.0 printed for the same program, up to a relative difference of 1e-4 or an absolute one of 1e-5, because sums may be added in
another order. The number in brackets says how many lines were compared. The versions are in [tests/packages/requirements.txt](../tests/packages/requirements.txt).

To use a package in your own environment: `claygrad shim --install`, then `pip install` the package as usual. [From PyTorch](from-pytorch.md) has the other ways.

Some programs compute in float64, in part or as a whole, because float32 rounding differs by more than the tolerance. For instance, a BatchNorm over 4 to 8 numbers magnifies
rounding errors; compared with float64, PyTorch's float32 results are then as far off as claygrad's. This holds for segmentation-models-pytorch, timm, one model of torchvision, auraloss,
efficientnet-pytorch, facenet-pytorch, geoopt, glom-pytorch, hypll, invariant-point-attention, linformer and the packages beside it, pytorch-msssim, rtdl-revisiting-models and torchani.

One package computes another gradient under PyTorch. blitz overwrites sampled noise that an earlier graph still needs when its loss takes more than one sample. PyTorch
then silently computes a wrong gradient; claygrad computes [the right one](questions/index.md). With one sample, as here, both agree.

`make ecosystem` installs all packages, runs all programs and writes this page; `make test-packages` runs five of them.

{equal} of {all} are equal.

| package | what was run | numbers |
|---|---|---|
{rows}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["install", "compare", "record"])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--light", action="store_true", help="the five that are run for every change")
    parser.add_argument("--write", type=Path, metavar="FILE", help="the table, as a page")
    parser.add_argument("--into", type=Path, metavar="FOLDER", default=HERE.parents[1] / ".venv-ecosystem",
                        help="where install makes the environment")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_intermixed_args()
    if options.what == "install":
        return install(options.into.resolve(), options.light)
    names = set(options.names) | set(LIGHT if options.light else ())
    unknown = names - {use.name for use in USES}
    if unknown:
        parser.error(f"no program for {', '.join(sorted(unknown))}")
    uses = [use for use in USES if not names or use.name in names]
    results, failed = [], 0
    with ThreadPoolExecutor(options.jobs) as pool:
        if options.what == "record":
            for line in pool.map(record, uses):
                print(line, flush=True)
            return 0
        for use, (outcome, found) in zip(uses, pool.map(compare, uses)):
            print(f"{use.name}: {f'equal, {len(outcome.numbers)} lines' if not found else 'NOT EQUAL'} in {outcome.seconds:.1f} s", flush=True)
            for line in found[:12]:
                print(f"    {line}", flush=True)
            failed += bool(found)
            results.append((use, found, len(outcome.numbers)))
    print(f"{len(results) - failed} passed, {failed} failed")
    if options.write:
        options.write.write_text(table(results))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
