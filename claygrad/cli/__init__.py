"""The command `claygrad`: run a PyTorch program, on one process or several, check which names it needs."""
from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from claygrad.cli import check, info, launch, run, shim
from claygrad.cli._usage import UsageError

__all__ = ["main"]

COMMANDS = (run, launch, check, shim, info)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the number returned is the exit code: 0 well, 1 a finding, 2 wrong use."""
    parser = argparse.ArgumentParser(prog="claygrad", description="Tensors with automatic differentiation: "
                                     "PyTorch's programs, small, fast and self-explaining.")
    parser.add_argument("--version", action="version", version=_version())
    parts = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_to(parts)
    options = parser.parse_args(argv)
    try:
        return int(options.call(options))
    except UsageError as wrong:
        print(f"claygrad: {wrong}", file=sys.stderr)
        return 2
    except BrokenPipeError:            # `claygrad check … | head`
        sys.stderr.close()
        return 1


def _version() -> str:
    from claygrad.version import TORCH_VERSION, __version__
    return f"claygrad {__version__} (follows PyTorch {TORCH_VERSION})"
