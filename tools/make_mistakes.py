"""Write docs/mistakes.md: classic mistakes, PyTorch's message beside claygrad's. Runs where PyTorch is:

    .venv-oracle/bin/python tools/make_mistakes.py

tests/errors/test_page.py says when the page is out of date in what claygrad says, tests/oracle/test_mistakes_torch.py
in what PyTorch does.
"""

from __future__ import annotations

import importlib
import re
import sys
import tempfile
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "mistakes.md"
sys.path.append(str(ROOT))           # last: claygrad is the installed one

HEAD = """# Forty mistakes

What PyTorch says, and what claygrad says. The first line is the same, so that programs and search engines know it.
Below it are the line of the program, the values on it, the place in the model, and the way out. It is all in the
exception: `str(error)`, a log and a notebook show it too. claygrad's own frames stay out of tracebacks;
`CLAYGRAD_TRACEBACK=full` in the environment brings them back.

This page is written by `tools/make_mistakes.py`.
"""

SELECTED = (
    "loss cut by detach",
    "loss cut by item",
    "loss cut by argmax",
    "loss cut by a comparison",
    "loss cut by torch.tensor",
    "loss cut by no_grad",
    "backward twice",
    "a graph built outside the loop",
    "hidden state kept over steps",
    "backward of many elements",
    "a leaf changed in place",
    "a part of unbind changed in place",
    "saved memory changed through NumPy",
    "grad of an unused input",
    "integers that should require grad",
    "the truth of many elements",
    "a Function that returns too few gradients",
    "a hook that returns another shape",
    "broadcasting",
    "matmul",
    "linear after a convolution",
    "channels of a convolution",
    "cat along the wrong dimension",
    "view of a transposed tensor",
    "features of batch norm",
    "batch norm of one sample",
    "class indices as floats",
    "one-hot targets as integers",
    "a class out of range",
    "bce of logits",
    "float and double",
    "another device",
    "an index out of range",
    "an embedding out of range",
    "missing super().__init__()",
    "layers kept in a plain list",
    "an optimizer given the model",
    "load_state_dict with the prefix of DataParallel",
    "a tuple from a recurrent layer",
    "an unknown keyword of a layer",
)


def message(program: str, torch: ModuleType) -> str:
    """Type and text of what a program raises."""
    from tests.errors.running import run
    with tempfile.TemporaryDirectory() as folder:
        said = run(program, torch, Path(folder) / "mistake.py")
        if said is None:
            return "(nothing: the gradient is wrong)"
        return f"{said.kind}: {said.text}".replace(f"{folder}/", "")


def page(theirs: dict[str, str], claygrad: ModuleType) -> str:
    from tests.errors.running import MARK, MISTAKES
    parts = [HEAD]
    for number, name in enumerate(SELECTED, 1):
        program = MISTAKES[name][1].replace(MARK, "")
        title = f"{number}. {name[0].upper()}{name[1:]}"
        said = (("", program.rstrip("\n")), ("PyTorch\n\n", theirs[name]), ("claygrad\n\n", message(program, claygrad)))
        blocks = "\n\n".join(f"{who}```text\n{text}\n```" for who, text in said)
        parts.append(f"## {title}\n\n{blocks}\n")
    return "\n".join(parts)


def theirs_on(text: str) -> dict[str, str]:
    """PyTorch's messages, from the page."""
    found = re.findall(r"\nPyTorch\n\n```text\n(.*?)\n```\n", text, re.DOTALL)
    return dict(zip(SELECTED, found, strict=True))


def loaded(name: str) -> ModuleType:
    importlib.import_module(f"{name}.nn")
    importlib.import_module(f"{name}.optim")
    return importlib.import_module(name)


def main() -> None:
    from tests.errors.running import MISTAKES
    torch = loaded("torch")
    theirs = {name: message(MISTAKES[name][1], torch) for name in SELECTED}
    PAGE.write_text(page(theirs, loaded("claygrad")))


if __name__ == "__main__":
    main()
