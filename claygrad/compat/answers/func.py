"""Names of `torch.func` that are not there: batching of functions, and what serves compilers."""
from claygrad.compat.refusing import refusing_function

NAMES = ("debug_unwrap", "functionalize", "vmap")
globals().update({name: refusing_function(f"torch.func.{name}") for name in NAMES})
