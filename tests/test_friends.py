"""Other modules are told of claygrad when they are imported, whichever comes first, and keep their own loaders."""

from __future__ import annotations

import subprocess
import sys

import pytest

BACKENDS = """
class AbstractBackend:
    framework_name = None

class TorchBackend(AbstractBackend):
    framework_name = "torch"
    def __init__(self):
        import torch
        self.torch = torch
    def transpose(self, x, axes):
        return x.permute(axes)
    def concat(self, tensors, axis):
        return self.torch.cat(tensors, dim=axis)
"""
LOOK = """
found = [c for c in einops._backends.TorchBackend.__subclasses__() if c.framework_name in sys.modules]
backend = found[0]()
x = claygrad.ones(2, 3)
assert backend.is_appropriate_type(x) and not backend.is_appropriate_type(3)
assert backend.transpose(x, (1, 0)).shape == (3, 2) and backend.concat([x, x], 0).shape == (4, 3)
assert type(einops._backends.__loader__).__name__ == type(einops._backends.__spec__.loader).__name__ == "SourceFileLoader"
assert "torch" not in sys.modules
print("found")
"""


@pytest.fixture
def einops(tmp_path):
    """A package that looks for its backends as einops does."""
    (tmp_path / "einops").mkdir()
    (tmp_path / "einops" / "__init__.py").write_text("from . import _backends\n")
    (tmp_path / "einops" / "_backends.py").write_text(BACKENDS)
    return tmp_path


@pytest.mark.parametrize("order", ["claygrad, einops", "einops, claygrad"])
def test_einops_finds_claygrad_without_an_alias(einops, order):
    program = f"import sys; sys.path.insert(0, {str(einops)!r})\nimport {order}\nimport gc; gc.collect()\n{LOOK}"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert out.stdout == "found\n", out.stderr


@pytest.mark.parametrize("order", ["claygrad, matplotlib.cbook", "matplotlib.cbook, claygrad"])
def test_matplotlib_takes_tensors_for_arrays(tmp_path, order):
    (tmp_path / "matplotlib").mkdir()
    (tmp_path / "matplotlib" / "__init__.py").touch()
    (tmp_path / "matplotlib" / "cbook.py").write_text("def _is_torch_array(x):\n    return x == 'of torch'\n")
    program = (f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nimport {order}\nasked = matplotlib.cbook._is_torch_array\n"
               "print(asked(claygrad.ones(2)), asked('of torch'), asked(3))")
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert out.stdout == "True True False\n", out.stderr


@pytest.mark.parametrize("order", ["claygrad, multiprocessing.reduction", "multiprocessing.reduction, claygrad"])
def test_multiprocessing_knows_how_tensors_cross(order):
    program = (f"import {order}\nfrom multiprocessing.reduction import ForkingPickler\nimport pickle\nx = claygrad.ones(3)\n"
               "y = pickle.loads(ForkingPickler.dumps(x))\ny[0] = 5\nprint(x.tolist(), x.is_shared())")
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert out.stdout == "[5.0, 1.0, 1.0] True\n", out.stderr


def test_nothing_is_imported_for_it():
    program = "import claygrad, sys; print([m for m in ('multiprocessing.reduction', 'einops', 'torch') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert out.stdout == "[]\n", out.stderr
