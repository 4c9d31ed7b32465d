"""Names of `torch.utils` that other packages ask for."""
from __future__ import annotations

from claygrad.compat.refusing import always
from claygrad.ops._swapping import swap_tensors

__all__ = ["generate_methods_for_privateuse1_backend", "rename_privateuse1_backend", "set_module", "swap_tensors"]

set_module = always(None)
generate_methods_for_privateuse1_backend = rename_privateuse1_backend = always(None)
