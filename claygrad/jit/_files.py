"""Graphs and files of scripted models, which claygrad has not: every use says what to do instead."""
from __future__ import annotations

from typing import Any, NoReturn

Error = type("Error", (Exception,), {"__module__": "claygrad.jit", "__doc__": "What scripted code raised."})


def no_graph(what: str) -> NotImplementedError:
    """The error of whoever asks for TorchScript."""
    return NotImplementedError(f"{what} needs TorchScript, which claygrad has not: what is scripted stays Python.\n"
                               "  instead: read the source of the function or module itself")


def no_file(what: str) -> NotImplementedError:
    """The error of whoever wants a scripted model in a file."""
    return NotImplementedError(f"{what} needs TorchScript, which claygrad has not: what is scripted stays Python.\n"
                               "  instead: torch.save(model.state_dict(), file), and make the model from its code")


def save(m: Any, f: Any, _extra_files: Any = None) -> NoReturn:
    """Refused: a scripted model cannot be written to a file."""
    raise no_file("torch.jit.save")


def load(f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False) -> NoReturn:
    """Refused: a scripted model cannot be read from a file."""
    raise no_file("torch.jit.load")


def export_opnames(m: Any) -> NoReturn:
    """Refused: there is no graph whose operations could be listed."""
    raise no_graph("torch.jit.export_opnames")
