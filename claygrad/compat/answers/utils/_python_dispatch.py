"""Answers of `torch.utils._python_dispatch`: no tensor is a wrapper that a compiler could open."""
from claygrad.compat.refusing import always

is_traceable_wrapper_subclass = is_traceable_wrapper_subclass_type = always(False)
