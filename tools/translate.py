"""Translate Cython modules to C++, many in one process.

    python tools/translate.py FOLDER ARGUMENTS… -- a.pyx b.pyx …         # FOLDER/a.cpp, FOLDER/b.cpp

Two thirds of the time that Cython takes for a module go into starting up: imports, tables, its own pieces of C. Here
that is done once, and every module is translated in a copy of the process (fork). A module whose text, declarations and
arguments are those of the last time is left as it is, and so is its time, by which ninja knows that. Cycles of
garbage are not looked for: that took a third of the time, and the largest module needs 240 MB without it.

CYTHON_ONCE names a folder in which translations are kept for other build folders: they are the same for every Python,
which tools/wheels.py makes use of.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def keys(sources: list[Path], arguments: list[str]) -> tuple[dict[Path, str], list[str]]:
    """What each translation depends on, as a digest; and all files that one depends on."""
    import Cython
    from Cython.Build.Dependencies import create_dependency_tree
    from Cython.Compiler.CmdLine import parse_command_line
    from Cython.Compiler.Main import Context

    context = Context.from_options(parse_command_line([*arguments, str(sources[0])])[0])
    tree, texts, found = create_dependency_tree(context), {}, {}
    for source in sources:
        needs = sorted(map(os.path.abspath, tree.all_dependencies(str(source))))
        for path in needs:
            if path not in texts:
                texts[path] = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        inside = [(os.path.relpath(path, ROOT) if path.startswith(f"{ROOT}/") else path, texts[path]) for path in needs]
        found[source] = hashlib.sha256(repr((Cython.__version__, arguments, inside)).encode()).hexdigest()
    return found, sorted(texts)


def translate(source: Path, out: Path, arguments: list[str]) -> bool:
    from Cython.Compiler import Main
    from Cython.Compiler.CmdLine import parse_command_line

    options, files = parse_command_line([*arguments, str(source), "-o", str(out)])
    try:
        good = Main.compile(files, options).num_errors == 0
    except (OSError, Main.PyrexError) as problem:
        print(problem, file=sys.stderr)
        good = False
    if not good:
        out.unlink(missing_ok=True)             # Cython leaves one that says that there was an error
    return good


def all_translated(jobs: list[tuple[Path, Path]], arguments: list[str], at_once: int) -> bool:
    running: dict[int, Path] = {}
    waiting, good = list(jobs), True
    while waiting or running:
        while waiting and len(running) < at_once:
            source, out = waiting.pop(0)
            sys.stdout.flush()
            if not hasattr(os, "fork"):
                good &= translate(source, out, arguments)
                continue
            if (child := os.fork()) == 0:
                done = False
                try:
                    done = translate(source, out, arguments)
                finally:
                    sys.stdout.flush()
                    sys.stderr.flush()
                    os._exit(not done)
            running[child] = out
        if running:
            child, status = os.wait()
            out = running.pop(child)
            if status:
                out.unlink(missing_ok=True)
                good, waiting = False, []
    return good


def main(words: list[str]) -> int:
    gc.disable()
    cut = words.index("--")
    folder, arguments = Path(words[0]), words[1:cut]
    sources = [Path(word).resolve() for word in words[cut + 1:]]
    outs = {source: folder / f"{source.stem}.cpp" for source in sources}
    needed, files = keys(sources, arguments)
    notes = folder / "translated.json"
    before = json.loads(notes.read_text()) if notes.exists() else {}
    kept = Path(os.environ["CYTHON_ONCE"]) if "CYTHON_ONCE" in os.environ else None
    jobs = []
    for source, out in outs.items():
        if out.exists() and before.get(out.name) == needed[source]:
            continue
        if kept and (kept / f"{needed[source]}.cpp").exists():
            shutil.copyfile(kept / f"{needed[source]}.cpp", out)
        else:
            jobs.append((source, out))
    jobs.sort(key=lambda job: job[0].stat().st_size)
    good = all(translate(*job, arguments) for job in jobs[:1])      # here: the copies begin with what it has loaded
    if good:                                                        # the longest first: none is left alone at the end
        good = all_translated(jobs[:0:-1], arguments, os.cpu_count() or 1)
    if kept and good:
        kept.mkdir(parents=True, exist_ok=True)
        for source, out in jobs:
            mine = kept / f"{needed[source]}.{os.getpid()}"
            shutil.copyfile(out, mine)
            os.replace(mine, kept / f"{needed[source]}.cpp")
    notes.write_text(json.dumps({out.name: needed[source] for source, out in outs.items() if out.exists()}))
    # For ninja, which knows the target by its first file
    first = folder / f"{sources[0].stem}.cpp"
    names = " \\\n  ".join(name.replace(" ", "\\ ") for name in files)
    (folder / "translated.d").write_text(f"{first}: {names}\n")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
