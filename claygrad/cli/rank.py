"""One rank of a program that `claygrad launch` started: it sets torchrun's environment, and ends all if it fails.

python -m claygrad.cli.rank [-m] PROGRAM [ARGS...]
"""

from __future__ import annotations

import contextlib
import os
import runpy
import signal
import sys
from pathlib import Path
from typing import Any


def environment(MPI: Any) -> dict[str, str]:
    """What torchrun tells its workers."""
    world = MPI.COMM_WORLD
    local = world.Split_type(MPI.COMM_TYPE_SHARED)
    leaders = sorted(set(world.allgather(local.bcast(world.rank))))
    host = local.bcast(world.rank)
    told = {
        "RANK": world.rank,
        "WORLD_SIZE": world.size,
        "LOCAL_RANK": local.rank,
        "LOCAL_WORLD_SIZE": local.size,
        "GROUP_RANK": leaders.index(host),
        "GROUP_WORLD_SIZE": len(leaders),
        "ROLE_RANK": world.rank,
        "ROLE_WORLD_SIZE": world.size,
        "ROLE_NAME": "default",
        "MASTER_ADDR": world.bcast(MPI.Get_processor_name() if len(leaders) > 1 else "127.0.0.1"),
        "MASTER_PORT": 29500,
        "TORCHELASTIC_RUN_ID": "none",
        "TORCHELASTIC_RESTART_COUNT": 0,
        "TORCHELASTIC_MAX_RESTARTS": 0,
        "TORCHELASTIC_USE_AGENT_STORE": True,
    }
    local.Free()
    given = (
        "MASTER_ADDR",
        "MASTER_PORT",
        "TORCHELASTIC_RUN_ID",
        "TORCHELASTIC_RESTART_COUNT",
        "TORCHELASTIC_MAX_RESTARTS",
        "ROLE_NAME",
    )
    return {name: str(value) for name, value in told.items() if name not in given or name not in os.environ}


def supervised(notes: str) -> None:
    """Go on in a child, and note the signal that kills it. The launcher cannot tell who died first: MPI's kills the
    others at once."""
    import ctypes

    rank = os.environ.get("PMI_RANK") or os.environ.get("OMPI_COMM_WORLD_RANK")
    if not sys.platform.startswith("linux") or rank is None or not os.path.isdir(notes):
        return
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)          # PR_SET_PDEATHSIG: it does not outlive the supervisor
        if os.getppid() != parent:
            os._exit(1)
        return
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: os.kill(child, number))
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        os._exit(code)
    Path(notes, f"{rank}.died").write_text(str(-code))
    with contextlib.suppress(OSError, ValueError):
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
    os._exit(128 - code)


def main(arguments: list[str]) -> None:
    """Run the program as this rank."""
    notes = os.environ.get("CLAYGRAD_LAUNCH_NOTES", "")
    supervised(notes)
    from claygrad.compat import as_torch
    from claygrad.distributed import _mpi, _shutdown

    MPI = _mpi.load()
    world = MPI.COMM_WORLD
    os.environ.update(environment(MPI))
    if os.path.isdir(notes):
        os.environ["TORCHELASTIC_ERROR_FILE"] = os.path.join(notes, f"{world.rank}.error")
    if arguments[0] == "--no-python":
        os.execvp(arguments[1], arguments[1:])
    _shutdown.install(world)
    try:
        as_torch()
        if arguments[0] == "-m":
            sys.argv = arguments[1:]
            sys.path.insert(0, os.getcwd())
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = arguments
            sys.path.insert(0, os.path.dirname(os.path.abspath(arguments[0])))
            runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as ended:
        if ended.code not in (None, 0):
            if isinstance(ended.code, str):
                print(ended.code, file=sys.stderr)
            _stop(world, ended, ended.code if isinstance(ended.code, int) else 1)
        raise
    except BaseException as wrong:
        shown = _of_the_program(wrong)
        _shutdown.fail(shown)


def _of_the_program(wrong: BaseException) -> BaseException:
    """The error with the frames of the program alone."""
    trace = wrong.__traceback__
    own = (__file__, runpy.__file__)
    while trace is not None and (
        trace.tb_frame.f_code.co_filename in own or "runpy" in trace.tb_frame.f_code.co_filename
    ):
        trace = trace.tb_next
    return wrong.with_traceback(trace)


def _stop(world: Any, ended: SystemExit, code: int) -> None:
    """End all ranks where one said that it failed."""
    if world.size > 1:
        print(f"[rank{world.rank}]: stops all ranks: its program ended with sys.exit({ended.code!r})", file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        world.Abort(code)


if __name__ == "__main__":
    main(sys.argv[1:])
