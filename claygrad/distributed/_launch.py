"""Start a program on several ranks through the mpiexec that is there, and say which rank failed, if one does."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from claygrad.distributed._mpi import GET_MPI, is_there

# What Hydra, the launcher of MPICH and Intel MPI, prints of a process that died.
_CODE = re.compile(rb"^=   EXIT CODE: (\d+)")
_NOISE = re.compile(
    rb"^(=+$|=   (BAD TERMINATION|PID|CLEANING UP|YOU CAN IGNORE)|YOUR APPLICATION TERMINATED|This typically refers|"
    rb"Please see the FAQ page)"
)


class NoMPI(Exception):
    """There is nothing to start ranks with."""


def mpiexec() -> str:
    """The launcher of the MPI that mpi4py uses: that of this environment, otherwise the first on the path."""
    beside = Path(sys.executable).with_name("mpiexec")
    found = str(beside) if beside.exists() else shutil.which("mpiexec") or shutil.which("mpirun")
    if not is_there() or found is None:
        what = "mpi4py is not installed" if not is_there() else "there is no mpiexec"
        raise NoMPI(f"{what}\n{GET_MPI}")
    return found


def command(n: int, hosts: str | None, program: list[str]) -> list[str]:
    """What starts the ranks."""
    start = [mpiexec(), "-n", str(n)]
    version = subprocess.run([start[0], "--version"], capture_output=True, text=True, timeout=20).stdout
    if "Open MPI" in version or "OpenRTE" in version:
        start += ["--oversubscribe", *(["--host", hosts] if hosts else [])]
    elif hosts:
        start += ["-hosts", hosts]
    return [*start, sys.executable, "-P", "-m", "claygrad.cli.rank", *program]


def launch(
    n: int, program: list[str], hosts: str | None = None, restarts: int = 0, env: dict[str, str] | None = None
) -> int:
    """Run a program on n ranks; the exit code. A program that fails is started again up to `restarts` times."""
    for attempt in range(restarts + 1):
        code = _once(
            command(n, hosts, program),
            {**(env or {}), "TORCHELASTIC_RESTART_COUNT": str(attempt), "TORCHELASTIC_MAX_RESTARTS": str(restarts)},
        )
        if code == 0:
            return 0
        if attempt < restarts:
            print(f"claygrad launch: started again, {attempt + 1} of {restarts} times", file=sys.stderr)
    return code


def _once(start: list[str], env: dict[str, str]) -> int:
    with tempfile.TemporaryDirectory(prefix="claygrad_launch_") as notes:
        process = subprocess.Popen(
            start, stdout=subprocess.PIPE, env={**os.environ, **env, "CLAYGRAD_LAUNCH_NOTES": notes}
        )
        codes: list[int] = []
        reader = threading.Thread(target=_pass_on, args=(process.stdout, codes), daemon=True)
        reader.start()
        with _forwarded(process):
            code = process.wait()
        reader.join(5)
        if code:
            _report(Path(notes), codes)
    return code if 0 <= code < 256 else 1


def _pass_on(stream: Any, codes: list[int]) -> None:
    """Hand on what the ranks print; what the launcher says of a rank that died is kept for the report."""
    out = getattr(sys.stdout, "buffer", None)
    for line in stream:
        bare = line.rstrip(b"\n")
        if match := _CODE.match(bare):
            codes.append(int(match[1]))
        elif not _NOISE.match(bare):
            if out is not None:
                out.write(line)
                out.flush()
            else:
                sys.stdout.write(line.decode(errors="replace"))


def _report(notes: Path, codes: list[int]) -> None:
    """Say which rank ended all, and how."""
    told = []
    for path in sorted(notes.glob("*.error"), key=lambda path: path.stat().st_mtime):
        first, *rest = (line.strip() for line in path.read_text().split("\n"))
        if first.endswith(":"):        # the text begins with empty lines
            first = f"{first} {next(filter(None, rest), '')}"
        told.append(f"rank {path.stem} raised {first}")
    if not told:
        for path in sorted(notes.glob("*.died"), key=lambda path: path.stat().st_mtime)[:1]:
            told.append(f"rank {path.stem} was killed by {_signal(int(path.read_text()))}")
    if not told and codes:             # on another host, whose notes are not here
        told.append(f"a rank ended with exit code {codes[0]}")
    for line in told:
        print(f"claygrad launch: {line}; all ranks were stopped", file=sys.stderr)


def _signal(number: int) -> str:
    with contextlib.suppress(ValueError):
        return f"signal {number} ({signal.Signals(number).name})"
    return f"signal {number}"


@contextlib.contextmanager
def _forwarded(process: subprocess.Popen) -> Any:
    """Signals to the launcher reach the ranks; what does not end then is killed."""

    def hand_on(number: int, frame: Any) -> None:
        process.send_signal(number)
        killer = threading.Timer(5, process.kill)
        killer.daemon = True
        killer.start()

    former = {}
    if threading.current_thread() is threading.main_thread():
        former = {number: signal.signal(number, hand_on) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
        if process.poll() is None:
            process.kill()
