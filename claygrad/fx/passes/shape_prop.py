"""`torch.fx.passes.shape_prop`: the shapes and dtypes of a graph's values, found by running it."""
from __future__ import annotations

from typing import Any, NamedTuple

from claygrad._lazy import lazy
from claygrad.core import Size, Tensor, dtype
from claygrad.fx.interpreter import Interpreter
from claygrad.fx.node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is known of a tensor without its values."""

    shape: Size
    dtype: dtype
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    """What is known of a tensor without its values."""
    import claygrad
    form = None
    for one in (claygrad.contiguous_format, claygrad.channels_last, claygrad.channels_last_3d):
        if form is None and include_contiguity and (one is claygrad.contiguous_format or result.dim() in (4, 5)):
            dims = {claygrad.channels_last: 4, claygrad.channels_last_3d: 5}.get(one)
            if (dims is None or dims == result.dim()) and result.is_contiguous(memory_format=one):
                form = one
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, result.stride(), form, False, {})


class ShapeProp(Interpreter):
    """Runs a graph and notes `node.meta["tensor_meta"]` and `node.meta["type"]`."""

    def __init__(self, gm: Any, fake_mode: Any = None) -> None:
        super().__init__(gm)
        if fake_mode is not None:
            from claygrad.compat.refusing import refusal
            raise refusal("torch._subclasses.FakeTensorMode")

    def run_node(self, n: Node) -> Any:
        """The result of one node, and what is known of it noted."""
        result = super().run_node(n)
        tensors = []

        def extract(one: Any) -> Any:
            if isinstance(one, Tensor):
                tensors.append(one)
                return _extract_tensor_metadata(one)
            return one

        meta = map_aggregate(result, extract)
        if tensors:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph with these arguments."""
        return super().run(*args)

__getattr__ = lazy(__name__)
