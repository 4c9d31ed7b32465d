"""`torch.cuda` of a machine without CUDA."""
from __future__ import annotations

from typing import Any

from claygrad.compat.devices import device_module, legacy_types
from claygrad.compat.refusing import refusing_class
from claygrad.core.data.device import no_cuda

globals().update(device_module("cuda", no_cuda))
globals().update(legacy_types("cuda"))
CudaError = refusing_class("torch.cuda.CudaError", RuntimeError)
DeferredCudaCallError = refusing_class("torch.cuda.DeferredCudaCallError", Exception)


class graph:
    """The capture of a graph of CUDA operations, refused when it is entered."""

    def __init__(self, cuda_graph: Any, pool: Any = None, stream: Any = None, capture_error_mode: str = "global",
                 **kwargs: Any) -> None:
        self.cuda_graph = cuda_graph

    def __enter__(self) -> None:
        raise no_cuda()

    def __exit__(self, *exc: object) -> None:
        """Never entered."""
