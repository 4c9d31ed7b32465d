"""Names of `torch.backends.cuda` that other packages ask for."""
from __future__ import annotations

from typing import Any

from claygrad.compat.refusing import always
from claygrad.core.data.device import no_cuda

_allowed = False
can_use_flash_attention = can_use_efficient_attention = can_use_cudnn_attention = always(False)
is_ck_sdpa_available = always(False)


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """What `allow_fp16_bf16_reduction_math_sdp` said."""
    return _allowed


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Allow sums of products in half precision on a GPU; on the CPU they are made in full."""
    global _allowed
    _allowed = enabled


def preferred_linalg_library(backend: Any = None) -> Any:
    """Which library a GPU would use for linear algebra."""
    raise no_cuda()


preferred_blas_library = preferred_rocm_fa_library = preferred_linalg_library
