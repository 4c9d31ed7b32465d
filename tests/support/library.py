"""One test body, two libraries: claygrad by default, torch when the oracle run checks the test itself.

torch's message is the first line of claygrad's, which may add lines below it; names in reprs read `claygrad.` where
torch's read `torch.`. Expected texts are therefore written once, as torch writes them; a trailing `…` stands for "and more".
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

# What prints as a value (a dtype, a size, a class): these must carry claygrad's name. In prose either name will do.
_VALUE = re.compile(
    r"(?<![\w/#.])torch\.(?=Size\b|dtype\b|device\b|return_types\b|autograd\.function\.\w+Backward|\w*Tensor\b"
    r"|(?:u?int|float|bfloat|complex)\d+\b|bool\b)"
)
_PROSE = re.compile(r"(?<![\w/#.])torch\\\.")


def is_torch(lib: ModuleType) -> bool:
    """True in the oracle run."""
    return lib.__name__ == "torch"


def leaf(lib: ModuleType, values: Any, **options: Any) -> Any:
    """A leaf that requires grad."""
    return lib.tensor(values, requires_grad=True, **options)


def backward_name(tensor: Any) -> str | None:
    """The name of the node that made the tensor."""
    return None if tensor.grad_fn is None else tensor.grad_fn.name()


def renamed(lib: ModuleType, text: str) -> str:
    """torch's text as the library prints it."""
    return text if is_torch(lib) else _VALUE.sub("claygrad.", text)


def same_text(lib: ModuleType, got: str, text: str) -> bool:
    """True if a message of the library is torch's text, followed in claygrad by nothing or by further lines."""
    open_end = text.endswith("…")
    wanted = text.removesuffix("…").rstrip() if open_end else text
    if is_torch(lib):
        return got.startswith(wanted) if open_end else got == wanted
    pattern = _PROSE.sub(r"(?:torch|claygrad)\\.", re.escape(renamed(lib, wanted)))
    return re.match(pattern + ("" if open_end else r"(?:\n|\Z)"), got) is not None


@contextmanager
def raises(lib: ModuleType, kind: type[BaseException], text: str) -> Iterator[None]:
    """The block raises torch's exception type with torch's text."""
    with pytest.raises(kind) as caught:
        yield
    error = caught.value
    # NotImplementedError is a RuntimeError to Python, but not to a reader.
    exact_kind = type(error) is kind or not (is_torch(lib) or isinstance(error, NotImplementedError))
    assert exact_kind, f"expected {kind.__name__}, got {type(error).__name__}: {error}"
    assert same_text(lib, str(error), text), f"expected {renamed(lib, text)!r}\n     got {str(error)!r}"


@contextmanager
def warns(lib: ModuleType, text: str, kind: type[Warning] = UserWarning) -> Iterator[None]:
    """The block warns with torch's text (torch's own suffix about its C++ source is left out)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    seen = [(w.category, re.sub(r" \(Triggered internally at .*", "", str(w.message), flags=re.S)) for w in caught]
    assert any(c is kind and same_text(lib, m, text) for c, m in seen), f"expected {text!r}\n     got {seen}"


@contextmanager
def silent() -> Iterator[None]:
    """Any warning inside the block is a failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def lend(lib: ModuleType) -> Iterator[ModuleType]:
    """Hands the library to a test and checks that the test and the library left the global state as it was."""
    if is_torch(lib):
        lib.set_warn_always(True)
        lib.set_num_threads(1)
    lib.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield lib
    state = lib.is_grad_enabled(), lib.is_inference_mode_enabled(), lib.get_default_dtype() is lib.float32
    lib.set_grad_enabled(True)
    lib.set_default_dtype(lib.float32)
    lib.set_printoptions(profile="default")
    assert state == (True, False, True), f"grad mode, inference mode, default dtype were left at {state}"


def fresh(lib: ModuleType, code: str, *, timeout: float = 120) -> str:
    """What a program prints in a process of its own, where `torch` is the library. A crash is a failure."""
    program = f"import warnings, sys, gc\nimport {lib.__name__} as torch\n" + textwrap.dedent(code)
    found = str(Path(lib.__file__).parents[1])  # the installed claygrad or the one in the tree: the one under test
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([found, os.environ.get("PYTHONPATH", "")]))
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        start_new_session=True,
    )  # fmt: skip
    try:
        out, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # with the children it may have forked
        pytest.fail(f"no end after {timeout} s:\n{process.communicate()[1]}")
    assert process.returncode == 0, f"exit {process.returncode}\n{errors}"
    return out
