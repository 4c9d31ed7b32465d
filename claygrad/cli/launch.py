"""`claygrad launch -n 4 train.py …`: run a program on several ranks, with claygrad in torch's place."""

from __future__ import annotations

import argparse
import os
from typing import Any

from claygrad.cli._usage import UsageError


def add_to(parts: Any) -> None:
    parser = parts.add_parser(
        "launch",
        help="run a program on several processes, through MPI",
        usage="claygrad launch -n N [--hosts A,B] [--max-restarts K] [-m] PROGRAM [ARGS…]",
        description="Start PROGRAM N times, as the ranks of one group. A rank that fails ends all. "
        "What follows PROGRAM is its own.",
    )
    parser.add_argument(
        "-n",
        "--nproc-per-node",
        "--nproc_per_node",
        dest="n",
        type=int,
        default=len(_cores()),
        help="the number of ranks; one for each processor if it is not said",
    )
    parser.add_argument("--hosts", help="the hosts to start ranks on, with commas; this one if it is not said")
    parser.add_argument("--max-restarts", type=int, default=0, help="how often a program that fails is started again")
    parser.add_argument("-m", "--module", action="store_true", help="PROGRAM is the name of a module")
    parser.add_argument("program", metavar="PROGRAM")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGS")
    parser.set_defaults(call=call)


def _cores() -> Any:
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)


def call(options: argparse.Namespace) -> int:
    from claygrad.distributed._launch import NoMPI, launch

    if options.n < 1:
        raise UsageError(f"-n {options.n}: at least one rank is wanted")
    if not options.module and not os.path.exists(options.program):
        raise UsageError(f"no such program: {options.program}")
    how = ["-m"] if options.module else []
    try:
        return launch(options.n, [*how, options.program, *options.arguments], options.hosts, options.max_restarts)
    except NoMPI as missing:
        raise UsageError(str(missing)) from None
