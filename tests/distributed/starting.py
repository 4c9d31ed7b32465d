"""Programs of several ranks, each in a process group of its own with a time limit: no test can hang or leave processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

PROGRAMS = Path(__file__).parent / "ranks" / "programs"
MPIEXEC = Path(sys.executable).with_name("mpiexec")


class Done(NamedTuple):
    code: int
    out: str
    err: str
    seconds: float


def start(command: list[str], timeout: float = 60, env: dict[str, str] | None = None, cwd: str | Path | None = None) -> Done:
    """Run a command; when its time is over, it and all that it started are killed, and the test fails."""
    began = time.monotonic()
    environment = {**os.environ, "CLAYGRAD_NUM_THREADS": "1", **(env or {})}
    for name in [name for name in environment if name.startswith(("PMI_", "HYDI", "MPI_"))]:
        del environment[name]
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
                               cwd=cwd, start_new_session=True)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        _kill(process.pid)
        out, err = process.communicate()
        raise AssertionError(f"not done after {timeout} s: {command}\n{out}\n{err}") from None
    finally:
        _kill(process.pid)
    return Done(process.returncode, out, err, time.monotonic() - began)


def _kill(session: int) -> None:
    """End every process of a session: the launcher, its proxies, the ranks."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if os.getsid(int(entry.name)) == session:
                    os.kill(int(entry.name), signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue


def ranks(n: int, program: str, *args: str, timeout: float = 60, env: dict[str, str] | None = None, wrong: bool = False,
          torch: bool = False) -> Done:
    """Run one of the programs on n ranks, with `torch` in place of torch; it must end well, or with `wrong` not."""
    how = ["-m", "claygrad", "run"] if torch else []
    done = start([str(MPIEXEC), "-n", str(n), sys.executable, *how, str(PROGRAMS / program), *args], timeout, env)
    assert (done.code != 0) is wrong, f"{program} on {n} ranks ended with {done.code}\n{done.out}\n{done.err}"
    return done
