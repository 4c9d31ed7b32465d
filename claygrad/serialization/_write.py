"""The pickle inside a checkpoint: tensors and what describes them under PyTorch's names, so that it can read them."""
from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from typing import Any

from claygrad.core import DTYPES, UPCALLS, Size, Storage, Tensor, device, dtype
from claygrad.nn.parameter import Parameter, UninitializedTensorMixin
from claygrad.ops._formats import layout, memory_format, strided
from claygrad.serialization._names import KIND_OF, Name, Typed, named, plain_state, rebuilding

_InPython: Any = pickle._Pickler           # whose ways of writing can be replaced type by type


class Pickler(_InPython):
    """Writes globals that need not exist here, and keeps storages apart, each once."""

    dispatch = _InPython.dispatch.copy()

    def __init__(self, file: io.BytesIO, protocol: int) -> None:
        super().__init__(file, protocol)
        self.storages: dict[int, tuple[str, Typed]] = {}      # by identity: its key in the file, and itself

    def persistent_id(self, value: Any) -> Any:
        if isinstance(value, Storage):
            value = Typed(value, _BYTES)
            kind = "UntypedStorage"
        elif type(value) is Typed:
            kind = KIND_OF[value.dtype.name]
        else:
            return None
        key, known = self.storages.setdefault(id(value.storage), (str(len(self.storages)), value))
        if known.dtype != value.dtype:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        count = value.storage.nbytes() // value.dtype.itemsize
        place = "torch.storage" if kind == "UntypedStorage" else "torch"
        return "storage", named(place, kind), key, str(value.storage.device), count

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return NotImplemented if isinstance(value, UninitializedTensorMixin) else reduced(value)
        if isinstance(value, Size):
            return named("torch", "Size"), (tuple(value),)
        if isinstance(value, device):
            return named("torch", "device"), (value.type,) if value.index is None else (value.type, value.index)
        if isinstance(value, layout):
            return named("torch.serialization", "_get_layout"), (str(value).replace("claygrad", "torch"),)
        return NotImplemented

    def save_name(self, value: Name) -> None:
        self.write(pickle.GLOBAL + f"{value.module}\n{value.name}\n".encode())
        self.memoize(value)

    def save_torch(self, value: Any) -> None:
        """dtypes and memory formats are attributes of torch."""
        self.save_name(named("torch", str(value).rpartition(".")[2]))

    dispatch[Name] = save_name
    dispatch[dtype] = dispatch[memory_format] = save_torch


_BYTES = DTYPES["uint8"]


def reduced(tensor: Tensor) -> tuple[Name, tuple[Any, ...]]:
    """How a tensor is rebuilt, in the words of PyTorch's files."""
    state = plain_state(tensor)
    function: Name
    arguments: tuple[Any, ...]
    if type(tensor) is Parameter:
        parts: tuple[Any, ...] = (tensor.detach(), tensor.requires_grad, OrderedDict())
        if state:
            return rebuilding("_rebuild_parameter_with_state"), (*parts, state)
        return rebuilding("_rebuild_parameter"), parts
    if tensor.layout is not strided:
        function, arguments = rebuilding("_rebuild_sparse_tensor"), UPCALLS["sparse_module"]().described(tensor)
        return function, arguments
    shape, strides = tuple(tensor.shape), tensor.stride()
    if tensor.device.type == "meta":
        function = rebuilding("_rebuild_meta_tensor_no_storage")
        arguments = (tensor.dtype, shape, strides, tensor.requires_grad)
    else:
        function = rebuilding("_rebuild_tensor_v2")
        arguments = (Typed(tensor.untyped_storage(), tensor.dtype), tensor.storage_offset(), shape, strides,
                     tensor.requires_grad, OrderedDict())
        bits = {name: True for name, is_so in (("conj", tensor.is_conj()), ("neg", tensor.is_neg())) if is_so}
        if tensor.dtype.name not in KIND_OF:              # no class of storages has such elements: bytes, and a dtype
            function = rebuilding("_rebuild_tensor_v3")
            arguments = (tensor.untyped_storage(), *arguments[1:], tensor.dtype)
        arguments = (*arguments, bits) if bits else arguments
    if type(tensor) is not Tensor or state:
        kind: Any = named("torch", "Tensor") if type(tensor) is Tensor else type(tensor)
        return rebuilding("_rebuild_from_type_v2"), (function, kind, arguments, state)
    return function, arguments
