"""How a layer is made and called, said once for two libraries: shapes stand for tensors, marks for other things."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Data:
    """A tensor to be drawn: `kind` says from what."""

    shape: tuple[int, ...]
    kind: str = "normal"
    low: float = 0
    high: float = 1
    grad: bool = True


def normal(*shape: int, grad: bool = True) -> Data:
    return Data(shape, grad=grad)


def uniform(*shape: int, low: float = 0.1, high: float = 0.9, grad: bool = True) -> Data:
    return Data(shape, "uniform", low, high, grad)


def index(*shape: int, high: int) -> Data:
    return Data(shape, "index", 0, high, False)


def places(*shape: int, high: int) -> Data:
    """Indices, no two the same within one plane of the first two axes."""
    return Data(shape, "places", 0, high, False)


def signs(*shape: int) -> Data:
    """1 and -1."""
    return Data(shape, "signs", grad=False)


def mask(*shape: int) -> Data:
    """True here and there, but never in the first column, so that no row is masked wholly."""
    return Data(shape, "mask", grad=False)


@dataclass(frozen=True)
class Values:
    """A tensor with these numbers."""

    numbers: Any
    dtype: str = "float64"


@dataclass(frozen=True)
class Named:
    """Something of the library: `Named("nn.functional.gelu")`."""

    path: str


@dataclass(frozen=True)
class Layer:
    """A layer to be made as an argument of another."""

    name: str
    args: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)


@dataclass
class Case:
    layer: str
    args: tuple[Any, ...]
    options: dict[str, Any]
    inputs: tuple[Any, ...] = ()
    call: dict[str, Any] = field(default_factory=dict)
    random: bool = False            # draws numbers while training
    gradient: bool = True           # PyTorch's is the one to have
    note: str = ""

    def __str__(self) -> str:
        said = [repr(a) if isinstance(a, (int, float, str, tuple, bool)) else type(a).__name__ for a in self.args]
        said += [f"{key}={value if isinstance(value, (int, float, str, tuple, bool)) else '…'}"
                 for key, value in self.options.items()]
        shapes = "-".join("x".join(map(str, i.shape)) if isinstance(i, Data) else "…" for i in self.inputs)
        return f"{self.layer}({', '.join(said)})[{shapes}]{self.note}"

    def on(self, *inputs: Any, **call: Any) -> Case:
        """The same layer, called with these."""
        return Case(self.layer, self.args, self.options, inputs, call, self.random, self.gradient, self.note)


def layer(name: str, *args: Any, random: bool = False, gradient: bool = True, note: str = "", **options: Any) -> Case:
    return Case(name, args, options, random=random, gradient=gradient, note=note)


def make(lib: ModuleType, spec: Any, rng: np.random.Generator, double: bool = True) -> Any:
    """What a spec stands for, in a library. The same generator gives the same numbers in both."""
    if isinstance(spec, Data):
        return _tensor(lib, spec, rng, double)
    if isinstance(spec, Values):
        return lib.tensor(spec.numbers, dtype=getattr(lib, spec.dtype))
    if isinstance(spec, Named):
        found = lib
        for name in spec.path.split("."):
            found = getattr(found, name)
        return found
    if isinstance(spec, Layer):
        return getattr(lib.nn, spec.name)(*(make(lib, a, rng) for a in spec.args),
                                          **{k: make(lib, v, rng) for k, v in spec.options.items()})
    if isinstance(spec, (tuple, list)):
        return type(spec)(make(lib, s, rng, double) for s in spec)
    return spec


def _tensor(lib: ModuleType, spec: Data, rng: np.random.Generator, double: bool) -> Any:
    if spec.kind == "index":
        return lib.tensor(rng.integers(int(spec.low), int(spec.high), spec.shape), dtype=lib.int64)
    if spec.kind == "places":
        planes = [rng.permutation(int(spec.high))[:int(np.prod(spec.shape[2:]))] for _ in range(spec.shape[0] * spec.shape[1])]
        return lib.tensor(np.reshape(planes, spec.shape), dtype=lib.int64)
    if spec.kind == "mask":
        chosen = rng.random(spec.shape) < 0.3
        chosen[..., 0] = False
        return lib.tensor(chosen.tolist(), dtype=lib.bool)
    if spec.kind == "signs":
        numbers = rng.integers(0, 2, spec.shape) * 2.0 - 1
    elif spec.kind == "uniform":
        numbers = rng.uniform(spec.low, spec.high, spec.shape)
    else:
        numbers = rng.standard_normal(spec.shape)
    made = lib.tensor(numbers.tolist(), dtype=lib.float64 if double else lib.float32)
    return made.requires_grad_() if spec.grad else made


def build(lib: ModuleType, case: Case, seed: int = 7) -> Any:
    """The layer, drawn from a seed, in the default dtype."""
    rng = np.random.default_rng(seed)
    lib.manual_seed(seed)
    args = [make(lib, a, rng, False) for a in case.args]
    options = {k: make(lib, v, rng, False) for k, v in case.options.items()}
    for given in (*args, *options.values()):
        if hasattr(given, "requires_grad_") and getattr(given, "requires_grad", False) and not hasattr(given, "train"):
            given.requires_grad_(False)
    return getattr(lib.nn, case.layer)(*args, **options)


def arguments(lib: ModuleType, case: Case, seed: int = 11) -> tuple[list[Any], dict[str, Any]]:
    """What it is called with, in double precision."""
    rng = np.random.default_rng(seed)
    return [make(lib, i, rng) for i in case.inputs], {k: make(lib, v, rng) for k, v in case.call.items()}


def tensors_in(value: Any) -> list[Any]:
    """All tensors of an argument or a result, in order."""
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in tensors_in(v)]
    if isinstance(value, dict):
        return tensors_in(list(value.values()))
    return [value] if hasattr(value, "dtype") else []


def leaves(args: list[Any], call: dict[str, Any]) -> list[Any]:
    return [t for t in tensors_in([args, call]) if t.requires_grad]
