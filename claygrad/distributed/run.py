"""`python -m torch.distributed.run`, which is torchrun: start a program on several ranks of this host."""

from __future__ import annotations

import argparse
import os
import sys

from claygrad._lazy import lazy
from claygrad.distributed._launch import NoMPI, launch

__all__ = ["get_args_parser", "main", "parse_args"]


def get_args_parser() -> argparse.ArgumentParser:
    """torchrun's arguments."""
    parser = argparse.ArgumentParser(prog="torchrun", description="Start a program on several ranks, through MPI.")

    def add(*names: str, **options: object) -> None:
        both = [
            *names,
            *(name[0:2] + name[2:].replace("-", "_") for name in names if name.startswith("--") and "-" in name[2:]),
        ]
        parser.add_argument(*both, **options)  # type: ignore[arg-type]

    add("--nnodes", default="1:1", help="1: several hosts are started from one, by `claygrad launch --hosts`")
    add("--nproc-per-node", default="1", help="the number of ranks; auto and cpu are one for each processor")
    add("--node-rank", type=int, default=0)
    for name in ("rdzv-backend", "rdzv-endpoint", "rdzv-id", "rdzv-conf"):
        add(f"--{name}", default="", help="how hosts find each other in PyTorch; MPI knows, so it is not used")
    add("--standalone", action="store_true", help="one host, as always here")
    add("--max-restarts", type=int, default=0, help="how often a program that fails is started again")
    add("--role", default="default")
    add("--master-addr", default=None, help="the program's MASTER_ADDR")
    add("--master-port", default=None, help="the program's MASTER_PORT")
    add("-m", "--module", action="store_true", help="the program is the name of a module")
    add("--no-python", action="store_true", help="the program is a command")
    for name in (
        "log-dir",
        "redirects",
        "tee",
        "start-method",
        "monitor-interval",
        "local-addr",
        "local-ranks-filter",
        "event-log-handler",
        "numa-binding",
        "logs-specs",
    ):
        add(f"--{name}", default=None, help=argparse.SUPPRESS)
    add("--run-path", action="store_true", help="the program is a file, as without it")
    parser.add_argument("training_script")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER)
    return parser


def parse_args(args: list[str] | None) -> argparse.Namespace:
    """Read them."""
    return get_args_parser().parse_args(args)


def main(args: list[str] | None = None) -> None:
    """Start the program; ends the process with its exit code."""
    parser = get_args_parser()
    options = parser.parse_args(args)
    if options.nnodes not in ("1", "1:1") or options.node_rank:
        parser.error(
            "one torchrun on each host is not there: MPI starts all ranks from one host.\n"
            "  claygrad launch -n 8 --hosts first,second program.py"
        )
    for name in (
        "log_dir",
        "redirects",
        "tee",
        "local_addr",
        "local_ranks_filter",
        "event_log_handler",
        "numa_binding",
        "logs_specs",
        "start_method",
        "monitor_interval",
    ):
        if getattr(options, name) not in (None, "0", "spawn", "null"):
            parser.error(f"--{name.replace('_', '-')} is not there; redirect the output in the shell")
    n = options.nproc_per_node
    if n in ("gpu", "xpu"):
        parser.error(f"--nproc-per-node {n}: say a number")
    count = (
        len(os.sched_getaffinity(0))
        if n in ("auto", "cpu") and hasattr(os, "sched_getaffinity")
        else os.cpu_count() or 1
    )
    env = {
        name: value
        for name, value in (
            ("MASTER_ADDR", options.master_addr),
            ("MASTER_PORT", options.master_port),
            ("TORCHELASTIC_RUN_ID", options.rdzv_id or "none"),
            ("ROLE_NAME", options.role),
        )
        if value is not None
    }
    how = ["-m"] if options.module else ["--no-python"] if options.no_python else []
    try:
        code = launch(
            count if n in ("auto", "cpu") else int(n),
            [*how, options.training_script, *options.training_script_args],
            restarts=options.max_restarts,
            env=env,
        )
    except NoMPI as missing:
        parser.exit(2, f"torchrun: {missing}\n")
    sys.exit(code)


__getattr__ = lazy(__name__)

if __name__ == "__main__":
    main()
