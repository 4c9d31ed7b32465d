"""Arguments, functions and settings of PyTorch, said in claygrad."""

from __future__ import annotations

import builtins
import dataclasses
import types
from collections.abc import Callable
from typing import Any

import torch

import claygrad

# Dtypes that NumPy does not know go by integers of the same bits.
_BITS = {"bfloat16": "int16", "complex32": "int32", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8", "float8_e4m3fnuz": "uint8",
         "float8_e5m2fnuz": "uint8", "float8_e8m0fnu": "uint8"}


def tensor(given: torch.Tensor, memory: dict | None = None) -> claygrad.Tensor:
    """The same values in the same layout, a leaf. Tensors that share memory share it here, if `memory` is the same."""
    memory, need = {} if memory is None else memory, given.requires_grad
    given = given.detach().resolve_conj().resolve_neg()
    if given.device.type == "meta":
        made = claygrad.empty_strided(tuple(given.shape), given.stride(), dtype=dtype(given.dtype), device="meta")
        return made.requires_grad_() if need else made
    key = given.untyped_storage()._cdata, given.dtype
    if key not in memory:
        size = given.untyped_storage().nbytes() // given.element_size()
        flat = torch.as_strided(given, (size,), (1,), 0).clone()      # memory NumPy has seen cannot be resized
        bits = _BITS.get(str(given.dtype).rpartition(".")[2])
        array = (flat if bits is None else flat.view(getattr(torch, bits))).numpy()
        made = claygrad.empty(size, dtype=dtype(given.dtype))
        memory[key] = made, given          # `given` lives as long, so that its storage is not another's meanwhile
        (made if bits is None else made.view(getattr(claygrad, bits))).copy_(claygrad.from_numpy(array))
    made = memory[key][0].as_strided(tuple(given.shape), given.stride(), given.storage_offset()).detach()
    return made.requires_grad_() if need else made


def dtype(given: torch.dtype) -> claygrad.dtype:
    found = getattr(claygrad, str(given).rpartition(".")[2], None)
    if found is None:
        raise NotImplementedError(f"claygrad has no {given}")
    return found


def arguments(value: Any, memory: dict | None = None) -> Any:
    """Whatever a sample holds: tensors, dtypes, devices, lists, functions."""
    if isinstance(value, torch.nn.Parameter):
        return claygrad.nn.Parameter(tensor(value, memory).detach(), requires_grad=value.requires_grad)
    if isinstance(value, torch.Tensor):
        memory = {} if memory is None else memory
        if id(value) not in memory:                # the same tensor twice is the same tensor twice
            memory[id(value)] = tensor(value, memory)
        return memory[id(value)]
    if isinstance(value, torch.nn.Module):         # a distance, say: no parameters, settings alone
        made = getattr(claygrad.nn, type(value).__name__)()
        for key, setting in vars(value).items():
            if not key.startswith("_"):
                setattr(made, key, setting)
        return made
    if dataclasses.is_dataclass(value) and type(value).__module__.startswith("torch.nn"):        # options of a layer
        settings = {field.name: arguments(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return getattr(claygrad.nn, type(value).__name__)(**settings)
    if isinstance(value, torch.dtype):
        return dtype(value)
    if isinstance(value, torch.device):
        return claygrad.device(str(value))
    if isinstance(value, torch.Size):
        return claygrad.Size(value)
    if isinstance(value, torch.memory_format | torch.layout):
        return getattr(claygrad, str(value).rpartition(".")[2])
    if isinstance(value, torch.Generator):
        made = claygrad.Generator()
        made.set_state(tensor(value.get_state()))
        return made
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(arguments(one, memory) for one in value))
    if isinstance(value, list | tuple):
        return type(value)(arguments(one, memory) for one in value)
    if isinstance(value, dict):
        return {key: arguments(one, memory) for key, one in value.items()}
    if isinstance(value, slice):
        return slice(*map(arguments, (value.start, value.stop, value.step)))
    if callable(value):
        return function(value)
    return value


_rebound: dict[int, dict[str, Any]] = {}


def function(given: Callable) -> Callable:
    """A function of PyTorch's tests with `torch` meaning claygrad; or claygrad's function of the same name."""
    if isinstance(given, types.FunctionType):
        if given.__module__.startswith("torch.testing"):
            return _rebind(given)
        found = named(f"{given.__module__}.{given.__qualname__}".removeprefix("torch."))
        return given if found is None else found
    if isinstance(given, type):
        return getattr(claygrad, given.__name__, given) if given.__module__.startswith("torch") else given
    name = getattr(given, "__name__", None)
    if name and not hasattr(builtins, name):
        for place in (claygrad, claygrad.nn.functional, claygrad.Tensor, claygrad.special, claygrad.linalg):
            if hasattr(place, name):
                return getattr(place, name)
    return given


def named(name: str) -> Any:
    """What claygrad has under a dotted name of PyTorch's, or None."""
    place: Any = claygrad
    for part in name.split("."):
        place = getattr(place, part, None)
    return place


def _rebind(given: types.FunctionType) -> types.FunctionType:
    cells = tuple(types.CellType(_cell(cell.cell_contents)) for cell in given.__closure__ or ())
    defaults = tuple(map(arguments, given.__defaults__)) if given.__defaults__ else given.__defaults__
    made = types.FunctionType(given.__code__, _world(given.__globals__), given.__name__, defaults, cells)
    made.__kwdefaults__ = given.__kwdefaults__ and {k: arguments(v) for k, v in given.__kwdefaults__.items()}
    return made


def _cell(value: Any) -> Any:
    return arguments(value) if isinstance(value, torch.Tensor | torch.dtype | types.FunctionType) or (
        callable(value) and getattr(value, "__module__", "") in ("torch", "torch._C._nn")) else value


def _world(names: dict[str, Any]) -> dict[str, Any]:
    """The globals of a module of PyTorch's tests, with claygrad in the place of torch."""
    found = _rebound.get(id(names))
    if found is None:
        found = _rebound[id(names)] = dict(names)
        for name, value in names.items():
            if value is torch:
                found[name] = claygrad
            elif isinstance(value, types.ModuleType) and value.__name__.startswith("torch.nn"):
                found[name] = named(value.__name__.removeprefix("torch."))
            elif isinstance(value, types.FunctionType) and value.__module__.startswith("torch.testing"):
                found[name] = types.FunctionType(value.__code__, found if value.__globals__ is names
                                                 else _world(value.__globals__), value.__name__, value.__defaults__,
                                                 value.__closure__)
                found[name].__kwdefaults__ = value.__kwdefaults__
        found.update(wrapper_set_seed=_seeded)
    return found


def _seeded(op: Callable, *args: Any, **kwargs: Any) -> Any:
    """PyTorch's tests run functions that draw numbers from this seed."""
    claygrad.manual_seed(42)
    return op(*args, **kwargs)
