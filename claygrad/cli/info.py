"""`claygrad info`: what is installed and what it runs on, to put into a bug report."""
from __future__ import annotations

import argparse
from typing import Any


def add_to(parts: Any) -> None:
    parser = parts.add_parser("info", help="versions, processor and settings, for a bug report",
                              description="Print the versions, the processor's instruction set and the settings.")
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    for name, value in facts().items():
        print(f"{name:<18}{value}")
    return 0


def facts() -> dict[str, str]:
    import os
    import platform

    import numpy

    import claygrad
    from claygrad.core.python_api import instruction_set
    from claygrad.version import TORCH_VERSION, __version__
    return {
        "claygrad": f"{__version__} (follows PyTorch {TORCH_VERSION})",
        "installed in": os.path.dirname(claygrad.__file__),
        "Python": f"{platform.python_version()} ({platform.python_implementation()})",
        "NumPy": numpy.__version__,
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "instructions": instruction_set(),
        "threads": str(claygrad.get_num_threads()),
        "devices": "cpu, meta",
        "torch": _torch_here(),
    }


def _torch_here() -> str:
    """What `import torch` would find in this environment, without importing it."""
    import importlib.metadata
    try:
        version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
    return f"{version}, put there by `claygrad shim`" if "claygrad" in version else f"{version} (PyTorch's own)"
