"""`torch.backends.cuda`: flags that programs set whether there is a GPU or not."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from claygrad import _settings
from claygrad._lazy import lazy
from claygrad.core.data.device import no_cuda

_sdp = _settings.attention_backends


class _Matmul:
    """Precision of products; `allow_tf32` is another word for `set_float32_matmul_precision`."""

    def __init__(self) -> None:
        self.allow_fp16_reduced_precision_reduction = True
        self.allow_bf16_reduced_precision_reduction = True
        self.allow_fp16_accumulation = False
        self.fp32_precision = "none"

    @property
    def allow_tf32(self) -> bool:
        return _settings.get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        _settings.set_float32_matmul_precision("high" if value else "highest")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in ("allow_fp16_reduced_precision_reduction", "allow_bf16_reduced_precision_reduction",
                        "allow_fp16_accumulation", "fp32_precision", "allow_tf32"):
            raise AttributeError("Unknown attribute " + name)
        super().__setattr__(name, value)


class _PlanCache:
    """There are no plans without CUDA."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise no_cuda()


matmul = _Matmul()
cufft_plan_cache = _PlanCache()


def is_built() -> bool:
    """No."""
    return False


def flash_sdp_enabled() -> bool:
    """What `enable_flash_sdp` said."""
    return _sdp["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Allow or forbid that way to compute attention; on the CPU claygrad has one way."""
    _sdp["flash"] = enabled


def mem_efficient_sdp_enabled() -> bool:
    """What `enable_mem_efficient_sdp` said."""
    return _sdp["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Allow or forbid that way to compute attention; on the CPU claygrad has one way."""
    _sdp["mem_efficient"] = enabled


def math_sdp_enabled() -> bool:
    """What `enable_math_sdp` said."""
    return _sdp["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Allow or forbid that way to compute attention; on the CPU claygrad has one way."""
    _sdp["math"] = enabled


def cudnn_sdp_enabled() -> bool:
    """What `enable_cudnn_sdp` said."""
    return _sdp["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Allow or forbid that way to compute attention; on the CPU claygrad has one way."""
    _sdp["cudnn"] = enabled


def is_flash_attention_available() -> bool:
    """No."""
    return False


@contextmanager
def sdp_kernel(enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True,
               enable_cudnn: bool = True) -> Iterator[dict[str, bool]]:
    """Allow these ways to compute attention in a context."""
    former = dict(_sdp)
    _sdp.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield {}
    finally:
        _sdp.update(former)

__getattr__ = lazy(__name__)
