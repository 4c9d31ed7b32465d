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

Each of these packages is installed without torch (`pip install --no-deps`, versions in
[tests/packages/requirements.txt](../tests/packages/requirements.txt)) and runs unmodified under `claygrad run`. A
[program](../tests/packages/programs) of each, with a fixed seed, prints numbers by name: losses, gradients, predictions,
generated tokens. They are compared with the numbers that PyTorch 2.13.0 gave for the same program: a relative difference
of 1e-4 or an absolute one of 1e-5 is allowed where sums come in another order. In brackets: how many lines were compared.

segmentation-models-pytorch, timm and one model of torchvision run in float64: their small pictures leave BatchNorms 4 to 8
numbers to normalize, which magnifies how float32 rounds. Measured layer by layer against float64, PyTorch's float32 is then as
far off as claygrad's, and further than the tolerance. auraloss, efficientnet-pytorch, facenet-pytorch, geoopt, hypll and
pytorch-msssim run in float64 too, in part or whole, and so do linformer and those with it, glom-pytorch,
invariant-point-attention, rtdl-revisiting-models and torchani.

blitz draws new noise into memory that a graph still holds, once per sample of its loss. With more than one sample PyTorch then
silently gives the gradient of another function; claygrad gives that of the function that was computed
([how](from-pytorch.md)). With one sample, as here, they agree.

`make ecosystem` makes this page: `python tests/packages/run.py install` makes an environment with all packages and with
claygrad as torch (`claygrad shim --install`), and its Python runs `tests/packages/run.py compare --write docs/ecosystem.md`.
`make test-packages` runs five of them.

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
    options = parser.parse_args()
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
