"""Small modules to test with, for either library."""

from __future__ import annotations

from types import ModuleType
from typing import Any


def affine(lib: ModuleType, inputs: int = 3, outputs: int = 4, bias: bool = True) -> Any:
    """A linear map with known weights, a lasting buffer and a passing one."""

    class Affine(lib.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.weight = lib.nn.Parameter(lib.arange(float(inputs * outputs)).view(outputs, inputs).sin())
            if bias:
                self.bias = lib.nn.Parameter(lib.zeros(outputs))
            else:
                self.register_parameter("bias", None)
            self.register_buffer("count", lib.tensor(0))
            self.register_buffer("passing", lib.ones(2), persistent=False)

        def forward(self, x: Any, scale: float = 1) -> Any:
            return lib.nn.functional.linear(x, self.weight, self.bias) * scale

        def extra_repr(self) -> str:
            return f"{inputs} to {outputs}"

    return Affine()


def nested(lib: ModuleType) -> Any:
    """Containers of the three kinds, one inside the other."""
    nn = lib.nn
    return nn.Sequential(affine(lib), nn.ModuleDict({"a": affine(lib, 4, 4, bias=False)}),
                         nn.ModuleList([affine(lib, 1, 1), affine(lib, 1, 1), affine(lib, 2, 1)]))


def names(pairs: Any) -> list[str]:
    return [name for name, _ in pairs]
