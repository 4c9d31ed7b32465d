"""`torch.library`: operators of one's own, under `torch.ops.<namespace>.<name>`, with shapes and gradients."""
from __future__ import annotations

from claygrad.core.cpython.entry_points import guard_package
from claygrad._lazy import lazy
from claygrad.library._custom import CustomOpDef, custom_op, triton_op, wrap_triton
from claygrad.library._library import (
    Library,
    define,
    fallthrough_kernel,
    impl,
    impl_abstract,
    register_autograd,
    register_fake,
    register_kernel,
    register_torch_dispatch,
    register_vmap,
)
from claygrad.library._checks import OpCheckError, get_ctx, opcheck
from claygrad.library._schema import infer_schema

__all__ = ["CustomOpDef", "Library", "OpCheckError", "custom_op", "define", "fallthrough_kernel", "get_ctx", "impl",
           "impl_abstract", "infer_schema", "opcheck", "register_autograd", "register_fake", "register_kernel",
           "register_torch_dispatch", "register_vmap", "triton_op", "wrap_triton"]

__getattr__ = lazy(__name__)

guard_package(__name__)          # Note [Entry points]
