"""Programs of `torch.jit` that PyTorch runs as TorchScript give the same numbers where they stay Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import claygrad  # noqa: E402

SOURCE = '''
from typing import Dict, List, Optional, Tuple
import {lib} as torch
from {lib} import nn, Tensor

@torch.jit.script
def gelu(x):
    return x * 0.5 * (1.0 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))

@torch.jit.script
def loop(x: Tensor, n: int) -> Tensor:
    total = torch.zeros_like(x)
    for i in range(n):
        if i % 2 == 0:
            total = total + x * i
        else:
            total = total - x
    return total

@torch.jit.script
def containers(xs: List[Tensor], names: Dict[str, int], extra: Optional[Tensor]) -> Tuple[Tensor, int]:
    out = xs[0]
    for x in xs[1:]:
        out = out + x
    if extra is not None:
        out = out * extra
    return out, names["a"] + len(xs)

class Cell(nn.Module):
    __constants__ = ["size"]
    def __init__(self, size: int):
        super().__init__()
        self.size = size
        self.inner = nn.Linear(size, size)
        self.gate = nn.Linear(size, size)
    def forward(self, x: Tensor, state: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
        if state is None:
            state = torch.zeros(x.shape[0], self.size)
        new = torch.tanh(self.inner(x) + state)
        g = torch.sigmoid(self.gate(x))
        return g * new, new
    @torch.jit.export
    def norm(self) -> Tensor:
        return self.inner.weight.norm()

class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells = nn.ModuleList([Cell(4), Cell(4)])
    def forward(self, x: Tensor) -> Tensor:
        state: Optional[Tensor] = None
        for cell in self.cells:
            x, state = cell(x, state)
        return x
'''


def numbers(lib: str, tmp_path) -> list[Any]:
    path = tmp_path / f"scripted_{lib}.py"
    path.write_text(SOURCE.replace("{lib}", lib))
    import importlib.util
    spec = importlib.util.spec_from_file_location(f"scripted_{lib}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    top = module.torch
    top.manual_seed(0)
    x = top.randn(3, 4, requires_grad=True)
    found = [module.gelu(x), module.loop(x, 5), module.containers([x, x, x], {"a": 2}, None)[0]]
    found.append(top.tensor(float(module.containers([x], {"a": 2}, x)[1])))
    model = module.Stack()
    scripted = top.jit.script(model)
    traced = top.jit.trace(model, x.detach())
    optimizer = top.optim.SGD(scripted.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        loss = scripted(x).square().mean() + scripted.cells[0].norm()
        loss.backward()
        optimizer.step()
        found.append(loss)
    found += [traced(x), scripted(x), x.grad, *[p.grad for p in model.parameters()]]
    found.append(top.tensor(float(scripted.original_name == "Stack" and traced.original_name == "Stack")))
    frozen = top.jit.freeze(top.jit.script(model.eval()))
    found.append(frozen(x))
    return [value.detach().numpy() for value in found]


@pytest.mark.filterwarnings("ignore")
def test_scripted_programs_give_the_same_numbers(tmp_path):
    ours, theirs = numbers("claygrad", tmp_path), numbers("torch", tmp_path)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in dir(torch.jit) if not name.startswith("_")
                                  and str(getattr(getattr(torch.jit, name), "__module__", "")).startswith("torch.jit")])
def test_every_public_name_is_there(name):
    assert hasattr(claygrad.jit, name)
