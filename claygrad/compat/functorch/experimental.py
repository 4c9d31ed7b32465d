"""`functorch.experimental`: transforms that are `torch.func`'s today."""
from __future__ import annotations

from typing import Any

from claygrad.func import functionalize, hessian, jacfwd, jvp, replace_all_batch_norm_modules_, vmap
from claygrad.func._vmap import _process_batched_inputs

__all__ = ["chunk_vmap", "functionalize", "hessian", "jacfwd", "jvp", "replace_all_batch_norm_modules_"]


def chunk_vmap(func: Any, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2) -> Any:
    """`vmap` in so many parts."""

    def mapped(*args: Any, **kwargs: Any) -> Any:
        size = _process_batched_inputs(in_dims, args, func)[0]
        return vmap(func, in_dims, out_dims, randomness, chunk_size=max(1, -(-size // chunks)))(*args, **kwargs)

    return mapped
