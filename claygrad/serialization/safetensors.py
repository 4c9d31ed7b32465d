"""`safetensors.torch` for claygrad: tensors by name, in a file that cannot hold code. Needs the library safetensors.

    from claygrad.serialization.safetensors import load_file, save_file
"""
from __future__ import annotations

import os
from typing import Any

import numpy

from claygrad.core import DTYPES, Tensor, array_of, device, empty, host_array
from claygrad.core.cpython.entry_points import guard_package
from claygrad.serialization._archive import replacing

__all__ = ["load", "load_file", "load_model", "save", "save_file", "save_model"]

_CODES = {"BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64", "F16": "float16",
          "BF16": "bfloat16", "F32": "float32", "F64": "float64", "C64": "complex64",
          "U16": "uint16", "U32": "uint32", "U64": "uint64", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2",
          "F8_E8M0": "float8_e8m0fnu", "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz"}


def _library() -> Any:
    try:
        import safetensors.numpy
    except ImportError as error:
        raise ImportError("this needs the library safetensors: pip install claygrad[safetensors]") from error
    return safetensors


def save(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """The bytes of such a file."""
    data: bytes = _library().numpy.save(_arrays(tensors), metadata=metadata)
    return data


def save_file(tensors: dict[str, Tensor], filename: str | os.PathLike[str],
              metadata: dict[str, str] | None = None) -> None:
    """Write tensors to a file. The old one stays until the new one is whole."""
    data = save(tensors, metadata)
    with replacing(os.fspath(filename)) as file:
        file.write(data)


def load(data: bytes) -> dict[str, Tensor]:
    """The tensors of the bytes of such a file."""
    return {name: _tensor(found) for name, found in _library().deserialize(data)}


def load_file(filename: str | os.PathLike[str], device: str | device | int = "cpu") -> dict[str, Tensor]:
    """The tensors of a file."""
    with open(filename, "rb") as file:
        tensors = load(file.read())
    return tensors if str(device) == "cpu" else {name: tensor.to(device) for name, tensor in tensors.items()}


def _arrays(tensors: Any) -> dict[str, Any]:
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    seen: dict[int, list[str]] = {}
    arrays: dict[str, Any] = {}
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor)}")
        if tensor.dtype.name not in _CODES.values():
            raise ValueError(f"safetensors has no code for {tensor.dtype}, the dtype of {name}")
        if not tensor.is_contiguous():
            raise ValueError(f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. It "
                             "either means you are trying to save tensors which are reference of each other in which "
                             "case it's recommended to save only the full tensors, and reslice at load time, or simply "
                             "call `.contiguous()` on your tensor to pack it before saving.")
        if tensor.numel():
            seen.setdefault(id(tensor.untyped_storage()), []).append(name)
        arrays[name] = host_array(tensor)
    shared = [set(names) for names in seen.values() if len(names) > 1]
    if shared:
        raise RuntimeError(f"Some tensors share memory, this will lead to duplicate memory on disk and potential "
                           f"differences when loading them again: {shared}.\n  save_model() keeps one of each.")
    return arrays


def _tensor(found: dict[str, Any]) -> Tensor:
    if found["dtype"] not in _CODES:
        raise ValueError(f"claygrad has no dtype for {found['dtype']}")
    out = empty(tuple(found["shape"]), DTYPES[_CODES[found["dtype"]]], "cpu")
    array = array_of(out).reshape(-1)
    array.view(numpy.uint8)[:] = numpy.frombuffer(found["data"], numpy.uint8)
    return out


def save_model(model: Any, filename: str | os.PathLike[str], metadata: dict[str, str] | None = None) -> None:
    """Write the state of a module; of tensors that share memory, the first, and in the metadata what it stands for."""
    firsts: dict[tuple[Any, ...], str] = {}
    kept: dict[str, Tensor] = {}
    metadata = dict(metadata or {})
    for name, tensor in sorted(model.state_dict().items()):
        place = (id(tensor.untyped_storage()), tensor.storage_offset(), tuple(tensor.shape), tensor.stride())
        if tensor.numel() and place in firsts:
            metadata[name] = firsts[place]
            continue
        firsts[place] = name
        kept[name] = tensor.contiguous()
    save_file(kept, filename, metadata)


def load_model(model: Any, filename: str | os.PathLike[str], strict: bool = True,
               device: str | device | int = "cpu") -> tuple[set[str], list[str]]:
    """Read the state of a module from a file that save_model wrote. Returns names missing in it, and unknown ones."""
    tensors = load_file(filename, device)
    state = model.state_dict()
    ours = {name: (id(t.untyped_storage()), t.storage_offset()) for name, t in state.items() if t.numel()}
    there = {ours[name] for name in tensors if name in ours}
    missing = {name for name in state if name not in tensors and ours.get(name) not in there}
    unknown = [name for name in tensors if name not in state]
    if strict and (missing or unknown):
        lines = [f"Error(s) in loading state_dict for {type(model).__name__}:"]
        lines += [f"    Missing key(s) in state_dict: {sorted(missing)}"] if missing else []
        lines += [f"    Unexpected key(s) in state_dict: {unknown}"] if unknown else []
        raise RuntimeError("\n".join(lines))
    model.load_state_dict(tensors, strict=False)
    return missing, unknown

guard_package(__name__)          # Note [Entry points]
