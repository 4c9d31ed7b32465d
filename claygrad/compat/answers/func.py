"""Names of `torch.func` that are not there: what serves compilers."""
from claygrad.compat.refusing import refusing_function

debug_unwrap = refusing_function("torch.func.debug_unwrap")
