"""`claygrad run train.py …`: run an unmodified PyTorch program with claygrad in torch's place."""
from __future__ import annotations

import argparse
import os
import runpy
import sys
from typing import Any

from claygrad.cli._usage import UsageError


def add_to(parts: Any) -> None:
    parser = parts.add_parser("run", help="run a PyTorch program on claygrad",
                              usage="claygrad run [-m] PROGRAM [ARGS…]",
                              description="Run a program that imports torch. PROGRAM is a file, or with -m a module; "
                                          "what follows it is the program's own.")
    parser.add_argument("-m", "--module", action="store_true", help="PROGRAM is the name of a module")
    parser.add_argument("program", metavar="PROGRAM")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGS")
    parser.set_defaults(call=call)


def _show_the_program_alone() -> None:
    """Let tracebacks begin in the program, as without this command."""
    show = sys.excepthook

    def shown(kind: Any, error: Any, trace: Any) -> None:
        first = trace
        while first is not None and first.tb_frame.f_code is not call.__code__:
            first = first.tb_next
        while first is not None and (first.tb_frame.f_code is call.__code__
                                     or "runpy" in first.tb_frame.f_code.co_filename):
            first = first.tb_next
        if first is not None:
            trace = error.__traceback__ = first
        show(kind, error, trace)
    sys.excepthook = shown


def call(options: argparse.Namespace) -> int:
    from claygrad.compat import as_torch
    as_torch()
    _show_the_program_alone()
    if options.module:
        sys.argv = [options.program, *options.arguments]
        sys.path.insert(0, os.getcwd())
        try:
            runpy.run_module(options.program, run_name="__main__", alter_sys=True)
        except ImportError as missing:
            absent = f"No module named {options.program}"
            if missing.name == options.program or str(missing).startswith(absent):
                raise UsageError(f"no module named {options.program}") from None
            raise
        return 0
    if not os.path.exists(options.program):
        raise UsageError(f"no such program: {options.program}")
    if os.path.isdir(options.program) and not os.path.exists(os.path.join(options.program, "__main__.py")):
        raise UsageError(f"{options.program} is a folder without a __main__.py")
    sys.argv = [options.program, *options.arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(options.program)))
    runpy.run_path(options.program, run_name="__main__")
    return 0
