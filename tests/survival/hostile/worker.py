"""Running programs in a process of their own, which may die, and telling what became of them."""

from __future__ import annotations

import ast
import contextlib
import faulthandler
import gc
import os
import resource
import select
import signal
import struct
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from . import things
from .things import torch

SANITIZED = "CLAYGRAD_SANITIZED" in os.environ
CPU_SECONDS = float(os.environ.get("HOSTILE_SECONDS", 40 if SANITIZED else 6))      # of one program, before it counts as endless
WAITS = 30.0                                        # seconds by the clock in which it neither runs nor wants to
ADDRESSES = 2 << 30                                 # bytes that a process may map beyond what it begins with
RESIDENT = 6 << 30                                  # bytes of memory, where addresses cannot be limited


@dataclass
class End:
    """How a process that ran programs ended: after all of them, or in the one at `at`."""

    at: int | None = None
    why: str = ""
    said: str = ""


def run_one(text: str) -> str:
    """Run a program as far as it goes. Returns what is a defect though the process lives."""
    tree = ast.parse(text)
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        tree.body[-1] = ast.Assign([ast.Name("result", ast.Store())], tree.body[-1].value)
    names = {name: getattr(things, name) for name in things.__all__}
    things.fresh()
    try:
        exec(compile(ast.fix_missing_locations(tree), "<program>", "exec"), names)
        things.look(names.get("result"))
    except SystemError as error:
        return f"SystemError: {error}"
    except BaseException:
        pass
    for value in list(names.values()):
        if isinstance(value, torch.Tensor):
            with contextlib.suppress(BaseException):
                things.look(value)
    names.clear()
    _settle()
    return ""


def _settle() -> None:
    """What programs may have set, as it was."""
    for reset in (lambda: torch.set_grad_enabled(True), lambda: torch.set_default_dtype(torch.float32), lambda: torch.set_default_device("cpu"),
                  lambda: torch.autograd.set_detect_anomaly(False), lambda: torch.use_deterministic_algorithms(False),
                  lambda: torch.set_autocast_enabled(False), lambda: [things.fwAD.exit_dual_level() for _ in range(3)],
                  lambda: [torch.utils._python_dispatch._pop_mode() for _ in range(9)], lambda: torch.set_printoptions(profile="default")):
        with contextlib.suppress(BaseException):
            reset()


def _child(texts: Sequence[str], report: int, said: int) -> None:
    os.dup2(said, 1)
    os.dup2(said, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    faulthandler.enable(said)
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(1000)
    sys.unraisablehook = lambda what: None           # what a __del__ raised
    if not SANITIZED:
        with open("/proc/self/statm") as about:
            used = int(about.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESSES, used + ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)                             # what a program writes goes with it
        for number, text in enumerate(texts):
            os.write(report, struct.pack("<i", number))
            if defect := run_one(text):
                os.write(said, defect.encode())
                os._exit(3)
            if number % 50 == 0:
                gc.collect()
        os.write(report, struct.pack("<i", len(texts)))
    os._exit(0)


def _used(pid: int) -> tuple[float, int, bool]:
    """Seconds of the processor, bytes of memory, and whether any of its threads wants to run."""
    try:
        with open(f"/proc/{pid}/stat") as about:
            fields = about.read().rpartition(")")[2].split()
        states = []
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/stat") as about:
                states.append(about.read().rpartition(")")[2].split()[0])
        spent = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return spent, int(fields[21]) * resource.getpagesize(), "R" in states or "D" in states
    except (OSError, IndexError):
        return 0.0, 0, True


def run(texts: Sequence[str], seconds: float = CPU_SECONDS) -> End:
    """Run programs one after the other in a new process, watched."""
    read, report = os.pipe()
    with tempfile.TemporaryFile() as said:
        pid = os.fork()
        if pid == 0:
            try:
                _child(texts, report, said.fileno())
            finally:
                os._exit(4)
        os.close(report)
        at, why, began, since = -1, "", 0.0, time.monotonic()
        while not why:
            ready, _, _ = select.select([read], [], [], 0.25)
            if ready:
                news = os.read(read, 4096)
                if not news:
                    break
                at = struct.unpack_from("<i", news, len(news) - 4)[0]
                began, since = _used(pid)[0], time.monotonic()
                continue
            spent, memory, wants = _used(pid)
            if wants:
                since = time.monotonic()
            if spent - began > seconds:
                why = f"hangs: it runs for {spent - began:.0f} s"
            elif time.monotonic() - since > WAITS:
                why = f"hangs: it waits for {WAITS:.0f} s"
            elif memory > RESIDENT:
                why = f"takes {memory >> 20} MB"
        if why:
            os.kill(pid, signal.SIGABRT)             # faulthandler says where
            time.sleep(0.5)
            os.kill(pid, signal.SIGKILL)
        os.close(read)
        _, status = os.waitpid(pid, 0)
        said.seek(0)
        words = said.read().decode(errors="replace")
        if not why and os.WIFSIGNALED(status):
            why = f"dies of {signal.Signals(os.WTERMSIG(status)).name}"
        elif not why and os.WEXITSTATUS(status):
            why = f"exits with {os.WEXITSTATUS(status)}" if os.WEXITSTATUS(status) != 3 else words[-300:]
    return End(at, why, words) if why else End()
